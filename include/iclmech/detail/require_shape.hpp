#ifndef ICLMECH_DETAIL_REQUIRE_SHAPE_HPP
#define ICLMECH_DETAIL_REQUIRE_SHAPE_HPP
// Shape checks of functions that take many matrices: the message names the function and the matrix.

#include <string>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"

namespace iclmech::detail {

[[noreturn]] inline void throw_wrong_shape(const char* function, const char* matrix, index rows, index cols,
                                           index expected_rows, index expected_cols) {
  const auto shape = [](index r, index c) { return std::to_string(r) + "x" + std::to_string(c); };
  throw argument_error(std::string(function) + ": " + matrix + " is " + shape(rows, cols) +
                       " but should be " + shape(expected_rows, expected_cols) +
                       " to fit the other arguments");
}

/// @throws argument_error if `matrix` is not [rows x cols].
template <class Matrix>
void require_shape(const char* function, const char* name, const Matrix& matrix, index rows, index cols) {
  if (matrix.rows() == rows && matrix.cols() == cols) return;
  throw_wrong_shape(function, name, matrix.rows(), matrix.cols(), rows, cols);
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_REQUIRE_SHAPE_HPP
