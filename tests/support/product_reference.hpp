#ifndef ICLMECH_TEST_SUPPORT_PRODUCT_REFERENCE_HPP
#define ICLMECH_TEST_SUPPORT_PRODUCT_REFERENCE_HPP
// Matrix products in double precision, and how far a float32 product may be from them.

#include <gtest/gtest.h>

#include <cmath>

#include "iclmech/detail/matrix.hpp"

namespace iclmech::test {

/// Whether y = before + x w^T up to rounding. A sum of products in float32 is in error by at most about as
/// many roundings (2^-24) of the sum of their magnitudes as one chain of additions has steps, which is 384
/// here; random roundings cancel to the square root of that. 32 of them pass.
inline testing::AssertionResult is_product(const iclmech::const_matrix_ref& y,
                                           const iclmech::const_matrix_ref& x,
                                           const iclmech::const_matrix_ref& w,
                                           const iclmech::const_matrix_ref& before) {
  const Eigen::MatrixXd xd = x.cast<double>(), wd = w.cast<double>(), old = before.cast<double>();
  const Eigen::MatrixXd expected = old + xd * wd.transpose();
  const Eigen::MatrixXd magnitude = old.cwiseAbs() + xd.cwiseAbs() * wd.cwiseAbs().transpose();
  for (Eigen::Index i = 0; i < y.rows(); ++i) {
    for (Eigen::Index j = 0; j < y.cols(); ++j) {
      const double limit = 32 * 0x1p-24 * magnitude(i, j);
      if (!(std::abs(static_cast<double>(y(i, j)) - expected(i, j)) <= limit)) {
        return testing::AssertionFailure() << "element (" << i << ", " << j << ") of " << x.rows() << "x"
                                           << x.cols() << " times " << w.rows() << "x" << w.cols() << " is "
                                           << y(i, j) << " instead of " << expected(i, j) << " +- " << limit;
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace iclmech::test

#endif  // ICLMECH_TEST_SUPPORT_PRODUCT_REFERENCE_HPP
