#ifndef ICLMECH_ENGINE_SSD_SCAN_HPP
#define ICLMECH_ENGINE_SSD_SCAN_HPP
// The Mamba-2 recurrence over one sequence, in blocks of time so that it runs as matrix products.
//
//   S_t[h,p,n] = exp(dt_t[h] A[h]) S_{t-1}[h,p,n] + dt_t[h] x_t[h,p] B_t[g,n]
//   y_t[h,p]   = sum_n S_t[h,p,n] C_t[g,n] + D[h] x_t[h,p]                        g = h / (H / G)
//
// Shapes everywhere: x, y [T x H*P]; dt [T x H]; A, D [H], A negative; B, C [T x G*N]; state [H x P x N]
// contiguous. Matrices that do not fit each other throw argument_error.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/detail/require_shape.hpp"
#include "iclmech/detail/thread_scratch.hpp"

namespace iclmech {

/// The sizes of a Mamba-2 mixer's scan; `groups` divides `heads`.
struct ssd_shape {
  index heads = 0;       ///< H
  index head_size = 0;   ///< P, channels of a head
  index groups = 1;      ///< G, sets of B and C shared by H/G neighbouring heads
  index state_size = 0;  ///< N

  index group_of(index head) const { return head / (heads / groups); }
};

namespace detail {

inline void check_ssd(const ssd_shape& shape, const const_matrix_ref& x, const const_matrix_ref& dt,
                      const const_matrix_ref& B, const const_matrix_ref& C, const const_matrix_ref& y) {
  require_shape("ssd scan", "x", x, x.rows(), shape.heads * shape.head_size);
  require_shape("ssd scan", "dt", dt, x.rows(), shape.heads);
  require_shape("ssd scan", "B", B, x.rows(), shape.groups * shape.state_size);
  require_shape("ssd scan", "C", C, x.rows(), shape.groups * shape.state_size);
  require_shape("ssd scan", "y", y, x.rows(), shape.heads * shape.head_size);
}

/// `a * b`, or 0 if that is below 1e-30: so little of a write cannot matter in float32, and arithmetic on
/// subnormal numbers is slow. Compared as integers, which order magnitudes alike: compilers make vector code
/// of that.
inline float fade(float a, float b) {
  const auto bits = std::bit_cast<std::int32_t>(a * b);
  return std::bit_cast<float>((bits & 0x7fffffff) < std::bit_cast<std::int32_t>(1e-30F) ? 0 : bits);
}

/// What is left, within a block of rows, of each row's write and of the state before the block. Built from
/// products of the steps' decays, which lie in [0, 1]: nothing overflows, and no large sums of logarithms are
/// subtracted from each other.
class block_decay {
 public:
  /// Blocks of at most `rows` rows, in `memory` for 2 * rows floats.
  block_decay(index rows, float* memory) : left_(memory, rows), since_start_(memory + rows, rows) {}

  /// `weights(t, s) = scores(t, s) * dt_s exp(sum_{s<r<=t} dt_r A)` for s <= t; above the diagonal they stay.
  template <class Steps>
  void apply(const Steps& dt, float A, const float* scores, index score_stride, float* weights,
             index weight_stride) {
    float all = 1.0F;
    float* left = left_.data();
    for (index t = 0; t < dt.size(); ++t, scores += score_stride, weights += weight_stride) {
      const float decay = std::exp(dt[t] * A);
      for (index s = 0; s < t; ++s) left[s] = fade(left[s], decay);
      left[t] = dt[t];
      for (index s = 0; s <= t; ++s) weights[s] = scores[s] * left[s];
      since_start_[t] = all = fade(all, decay);
    }
  }

  /// After `apply`: what is left at the block's last row of each row's write, its dt included.
  auto at_end(index rows) const { return left_.head(rows); }
  /// After `apply`: what is left at each row of the state before the block.
  auto since_start(index rows) const { return since_start_.head(rows); }

