#ifndef ICLMECH_ENGINE_GEMM_HPP
#define ICLMECH_ENGINE_GEMM_HPP
// The matrix product of the engine: activations times the transpose of a weight matrix, on all threads.

#include <string>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

namespace detail {

inline void check_product_shapes(index x_rows, index x_cols, index w_rows, index w_cols, index y_rows,
                                 index y_cols) {
  if (x_cols == w_cols && y_rows == x_rows && y_cols == w_rows) return;
  const auto shape = [](index rows, index cols) { return std::to_string(rows) + "x" + std::to_string(cols); };
  throw argument_error("matrix product: X " + shape(x_rows, x_cols) + " times W^T with W " +
                       shape(w_rows, w_cols) + " needs W with as many columns as X and Y " +
                       shape(x_rows, w_rows) + ", but Y is " + shape(y_rows, y_cols));
}

}  // namespace detail

/// Y = X W^T, or Y += X W^T with `accumulate`. Shapes: X [rows x in], W [out x in] (the Hugging Face layout
/// of a linear layer), Y [rows x out]. Y must not overlap X or W.
/// @throws argument_error if the shapes do not fit.
inline void multiply_transposed(const const_matrix_ref& x, const const_matrix_ref& w, matrix_ref y,
                                bool accumulate = false) {
  detail::check_product_shapes(x.rows(), x.cols(), w.rows(), w.cols(), y.rows(), y.cols());
  if (x.rows() == 0) return;
  detail::parallel_for_ranges(w.rows(), 16, [&](index begin, index end) {
    auto panel = y.middleCols(begin, end - begin);
    const auto weights = w.middleRows(begin, end - begin);
    if (x.rows() == 1) {
      auto row = panel.row(0).transpose();
      if (!accumulate) row.setZero();
      row.noalias() += weights * x.row(0).transpose();
    } else if (accumulate) {
      panel.noalias() += x * weights.transpose();
    } else {
      panel.noalias() = x * weights.transpose();
    }
  });
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_GEMM_HPP
