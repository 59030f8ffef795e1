#ifndef ICLMECH_STATE_SPACE_HPP
#define ICLMECH_STATE_SPACE_HPP
// State-space heads seen as attention: how much each earlier position counts at a later one, through the
// state.
//
// A scan S_t = exp(dt_t A) S_{t-1} + dt_t x_t B_t^T, y_t = S_t C_t + D x_t is linear in x for given dt, B and
// C:
//
//   y_t = sum_{s<=t} alpha[t,s] x_s + D x_t,    alpha[t,s] = C_t^T exp(sum_{s<r<=t} dt_r A) B_s dt_s
//
// alpha is the effective attention. It belongs to a head in Mamba-2, where A is one number for each head, and
// to a channel in Mamba-1, where every channel has its own A for each state; a Mamba-1 head (a group of
// neighbouring channels) gets the mean over its channels. Unlike attention, alpha may be negative and its
// rows need not sum to one. Source: "The Hidden Attention of Mamba Models" (arXiv 2403.01590) for Mamba-1;
// for Mamba-2 it is the matrix of "Transformers are SSMs" (arXiv 2405.21060) itself.
//
// Needs Eigen and the standard library alone. Nothing here runs a model.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/require_shape.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// What one head's scan was made of in one run: the values of hook_dt, hook_B and hook_C, and the head's A.
///
/// In Mamba-2 a head has one dt and one A for all its channels and states: dt [T x 1], A [1 x 1]. In Mamba-1
/// each channel has its own: dt [T x d_head], A [d_head x N]. B and C are [T x N] in both.
struct head_scan {
  row_matrix dt, A, B, C;

  index positions() const { return dt.rows(); }
  index states() const { return B.cols(); }
  /// True for the Mamba-2 form, in which the channels share everything but their input.
  bool shared() const { return A.size() == 1 && dt.cols() == 1; }

  /// @throws argument_error if the matrices do not fit each other.
  void check() const {
    detail::require_shape("head scan", "B", B, dt.rows(), B.cols());
    detail::require_shape("head scan", "C", C, dt.rows(), B.cols());
    if (!shared()) detail::require_shape("head scan", "A", A, dt.cols(), B.cols());
  }
};

/// Whether alpha contains the factor dt_s, the step size with which position s was written.
enum class step_factor { included, left_out };

namespace detail {

inline void require_position(const char* function, index position, index positions) {
  if (position >= 0 && position < positions) return;
  throw argument_error(std::string(function) + ": position " + std::to_string(position) + " is outside [0, " +
                       std::to_string(positions) + ")");
}

// Decays this small are taken for none at all: arithmetic on subnormal numbers is slow.
inline void drop_negligible(Eigen::Ref<row_vector> decays) {
  for (float& left : decays) left = left < 1e-30F ? 0.0F : left;
}

// One decay for each row: alpha = (C B^T) times the decays, which are built up row by row.
inline row_matrix shared_attention(const head_scan& scan, step_factor factor) {
  const index T = scan.positions();
  row_matrix alpha = scan.C * scan.B.transpose();
  row_vector left(T);
  for (index t = 0; t < T; ++t) {
    left.head(t) *= std::exp(scan.dt(t, 0) * scan.A(0, 0));
    drop_negligible(left.head(t));
    left[t] = factor == step_factor::included ? scan.dt(t, 0) : 1.0F;
    alpha.row(t).head(t + 1).array() *= left.head(t + 1).array();
    alpha.row(t).tail(T - t - 1).setZero();
  }
  return alpha;
}

// A decay for each channel and state. With the d_head * N pairs side by side, alpha's mean is a product of
// two matrices for any two blocks of rows: what the earlier one left at the start of the later one, and what
// the later one reads of that. Both factors hold decays from earlier to later, so neither overflows.
inline row_matrix mean_channel_attention(const head_scan& scan, step_factor factor) {
  constexpr index block = 64;
  const index T = scan.positions(), channels = scan.dt.cols(), states = scan.states(),
              pairs = channels * states;
  const float share = 1.0F / static_cast<float>(channels);
  row_matrix alpha = row_matrix::Zero(T, T);
  row_matrix left(T, pairs);  // of each earlier position's write, at the position reached
  row_matrix readout(std::min(block, T), pairs);
  row_matrix decay(channels, states);
  row_vector since_start(pairs), read(pairs);
  const Eigen::Map<const row_vector> flat_decay(decay.data(), pairs);

  for (index start = 0; start < T; start += block) {
    const index rows = std::min(block, T - start);
    since_start.setOnes();
    for (index t = start; t < start + rows; ++t) {
      decay = (scan.dt.row(t).transpose().asDiagonal() * scan.A).array().exp();
      since_start.array() *= flat_decay.array();
      drop_negligible(since_start);
      read = share * scan.C.row(t).replicate(1, channels);
      readout.row(t - start) = read.cwiseProduct(since_start);

      left.middleRows(start, t - start).array().rowwise() *= flat_decay.array();
      Eigen::Map<row_matrix> write(left.row(t).data(), channels, states);
      if (factor == step_factor::included) {
        write.noalias() = scan.dt.row(t).transpose() * scan.B.row(t);
      } else {
        write.rowwise() = scan.B.row(t);
      }
      alpha.row(t).segment(start, t - start + 1).noalias() =
          read * left.middleRows(start, t - start + 1).transpose();
    }
    alpha.block(start, 0, rows, start).noalias() = readout.topRows(rows) * left.topRows(start).transpose();
    left.topRows(start).array().rowwise() *= since_start.array();
  }
  return alpha;
}

}  // namespace detail

