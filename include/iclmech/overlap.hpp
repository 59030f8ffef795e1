#ifndef ICLMECH_OVERLAP_HPP
#define ICLMECH_OVERLAP_HPP
// How far two rankings of heads, or two sets of heads, agree.
//
// A ranking is given by its scores, one per head, larger is higher; two rankings list the same heads in the
// same order. All functions throw argument_error for rankings of different or zero length and for NaN scores.
// The measures are those of the comparison of head kinds and tasks in arXiv 2509.24164.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

namespace detail {

inline void require_ranking(const char* function, std::span<const double> scores) {
  if (scores.empty()) throw argument_error(std::string(function) + ": the ranking is empty");
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (std::isnan(scores[i]))
      throw argument_error(std::string(function) + ": score " + std::to_string(i) +
                           " is NaN and has no rank");
}

inline void require_rankings(const char* function, std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size())
    throw argument_error(std::string(function) + ": rankings of " + std::to_string(a.size()) + " and " +
                         std::to_string(b.size()) + " heads: both must score the same heads");
  require_ranking(function, a);
  require_ranking(function, b);
}

// Pairs within runs of equal neighbours: sum of t (t - 1) / 2.
template <class Iterator, class Equal>
std::int64_t tied_pairs(Iterator first, Iterator last, Equal equal) {
  std::int64_t pairs = 0;
  while (first != last) {
    const Iterator end = std::find_if(first, last, [&](const auto& x) { return !equal(*first, x); });
    const std::int64_t run = end - first;
    pairs += run * (run - 1) / 2;
    first = end;
  }
  return pairs;
}

// Sorts and counts the swaps of neighbours that sorting takes (merge sort).
inline std::int64_t sort_counting_swaps(std::span<double> values, std::span<double> scratch) {
  if (values.size() < 2) return 0;
  const std::size_t half = values.size() / 2;
  const auto left = values.first(half);
  const auto right = values.subspan(half);
  std::int64_t swaps = sort_counting_swaps(left, scratch) + sort_counting_swaps(right, scratch);
  std::size_t l = 0;
  std::size_t r = 0;
  for (std::size_t out = 0; out < values.size(); ++out) {
    const bool take_right = l == left.size() || (r < right.size() && right[r] < left[l]);
    if (take_right) swaps += static_cast<std::int64_t>(left.size() - l);
    scratch[out] = take_right ? right[r++] : left[l++];
  }
  std::ranges::copy(scratch.first(values.size()), values.begin());
  return swaps;
}

}  // namespace detail

