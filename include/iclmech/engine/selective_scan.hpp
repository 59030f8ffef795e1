#ifndef ICLMECH_ENGINE_SELECTIVE_SCAN_HPP
#define ICLMECH_ENGINE_SELECTIVE_SCAN_HPP
// The Mamba-1 recurrence over one sequence: every channel c has its own N states, each with its own decay.
//
//   S_t[c,n] = exp(dt_t[c] A[c,n]) S_{t-1}[c,n] + dt_t[c] x_t[c] B_t[n]      y_t[c] = sum_n S_t[c,n] C_t[n] +
//   D[c] x_t[c]
//
// Shapes everywhere: x, dt, y [T x C]; A [C x N], negative; B, C [T x N]; D [C]; state [C x N] contiguous.
// Matrices that do not fit each other throw argument_error.

#include <algorithm>

#include "iclmech/detail/fast_exp.hpp"
#include "iclmech/detail/lanes.hpp"
#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/detail/require_shape.hpp"
#include "iclmech/detail/thread_scratch.hpp"

namespace iclmech {

namespace detail {

enum class scan_start { carried, same_state };

/// Channels are the vector lanes: no sums across lanes, and B and C are broadcast scalars.
template <scan_start start>
void selective_scan_block(index first, index width, const const_matrix_ref& x, const const_matrix_ref& dt,
                          const const_matrix_ref& A, const const_matrix_ref& B, const const_matrix_ref& C,
                          const float* D, const float* state_in, float* state_out, matrix_ref& y) {
  const index states = A.cols();
  lanes* const rates = scratch_lanes<struct selective_scan_columns>(2 * states);
  lanes* const state = rates + states;
  load_columns(A.row(first).data(), A.outerStride(), width, states, rates);
  load_columns(state_in + first * states, states, width, states, state);
  const lanes skip = lanes::load(D + first, width);

  for (index t = 0; t < x.rows(); ++t) {
    const lanes input = lanes::load(x.row(t).data() + first, width);
    const lanes step = lanes::load(dt.row(t).data() + first, width);
    lanes drive, out;
    for (int l = 0; l < lane_count; ++l) drive.at[l] = step.at[l] * input.at[l];
    for (int l = 0; l < lane_count; ++l) out.at[l] = skip.at[l] * input.at[l];
    const float *b = B.row(t).data(), *c = C.row(t).data();
    for (index n = 0; n < states; ++n) {
      const lanes& rate = rates[n];
      lanes& kept = state[n];
      const float b_n = b[n], c_n = c[n];
      for (int l = 0; l < lane_count; ++l) {
        const float next = fast_exp(step.at[l] * rate.at[l]) * kept.at[l] + drive.at[l] * b_n;
        out.at[l] += next * c_n;
        if constexpr (start == scan_start::carried) kept.at[l] = next;
      }
    }
    out.store(y.row(t).data() + first, width);
  }
  if constexpr (start == scan_start::carried)
    store_columns(state, states, width, states, state_out + first * states);
}

template <scan_start start>
void selective_scan_all(const const_matrix_ref& x, const const_matrix_ref& dt, const const_matrix_ref& A,
                        const const_matrix_ref& B, const const_matrix_ref& C, const float* D,
                        const float* state_in, float* state_out, matrix_ref& y) {
  const index channels = x.cols();
  require_shape("selective scan", "dt", dt, x.rows(), channels);
  require_shape("selective scan", "A", A, channels, A.cols());
  require_shape("selective scan", "B", B, x.rows(), A.cols());
  require_shape("selective scan", "C", C, x.rows(), A.cols());
  require_shape("selective scan", "y", y, x.rows(), channels);
  const index blocks = (channels + lane_count - 1) / lane_count;
  // A block's row takes about a tenth of a microsecond.
  parallel_for_ranges(blocks, 256 / (x.rows() + 1) + 1, [&](index begin, index end) {
    for (index block = begin; block < end; ++block) {
      const index first = block * lane_count, width = std::min<index>(lane_count, channels - first);
      selective_scan_block<start>(first, width, x, dt, A, B, C, D, state_in, state_out, y);
    }
  });
}

}  // namespace detail

/// Runs the recurrence over all rows. `state` holds S before the first row and afterwards S after the last
/// one, so a sequence may be run in pieces, with the same result to the last bit. `y` includes the D skip and
/// may be `x` itself.
inline void selective_scan(const const_matrix_ref& x, const const_matrix_ref& dt, const const_matrix_ref& A,
                           const const_matrix_ref& B, const const_matrix_ref& C, const float* D, float* state,
                           matrix_ref y) {
  detail::selective_scan_all<detail::scan_start::carried>(x, dt, A, B, C, D, state, state, y);
}

/// One step for each row, all from the same earlier state, which stays as it is: row i of `y` is what
/// `selective_scan` would give for row i alone. The rows are variants of one position.
inline void selective_step_from(const float* state, const const_matrix_ref& x, const const_matrix_ref& dt,
                                const const_matrix_ref& A, const const_matrix_ref& B,
                                const const_matrix_ref& C, const float* D, matrix_ref y) {
  detail::selective_scan_all<detail::scan_start::same_state>(x, dt, A, B, C, D, state, nullptr, y);
}

/// `out[t, c N + n] = dt_t[c] A[c, n]`, the logarithm of what a step keeps of the state; `out` is [T x C*N].
inline void selective_log_decay(const const_matrix_ref& dt, const const_matrix_ref& A, matrix_ref out) {
  detail::require_shape("selective_log_decay", "A", A, dt.cols(), A.cols());
  detail::require_shape("selective_log_decay", "out", out, dt.rows(), A.size());
  for (index t = 0; t < dt.rows(); ++t) {
    matrix_view decay(out.row(t).data(), A.rows(), A.cols(), Eigen::OuterStride<>(A.cols()));
    decay = dt.row(t).transpose().asDiagonal() * A;
  }
}

/// `out[t, c N + n] = dt_t[c] x_t[c] B_t[n]`, what a step adds to the state; `out` is [T x C*N].
inline void selective_writes(const const_matrix_ref& x, const const_matrix_ref& dt, const const_matrix_ref& B,
                             matrix_ref out) {
  detail::require_shape("selective_writes", "dt", dt, x.rows(), x.cols());
  detail::require_shape("selective_writes", "B", B, x.rows(), B.cols());
  detail::require_shape("selective_writes", "out", out, x.rows(), x.cols() * B.cols());
  for (index t = 0; t < x.rows(); ++t) {
    matrix_view write(out.row(t).data(), x.cols(), B.cols(), Eigen::OuterStride<>(B.cols()));
    write.noalias() = x.row(t).cwiseProduct(dt.row(t)).transpose() * B.row(t);
  }
}

/// The recurrence from its explicit terms, for runs in which somebody looks at or edits them: slower and far
/// larger than `selective_scan`. `log_decay` and `writes` are [T x C*N]; the rest is as there.
inline void selective_scan_explicit(const const_matrix_ref& log_decay, const const_matrix_ref& writes,
                                    const const_matrix_ref& C, const const_matrix_ref& x, const float* D,
                                    float* state, matrix_ref y) {
  const index channels = x.cols(), states = C.cols();
  detail::require_shape("selective_scan_explicit", "log_decay", log_decay, x.rows(), channels * states);
  detail::require_shape("selective_scan_explicit", "writes", writes, x.rows(), channels * states);
  detail::require_shape("selective_scan_explicit", "C", C, x.rows(), states);
  detail::require_shape("selective_scan_explicit", "y", y, x.rows(), channels);
  Eigen::Map<row_vector> flat(state, channels * states);
  const Eigen::Map<const row_matrix> by_channel(state, channels, states);
  const Eigen::Map<const row_vector> skip(D, channels);
  for (index t = 0; t < x.rows(); ++t) {
    flat.array() = log_decay.row(t).array().exp() * flat.array() + writes.row(t).array();
    y.row(t) = x.row(t).cwiseProduct(skip);
    y.row(t).noalias() += C.row(t) * by_channel.transpose();
  }
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_SELECTIVE_SCAN_HPP
