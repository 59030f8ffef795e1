#ifndef ICLMECH_TEST_SUPPORT_SCAN_CASES_HPP
#define ICLMECH_TEST_SUPPORT_SCAN_CASES_HPP
// Inputs and the error measure of the state-space tests.

#include <algorithm>
#include <limits>

#include "iclmech/detail/matrix.hpp"
#include "support/random_matrix.hpp"

namespace iclmech::test {

/// Step sizes: at least 0.005, mostly around 0.1.
inline iclmech::row_matrix random_steps(iclmech::index rows, iclmech::index cols, std::uint64_t seed) {
  return (random_matrix(rows, cols, seed).array().abs() + 0.05F) * 0.1F;
}

/// Decay rates A: negative, spread over two orders of magnitude.
inline iclmech::row_matrix random_rates(iclmech::index rows, iclmech::index cols, std::uint64_t seed) {
  return -random_matrix(rows, cols, seed).array().exp();
}

/// Largest difference, relative to the largest expected magnitude. Infinite if anything is not finite.
inline double relative_error(const iclmech::row_matrix& actual, const iclmech::row_matrix& expected) {
  if (!actual.allFinite() || !expected.allFinite()) return std::numeric_limits<double>::infinity();
  const double scale = expected.cwiseAbs().maxCoeff();
  return (actual - expected).cwiseAbs().maxCoeff() / std::max(scale, 1e-30);
}

}  // namespace iclmech::test

#endif  // ICLMECH_TEST_SUPPORT_SCAN_CASES_HPP
