#include "iclmech/detail/orthonormal_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace iclmech::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

double distance(const double_matrix& a, const double_matrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

TEST(orthonormal_rows, are_orthonormal_span_the_rows_and_are_made_of_them) {
  const double_matrix rows = double_matrix::Random(7, 40);
  const orthonormal_rows r = orthonormalize(rows, 1e-5);
  ASSERT_EQ(r.basis.rows(), 7);
  EXPECT_THAT(r.dropped, IsEmpty());
  // A few roundings of double.
  EXPECT_LT(distance(r.basis * r.basis.transpose(), double_matrix::Identity(7, 7)), 1e-14);
  EXPECT_LT(distance(r.combination * rows, r.basis), 1e-13);
  EXPECT_LT(distance(rows * r.basis.transpose() * r.basis, rows), 1e-13);
}

TEST(orthonormal_rows, stay_orthogonal_when_rows_are_nearly_parallel) {
  double_matrix rows = double_matrix::Ones(5, 30);
  rows.topLeftCorner(5, 5) += 1e-4 * double_matrix::Identity(5, 5);
  const orthonormal_rows r = orthonormalize(rows, 1e-6);
  ASSERT_EQ(r.basis.rows(), 5);
  // One cleaning would leave about 1e-16 / 1e-5.
  EXPECT_LT(distance(r.basis * r.basis.transpose(), double_matrix::Identity(5, 5)), 1e-14);
}

TEST(orthonormal_rows, drop_what_lies_in_the_others_span_whatever_its_length) {
  double_matrix rows = double_matrix::Zero(5, 6);
  rows(0, 0) = 1e-12;  // short, but a direction of its own
  rows(1, 1) = 3;
  rows.row(2) = 5 * rows.row(1);
  rows(4, 4) = rows(4, 1) = 1;
  const orthonormal_rows r = orthonormalize(rows, 1e-5);
  EXPECT_THAT(r.dropped, ElementsAre(2, 3));
  EXPECT_EQ(r.basis.rows(), 3);
}

TEST(orthonormal_rows, are_none_for_rows_of_zeros) {
  const orthonormal_rows r = orthonormalize(double_matrix::Zero(2, 3), 1e-5);
  EXPECT_EQ(r.basis.rows(), 0);
  EXPECT_THAT(r.dropped, ElementsAre(0, 1));
}

}  // namespace
}  // namespace iclmech::detail
