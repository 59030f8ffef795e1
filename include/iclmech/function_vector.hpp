#ifndef ICLMECH_FUNCTION_VECTOR_HPP
#define ICLMECH_FUNCTION_VECTOR_HPP
// Function vectors: the summed mean writes of the heads whose replacement carries a task, and the average
// indirect effects (AIE) by which those heads are found.
//
// With zbar_h the mean of head h's output z at the last position over clean prompts (gather it with
// `running_mean`), CIE_h(p) = P(answer | corrupted prompt p, head h's output := zbar_h) - P(answer | p),
// AIE_h = its mean over prompts, and the function vector is the sum of W_O^h zbar_h over the heads with the
// largest AIE. Sources: Todd et al., "Function vectors in large language models" (2024); for state-space and
// hybrid models arXiv 2510.23006.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "iclmech/detail/fast_exp.hpp"
#include "iclmech/detail/lanes.hpp"
#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/statistics.hpp"

namespace iclmech {

/// Adds head `head`'s write W_O^h z to `stream` [d_model]. `output_projection` [d_model x heads * d_head],
/// `z` [d_head] is that head's output alone. Summed over heads with their mean outputs: the function vector.
template <class Projection, class Output>
void add_head_write(const Eigen::MatrixBase<Projection>& output_projection, index head,
                    const Eigen::MatrixBase<Output>& z, Eigen::Ref<vector> stream) {
  if (stream.size() != output_projection.rows())
    throw argument_error("add_head_write: a stream of " + std::to_string(stream.size()) +
                         " values, but the output projection writes " +
                         std::to_string(output_projection.rows()));
  if (z.size() == 0 || output_projection.cols() % z.size() != 0 || head < 0 ||
      head >= output_projection.cols() / z.size())
    throw argument_error("add_head_write: head " + std::to_string(head) + " of width " +
                         std::to_string(z.size()) + " is not in an output projection of " +
                         std::to_string(output_projection.cols()) + " columns");
  const auto block = output_projection.middleCols(head * z.size(), z.size());
  if constexpr (Output::ColsAtCompileTime == 1)
    stream.noalias() += block * z;
  else
    stream.noalias() += block * z.transpose();
}

/// The probability of `token` under the softmax over all of `logits` [vocabulary], to about 3e-7 of itself: a
/// sweep asks for it once per head, over vocabularies of 50k to 260k tokens. NaN if any logit is NaN.
[[nodiscard]] inline double probability_of(const Eigen::Ref<const row_vector>& logits, token_id token) {
  if (token < 0 || token >= logits.size())
    throw argument_error("probability_of: token " + std::to_string(token) + " is outside a vocabulary of " +
                         std::to_string(logits.size()));
  const float highest = logits.maxCoeff<Eigen::PropagateNaN>();
  if (std::isnan(highest)) return std::numeric_limits<double>::quiet_NaN();
  double total = 0;
  // Float sums stay short, so that they lose nothing that matters.
  constexpr index piece = 64 * detail::lane_count;
  for (index first = 0; first < logits.size(); first += piece) {
    const index end = std::min(logits.size(), first + piece);
    detail::lanes sum;
    index i = first;
    for (; i + detail::lane_count <= end; i += detail::lane_count)
      for (int l = 0; l < detail::lane_count; ++l)
        sum.at[l] += detail::fast_exp(logits.data()[i + l] - highest);
    for (; i < end; ++i) total += static_cast<double>(detail::fast_exp(logits(i) - highest));
    for (const float s : sum.at) total += static_cast<double>(s);
  }
  return std::exp(static_cast<double>(logits(token)) - static_cast<double>(highest)) / total;
}

/// Gathers the causal indirect effects of all heads prompt by prompt and averages them: AIE with bootstrap
/// intervals.
///
/// Keeps every prompt's effects (heads * prompts floats), because the bootstrap draws prompts. Prompts are
/// kept sorted by their number, so parts gathered by different workers in any order merge into the same
/// result, bit for bit.
class indirect_effects {
 public:
  explicit indirect_effects(index heads) : heads_(heads) {
    if (heads < 1)
      throw argument_error("indirect_effects: " + std::to_string(heads) + " heads: give at least one");
  }

