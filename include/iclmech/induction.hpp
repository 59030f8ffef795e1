#ifndef ICLMECH_INDUCTION_HPP
#define ICLMECH_INDUCTION_HPP
// Induction scores: how far a head looks at what came after earlier occurrences of the present token.
//
// A pattern is [T x T]: row t holds the weights that position t puts on positions 0 .. t. Attention patterns
// and the effective attention of state-space heads (which may be negative, and need not add up to one) go
// through the same functions. Sources: Olsson et al., "In-context learning and induction heads" (2022), for
// the score on repeated random tokens; arXiv 2509.24164 for the score on task prompts.

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/random.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// A block of random tokens, repeated: `ids` is [bos,] block, block, ...
struct repeated_tokens {
  token_sequence ids;
  index start = 0;   ///< where the first block begins: 1 behind a begin-of-sequence token, else 0
  index period = 0;  ///< length of the block
};

/// A random block of `period` tokens, all different (else "the earlier occurrence" is not one place),
/// `repeats` times. `alphabet`: the different tokens to draw from; leave special tokens out. The same on
/// every platform for one seed. Throws argument_error for a period under 2, fewer than 2 repeats, and an
/// alphabet shorter than the period.
[[nodiscard]] inline repeated_tokens repeat_random_tokens(std::span<const token_id> alphabet, index period,
                                                          index repeats, std::uint64_t seed,
                                                          std::optional<token_id> bos = std::nullopt) {
  if (period < 2 || repeats < 2)
    throw argument_error("repeat_random_tokens: a block of " + std::to_string(period) + " tokens, " +
                         std::to_string(repeats) +
                         " times: induction needs two tokens and two repeats at least");
  if (std::ssize(alphabet) < period)
    throw argument_error("repeat_random_tokens: " + std::to_string(alphabet.size()) +
                         " tokens to draw from are " + "too few for a block of " + std::to_string(period) +
                         " different ones");
  detail::random_stream random{seed, detail::stream_key("repeated tokens")};
  token_sequence pool(alphabet.begin(), alphabet.end());
  for (std::size_t i = 0; i < static_cast<std::size_t>(period); ++i)
    std::swap(pool[i], pool[i + random.below(pool.size() - i)]);
  repeated_tokens made{.ids = {}, .start = bos ? 1 : 0, .period = period};
  if (bos) made.ids.push_back(*bos);
  for (index r = 0; r < repeats; ++r) made.ids.insert(made.ids.end(), pool.begin(), pool.begin() + period);
  return made;
}

namespace detail {

// Mean of pattern(t, t - back) over t = first .. T - 1.
template <class Pattern>
double diagonal_mean(const char* function, const Eigen::MatrixBase<Pattern>& pattern, index first,
                     index back) {
  if (pattern.rows() != pattern.cols())
    throw argument_error(std::string(function) + ": the pattern is " + std::to_string(pattern.rows()) + "x" +
                         std::to_string(pattern.cols()) + ", not square");
  if (first >= pattern.rows())
    throw argument_error(std::string(function) + ": the pattern ends at position " +
                         std::to_string(pattern.rows() - 1) + ", before the first scored position " +
                         std::to_string(first));
  double sum = 0;
  for (index t = first; t < pattern.rows(); ++t) sum += static_cast<double>(pattern(t, t - back));
  return sum / static_cast<double>(pattern.rows() - first);
}

}  // namespace detail

/// Induction score on repeated tokens: the mean, over the repeats, of the attention from position t to t -
/// period + 1, the token after the earlier occurrence of token t. `pattern` [T x T]; `start` is where the
/// first block begins.
template <class Pattern>
[[nodiscard]] double induction_score(const Eigen::MatrixBase<Pattern>& pattern, index period,
                                     index start = 0) {
  if (period < 2 || start < 0)
    throw argument_error("induction_score: period " + std::to_string(period) + " from position " +
                         std::to_string(start) + ": the period must be 2 or more, the start no less than 0");
  return detail::diagonal_mean("induction_score", pattern, start + period, period - 1);
}

/// Previous-token score: the mean attention from position t to t - 1, for t after `start`. `pattern` [T x T].
template <class Pattern>
[[nodiscard]] double previous_token_score(const Eigen::MatrixBase<Pattern>& pattern, index start = 0) {
  if (start < 0)
    throw argument_error("previous_token_score: start " + std::to_string(start) +
                         " is before the first position");
  return detail::diagonal_mean("previous_token_score", pattern, start + 1, 1);
}

/// The positions that follow an earlier occurrence of the prompt's last `match` tokens, ascending. In a
/// few-shot prompt that ends like each demonstration's text ("... answer:"), these are the label positions.
[[nodiscard]] inline std::vector<index> continuation_positions(std::span<const token_id> prompt,
                                                               index match = 1) {
  if (match < 1 || match > std::ssize(prompt))
    throw argument_error("continuation_positions: the last " + std::to_string(match) +
                         " tokens of a prompt of " + std::to_string(prompt.size()));
  const auto ending = prompt.last(static_cast<std::size_t>(match));
  std::vector<index> positions;
  for (index next = match; next < std::ssize(prompt); ++next)
    if (std::ranges::equal(prompt.subspan(static_cast<std::size_t>(next - match), ending.size()), ending))
      positions.push_back(next);
  return positions;
}

/// The weight that one row of a pattern [T] puts on `positions`: with the last row and
/// `continuation_positions` (or the known label positions), the induction score on a task prompt. 0 for no
/// positions.
template <class Row>
[[nodiscard]] double attention_on(const Eigen::MatrixBase<Row>& row, std::span<const index> positions) {
  double sum = 0;
  for (const index position : positions) {
    if (position < 0 || position >= row.size())
      throw argument_error("attention_on: position " + std::to_string(position) + " is outside a row of " +
                           std::to_string(row.size()));
    sum += static_cast<double>(row(position));
  }
  return sum;
}

}  // namespace iclmech

#endif  // ICLMECH_INDUCTION_HPP
