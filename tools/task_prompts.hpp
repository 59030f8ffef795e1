#ifndef ICLMECH_TOOLS_TASK_PROMPTS_HPP
#define ICLMECH_TOOLS_TASK_PROMPTS_HPP
// A task's episodes in the tokens of a model.

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
  tokenizer words_;
  task task_;
  prompt_options options_;
  tokenize_options encode_;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_TASK_PROMPTS_HPP
