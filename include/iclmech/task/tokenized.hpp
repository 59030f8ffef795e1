#ifndef ICLMECH_TASK_TOKENIZED_HPP
#define ICLMECH_TASK_TOKENIZED_HPP
// Turns a prompt into tokens: its ids, the label tokens in play, the answer, and the role of every token.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/prompt.hpp"
#include "iclmech/task/token_role.hpp"

namespace iclmech {

/// Whatever turns text into token ids, with a begin-of-sequence token in front if `bos`.
/// \concept
template <typename T>
concept text_encoder = requires(const T& encoder, std::string_view text, bool bos) {
  { encoder.encode(text, bos) } -> std::convertible_to<token_sequence>;
};

/// How prompts are tokenized.
struct tokenize_options {
  bool bos = true;                 ///< put the begin-of-sequence token in front
  std::size_t context_length = 0;  ///< the longest prompt the model takes; 0 for no limit
};

/// A prompt in tokens. `labels` are the label tokens in play in the order of the prompt's labels, all
/// different; the answer is one of them. `roles` and `demonstrations` have one entry per token.
struct tokenized_prompt {
  token_sequence ids;
  std::vector<token_id> labels;
  std::vector<std::string> label_names;
  token_id answer = 0;
  std::vector<token_role> roles;
  std::vector<std::int32_t> demonstrations;  ///< which one a token belongs to, or no_demonstration
};

/// The token that a model has to predict for `label` after `before` (whose tokens are `ids`): the first one
/// that `label_prefix` + `label` adds. Throws argument_error if it adds none or changes the tokens before it.
template <text_encoder Encoder>
token_id label_token(const Encoder& encoder, std::string_view before, const token_sequence& ids,
                     std::string_view label_prefix, std::string_view label, bool bos) {
  std::string text(before);
  text += label_prefix;
  text += label;
  const token_sequence extended = encoder.encode(text, bos);
  const bool keeps_prompt =
      extended.size() >= ids.size() && std::equal(ids.begin(), ids.end(), extended.begin());
  if (!keeps_prompt)
    throw argument_error("the label \"" + std::string(label) +
                         "\" melts into the end of the prompt, so it has no first token of its own: end the "
                         "template's output_prefix without a space and begin label_prefix with one");
  if (extended.size() == ids.size())
    throw argument_error("the label \"" + std::string(label) + "\" has no token in this vocabulary");
  return extended[ids.size()];
}

/// The `sampling_options::label_key` that keeps labels with the same first token out of one prompt. Holds a
/// reference to `encoder`.
template <text_encoder Encoder>
auto first_token_key(const Encoder& encoder, const prompt_template& layout) {
  const token_sequence before = encoder.encode(layout.output_prefix, false);
  return [&encoder, layout, before](const std::string& label) -> std::int64_t {
    return label_token(encoder, layout.output_prefix, before, layout.label_prefix, label, false);
  };
}

namespace detail {

/// Where a place in the text falls among the tokens: `whole` tokens end at or before it, and if not `clean`
/// the next one reaches across it.
struct token_boundary {
  std::size_t whole = 0;
  bool clean = true;
};

/// Finds the boundary at byte `place` by encoding the text up to there: the tokens both encodings begin with
/// are those that end before it. Needs nothing of the tokenizer but `encode`, so normalizers, dropped spaces
/// and unknown words do not disturb it.
template <text_encoder Encoder>
token_boundary boundary_at(const Encoder& encoder, std::string_view text, std::size_t place,
                           const token_sequence& ids, bool bos) {
  if (place == text.size()) return {ids.size(), true};
  const token_sequence part = encoder.encode(text.substr(0, place), bos);
  const auto [part_end, ids_end] = std::mismatch(part.begin(), part.end(), ids.begin(), ids.end());
  return {static_cast<std::size_t>(ids_end - ids.begin()), part_end == part.end()};
}

/// A token that several spans share goes to the one that matters most.
constexpr int precedence(token_role role) {
  if (role == token_role::label) return 2;
  return role == token_role::separator ? 0 : 1;
}

template <text_encoder Encoder>
void assign_roles(const Encoder& encoder, const prompt& source, bool bos, tokenized_prompt& target) {
  target.roles.assign(target.ids.size(), token_role::separator);
  target.demonstrations.assign(target.ids.size(), no_demonstration);
  std::vector<int> taken(target.ids.size(), -1);
  token_boundary begin = boundary_at(encoder, source.text, 0, target.ids, bos);
  for (const prompt_span& span : source.spans) {
    const token_boundary end = boundary_at(encoder, source.text, span.end, target.ids, bos);
    const std::size_t last = std::min(end.whole + (end.clean ? 0 : 1), target.ids.size());
    for (std::size_t token = begin.whole; token < last; ++token) {
      if (taken[token] >= precedence(span.role)) continue;
      taken[token] = precedence(span.role);
      target.roles[token] = span.role;
      target.demonstrations[token] = span.demonstration;
    }
    begin = end;
  }
  target.roles.front() = token_role::first;
}

}  // namespace detail

/// Tokenizes `source`. A token that spans two roles counts as label before text before separator (" positive"
/// is a label although its space is the template's); the first token is `first` whatever it says. Throws
/// argument_error for a prompt without tokens or longer than the context, and for labels without a first
/// token of their own: two that share one (both are named), or one that melts into the prompt.
template <text_encoder Encoder>
tokenized_prompt tokenize(const Encoder& encoder, const prompt& source, tokenize_options options = {}) {
  tokenized_prompt target;
  target.ids = encoder.encode(source.text, options.bos);
  if (target.ids.empty()) throw argument_error("the prompt has no tokens: its text is empty");
  if (options.context_length != 0 && target.ids.size() > options.context_length)
    throw argument_error("the prompt has " + std::to_string(target.ids.size()) +
                         " tokens but the model's context holds " + std::to_string(options.context_length) +
                         ": show fewer demonstrations or choose a task with shorter texts");
  target.label_names = source.labels;
  std::map<token_id, const std::string*> label_of_token;
  bool answer_found = false;
  for (const std::string& label : source.labels) {
    const token_id token =
        label_token(encoder, source.text, target.ids, source.label_prefix, label, options.bos);
    const auto [entry, added] = label_of_token.emplace(token, &label);
    if (!added)
      throw argument_error(
          "the labels \"" + *entry->second + "\" and \"" + label + "\" begin with the same token, " +
          std::to_string(token) +
          ": the model cannot tell them apart by one token; rename one of them, or for open answers "
          "sample with first_token_key");
    target.labels.push_back(token);
    if (label == source.answer) {
      target.answer = token;
      answer_found = true;
    }
  }
  if (!answer_found)
    throw argument_error("the answer \"" + source.answer + "\" is none of the " +
                         std::to_string(source.labels.size()) +
                         " labels in play: add it to the prompt's labels");
  detail::assign_roles(encoder, source, options.bos, target);
  return target;
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_TOKENIZED_HPP
