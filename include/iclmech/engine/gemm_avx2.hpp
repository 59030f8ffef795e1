#ifndef ICLMECH_ENGINE_GEMM_AVX2_HPP
#define ICLMECH_ENGINE_GEMM_AVX2_HPP
// X W^T around the AVX2 kernels: what is decoded when, what stays in which cache, and which thread does it.
//
// For each panel of 16 rows of W and each piece of at most 384 columns, the panel is decoded and interleaved
// into the first-level cache (24 KiB) once and then meets all rows of X, whose piece comes from the second
// level. Meanwhile the bytes of the next panel are fetched. A quantised matrix thus costs one decoding per
// product, and is read from memory in its stored size.

#include "iclmech/engine/kernels_avx2.hpp"

#ifdef ICLMECH_HAS_AVX2_KERNELS

#include <algorithm>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/engine/stored_matrix.hpp"

namespace iclmech::detail::avx2 {

inline constexpr index panel_depth = 256;      ///< columns of a piece, whole blocks of every encoding
inline constexpr index max_panel_depth = 384;  ///< the last piece may be this large, so that none is tiny
inline constexpr index max_blocks = 48;        ///< row blocks of a task: 288 KiB of a piece of X
inline constexpr index row_depth = 1024;       ///< columns of a piece when there are few rows of X
inline constexpr index few_rows = 4;           ///< from here on tiles are faster than scalar products
inline constexpr index tasks_per_thread = 4;   ///< so that none waits long for the last one
inline constexpr index fill_grain = 1 << 16;   ///< numbers of X that are worth rearranging in parts

inline index piece(index remaining) { return remaining <= max_panel_depth ? remaining : panel_depth; }

/// Asks for the next panel's bytes, a few cache lines at a time.
class panel_prefetch {
 public:
  panel_prefetch(const stored_matrix& w, index first_row, index column, index depth)
      : w_(w), row_(first_row), last_row_(std::min(first_row + panel_width, w.rows)) {
    const index block = block_elements(w.type);
    const index begin = (w.first_column + column) / block * block_bytes(w.type);
    const index end = (w.first_column + column + depth + block - 1) / block * block_bytes(w.type);
    begin_ = offset_ = begin;
    end_ = end;
  }

  index lines() const { return std::max<index>(0, last_row_ - row_) * ((end_ - begin_) / 64 + 1); }

  void advance(index lines) {
    for (; lines > 0 && row_ < last_row_; --lines) {
      _mm_prefetch(reinterpret_cast<const char*>(w_.row(row_) + offset_), _MM_HINT_T1);
      offset_ += 64;
      if (offset_ >= end_) {
        offset_ = begin_;
        ++row_;
      }
    }
  }

 private:
  const stored_matrix& w_;
  index row_;
  index last_row_;
  index begin_ = 0;
  index end_ = 0;
  index offset_ = 0;
};

/// Decodes a panel: rows first_row .. first_row + 15 of W (zeros beyond the last), `depth` columns from
/// `column`.
inline void decode_panel(const stored_matrix& w, index first_row, index column, index depth, float* panel) {
  constexpr index room = stored_matrix::decoded_size(max_panel_depth);
  alignas(32) float decoded[8 * room];
  alignas(32) static constexpr float zeros[max_panel_depth] = {};
  for (index half = 0; half < panel_width; half += 8) {
    const float* rows[8];
    for (index j = 0; j < 8; ++j) {
      const index r = first_row + half + j;
      rows[j] = r < w.rows ? w.read(r, column, depth, decoded + j * room) : zeros;
    }
    interleave_panel(rows, depth, panel + half);
  }
}

/// X, interleaved for the tiles: one piece of columns after the other, in it one block of 6 rows after the
/// other.
struct interleaved_matrix {
  float* values;
  index rows;
  index cols;

  index blocks() const { return (rows + tile_rows - 1) / tile_rows; }
  index height(index block) const { return std::min(tile_rows, rows - block * tile_rows); }
  float* at(index block, index column, index depth) const {
    return values + (column * blocks() + block * depth) * tile_rows;
  }

