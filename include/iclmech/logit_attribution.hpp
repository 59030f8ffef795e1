#ifndef ICLMECH_LOGIT_ATTRIBUTION_HPP
#define ICLMECH_LOGIT_ATTRIBUTION_HPP
// Direct logit attribution (DLA): what a write adds to the logits of the labels, the baseline that TSLA is
// compared with.
//
// Everything is linear in the label coordinates c = W_Y a that `label_subspace` and `folded_labels` return,
// [|Y|]. Raw rows W_Y give raw attributions. For attributions that add up, over all writes of the residual
// stream, to the model's own logits, freeze the final norm: build the label subspace from `rows *
// gain.asDiagonal()` and divide by the run's `rms_scale`. (A soft cap on the logits comes after that and is
// not linear: the sum is the logit before the cap.) Source: the baselines in arXiv 2509.24164.

#include <Eigen/Core>
#include <cmath>
#include <string>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

namespace detail {

inline void require_answer(const char* function, index answer, index labels) {
  if (answer < 0 || answer >= labels)
    throw argument_error(std::string(function) + ": answer " + std::to_string(answer) +
                         " is not a position in a set of " + std::to_string(labels) + " labels");
}

}  // namespace detail

/// DLA baseline of TR: the sum over the labels y of W_y a.
template <class Coordinates>
[[nodiscard]] double dla_sum(const Eigen::MatrixBase<Coordinates>& c) {
  return c.template cast<double>().sum();
}

/// DLA baseline of TL: W_y* a for the right label y*, the position `answer` in the set.
template <class Coordinates>
[[nodiscard]] double dla_answer(const Eigen::MatrixBase<Coordinates>& c, index answer) {
  detail::require_answer("dla_answer", answer, c.size());
  return static_cast<double>(c(answer));
}

/// Logit difference: W_y* a less the mean of W_y' a over the other labels y'. Throws argument_error for a
/// single label.
template <class Coordinates>
[[nodiscard]] double logit_difference(const Eigen::MatrixBase<Coordinates>& c, index answer) {
  detail::require_answer("logit_difference", answer, c.size());
  if (c.size() == 1)
    throw argument_error("logit_difference: one label has no others to differ from: use dla_answer");
  const double right = static_cast<double>(c(answer));
  return right - (dla_sum(c) - right) / static_cast<double>(c.size() - 1);
}

/// The denominator of an RMS norm over the residual stream x [d_model], sqrt(mean(x^2) + epsilon): what
/// TransformerLens records as `ln_final.hook_scale`.
template <class Stream>
[[nodiscard]] double rms_scale(const Eigen::MatrixBase<Stream>& x, double epsilon) {
  if (x.size() == 0) throw argument_error("rms_scale: the residual stream is empty");
  return std::sqrt(x.template cast<double>().squaredNorm() / static_cast<double>(x.size()) + epsilon);
}

}  // namespace iclmech

#endif  // ICLMECH_LOGIT_ATTRIBUTION_HPP
