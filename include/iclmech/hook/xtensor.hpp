#ifndef ICLMECH_HOOK_XTENSOR_HPP
#define ICLMECH_HOOK_XTENSOR_HPP
// Activation views as xtensor expressions: nothing copied, every axis in its place.

#include <span>
#include <string_view>
#include <vector>

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#else
#include <xtensor/xadapt.hpp>
#endif

#include "iclmech/hook/point.hpp"
#include "iclmech/hook/tensor_view.hpp"

namespace iclmech {

/// The view as an xtensor of its rank, over the host's own memory; writable if the view is. It lives as long
/// as the view: until the hook returns.
template <class T>
auto as_xtensor(const tensor_view<T>& view) {
  const int rank = view.rank();
  std::vector<std::size_t> shape(static_cast<std::size_t>(rank));
  std::vector<std::ptrdiff_t> strides(shape.size());
  index stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const auto a = static_cast<std::size_t>(axis);
    shape[a] = static_cast<std::size_t>(view.shape(axis));
    // xtensor wants stride 0 where there is nothing to step over.
    strides[a] = shape[a] == 1 ? 0 : static_cast<std::ptrdiff_t>(axis == 0 ? view.row_stride() : stride);
    stride *= view.shape(axis);
  }
  // xtensor asks for the number of elements here; the strides may lead beyond.
  return xt::adapt(view.data(), static_cast<std::size_t>(stride), xt::no_ownership(), shape, strides);
}

/// Which axis of a point has a name, for xtensor's reducers and slices; -1 if it has none of that name.
constexpr int axis_of(hook point, mixer_kind mixer, std::string_view name) {
  const std::span<const std::string_view> axes = axes_of(point, mixer);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis] == name) return static_cast<int>(axis);
  return -1;
}

}  // namespace iclmech

#endif  // ICLMECH_HOOK_XTENSOR_HPP
