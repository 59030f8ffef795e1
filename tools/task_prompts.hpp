#ifndef ICLMECH_TOOLS_TASK_PROMPTS_HPP
#define ICLMECH_TOOLS_TASK_PROMPTS_HPP
// A task's episodes in the tokens of a model.

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>

#include "iclmech/io/tokenizer.hpp"
#include "iclmech/task/bundled_models.hpp"
#include "iclmech/task/sampling.hpp"
#include "iclmech/task/tokenized.hpp"
#include "prompts.hpp"

namespace iclmech::cli {

class task_prompts {
 public:
  task_prompts(const std::string& model, const model_spec& spec, const prompt_options& options)
      : words_(load_tokenizer(find_model(model))), task_(find_any_task(options.task)), options_(options) {
    encode_.bos = words_.adds_bos();
    encode_.context_length = static_cast<std::size_t>(spec.context_length);
    say_if_fewer();
  }

  const task& source() const { return task_; }
  const prompt_options& options() const { return options_; }
  const tokenizer& words() const { return words_; }

  episode_sampler sampler(std::size_t demonstrations) const {
    sampling_options sampling;
    sampling.seed = options_.seed;
    sampling.demonstrations = demonstrations;
    if (task_.kind == label_kind::open) sampling.label_key = first_token_key(words_, task_.layout);
    return episode_sampler(task_, sampling);
  }

  tokenized_prompt tokens(const episode& drawn) const {
    return tokenize(words_, render(task_.layout, drawn), encode_);
  }

  std::size_t count(const episode_sampler& from) const { return std::min(options_.prompts, from.queries()); }

 private:
  /// Says once of each task that it has fewer queries than were asked for.
  void say_if_fewer() const {
    static std::set<std::string> said;
    const std::size_t queries = sampler(options_.demonstrations).queries();
    if (queries < options_.prompts && said.insert(options_.task).second)
      fmt::print(stderr, "note: task '{}' has {} queries, which is fewer than --count {}: all are taken\n",
                 options_.task, queries, options_.prompts);
  }

  tokenizer words_;
  task task_;
  prompt_options options_;
  tokenize_options encode_;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_TASK_PROMPTS_HPP
