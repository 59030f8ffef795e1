#ifndef ICLMECH_ENGINE_GEMM_HPP
#define ICLMECH_ENGINE_GEMM_HPP
// The matrix product of the engine: activations times the transpose of a weight matrix, on all threads.
//
// On x86 processors with AVX2 it runs on kernels of our own, which decode weights straight into the layout
// they multiply from (see gemm_avx2.hpp); elsewhere on the linked BLAS (ICLMECH_USE_CBLAS) or on Eigen.

#include <algorithm>
#include <string>
#include <vector>

#ifdef ICLMECH_USE_CBLAS
#include <cblas.h>
#endif

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/engine/gemm_avx2.hpp"
#include "iclmech/engine/stored_matrix.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

namespace detail {

inline void check_product_shapes(const const_matrix_ref& x, index w_rows, index w_cols, const matrix_ref& y) {
  if (x.cols() == w_cols && y.rows() == x.rows() && y.cols() == w_rows) return;
  const auto shape = [](index rows, index cols) { return std::to_string(rows) + "x" + std::to_string(cols); };
  throw argument_error("matrix product: X " + shape(x.rows(), x.cols()) + " times W^T with W " +
                       shape(w_rows, w_cols) + " needs W with as many columns as X and Y " +
                       shape(x.rows(), w_rows) + ", but Y is " + shape(y.rows(), y.cols()));
}

/// One thread's part of the product on the library: Y (+)= X W^T for a dense W.
inline void multiply_dense(const const_matrix_ref& x, const const_matrix_view& w, matrix_ref y,
                           bool accumulate) {
#ifdef ICLMECH_USE_CBLAS
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(x.rows()),
              static_cast<blasint>(w.rows()), static_cast<blasint>(x.cols()), 1.0F, x.data(),
              static_cast<blasint>(x.outerStride()), w.data(), static_cast<blasint>(w.outerStride()),
              accumulate ? 1.0F : 0.0F, y.data(), static_cast<blasint>(y.outerStride()));
#else
  if (accumulate) {
    y.noalias() += x * w.transpose();
  } else {
    y.noalias() = x * w.transpose();
  }
#endif
}

/// Y (+)= X W^T on BLAS or Eigen, for processors that we have no kernel for; the shapes fit and none is
/// empty.
inline void multiply_portable(const const_matrix_ref& x, const stored_matrix& w, matrix_ref y,
                              bool accumulate) {
#ifdef ICLMECH_USE_CBLAS
  // Our threads each call BLAS for a part; its own threads would only compete with them.
  static const bool one_thread = (openblas_set_num_threads(1), true);
  static_cast<void>(one_thread);
#endif
  constexpr index chunk = 64;
  parallel_for((w.rows + chunk - 1) / chunk, threads_for(x.rows() * w.rows * w.cols), [&](index i) {
    const index first = i * chunk, count = std::min(chunk, w.rows - first);
    static thread_local std::vector<float> decoded;
    const index room = stored_matrix::decoded_size(w.cols);
    if (decoded.size() < static_cast<std::size_t>(chunk * room))
      decoded.resize(static_cast<std::size_t>(chunk * room));
    if (w.is_dense() && w.row_order == nullptr) {
      const const_matrix_view rows(w.read(first, 0, w.cols, nullptr), count, w.cols,
                                   Eigen::OuterStride<>(w.row_bytes / static_cast<index>(sizeof(float))));
      return multiply_dense(x, rows, y.middleCols(first, count), accumulate);
    }
    for (index j = 0; j < count; ++j) {
      float* const target = decoded.data() + j * w.cols;
      const float* const values = w.read(first + j, 0, w.cols, target);
      if (values != target) std::copy_n(values, w.cols, target);
    }
    multiply_dense(x, const_matrix_view(decoded.data(), count, w.cols, Eigen::OuterStride<>(w.cols)),
                   y.middleCols(first, count), accumulate);
  });
}

inline void multiply(const const_matrix_ref& x, const stored_matrix& w, matrix_ref y, bool accumulate) {
  check_product_shapes(x, w.rows, w.cols, y);
  if (x.rows() == 0 || w.rows == 0) return;
  if (w.cols == 0) {
    if (!accumulate) y.setZero();
    return;
  }
#ifdef ICLMECH_HAS_AVX2_KERNELS
  if (avx2::has_avx2()) return avx2::multiply(x, w, y, accumulate);
#endif
  multiply_portable(x, w, y, accumulate);
}

}  // namespace detail

/// Y = X W^T, or Y += X W^T with `accumulate`. Shapes: X [rows x in], W [out x in] (the Hugging Face layout
/// of a linear layer), Y [rows x out]. Y must not overlap X or W.
/// @throws argument_error if the shapes do not fit.
inline void multiply_transposed(const const_matrix_ref& x, const const_matrix_ref& w, matrix_ref y,
                                bool accumulate = false) {
  detail::multiply(x, detail::stored_matrix::of(w), y, accumulate);
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_GEMM_HPP
