#ifndef ICLMECH_BENCHMARKS_LIBRARY_PRODUCT_HPP
#define ICLMECH_BENCHMARKS_LIBRARY_PRODUCT_HPP
// One matrix product by the linked BLAS, or by Eigen in builds without it: what our own are measured against.

#include "iclmech/engine/weight_matrix.hpp"

/// The number of threads that `library_product` may use.
inline void set_library_threads(int threads) {
#ifdef ICLMECH_USE_CBLAS
  openblas_set_num_threads(threads);
#else
  Eigen::setNbThreads(threads);
#endif
}

/// y = x w^T: x [rows x in], w [out x in], y [rows x out].
inline void library_product(const iclmech::const_matrix_ref& x, const iclmech::row_matrix& w,
                            iclmech::matrix_ref y) {
#ifdef ICLMECH_USE_CBLAS
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(x.rows()),
              static_cast<blasint>(w.rows()), static_cast<blasint>(x.cols()), 1.0F, x.data(),
              static_cast<blasint>(x.outerStride()), w.data(), static_cast<blasint>(w.cols()), 0.0F, y.data(),
              static_cast<blasint>(y.outerStride()));
#else
  y.noalias() = x * w.transpose();
#endif
}

#endif  // ICLMECH_BENCHMARKS_LIBRARY_PRODUCT_HPP
