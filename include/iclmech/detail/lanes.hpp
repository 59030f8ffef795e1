#ifndef ICLMECH_DETAIL_LANES_HPP
#define ICLMECH_DETAIL_LANES_HPP
// A fixed block of neighbouring channels that kernels carry through time in vector registers.

#include <algorithm>

#include "iclmech/detail/matrix.hpp"

namespace iclmech::detail {

/// One cache line. Loops over `lane_count` floats have no remainder, so compilers turn them into vector code.
inline constexpr int lane_count = 16;

struct lanes {
  alignas(64) float at[lane_count] = {};

  /// `width` (at most `lane_count`) floats; the missing lanes are zero.
  static lanes load(const float* from, index width) {
    lanes out;
    if (width == lane_count) {
      // Not copy_n: its narrower moves would not forward to the full-width loads that follow.
      for (int l = 0; l < lane_count; ++l) out.at[l] = from[l];
    } else {
      std::copy_n(from, width, out.at);
    }
    return out;
  }

  /// Writes the first `width` lanes.
  void store(float* to, index width) const {
    if (width == lane_count) {
      for (int l = 0; l < lane_count; ++l) to[l] = at[l];
    } else {
      std::copy_n(at, width, to);
    }
  }
};

/// The columns of a row-major [width x columns] block, lane = row; missing lanes are zero.
inline void load_columns(const float* from, index stride, index width, index columns, lanes* out) {
  if (width < lane_count) std::fill_n(out, columns, lanes{});
  for (index lane = 0; lane < width; ++lane) {
    for (index j = 0; j < columns; ++j) out[j].at[lane] = from[lane * stride + j];
  }
}

/// The inverse of `load_columns`.
inline void store_columns(const lanes* from, index stride, index width, index columns, float* to) {
  for (index lane = 0; lane < width; ++lane) {
    for (index j = 0; j < columns; ++j) to[lane * stride + j] = from[j].at[lane];
  }
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_LANES_HPP
