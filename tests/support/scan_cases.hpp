#ifndef ICLMECH_TESTS_SUPPORT_SCAN_CASES_HPP
#define ICLMECH_TESTS_SUPPORT_SCAN_CASES_HPP
// Random inputs and the error measure of the state-space tests.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "iclmech/detail/matrix.hpp"

namespace iclmech_tests {

/// Independent standard normal entries, the same on every run.
inline iclmech::row_matrix random_matrix(iclmech::index rows, iclmech::index cols, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  return iclmech::row_matrix::NullaryExpr(rows, cols, [&]() { return normal(generator); });
}

/// Largest difference, relative to the largest expected magnitude. Infinite if anything is not finite.
inline double relative_error(const iclmech::row_matrix& actual, const iclmech::row_matrix& expected) {
  if (!actual.allFinite() || !expected.allFinite()) return std::numeric_limits<double>::infinity();
  const double scale = expected.cwiseAbs().maxCoeff();
  return (actual - expected).cwiseAbs().maxCoeff() / std::max(scale, 1e-30);
}

}  // namespace iclmech_tests

#endif  // ICLMECH_TESTS_SUPPORT_SCAN_CASES_HPP
