#ifndef ICLMECH_METHOD_RANKING_AGREEMENT_HPP
#define ICLMECH_METHOD_RANKING_AGREEMENT_HPP
// How far two scorings of the same heads agree, by every measure that the papers use, and how sure that is.

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "iclmech/overlap.hpp"
#include "iclmech/statistics.hpp"

namespace iclmech {

struct ranking_agreement {
  double jaccard = 0.0;          ///< of the top sets
  double kendall = 0.0;          ///< tau-b over all heads; NaN where one scoring is all ties
  double spearman = 0.0;         ///< over all heads; NaN as above
  double first_in_second = 0.0;  ///< conditional mean percentage: where the first's top stands in the second
  double second_in_first = 0.0;  ///< and the other way round
};

/// `fraction` of all heads make a top set.
/// @throws argument_error for scorings of different or zero length, and NaN scores.
inline ranking_agreement compare_rankings(std::span<const double> a, std::span<const double> b,
                                          double fraction = 0.03) {
  return {jaccard(top_fraction(a, fraction), top_fraction(b, fraction)), kendall_tau_b(a, b), spearman(a, b),
          conditional_mean_percentage(a, b, fraction), conditional_mean_percentage(b, a, fraction)};
}

/// Mean scores of heads, and what they would have been on other draws of the same prompts.
struct resampled_scores {
  std::vector<double> means;                   ///< [heads]
  std::vector<std::vector<double>> resamples;  ///< [draws][heads]; none: the scores count as certain
};

/// The means of `each` [prompts x heads] over all prompts and over prompts drawn with replacement. The same
/// seed draws the same prompts: give scorings of different prompts different seeds.
/// @throws argument_error without prompts.
inline resampled_scores resample_scores(const Eigen::MatrixXd& each, const bootstrap_options& options = {}) {
  detail::check(options, each.rows());
  const auto listed = [](const Eigen::VectorXd& v) { return std::vector<double>(v.begin(), v.end()); };
  resampled_scores scores{listed(each.colwise().mean().transpose()), {}};
  std::vector<index> drawn(static_cast<std::size_t>(each.rows()));
  Eigen::VectorXd sum(each.cols());
  for (int r = 0; r < options.resamples; ++r) {
    detail::draw_resample(options.seed, r, drawn);
    sum.setZero();
    for (const index prompt : drawn) sum += each.row(prompt).transpose();
    scores.resamples.push_back(listed(sum / static_cast<double>(drawn.size())));
  }
  return scores;
}

/// The measures of ranking_agreement with their bootstrap intervals.
struct agreement_intervals {
  interval jaccard, kendall, spearman, first_in_second, second_in_first;
};

/// Percentile intervals of the agreement of two scorings over their resamples, taken draw by draw. Draws
/// repeat prompts, so a ranking agrees with itself less in them than on all prompts: an estimate may lie at
/// or beyond the end of its interval. NaN bounds without resamples.
/// @throws argument_error as compare_rankings, and for different numbers of resamples.
inline agreement_intervals bootstrap_agreement(const resampled_scores& a, const resampled_scores& b,
                                               double fraction = 0.03, double level = 0.95) {
  const std::size_t draws = std::max(a.resamples.size(), b.resamples.size());
  for (const resampled_scores* s : {&a, &b})
    if (!s->resamples.empty() && s->resamples.size() != draws)
      throw argument_error("bootstrap_agreement: scorings of " + std::to_string(a.resamples.size()) +
                           " and " + std::to_string(b.resamples.size()) + " resamples");
  const auto scores_of = [](const resampled_scores& s, std::size_t draw) -> const std::vector<double>& {
    return s.resamples.empty() ? s.means : s.resamples[draw];
  };
  std::vector<ranking_agreement> replicates;
  for (std::size_t draw = 0; draw < draws; ++draw)
    replicates.push_back(compare_rankings(scores_of(a, draw), scores_of(b, draw), fraction));
  const ranking_agreement whole = compare_rankings(a.means, b.means, fraction);
  const auto of = [&](double ranking_agreement::*measure) {
    if (draws == 0) return interval{whole.*measure, std::nan(""), std::nan("")};
    std::vector<double> values;
    for (const ranking_agreement& r : replicates) values.push_back(r.*measure);
    return detail::percentile_interval(whole.*measure, values, level);
  };
  using r = ranking_agreement;
  return {of(&r::jaccard), of(&r::kendall), of(&r::spearman), of(&r::first_in_second),
          of(&r::second_in_first)};
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_RANKING_AGREEMENT_HPP