  /// Fills the blocks [begin, end) from `x`.
  void fill(const const_matrix_ref& x, index begin, index end) const {
    for (index column = 0, depth = 0; column < cols; column += depth) {
      depth = piece(cols - column);
      for (index b = begin; b < end; ++b) {
        interleave_rows(x.data() + b * tile_rows * x.outerStride() + column, x.outerStride(), height(b),
                        depth, at(b, column, depth));
      }
    }
  }
};

/// The tiles of the row blocks [first_block, last_block) of X with the panels [first_panel, last_panel) of W.
inline void multiply_panels(const interleaved_matrix& x, index first_block, index last_block,
                            const stored_matrix& w, index first_panel, index last_panel, matrix_ref y,
                            bool accumulate) {
  alignas(64) float panel[panel_width * max_panel_depth];
  const index stride = y.outerStride();
  for (index column = 0, depth = 0; column < w.cols; column += depth) {
    depth = piece(w.cols - column);
    const bool add = accumulate || column > 0;
    for (index p = first_panel; p < last_panel; ++p) {
      decode_panel(w, p * panel_width, column, depth, panel);
      panel_prefetch next(w, (p + 1) * panel_width, column, depth);
      const index lines = next.lines() / (last_block - first_block) + 1;
      const index width = std::min(panel_width, w.rows - p * panel_width);
      for (index b = first_block; b < last_block; ++b) {
        next.advance(lines);
        const float* const block = x.at(b, column, depth);
        float* const target = y.data() + b * tile_rows * stride + p * panel_width;
        if (width == panel_width) {
          multiply_tile(block, panel, depth, target, stride, x.height(b), add);
          continue;
        }
        float edge[tile_rows * panel_width];
        multiply_tile(block, panel, depth, edge, panel_width, x.height(b), false);
        for (index r = 0; r < x.height(b); ++r) {
          for (index c = 0; c < width; ++c) {
            target[r * stride + c] = (add ? target[r * stride + c] : 0.0F) + edge[r * panel_width + c];
          }
        }
      }
    }
  }
}

/// Few rows of X with the rows [begin, end) of W.
inline void multiply_rows(const const_matrix_ref& x, const stored_matrix& w, index begin, index end,
                          matrix_ref y, bool accumulate) {
  constexpr index room = stored_matrix::decoded_size(row_depth);
  alignas(32) float decoded[4 * room];
  for (index n = begin; n < end; n += 4) {
    const index width = std::min<index>(4, end - n);
    for (index column = 0, depth = 0; column < w.cols; column += depth) {
      depth = std::min(row_depth, w.cols - column);
      const float* rows[4];
      for (index j = 0; j < 4; ++j) {
        rows[j] = j < width ? w.read(n + j, column, depth, decoded + j * room) : rows[0];
      }
      const bool add = accumulate || column > 0;
      for (index m = 0; m < x.rows(); ++m) {
        float* const target = y.data() + m * y.outerStride() + n;
        float edge[4] = {};
        if (width < 4 && add) std::copy_n(target, width, edge);
        multiply_row(x.data() + m * x.outerStride() + column, rows, depth, width < 4 ? edge : target, add);
        if (width < 4) std::copy_n(edge, width, target);
      }
    }
  }
}

/// Y (+)= X W^T; the shapes fit and none is empty.
inline void multiply(const const_matrix_ref& x, const stored_matrix& w, matrix_ref y, bool accumulate) {
  const int threads = threads_for(x.rows() * w.rows * w.cols);
  if (x.rows() < few_rows) {
    const index quads = (w.rows + 3) / 4;
    const index tasks = std::min<index>(quads, threads == 1 ? 1 : 4 * threads);
    parallel_for(tasks, threads, [&](index i) {
      multiply_rows(x, w, 4 * (quads * i / tasks), std::min(w.rows, 4 * (quads * (i + 1) / tasks)), y,
                    accumulate);
    });
    return;
  }

  static thread_local std::vector<float> memory;
  interleaved_matrix interleaved{nullptr, x.rows(), x.cols()};
  const index blocks = interleaved.blocks();
  const std::size_t needed = static_cast<std::size_t>(blocks * tile_rows * x.cols());
  if (memory.size() < needed) memory.resize(needed);
  interleaved.values = memory.data();
  const index fills = std::clamp<index>(x.size() / fill_grain, 1, threads);
  parallel_for(fills, threads,
               [&](index i) { interleaved.fill(x, blocks * i / fills, blocks * (i + 1) / fills); });

  // A task has no more rows than fit into the second-level cache, and few only where panels are scarce.
  const index panels = (w.rows + panel_width - 1) / panel_width;
  const index groups = std::min<index>(panels, tasks_per_thread * threads);
  const index parts = std::max((blocks + max_blocks - 1) / max_blocks,
                               std::clamp<index>(2 * threads / groups, 1, (blocks + 3) / 4));
  parallel_for(groups * parts, threads, [&](index i) {
    const index g = i / parts, part = i % parts;
    multiply_panels(interleaved, blocks * part / parts, blocks * (part + 1) / parts, w, panels * g / groups,
                    panels * (g + 1) / groups, y, accumulate);
  });
}

}  // namespace iclmech::detail::avx2

#endif  // ICLMECH_HAS_AVX2_KERNELS

#endif  // ICLMECH_ENGINE_GEMM_AVX2_HPP
