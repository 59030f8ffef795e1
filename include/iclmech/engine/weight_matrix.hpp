#ifndef ICLMECH_ENGINE_WEIGHT_MATRIX_HPP
#define ICLMECH_ENGINE_WEIGHT_MATRIX_HPP
// A weight matrix [out x in], as float32 or as its file stores it, and the products the engine takes with it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/engine/gemm.hpp"
#include "iclmech/engine/stored_matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/dtype.hpp"

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
    stored_ = detail::stored_matrix::of(*owned);
    owner_ = std::move(owned);
  }

  /// Uses `data` where it is (a mapped file), kept alive by `owner`: `rows` rows of `cols` elements of that
  /// type. Products decode it panel by panel. Where `row_order` is given, row r of this matrix is stored row
  /// `row_order[r]`.
  /// @throws argument_error if the bytes are not rows times cols elements in whole blocks, the type does not
  /// hold reals, or `row_order` is not a list of `rows` stored rows.
  weight_matrix(dtype type, std::span<const std::byte> data, index rows, index cols,
                std::shared_ptr<const void> owner, std::vector<std::int32_t> row_order = {}) {
    if (!holds_reals(type)) {
      throw argument_error("weight_matrix: " + std::string(name(type)) + " elements are not real numbers");
    }
    const index row_bytes = cols / block_elements(type) * block_bytes(type);
    if (rows < 0 || cols < 0 || cols % block_elements(type) != 0 ||
        static_cast<std::size_t>(rows * row_bytes) != data.size()) {
      throw argument_error("weight_matrix: " + std::to_string(data.size()) + " bytes are not " +
                           std::to_string(rows) + " rows of " + std::to_string(cols) + " elements of " +
                           std::string(name(type)) + ", stored in blocks of " +
                           std::to_string(block_elements(type)));
    }
    stored_ = {.type = type, .data = data.data(), .row_bytes = row_bytes, .rows = rows, .cols = cols};
    owner_ = std::move(owner);
    if (!row_order.empty()) set_row_order(std::move(row_order));
  }

  index rows() const noexcept { return stored_.rows; }
  index cols() const noexcept { return stored_.cols; }

  /// y = x W^T, or y += x W^T. x [n x cols()], y [n x rows()].
  /// @throws argument_error if the shapes do not fit.
  void multiply(const const_matrix_ref& x, matrix_ref y, bool accumulate = false) const {
    detail::multiply(x, stored_, y, accumulate);
  }

  /// As `multiply` with the columns [first, first + x.cols()) of W alone: what these inputs add to the
  /// output.
  /// @throws argument_error if the columns are not there or the shapes do not fit.
  void multiply_columns(index first, const const_matrix_ref& x, matrix_ref y, bool accumulate = false) const {
    if (first < 0 || x.cols() > cols() - first) {
      throw argument_error("weight_matrix: columns " + std::to_string(first) + " to " +
                           std::to_string(first + x.cols()) + " of " + std::to_string(cols()));
    }
    detail::stored_matrix part = stored_;
    part.first_column = first;
    part.cols = x.cols();
    detail::multiply(x, part, y, accumulate);
  }

  /// Writes row `ids[i]` to row i of `out` [ids.size() x cols()]: the embeddings of tokens, or the
  /// unembedding vectors of labels.
  /// @throws argument_error for an id outside [0, rows()), naming it and its place, or a wrong shape of
  /// `out`.
  void gather(std::span<const token_id> ids, matrix_ref out) const {
    if (out.rows() != static_cast<index>(ids.size()) || out.cols() != cols()) {
      throw argument_error("gather: " + std::to_string(ids.size()) + " rows of " + std::to_string(cols()) +
                           " values do not fit into a " + std::to_string(out.rows()) + "x" +
                           std::to_string(out.cols()) + " matrix");
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= rows()) {
        throw argument_error("gather: id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                             " is outside [0, " + std::to_string(rows()) + ")");
      }
      copy_row(ids[i], out.row(static_cast<index>(i)).data());
    }
  }

  /// Whether the values lie in memory as float32 in row-major order, so that `dense()` can show them.
  bool is_dense() const noexcept { return stored_.is_dense() && stored_.row_order == nullptr; }

  /// The values as they lie in memory.
  /// @throws argument_error unless `is_dense()`.
  const_matrix_view dense() const {
    if (!is_dense()) {
      throw argument_error("weight_matrix: stored as " + std::string(name(stored_.type)) +
                           (stored_.row_order != nullptr ? " in another order" : "") +
                           ", there is no float32 matrix to look at; use to_dense()");
    }
    return {reinterpret_cast<const float*>(stored_.data), rows(), cols(), Eigen::OuterStride<>(cols())};
  }

  /// A float32 copy.
  row_matrix to_dense() const {
    row_matrix values(rows(), cols());
    detail::parallel_for_ranges(rows(), (1 << 14) / std::max<index>(1, cols()) + 1,
                                [&](index begin, index end) {
                                  for (index r = begin; r < end; ++r) copy_row(r, values.row(r).data());
                                });
    return values;
  }

 private:
  void set_row_order(std::vector<std::int32_t> row_order) {
    const bool fits = static_cast<index>(row_order.size()) == rows() &&
                      std::all_of(row_order.begin(), row_order.end(),
                                  [&](std::int32_t r) { return r >= 0 && static_cast<index>(r) < rows(); });
    if (!fits) {
      throw argument_error("weight_matrix: the row order must list " + std::to_string(rows()) +
                           " stored rows, each from 0 to one less");
    }
    // One owner keeps both the bytes and the order alive.
    auto both = std::make_shared<const std::pair<std::shared_ptr<const void>, std::vector<std::int32_t>>>(
        std::move(owner_), std::move(row_order));
    stored_.row_order = both->second.data();
    owner_ = std::move(both);
  }

  void copy_row(index r, float* target) const {
    if (cols() == 0) return;
    // Rows are whole blocks, so decoding writes no more than the row.
    const float* const values = stored_.read(r, 0, cols(), target);
    if (values != target) std::copy_n(values, cols(), target);
  }

  detail::stored_matrix stored_;
  std::shared_ptr<const void> owner_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_WEIGHT_MATRIX_HPP
