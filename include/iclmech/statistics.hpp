#ifndef ICLMECH_STATISTICS_HPP
#define ICLMECH_STATISTICS_HPP
// Means that can be gathered in parts and merged, bootstrap intervals, and how concentrated effects are.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/random.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// Mean and variance of a stream of equally long vectors, element by element, in double (Welford's updates).
/// Parts gathered by different workers merge into what one worker would have got, up to rounding (Chan, Golub
/// and LeVeque's pairwise update). NaN in an observation makes that element's mean NaN.
class running_mean {
 public:
  explicit running_mean(index size)
      : running_mean(0, Eigen::ArrayXd::Zero(size), Eigen::ArrayXd::Zero(size)) {}

  /// Carries on from a stored state: what `count`, `mean` and `squared_deviations` returned.
  running_mean(std::int64_t count, Eigen::ArrayXd mean, Eigen::ArrayXd squared_deviations)
      : count_(count), mean_(std::move(mean)), squared_deviations_(std::move(squared_deviations)) {
    if (count < 0 || mean_.size() != squared_deviations_.size())
      throw argument_error("running_mean: a count of " + std::to_string(count) + ", " +
                           std::to_string(mean_.size()) + " means and " +
                           std::to_string(squared_deviations_.size()) +
                           " squared deviations do not belong together");
  }

  /// One observation: a vector, row or array of float or double. Does not allocate.
  template <class Values>
  void add(const Eigen::DenseBase<Values>& values) {
    require_size(values.size());
    ++count_;
    const auto n = static_cast<double>(count_);
    for (index i = 0; i < size(); ++i) {
      const double x = static_cast<double>(values(i));
      const double before = x - mean_(i);
      mean_(i) += before / n;
      squared_deviations_(i) += before * (x - mean_(i));
    }
  }
  void add(std::span<const float> values) {
    add(Eigen::Map<const vector>(values.data(), static_cast<index>(values.size())));
  }

  void merge(const running_mean& other) {
    require_size(other.size());
    if (other.count_ == 0) return;
    const auto a = static_cast<double>(count_);
    const auto b = static_cast<double>(other.count_);
    const Eigen::ArrayXd apart = other.mean_ - mean_;
    mean_ += apart * (b / (a + b));
    squared_deviations_ += other.squared_deviations_ + apart.square() * (a * b / (a + b));
    count_ += other.count_;
  }

  [[nodiscard]] index size() const { return mean_.size(); }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] const Eigen::ArrayXd& mean() const { return mean_; }  ///< zero before the first observation
  [[nodiscard]] const Eigen::ArrayXd& squared_deviations() const { return squared_deviations_; }
  /// Sample variance, with count - 1; NaN for fewer than two observations.
  [[nodiscard]] Eigen::ArrayXd variance() const {
    if (count_ < 2) return Eigen::ArrayXd::Constant(size(), std::nan(""));
    return squared_deviations_ / static_cast<double>(count_ - 1);
  }

 private:
  void require_size(index n) const {
    if (n != size())
      throw argument_error("running_mean: " + std::to_string(n) + " values for a mean of " +
                           std::to_string(size()));
  }

  std::int64_t count_;
  Eigen::ArrayXd mean_;
  Eigen::ArrayXd squared_deviations_;
};

struct bootstrap_options {
  int resamples = 1000;
  double level = 0.95;  ///< coverage of the interval
  std::uint64_t seed = 0;
};

/// A point estimate with its confidence interval.
struct interval {
  double estimate = 0;
  double low = 0;
  double high = 0;
};