 private:
  Eigen::Map<vector> left_, since_start_;
};

inline void ssd_single_step(const ssd_shape& shape, const const_matrix_ref& x, const const_matrix_ref& dt,
                            const float* A, const const_matrix_ref& B, const const_matrix_ref& C,
                            const float* D, float* state, matrix_ref& y) {
  for (index h = 0; h < shape.heads; ++h) {
    const index g = shape.group_of(h), P = shape.head_size, N = shape.state_size;
    const float decay = std::exp(dt(0, h) * A[h]), step = dt(0, h);
    Eigen::Map<row_matrix> S(state + h * P * N, P, N);
    const auto b = B.row(0).segment(g * N, N), c = C.row(0).segment(g * N, N);
    for (index p = 0; p < P; ++p) {
      const float input = x(0, h * P + p);
      S.row(p) = decay * S.row(p) + (step * input) * b;
      y(0, h * P + p) = S.row(p).dot(c) + D[h] * input;
    }
  }
}

}  // namespace detail

/// Runs the recurrence over all rows, `chunk` rows at a time. `state` holds S before the first row and
/// afterwards S after the last one, so a sequence may be run in pieces. `y` includes the D skip and must not
/// overlap `x`.
inline void ssd_scan(const ssd_shape& shape, const const_matrix_ref& x, const const_matrix_ref& dt,
                     const float* A, const const_matrix_ref& B, const const_matrix_ref& C, const float* D,
                     float* state, matrix_ref y, index chunk = 64) {
  detail::check_ssd(shape, x, dt, B, C, y);
  const index T = x.rows(), P = shape.head_size, N = shape.state_size, G = shape.groups;
  if (T == 0) return;
  if (T == 1) return detail::ssd_single_step(shape, x, dt, A, B, C, D, state, y);

  const int threads = detail::threads_for(T * shape.heads * P * N);
  // C_t . B_s inside each chunk, once per group: its heads differ only in the decays.
  chunk = std::clamp<index>(chunk, 1, T);
  matrix_view scores(detail::scratch_floats<struct ssd_scores>(T * G * chunk), T, G * chunk,
                     Eigen::OuterStride<>(G * chunk));
  detail::parallel_for((T + chunk - 1) / chunk, threads, [&](index block) {
    const index start = block * chunk, rows = std::min(chunk, T - start);
    for (index g = 0; g < G; ++g) {
      scores.block(start, g * chunk, rows, rows).noalias() =
          C.block(start, g * N, rows, N) * B.block(start, g * N, rows, N).transpose();
    }
  });

  detail::parallel_for(shape.heads, threads, [&](index h) {
    const index g = shape.group_of(h);
    Eigen::Map<row_matrix> S(state + h * P * N, P, N);
    const index wide = std::max(N, P);
    float* const memory = detail::scratch_floats<struct ssd_block>(chunk * (2 + chunk + wide));
    detail::block_decay decay(chunk, memory);
    Eigen::Map<row_matrix> weights(memory + 2 * chunk, chunk, chunk);
    Eigen::Map<row_matrix> faded(memory + chunk * (2 + chunk), chunk, wide);
    for (index start = 0; start < T; start += chunk) {
      const index rows = std::min(chunk, T - start);
      const auto inputs = x.block(start, h * P, rows, P);
      auto outputs = y.block(start, h * P, rows, P);
      decay.apply(dt.col(h).segment(start, rows), A[h], scores.row(start).data() + g * chunk, scores.cols(),
                  weights.data(), chunk);
      outputs = D[h] * inputs;
      outputs.noalias() += weights.topLeftCorner(rows, rows).triangularView<Eigen::Lower>() * inputs;
      auto readout = faded.topLeftCorner(rows, N);
      readout = decay.since_start(rows).asDiagonal() * C.block(start, g * N, rows, N);
      outputs.noalias() += readout * S.transpose();
      auto kept = faded.topLeftCorner(rows, P);
      kept = decay.at_end(rows).asDiagonal() * inputs;
      S *= decay.since_start(rows)[rows - 1];
      S.noalias() += kept.transpose() * B.block(start, g * N, rows, N);
    }
  });
}

/// One step for each row, all from the same earlier state, which stays as it is: row i of `y` is what
/// `ssd_scan` would give for row i alone. The rows are variants of one position, so that a head reads its
/// state out for all of them in one product. `y` must not overlap `x`.
inline void ssd_step_from(const ssd_shape& shape, const float* state, const const_matrix_ref& x,
                          const const_matrix_ref& dt, const float* A, const const_matrix_ref& B,
                          const const_matrix_ref& C, const float* D, matrix_ref y) {
  detail::check_ssd(shape, x, dt, B, C, y);
  const index P = shape.head_size, N = shape.state_size;
  detail::parallel_for_ranges(shape.heads, 64 / (x.rows() + 1) + 1, [&](index begin, index end) {
    for (index h = begin; h < end; ++h) {
      const Eigen::Map<const row_matrix> S(state + h * P * N, P, N);
      const auto b = B.middleCols(shape.group_of(h) * N, N), c = C.middleCols(shape.group_of(h) * N, N);
      float* const memory = detail::scratch_floats<struct ssd_step>(2 * x.rows());
      Eigen::Map<vector> decay(memory, x.rows()), direct(memory + x.rows(), x.rows());
      decay = (dt.col(h) * A[h]).array().exp();
      direct = dt.col(h).cwiseProduct(b.cwiseProduct(c).rowwise().sum()).array() + D[h];
      auto out = y.middleCols(h * P, P);
      out.noalias() = c * S.transpose();
      out = decay.asDiagonal() * out + direct.asDiagonal() * x.middleCols(h * P, P);
    }
  });
}

/// `out[t, h] = dt_t[h] A[h]`, the logarithm of what a step keeps of the state; `out` is [T x H].
inline void ssd_log_decay(const const_matrix_ref& dt, const float* A, matrix_ref out) {
  detail::require_shape("ssd_log_decay", "out", out, dt.rows(), dt.cols());
  out = dt * Eigen::Map<const vector>(A, dt.cols()).asDiagonal();
}

/// `out[t, (h P + p) N + n] = dt_t[h] x_t[h, p] B_t[g, n]`, what a step adds to the state.
/// `out` is [T x H*P*N].
inline void ssd_writes(const ssd_shape& shape, const const_matrix_ref& x, const const_matrix_ref& dt,
                       const const_matrix_ref& B, matrix_ref out) {
  const index P = shape.head_size, N = shape.state_size;
  detail::check_ssd(shape, x, dt, B, B, x);
  detail::require_shape("ssd_writes", "out", out, x.rows(), shape.heads * P * N);
  for (index t = 0; t < x.rows(); ++t) {
    for (index h = 0; h < shape.heads; ++h) {
      Eigen::Map<row_matrix> write(out.row(t).data() + h * P * N, P, N);
      write.noalias() =
          (dt(t, h) * x.row(t).segment(h * P, P)).transpose() * B.row(t).segment(shape.group_of(h) * N, N);
    }
  }
}

/// The recurrence from its explicit terms, for runs in which somebody looks at or edits them: slower and far
/// larger than `ssd_scan`. `log_decay` is [T x H], `writes` [T x H*P*N]; the rest is as there.
inline void ssd_scan_explicit(const ssd_shape& shape, const const_matrix_ref& log_decay,
                              const const_matrix_ref& writes, const const_matrix_ref& C,
                              const const_matrix_ref& x, const float* D, float* state, matrix_ref y) {
  const index P = shape.head_size, N = shape.state_size;
  detail::check_ssd(shape, x, log_decay, C, C, y);
  detail::require_shape("ssd_scan_explicit", "writes", writes, x.rows(), shape.heads * P * N);
  for (index h = 0; h < shape.heads; ++h) {
    Eigen::Map<row_matrix> S(state + h * P * N, P, N);
    for (index t = 0; t < x.rows(); ++t) {
      S *= std::exp(log_decay(t, h));
      S += Eigen::Map<const row_matrix>(writes.row(t).data() + h * P * N, P, N);
      auto out = y.row(t).segment(h * P, P);
      out = D[h] * x.row(t).segment(h * P, P);
      out.noalias() += C.row(t).segment(shape.group_of(h) * N, N) * S.transpose();
    }
  }
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_SSD_SCAN_HPP
