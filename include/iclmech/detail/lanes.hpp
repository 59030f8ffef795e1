#ifndef ICLMECH_DETAIL_LANES_HPP
#define ICLMECH_DETAIL_LANES_HPP
// A fixed block of neighbouring channels that kernels carry through time in registers.

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "iclmech/detail/matrix.hpp"

namespace iclmech::detail {

/// Sixteen floats: one cache line, and two AVX or four SSE registers, enough to hide the latency of an
/// exponential.
inline constexpr index lane_count = 16;
using lane_array = Eigen::Array<float, lane_count, 1>;

/// `width` (at most `lane_count`) floats; the missing lanes are zero.
inline lane_array load_lanes(const float* from, index width) {
  if (width == lane_count) return Eigen::Map<const lane_array>(from);
  lane_array out = lane_array::Zero();
  std::copy_n(from, width, out.data());
  return out;
}

/// Writes the first `width` lanes.
inline void store_lanes(const lane_array& lanes, index width, float* to) {
  if (width == lane_count) {
    Eigen::Map<lane_array>{to} = lanes;
  } else {
    std::copy_n(lanes.data(), width, to);
  }
}

/// Reads a [width x out.size()] row-major block column by column: `out[j]` holds column j, missing lanes
/// zero.
inline void load_transposed(const float* from, index stride, index width, std::vector<lane_array>& out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j].setZero();
    for (index lane = 0; lane < width; ++lane) out[j][lane] = from[lane * stride + static_cast<index>(j)];
  }
}

/// The inverse of `load_transposed`.
inline void store_transposed(const std::vector<lane_array>& in, index stride, index width, float* to) {
  for (std::size_t j = 0; j < in.size(); ++j) {
    for (index lane = 0; lane < width; ++lane) to[lane * stride + static_cast<index>(j)] = in[j][lane];
  }
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_LANES_HPP