namespace detail {

inline void check(const bootstrap_options& options, index observations) {
  if (observations < 1) throw argument_error("bootstrap: there are no observations to draw from");
  if (options.resamples < 1 || !(options.level > 0 && options.level < 1))
    throw argument_error("bootstrap: " + std::to_string(options.resamples) + " resamples at level " +
                         std::to_string(options.level) + ": give at least one, and a level between 0 and 1");
}

/// The positions that resample `number` draws, a pure function of the seed and the number.
inline void draw_resample(std::uint64_t seed, int number, std::span<index> positions) {
  random_stream stream{seed, stream_key("bootstrap"), static_cast<std::uint64_t>(number)};
  for (index& position : positions) position = static_cast<index>(stream.below(positions.size()));
}

/// The quantile `share` of sorted values, linear between neighbours.
inline double sorted_quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The percentile interval of the replicates, which are sorted in place. NaN replicates give a NaN interval.
inline interval percentile_interval(double estimate, std::span<double> replicates, double level) {
  if (std::ranges::any_of(replicates, [](double x) { return std::isnan(x); }))
    return {estimate, std::nan(""), std::nan("")};
  std::ranges::sort(replicates);
  return {estimate, sorted_quantile(replicates, (1 - level) / 2),
          sorted_quantile(replicates, (1 + level) / 2)};
}

}  // namespace detail

/// Percentile bootstrap of any statistic of `observations` exchangeable things (prompts, as a rule).
/// `statistic(std::span<const index>)` gets positions drawn with replacement, and for the estimate 0, 1, 2,
/// ...; the same seed draws the same positions for every statistic, so that intervals of several can be
/// compared.
template <class Statistic>
[[nodiscard]] interval bootstrap(index observations, Statistic&& statistic,
                                 const bootstrap_options& options = {}) {
  detail::check(options, observations);
  std::vector<index> positions(static_cast<std::size_t>(observations));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<index>(i);
  const double estimate = std::invoke(statistic, std::span<const index>(positions));
  std::vector<double> replicates(static_cast<std::size_t>(options.resamples));
  for (int r = 0; r < options.resamples; ++r) {
    detail::draw_resample(options.seed, r, positions);
    replicates[static_cast<std::size_t>(r)] = std::invoke(statistic, std::span<const index>(positions));
  }
  return detail::percentile_interval(estimate, replicates, options.level);
}

/// Percentile bootstrap of the mean.
[[nodiscard]] inline interval bootstrap_mean(std::span<const double> values,
                                             const bootstrap_options& options = {}) {
  return bootstrap(
      static_cast<index>(values.size()),
      [&](std::span<const index> positions) {
        double sum = 0;
        for (const index i : positions) sum += values[static_cast<std::size_t>(i)];
        return sum / static_cast<double>(positions.size());
      },
      options);
}

namespace detail {

inline std::vector<double> descending_shares(const char* function, std::span<const double> values) {
  if (values.empty()) throw argument_error(std::string(function) + ": there are no values");
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(values[i] >= 0 && std::isfinite(values[i])))
      throw argument_error(
          std::string(function) + ": value " + std::to_string(i) + " is " + std::to_string(values[i]) +
          ": concentration is defined for finite values >= 0, so clip or take magnitudes first");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted, std::greater{});
  double total = 0;
  for (const double x : sorted) total += x;
  const double even = 1 / static_cast<double>(sorted.size());
  for (double& x : sorted) x = total > 0 ? x / total : even;
  return sorted;
}

}  // namespace detail

/// Gini coefficient: 0 when all values are equal, (n - 1) / n when one has everything; 0 when all are zero.
/// Throws argument_error for no values, and for values that are negative or not finite.
[[nodiscard]] inline double gini(std::span<const double> values) {
  const std::vector<double> shares = detail::descending_shares("gini", values);
  const auto n = static_cast<double>(shares.size());
  double weighted = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    weighted += (n - 1 - 2 * static_cast<double>(i)) * shares[i];
  return weighted / n;
}

/// The share of the total that the `count` largest values hold. Throws as `gini` does.
[[nodiscard]] inline double top_share(std::span<const double> values, index count) {
  const std::vector<double> shares = detail::descending_shares("top_share", values);
  if (count < 0 || count > std::ssize(shares))
    throw argument_error("top_share: the top " + std::to_string(count) + " of " +
                         std::to_string(shares.size()) + " values");
  double sum = 0;
  for (index i = 0; i < count; ++i) sum += shares[static_cast<std::size_t>(i)];
  return sum;
}

}  // namespace iclmech

#endif  // ICLMECH_STATISTICS_HPP
