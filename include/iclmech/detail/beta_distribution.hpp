#ifndef ICLMECH_DETAIL_BETA_DISTRIBUTION_HPP
#define ICLMECH_DETAIL_BETA_DISTRIBUTION_HPP
// The upper tail of the beta distribution, as a logarithm: probabilities far below the smallest double keep
// their size.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace iclmech::detail {

/// log Gamma(x), x > 0: Stirling's series from x >= 16 on, reached by the recurrence. Own code because
/// std::lgamma writes a global (signgam) and may not be called from several threads at once.
inline double log_gamma(double x) {
  double product = 1;
  while (x < 16) product *= x++;
  // Stirling's coefficients B_2k / (2k (2k - 1)); the first one left out is under 1e-17 at x = 16.
  constexpr std::array coefficients{1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                    1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  const double inverse_square = 1 / (x * x);
  double series = 0;
  for (auto c = coefficients.rbegin(); c != coefficients.rend(); ++c) series = series * inverse_square + *c;
  constexpr double half_log_two_pi = 0.91893853320467274178;
  return (x - 0.5) * std::log(x) - x + half_log_two_pi + series / x - std::log(product);
}

/// The continued fraction of the incomplete beta function I_x(a, b) (NIST DLMF 8.17.22) by the modified Lentz
/// method; converges fast for x < (a + 1) / (a + b + 2).
inline double beta_continued_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr double precision = std::numeric_limits<double>::epsilon();
  const auto nonzero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / nonzero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  // The number of steps grows as sqrt(max(a, b)); the limit is out of reach for any vector space in memory.
  for (double m = 1; m < 1e6; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    const double step = d * c;
    fraction *= step;
    if (std::abs(step - 1) <= precision) break;
  }
  return fraction;
}

/// log P(X >= x) for X ~ Beta(a, b), a > 0, b > 0: 0 for x <= 0, minus infinity for x >= 1.
inline double log_beta_upper_tail(double a, double b, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return 0;
  if (x >= 1) return -std::numeric_limits<double>::infinity();
  const double log_front =
      a * std::log(x) + b * std::log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
  // Whichever tail is small is the one that the fraction gives; the other is its complement.
  if (x > (a + 1) / (a + b + 2))
    return log_front - std::log(b) + std::log(beta_continued_fraction(b, a, 1 - x));
  const double lower = std::exp(log_front - std::log(a) + std::log(beta_continued_fraction(a, b, x)));
  return std::log1p(-std::min(lower, 1.0));
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_BETA_DISTRIBUTION_HPP