/// The `count` highest scores' positions, highest first; among equal scores the lower position comes first.
[[nodiscard]] inline std::vector<index> top_positions(std::span<const double> scores, index count) {
  detail::require_ranking("top_positions", scores);
  if (count < 1 || count > std::ssize(scores))
    throw argument_error("top_positions: the top " + std::to_string(count) + " of " +
                         std::to_string(scores.size()) + " heads");
  std::vector<index> order(scores.size());
  std::iota(order.begin(), order.end(), index{0});
  const auto higher = [&](index a, index b) {
    const double x = scores[static_cast<std::size_t>(a)];
    const double y = scores[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::ranges::partial_sort(order, order.begin() + count, higher);
  order.resize(static_cast<std::size_t>(count));
  return order;
}

/// How many heads a top share means: `fraction` of `heads` rounded down, but at least one.
[[nodiscard]] inline index top_count(index heads, double fraction) {
  if (heads < 1 || !(fraction > 0 && fraction <= 1))
    throw argument_error("top_count: the top " + std::to_string(fraction) + " of " + std::to_string(heads) +
                         " heads: the fraction must be in (0, 1], of at least one head");
  // 0.03 * 100 must give 3 although 0.03 is stored a little below or above.
  constexpr double rounding = 1e-9;
  return std::max(index{1}, static_cast<index>(std::floor(fraction * static_cast<double>(heads) + rounding)));
}

/// The top `fraction` of the heads (TR and TL heads: the top 3 %), as `top_positions` orders them.
[[nodiscard]] inline std::vector<index> top_fraction(std::span<const double> scores, double fraction = 0.03) {
  detail::require_ranking("top_fraction", scores);
  return top_positions(scores, top_count(static_cast<index>(scores.size()), fraction));
}

/// Jaccard index |A and B| / |A or B| of two sets in any order (repeats count once); 1 for two empty sets.
template <class T>
[[nodiscard]] double jaccard(std::vector<T> a, std::vector<T> b) {
  for (std::vector<T>* set : {&a, &b}) {
    std::ranges::sort(*set);
    // Not std::ranges::unique: clang before 16 cannot compile the subrange that libstdc++ returns.
    set->erase(std::unique(set->begin(), set->end()), set->end());
  }
  std::vector<T> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  const std::size_t either = a.size() + b.size() - both.size();
  return either == 0 ? 1 : static_cast<double>(both.size()) / static_cast<double>(either);
}

/// Ranks from 1 (lowest score) to n; equal scores share the mean of their ranks.
[[nodiscard]] inline std::vector<double> average_ranks(std::span<const double> scores) {
  detail::require_ranking("average_ranks", scores);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  std::vector<double> ranks(scores.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && scores[order[last]] == scores[order[first]]) ++last;
    for (std::size_t k = first; k < last; ++k) ranks[order[k]] = static_cast<double>(first + 1 + last) / 2;
    first = last;
  }
  return ranks;
}

/// Kendall's tau-b in O(n log n) (Knight, JASA 1966). NaN where one ranking is all ties.
[[nodiscard]] inline double kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  detail::require_rankings("kendall_tau_b", a, b);
  const std::size_t n = a.size();
  std::vector<std::pair<double, double>> pairs(n);
  for (std::size_t i = 0; i < n; ++i) pairs[i] = {a[i], b[i]};
  std::ranges::sort(pairs);
  const auto same_first = [](const auto& x, const auto& y) { return x.first == y.first; };
  const std::int64_t tied_a = detail::tied_pairs(pairs.begin(), pairs.end(), same_first);
  const std::int64_t tied_both = detail::tied_pairs(pairs.begin(), pairs.end(), std::equal_to{});
  std::vector<double> second(n);
  std::ranges::transform(pairs, second.begin(), [](const auto& p) { return p.second; });
  std::vector<double> scratch(n);
  // Sorted by a and then b, a pair is discordant exactly if sorting by b swaps it.
  const std::int64_t discordant = detail::sort_counting_swaps(second, scratch);
  const std::int64_t tied_b = detail::tied_pairs(second.begin(), second.end(), std::equal_to{});
  const auto all = static_cast<std::int64_t>(n) * (static_cast<std::int64_t>(n) - 1) / 2;
  const auto difference = static_cast<double>(all - tied_a - tied_b + tied_both - 2 * discordant);
  return difference /
         (std::sqrt(static_cast<double>(all - tied_a)) * std::sqrt(static_cast<double>(all - tied_b)));
}

/// Spearman's rank correlation: Pearson's on the average ranks. NaN where one ranking is all ties.
[[nodiscard]] inline double spearman(std::span<const double> a, std::span<const double> b) {
  detail::require_rankings("spearman", a, b);
  const std::vector<double> x = average_ranks(a);
  const std::vector<double> y = average_ranks(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xy / (std::sqrt(xx) * std::sqrt(yy));
}

/// Conditional mean percentage: the mean percentile, in ranking `b`, of the heads in the top `fraction` of
/// ranking `a`. A head's percentile is the share of the other heads that it outranks, in percent, ties
/// counting half: 100 for the highest, 0 for the lowest, 50 on average for heads chosen at random. Not
/// symmetric. Needs two heads or more.
[[nodiscard]] inline double conditional_mean_percentage(std::span<const double> a, std::span<const double> b,
                                                        double fraction = 0.03) {
  detail::require_rankings("conditional_mean_percentage", a, b);
  if (a.size() < 2) throw argument_error("conditional_mean_percentage: one head alone has no percentile");
  const std::vector<double> ranks = average_ranks(b);
  const std::vector<index> top = top_fraction(a, fraction);
  double sum = 0;
  for (const index head : top)
    sum += (ranks[static_cast<std::size_t>(head)] - 1) / static_cast<double>(a.size() - 1);
  return 100 * sum / static_cast<double>(top.size());
}

}  // namespace iclmech

#endif  // ICLMECH_OVERLAP_HPP