/// The effective attention of a head, [T x T], [later position, earlier position], zero above the diagonal.
/// For Mamba-1 it is the mean over the head's channels.
/// @throws argument_error if the matrices of `scan` do not fit each other.
inline row_matrix effective_attention(const head_scan& scan, step_factor factor = step_factor::included) {
  scan.check();
  return scan.shared() ? detail::shared_attention(scan, factor)
                       : detail::mean_channel_attention(scan, factor);
}

/// The row of the effective attention at one position, channel by channel: [position + 1 x d_head] for
/// Mamba-1, [position + 1 x 1] for Mamba-2; row s belongs to source position s. Costs one pass over the
/// earlier positions.
/// @throws argument_error if `scan` does not fit together or has no such position.
inline row_matrix channel_attention(const head_scan& scan, index position,
                                    step_factor factor = step_factor::included) {
  scan.check();
  detail::require_position("channel_attention", position, scan.positions());
  row_matrix alpha(position + 1, scan.dt.cols());
  // What C reads at `position` of a state written at s, walked back from `position`.
  row_matrix read = scan.C.row(position).replicate(scan.dt.cols(), 1);
  for (index s = position; s >= 0; --s) {
    alpha.row(s).noalias() = scan.B.row(s) * read.transpose();
    if (factor == step_factor::included) alpha.row(s).array() *= scan.dt.row(s).array();
    if (scan.shared()) {
      read *= std::exp(scan.dt(s, 0) * scan.A(0, 0));
    } else {
      read.array() *= (scan.dt.row(s).transpose().asDiagonal() * scan.A).array().exp();
    }
  }
  return alpha;
}

/// An output of a head at one position, split by where it came from. All parts are linear in the head's
/// channels, so they can be carried on through every linear map that follows (a frozen gate or norm, an
/// output projection, labels' unembedding rows), and keep adding up to the whole.
struct state_attribution {
  row_matrix
      sources;  ///< [position + 1 x k], row s: what position s wrote to the state, as read at the position
  row_vector initial;  ///< [k], the state before the first position
  row_vector skip;     ///< [k], the D skip of the position itself

  /// The whole output.
  row_vector total() const { return sources.colwise().sum() + initial + skip; }

  /// Every channel times a factor [k]: a gate, or a norm with its scale frozen.
  /// @throws argument_error if `factors` has another size.
  state_attribution scaled(const Eigen::Ref<const row_vector>& factors) const {
    detail::require_shape("state_attribution::scaled", "factors", factors, 1, skip.size());
    return {sources * factors.asDiagonal(), initial.cwiseProduct(factors), skip.cwiseProduct(factors)};
  }

  /// Through a matrix [m x k]: W_O^h gives parts of the head's write, W_Y W_O^h parts of its label
  /// coordinates.
  /// @throws argument_error if `map` has another number of columns.
  state_attribution mapped(const const_matrix_ref& map) const {
    detail::require_shape("state_attribution::mapped", "map", map, map.rows(), skip.size());
    return {sources * map.transpose(), initial * map.transpose(), skip * map.transpose()};
  }
};

/// Splits the scan output y of a head at `position` by source. `x` [T x d_head] is the scan's input, `D`
/// [d_head] its skip (in Mamba-2 the head's one value, repeated), `initial_state` [d_head x N] the state
/// before the first position, or empty for zeros.
/// @throws argument_error if the shapes do not fit or there is no such position.
inline state_attribution attribute_to_sources(const head_scan& scan, index position,
                                              const const_matrix_ref& x,
                                              const Eigen::Ref<const row_vector>& D,
                                              const const_matrix_ref& initial_state = row_matrix()) {
  const index channels = scan.shared() ? x.cols() : scan.dt.cols();
  detail::require_shape("attribute_to_sources", "x", x, scan.positions(), channels);
  detail::require_shape("attribute_to_sources", "D", D, 1, channels);
  const row_matrix alpha = channel_attention(scan, position);

  state_attribution result;
  result.skip = D.cwiseProduct(x.row(position));
  result.sources = x.topRows(position + 1);
  if (scan.shared()) {
    result.sources = alpha.col(0).asDiagonal() * result.sources;
  } else {
    result.sources.array() *= alpha.array();
  }
  result.initial.setZero(channels);
  if (initial_state.size() > 0) {
    detail::require_shape("attribute_to_sources", "initial_state", initial_state, channels, scan.states());
    const vector elapsed = scan.dt.topRows(position + 1).colwise().sum().transpose();
    if (scan.shared()) {
      result.initial.noalias() =
          std::exp(elapsed[0] * scan.A(0, 0)) * scan.C.row(position) * initial_state.transpose();
    } else {
      const row_matrix left = (elapsed.asDiagonal() * scan.A).array().exp() * initial_state.array();
      result.initial.noalias() = scan.C.row(position) * left.transpose();
    }
  }
  return result;
}

}  // namespace iclmech

#endif  // ICLMECH_STATE_SPACE_HPP
