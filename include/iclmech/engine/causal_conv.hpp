#ifndef ICLMECH_ENGINE_CAUSAL_CONV_HPP
#define ICLMECH_ENGINE_CAUSAL_CONV_HPP
// The short causal depthwise convolution that state-space mixers run over time before their scan.

#include <algorithm>

#include "iclmech/detail/fast_exp.hpp"
#include "iclmech/detail/lanes.hpp"
#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/detail/require_shape.hpp"
#include "iclmech/detail/thread_scratch.hpp"

namespace iclmech {

/// `out[t, c] = silu(bias[c] + sum_k weight[c, k] x[t - (K-1) + k, c])`: the last tap meets the current row.
///
/// `x` and `out` are [T x C] and must not overlap; `weight` is [C x K]; `bias` is [C] or null. `past` holds
/// the K-1 rows before `x`, oldest first, [K-1 x C] contiguous; null stands for zeros (the start of a
/// sequence).
/// @throws argument_error if the shapes do not fit.
inline void causal_conv_silu(const const_matrix_ref& x, const float* past, const const_matrix_ref& weight,
                             const float* bias, matrix_ref out) {
  using detail::lane_count, detail::lanes, detail::load_columns;
  const index rows = x.rows(), channels = x.cols(), taps = weight.cols();
  detail::require_shape("causal_conv_silu", "weight", weight, channels, taps);
  detail::require_shape("causal_conv_silu", "out", out, rows, channels);

  const auto convolve_block = [&](index block) {
    const index first = block * lane_count, width = std::min<index>(lane_count, channels - first);
    lanes* const kernel = detail::scratch_lanes<struct causal_conv_kernel>(taps);
    load_columns(weight.row(first).data(), weight.outerStride(), width, taps, kernel);
    const lanes start = bias != nullptr ? lanes::load(bias + first, width) : lanes{};
    for (index t = 0; t < rows; ++t) {
      lanes sum = start;
      for (index k = 0; k < taps; ++k) {
        const index source = t - (taps - 1) + k;
        if (source < 0 && past == nullptr) continue;
        const float* row = source >= 0 ? x.row(source).data() : past + (source + taps - 1) * channels;
        const lanes input = lanes::load(row + first, width);
        for (int l = 0; l < lane_count; ++l) sum.at[l] += kernel[k].at[l] * input.at[l];
      }
      for (int l = 0; l < lane_count; ++l) sum.at[l] /= 1.0F + detail::fast_exp(-sum.at[l]);
      sum.store(out.row(t).data() + first, width);
    }
  };
  const index blocks = (channels + lane_count - 1) / lane_count;
  detail::parallel_for_ranges(blocks, 1024 / (rows + 1) + 1, [&](index begin, index end) {
    for (index block = begin; block < end; ++block) convolve_block(block);
  });
}

/// Moves a convolution's memory past the rows of `x`: `past` [kept_rows x C] becomes the last rows of [past;
/// x].
inline void advance_conv_past(const const_matrix_ref& x, index kept_rows, float* past) {
  const index channels = x.cols(), fresh = std::min(x.rows(), kept_rows), kept = kept_rows - fresh;
  std::copy(past + fresh * channels, past + kept_rows * channels, past);
  for (index row = 0; row < fresh; ++row) {
    const float* source = x.data() + (x.rows() - fresh + row) * x.outerStride();
    std::copy_n(source, channels, past + (kept + row) * channels);
  }
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_CAUSAL_CONV_HPP
