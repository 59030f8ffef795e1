#ifndef ICLMECH_DETAIL_ORTHONORMAL_ROWS_HPP
#define ICLMECH_DETAIL_ORTHONORMAL_ROWS_HPP
// An orthonormal basis of the span of a few long rows.

#include <algorithm>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"

namespace iclmech::detail {

using double_matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct orthonormal_rows {
  double_matrix basis;         ///< [rank x width]
  double_matrix combination;   ///< [rank x rows]: basis = combination * rows
  std::vector<index> dropped;  ///< rows that lie in the span of the others, ascending
};

/// Pivoted Gram-Schmidt, every direction cleaned twice of the ones before, which leaves it as orthogonal as
/// Householder reflections would. A row adds a direction if it is further than `tolerance` (the sine of an
/// angle) from the span of the rows taken before it. Plain loops: Eigen's QR would cost each file that
/// includes the scores ten seconds of compilation.
inline orthonormal_rows orthonormalize(const double_matrix& rows, double tolerance) {
  const index count = rows.rows(), width = rows.cols();
  // What is left of each row, as a unit vector at first: a row must not look dependent because it is short.
  // Beside it, of which rows it is made.
  double_matrix rest(count, width), made_of = double_matrix::Zero(count, count);
  std::vector<index> left;
  for (index y = 0; y < count; ++y) {
    const double length = rows.row(y).norm();
    rest.row(y) = rows.row(y) / (length > 0 ? length : 1);
    made_of(y, y) = 1 / (length > 0 ? length : 1);
    left.push_back(y);
  }
  std::vector<index> taken;
  const auto subtract = [&](index from, index direction) {
    const double share = rest.row(from).dot(rest.row(direction));
    rest.row(from) -= share * rest.row(direction);
    made_of.row(from) -= share * made_of.row(direction);
  };
  while (!left.empty()) {
    const auto furthest =
        std::ranges::max_element(left, {}, [&](index y) { return rest.row(y).squaredNorm(); });
    const index y = *furthest;
    if (!(rest.row(y).norm() > tolerance)) break;
    for (const index earlier : taken) subtract(y, earlier);
    const double length = rest.row(y).norm();
    rest.row(y) /= length;
    made_of.row(y) /= length;
    left.erase(furthest);
    taken.push_back(y);
    for (const index other : left) subtract(other, y);
  }
  orthonormal_rows result{double_matrix(std::ssize(taken), width), double_matrix(std::ssize(taken), count),
                          std::move(left)};
  for (index i = 0; i < std::ssize(taken); ++i) {
    result.basis.row(i) = rest.row(taken[static_cast<std::size_t>(i)]);
    result.combination.row(i) = made_of.row(taken[static_cast<std::size_t>(i)]);
  }
  return result;
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_ORTHONORMAL_ROWS_HPP
