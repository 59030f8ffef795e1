#ifndef ICLMECH_HOOK_TENSOR_VIEW_HPP
#define ICLMECH_HOOK_TENSOR_VIEW_HPP
// A view of an activation in the host's own memory: up to four axes, with strides, nothing copied.

#include <array>
#include <cassert>
#include <type_traits>

#include "iclmech/detail/matrix.hpp"

namespace iclmech {

/// Axes are outermost first. All axes but the first are contiguous: consecutive rows are `row_stride` floats
/// apart. `T` is `float` for views that may be written and `const float` for those that may not.
template <class T>
class tensor_view {
 public:
  using extents = std::array<index, 4>;

  tensor_view(T* data, int rank, const extents& shape, index row_stride)
      : data_(data), rank_(rank), shape_(shape), row_stride_(row_stride) {
    assert(rank >= 1 && rank <= 4);
  }

  /// A contiguous view.
  static tensor_view contiguous(T* data, int rank, const extents& shape) {
    index stride = 1;
    for (int axis = 1; axis < rank; ++axis) stride *= shape[static_cast<std::size_t>(axis)];
    return {data, rank, shape, stride};
  }

  /// Mutable views convert to read-only ones.
  operator tensor_view<const T>() const requires(!std::is_const_v<T>) {
    return {data_, rank_, shape_, row_stride_};
  }

  T* data() const { return data_; }
  int rank() const { return rank_; }
  index shape(int axis) const { return shape_[static_cast<std::size_t>(axis)]; }
  const extents& shape() const { return shape_; }
  index row_stride() const { return row_stride_; }

  /// Number of rows (the first axis) and of values in a row (the product of the others).
  index rows() const { return shape_[0]; }
  index row_size() const {
    index size = 1;
    for (int axis = 1; axis < rank_; ++axis) size *= shape_[static_cast<std::size_t>(axis)];
    return size;
  }

  /// The values of one row; the trailing axes are merged.
  auto row(index r) const {
    using map = Eigen::Map<std::conditional_t<std::is_const_v<T>, const row_vector, row_vector>>;
    assert(r >= 0 && r < rows());
    return map(data_ + r * row_stride_, row_size());
  }

  auto last_row() const { return row(rows() - 1); }

  /// All rows as a matrix; the trailing axes are merged.
  auto matrix() const {
    using map = std::conditional_t<std::is_const_v<T>, const_matrix_view, matrix_view>;
    return map(data_, rows(), row_size(), Eigen::OuterStride<>(row_stride_));
  }

 private:
  T* data_;
  int rank_;
  extents shape_;
  index row_stride_;
};

using activation_view = tensor_view<float>;
using const_activation_view = tensor_view<const float>;

}  // namespace iclmech

#endif  // ICLMECH_HOOK_TENSOR_VIEW_HPP
