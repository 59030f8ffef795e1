#include "study/prompt_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "iclmech/task/label_noise.hpp"
#include "iclmech/task/perturb.hpp"
#include "task_prompts.hpp"

namespace iclmech::cli {
namespace {

labelled_prompt labelled(tokenized_prompt p) { return {std::move(p.ids), std::move(p.labels), p.answer}; }

/// Words that say nothing about the task, in the model's vocabulary: a word-level model knows its own items
/// only.
std::vector<std::string> filler_words(const task_prompts& source) {
  std::vector<std::string> candidates = neutral_words();
  if (source.source().layout == word_level_template()) {
    candidates.clear();
    for (const task_pair& pair : source.source().pairs) candidates.push_back(pair.input);
  }
  // Replaced labels must not share a first token.
  const auto key = first_token_key(source.words(), source.source().layout);
  std::map<std::int64_t, bool> taken;
  std::vector<std::string> words;
  for (const std::string& word : candidates)
    if (taken.emplace(key(word), true).second) words.push_back(word);
  return words;
}

template <class Change>
std::vector<labelled_prompt> changed(const task_prompts& source, std::size_t demonstrations,
                                     std::size_t count, const Change& change) {
  const episode_sampler sampler = source.sampler(demonstrations);
  std::vector<labelled_prompt> prompts;
  for (std::size_t i = 0; i < std::min(count, source.count(sampler)); ++i)
    prompts.push_back(labelled(source.tokens(change(sampler.draw(i), i))));
  return prompts;
}

}  // namespace

prompt_maker::prompt_maker(const std::string& model, const model_spec& spec, const prompt_options& options)
    : source_(std::make_shared<task_prompts>(model, spec, options)) {}

task_family prompt_maker::family() const { return source_->source().family; }
label_kind prompt_maker::kind() const { return source_->source().kind; }

std::vector<std::string> prompt_maker::label_names() const {
  return source_->sampler(source_->options().demonstrations).draw(0).labels;
}

std::vector<labelled_prompt> prompt_maker::shown(std::size_t demonstrations) const {
  return changed(*source_, demonstrations, source_->options().prompts,
                 [](episode drawn, std::size_t) { return drawn; });
}

std::vector<labelled_prompt> prompt_maker::perturbed(perturbation how) const {
  const std::vector<std::string> words = filler_words(*source_);
  const std::uint64_t seed = source_->options().seed;
  return changed(*source_, source_->options().demonstrations, source_->options().prompts,
                 [&](episode drawn, std::size_t i) {
                   switch (how) {
                     case perturbation::random_texts:
                       return with_random_texts(std::move(drawn), words, seed, i);
                     case perturbation::unrelated_labels: {
                       const label_mapping mapping = unrelated_labels(drawn.labels, words, seed);
                       return relabelled(std::move(drawn), mapping);
                     }
                     case perturbation::shuffled_labels:
                       return with_shuffled_labels(std::move(drawn), seed, i);
                     case perturbation::synonym_labels:
                       return relabelled(std::move(drawn), source_->source().synonyms);
                   }
                   return drawn;
                 });
}

bool prompt_maker::has_synonyms() const { return !source_->source().synonyms.entries.empty(); }

std::vector<labelled_prompt> prompt_maker::with_more_labels(std::size_t more) const {
  const auto key = first_token_key(source_->words(), source_->source().layout);
  std::vector<token_id> words;
  for (const std::string& word : filler_words(*source_)) words.push_back(static_cast<token_id>(key(word)));
  std::vector<labelled_prompt> prompts = shown(source_->options().demonstrations);
  for (labelled_prompt& p : prompts) {
    const std::size_t wanted = p.labels.size() + more;
    for (std::size_t w = 0; w < words.size() && p.labels.size() < wanted; ++w)
      if (std::find(p.labels.begin(), p.labels.end(), words[w]) == p.labels.end())
        p.labels.push_back(words[w]);
    if (p.labels.size() < wanted)
      throw argument_error(fmt::format("there are no {} words to serve as more labels", more));
  }
  return prompts;
}

prompt_maker::open_prompts prompt_maker::to_continue(std::size_t count) const {
  const episode_sampler sampler = source_->sampler(source_->options().demonstrations);
  open_prompts prompts;
  for (std::size_t i = 0; i < std::min(count, source_->count(sampler)); ++i) {
    episode drawn = sampler.draw(i);
    drawn.demonstrations.clear();
    prompts.queries.push_back(drawn.query.input);
    prompts.answers.push_back(drawn.query.output);
    prompts.ids.push_back(source_->tokens(drawn).ids);
  }
  return prompts;
}

std::vector<tagged_prompt> prompt_maker::tagged() const {
  const episode_sampler sampler = source_->sampler(source_->options().demonstrations);
  std::vector<tagged_prompt> prompts;
  for (std::size_t i = 0; i < source_->count(sampler); ++i) {
    const episode drawn = sampler.draw(i);
    tokenized_prompt p = source_->tokens(drawn);
    std::vector<bool> shows_answer;
    for (const task_pair& pair : drawn.demonstrations)
      shows_answer.push_back(pair.output == drawn.query.output);
    prompts.push_back(
        {std::move(p.ids), std::move(p.roles), std::move(p.demonstrations), std::move(shows_answer)});
  }
  return prompts;
}

effect_prompts prompt_maker::effects(std::size_t corrupted) const {
  const task_prompts& source = *source_;
  const episode_sampler sampler = source.sampler(source.options().demonstrations);
  effect_prompts prompts;
  for (std::size_t i = 0; i < source.count(sampler); ++i) {
    const episode drawn = sampler.draw(i);
    const tokenized_prompt clean = source.tokens(drawn);
    prompts.clean.push_back({clean.ids, clean.answer});
    if (i < corrupted) {
      tokenized_prompt shuffled = source.tokens(with_shuffled_labels(drawn, source.options().seed, i));
      prompts.shuffled.push_back({std::move(shuffled.ids), shuffled.answer});
    }
    episode alone = drawn;  // the same query, nothing shown; the labels in play stay those of the prompt
    alone.demonstrations.clear();
    tokenized_prompt zero = source.tokens(alone);
    prompts.zero_shot.push_back({std::move(zero.ids), clean.labels, clean.answer});
  }
  return prompts;
}

std::vector<labelled_prompt> prompt_maker::with_noise(std::size_t demonstrations, double share_right,
                                                      std::size_t count) const {
  const std::uint64_t seed = source_->options().seed;
  return changed(*source_, demonstrations, count, [&](episode drawn, std::size_t i) {
    const std::vector<std::string> space = drawn.labels;
    return share_right < 0.0 ? with_random_labels(std::move(drawn), space, seed, i)
                             : with_label_noise(std::move(drawn), share_right, space, seed, i);
  });
}

prompt_maker::flipped_prompts prompt_maker::flipped(std::size_t demonstrations, std::size_t count) const {
  flipped_prompts result;
  result.flipped = changed(*source_, demonstrations, count, [&](episode drawn, std::size_t) {
    const label_mapping mapping = flip_mapping(drawn.labels, source_->options().seed);
    return relabelled(std::move(drawn), mapping);
  });
  for (const labelled_prompt& p :
       changed(*source_, demonstrations, count, [](episode drawn, std::size_t) { return drawn; }))
    result.original_answers.push_back(p.answer);
  return result;
}

std::string prompt_maker::text(const std::vector<token_id>& ids) const {
  return source_->words().decode(ids);
}

}  // namespace iclmech::cli
