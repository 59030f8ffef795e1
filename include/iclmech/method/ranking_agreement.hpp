#ifndef ICLMECH_METHOD_RANKING_AGREEMENT_HPP
#define ICLMECH_METHOD_RANKING_AGREEMENT_HPP
// How far two scorings of the same heads agree, by every measure that the papers use.

#include "iclmech/overlap.hpp"

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

}  // namespace iclmech

#endif  // ICLMECH_METHOD_RANKING_AGREEMENT_HPP
