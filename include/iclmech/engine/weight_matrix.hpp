#ifndef ICLMECH_ENGINE_WEIGHT_MATRIX_HPP
#define ICLMECH_ENGINE_WEIGHT_MATRIX_HPP
// A weight matrix [out x in] and the products the engine takes with it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/engine/gemm.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// A linear layer's weight, or an embedding matrix: `rows()` outputs (or tokens) times `cols()` inputs.
/// Copies share the values, which never change; all member functions may run on several threads at once.
class weight_matrix {
 public:
  /// An empty matrix, 0 x 0.
  weight_matrix() = default;

  /// Takes over a float32 matrix.
  explicit weight_matrix(row_matrix values) {
    auto owned = std::make_shared<const row_matrix>(std::move(values));
    rows_ = owned->rows();
    cols_ = owned->cols();
    values_ = owned->data();
    owner_ = std::move(owned);
  }

  /// Uses `rows * cols` floats at `values` where they are (a mapped file), which `owner` keeps alive.
  weight_matrix(const float* values, index rows, index cols, std::shared_ptr<const void> owner)
      : rows_(rows), cols_(cols), values_(values), owner_(std::move(owner)) {}

  index rows() const noexcept { return rows_; }
  index cols() const noexcept { return cols_; }

  /// y = x W^T, or y += x W^T. x [n x cols()], y [n x rows()].
  /// @throws argument_error if the shapes do not fit.
  void multiply(const const_matrix_ref& x, matrix_ref y, bool accumulate = false) const {
    multiply_transposed(x, dense(), y, accumulate);
  }

  /// Writes row `ids[i]` to row i of `out` [ids.size() x cols()]: the embeddings of tokens, or the
  /// unembedding vectors of labels.
  /// @throws argument_error for an id outside [0, rows()), naming it and its place, or a wrong shape of
  /// `out`.
  void gather(std::span<const token_id> ids, matrix_ref out) const {
    if (out.rows() != static_cast<index>(ids.size()) || out.cols() != cols_) {
      throw argument_error("gather: " + std::to_string(ids.size()) + " rows of " + std::to_string(cols_) +
                           " values do not fit into a " + std::to_string(out.rows()) + "x" +
                           std::to_string(out.cols()) + " matrix");
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= rows_) {
        throw argument_error("gather: id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                             " is outside [0, " + std::to_string(rows_) + ")");
      }
      out.row(static_cast<index>(i)) = dense().row(ids[i]);
    }
  }

  /// The values as they lie in memory.
  const_matrix_view dense() const { return {values_, rows_, cols_, Eigen::OuterStride<>(cols_)}; }

  /// A float32 copy.
  row_matrix to_dense() const { return dense(); }

 private:
  index rows_ = 0;
  index cols_ = 0;
  const float* values_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_WEIGHT_MATRIX_HPP