  /// The effects [heads] of corrupted prompt number `prompt`. Throws argument_error for a prompt that was
  /// added before, and for effects that are not finite (the message names the head's position).
  void add(std::int64_t prompt, std::span<const float> effects) {
    if (std::ssize(effects) != heads_)
      throw argument_error("indirect_effects: " + std::to_string(effects.size()) + " effects for " +
                           std::to_string(heads_) + " heads");
    for (std::size_t h = 0; h < effects.size(); ++h)
      if (!std::isfinite(effects[h]))
        throw argument_error("indirect_effects: the effect of head " + std::to_string(h) + " on prompt " +
                             std::to_string(prompt) + " is not finite");
    const auto place = std::ranges::lower_bound(prompts_, prompt);
    if (place != prompts_.end() && *place == prompt)
      throw argument_error("indirect_effects: prompt " + std::to_string(prompt) + " was added before");
    effects_.insert(effects_.begin() + (place - prompts_.begin()) * heads_, effects.begin(), effects.end());
    prompts_.insert(place, prompt);
  }

  /// Takes over the prompts of `other`; throws argument_error for other head counts and prompts that both
  /// have.
  void merge(const indirect_effects& other) {
    if (other.heads_ != heads_)
      throw argument_error("indirect_effects: effects of " + std::to_string(other.heads_) +
                           " heads do not merge with " + std::to_string(heads_));
    for (const std::int64_t prompt : other.prompts_)
      if (std::ranges::binary_search(prompts_, prompt))
        throw argument_error("indirect_effects: both parts have prompt " + std::to_string(prompt));
    for (index p = 0; p < other.count(); ++p) add(other.prompts_[static_cast<std::size_t>(p)], other.row(p));
  }

  [[nodiscard]] index heads() const { return heads_; }
  [[nodiscard]] index count() const { return std::ssize(prompts_); }  ///< how many prompts
  [[nodiscard]] std::span<const std::int64_t> prompts() const { return prompts_; }
  /// CIE, [count() x heads()], rows in the order of `prompts()`.
  [[nodiscard]] Eigen::Map<const row_matrix> effects() const { return {effects_.data(), count(), heads_}; }

  /// AIE of each head, [heads]. Throws argument_error without prompts.
  [[nodiscard]] Eigen::VectorXd mean() const {
    if (count() == 0) throw argument_error("indirect_effects: no prompts were added");
    return effects().cast<double>().colwise().mean();
  }

  /// AIE of each head with its percentile bootstrap interval over prompts, [heads]. All heads share the same
  /// draws.
  [[nodiscard]] std::vector<interval> intervals(const bootstrap_options& options = {}) const;

 private:
  [[nodiscard]] std::span<const float> row(index p) const {
    return std::span(effects_).subspan(static_cast<std::size_t>(p * heads_),
                                       static_cast<std::size_t>(heads_));
  }

  index heads_;
  std::vector<std::int64_t> prompts_;  // ascending
  std::vector<float> effects_;         // [prompts x heads]
};

inline std::vector<interval> indirect_effects::intervals(const bootstrap_options& options) const {
  const Eigen::VectorXd aie = mean();
  detail::check(options, count());
  // One matrix product for all heads: each resample is a row of weights over the prompts.
  Eigen::MatrixXd weights = Eigen::MatrixXd::Zero(options.resamples, count());
  std::vector<index> positions(prompts_.size());
  for (int r = 0; r < options.resamples; ++r) {
    detail::draw_resample(options.seed, r, positions);
    for (const index p : positions) weights(r, p) += 1 / static_cast<double>(count());
  }
  Eigen::MatrixXd replicates = weights * effects().cast<double>();
  std::vector<interval> result;
  for (index h = 0; h < heads_; ++h)
    result.push_back(detail::percentile_interval(
        aie(h), {replicates.col(h).data(), static_cast<std::size_t>(options.resamples)}, options.level));
  return result;
}

}  // namespace iclmech

#endif  // ICLMECH_FUNCTION_VECTOR_HPP
