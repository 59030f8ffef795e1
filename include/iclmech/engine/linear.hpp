#ifndef ICLMECH_ENGINE_LINEAR_HPP
#define ICLMECH_ENGINE_LINEAR_HPP
// A linear layer: weight, optional bias, optional low-rank adapter (Zamba2's per-use adapters).

#include "iclmech/detail/matrix.hpp"
#include "iclmech/engine/weight_matrix.hpp"

namespace iclmech {

/// y = W x + b + A_out (A_in x), each part where it exists.
struct linear {
  weight_matrix weight;       ///< [out x in]
  vector bias;                ///< [out] or empty
  weight_matrix adapter_in;   ///< [rank x in] or empty
  weight_matrix adapter_out;  ///< [out x rank] or empty

  index inputs() const { return weight.cols(); }
  index outputs() const { return weight.rows(); }
  bool empty() const { return weight.rows() == 0; }

  /// Applies the layer to every row of x [n x in] into y [n x out]; `scratch` holds the adapter's middle.
  void apply(const const_matrix_ref& x, matrix_ref y, aligned_floats& scratch) const {
    weight.multiply(x, y);
    if (adapter_in.rows() > 0) {
      const auto needed = static_cast<std::size_t>(x.rows() * adapter_in.rows());
      if (scratch.size() < needed) scratch.resize(needed);
      matrix_view middle(scratch.data(), x.rows(), adapter_in.rows(),
                         Eigen::OuterStride<>(adapter_in.rows()));
      adapter_in.multiply(x, middle);
      adapter_out.multiply(middle, y, true);
    }
    if (bias.size() > 0) y.rowwise() += bias.transpose();
  }
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_LINEAR_HPP
