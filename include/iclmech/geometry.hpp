#ifndef ICLMECH_GEOMETRY_HPP
#define ICLMECH_GEOMETRY_HPP
// Geometry of the residual stream against the label subspace: alignment to it, rotation inside it, what a
// write changes, and how likely a write's share in it is by chance.
//
// Notation as in label_subspace.hpp; x [d_model] is the residual stream at a layer, P projects on span(W_Y).
// Source: the geometric analysis of hidden states in arXiv 2509.24164 (TR heads align the stream to the
// subspace, TL heads rotate it inside, and the concentration of random subspaces is the null to compare TR
// with).

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>

#include "iclmech/detail/beta_distribution.hpp"
#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/random.hpp"
#include "iclmech/error.hpp"
#include "iclmech/label_subspace.hpp"
#include "iclmech/logit_attribution.hpp"

namespace iclmech {

/// Where one residual stream vector stands; every field is 0 for a stream without a part in the subspace.
struct stream_geometry {
  double alignment = 0;         ///< cos(x, P x) = || P x || / || x ||, in [0, 1]
  double logit_difference = 0;  ///< W_y* x less the mean of W_y' x over the other labels
  double rotation = 0;  ///< cos(P x, W_y*), in [-1, 1]: the direction inside the subspace, without the length
};

/// The geometry of `x` [d_model]; `answer` is the right label's position. Throws as `label_subspace::score`
/// does.
[[nodiscard]] inline stream_geometry geometry_of(const label_subspace& labels,
                                                 const Eigen::Ref<const vector>& x, index answer) {
  const vector c = labels.coordinates(x);
  const double difference = logit_difference(c, answer);
  const double inside = labels.projection_norm(x);
  if (inside == 0) return {};
  const double row_norm = labels.loadings().row(answer).norm();
  // W_y* lies in the subspace, so W_y* . P x = W_y* . x.
  return {.alignment = inside / x.cast<double>().norm(),
          .logit_difference = difference,
          .rotation = row_norm == 0 ? 0 : dla_answer(c, answer) / (inside * row_norm)};
}

/// The geometry before and after something is added to the stream.
struct geometry_change {
  stream_geometry before;
  stream_geometry after;
};

/// What adding `write` [d_model] (the writes of the TR heads of a layer, say) to `x` does.
[[nodiscard]] inline geometry_change effect_of_adding(const label_subspace& labels,
                                                      const Eigen::Ref<const vector>& x,
                                                      const Eigen::Ref<const vector>& write, index answer) {
  if (x.size() != write.size())
    throw argument_error("effect_of_adding: a write of " + std::to_string(write.size()) +
                         " values to a stream of " + std::to_string(x.size()));
  const vector sum = x + write;
  return {geometry_of(labels, x, answer), geometry_of(labels, sum, answer)};
}

/// The null hypothesis of TR: the subspace is a uniformly random one of dimension k in R^d. The part of a
/// fixed vector's squared length that falls into it, f = ||P a||^2 / ||a||^2, is then Beta(k / 2, (d - k) /
/// 2), with mean k / d.
class concentration_null {
 public:
  /// Throws argument_error unless 0 < k < d.
  concentration_null(index k, index d) : k_(k), d_(d) {
    if (k < 1 || k >= d)
      throw argument_error("concentration_null: a subspace of dimension " + std::to_string(k) + " in R^" +
                           std::to_string(d) +
                           ": the dimension must be at least 1 and below that of the space");
  }

  [[nodiscard]] double mean() const { return static_cast<double>(k_) / static_cast<double>(d_); }

  /// Natural logarithm of P(f >= `fraction`): the p-value of a write's share, in a form that does not
  /// underflow.
  [[nodiscard]] double log_p_value(double fraction) const {
    return detail::log_beta_upper_tail(half(k_), half(d_ - k_), fraction);
  }
  [[nodiscard]] double p_value(double fraction) const { return std::exp(log_p_value(fraction)); }

  /// An upper bound of `log_p_value` in elementary functions (Dasgupta and Gupta, 2003, lemma 2.2): with
  /// beta = f d / k > 1, (k / 2) log beta + ((d - k) / 2) log(1 + (1 - beta) k / (d - k)); 0 for beta <= 1.
  [[nodiscard]] double log_tail_bound(double fraction) const {
    if (std::isnan(fraction)) return fraction;
    if (fraction <= mean()) return 0;
    if (fraction >= 1) return -std::numeric_limits<double>::infinity();
    return half(k_) * std::log(fraction / mean()) + half(d_ - k_) * std::log((1 - fraction) / (1 - mean()));
  }
  [[nodiscard]] double tail_bound(double fraction) const { return std::exp(log_tail_bound(fraction)); }

  /// The p-value by simulation: random directions in R^d, the share of the first k coordinates. (hits + 1) /
  /// (draws + 1), so never 0. The same on every platform up to the last digits of log and cos. O(draws * d).
  [[nodiscard]] double monte_carlo_p_value(double fraction, std::int64_t draws, std::uint64_t seed) const;

 private:
  static double half(index n) { return static_cast<double>(n) / 2; }

  index k_;
  index d_;
};

inline double concentration_null::monte_carlo_p_value(double fraction, std::int64_t draws,
                                                      std::uint64_t seed) const {
  if (draws < 1)
    throw argument_error("monte_carlo_p_value: " + std::to_string(draws) + " draws: give at least one");
  detail::random_stream random{seed, detail::stream_key("concentration")};
  // Squares of standard normals, two at a time (Box and Muller).
  const auto sum_of_squares = [&](index n) {
    double sum = 0;
    for (; n > 1; n -= 2) sum += -2 * std::log(1 - random.uniform());
    if (n == 1) {
      const double cosine = std::cos(2 * std::numbers::pi * random.uniform());
      sum += -2 * std::log(1 - random.uniform()) * cosine * cosine;
    }
    return sum;
  };
  std::int64_t hits = 0;
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    const double inside = sum_of_squares(k_);
    const double outside = sum_of_squares(d_ - k_);
    if (inside >= fraction * (inside + outside)) ++hits;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(draws + 1);
}

}  // namespace iclmech

#endif  // ICLMECH_GEOMETRY_HPP
