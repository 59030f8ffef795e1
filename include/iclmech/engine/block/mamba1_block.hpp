#ifndef ICLMECH_ENGINE_BLOCK_MAMBA1_BLOCK_HPP
#define ICLMECH_ENGINE_BLOCK_MAMBA1_BLOCK_HPP
// The Mamba-1 mixer: selective scan with a decay per channel and state, gated. Also Hymba's second branch.

#include "iclmech/engine/block/block_parts.hpp"
#include "iclmech/engine/block/scan_driver.hpp"
#include "iclmech/engine/selective_scan.hpp"

namespace iclmech {

/// What a Mamba-1 mixer has between its input and output projections.
struct mamba1_weights {
  row_matrix conv_weight;          ///< [d_inner x d_conv]
  vector conv_bias;                ///< [d_inner] or empty
  linear x_proj;                   ///< d_inner -> dt_rank + 2 d_state
  linear dt_proj;                  ///< dt_rank -> d_inner, with bias
  row_matrix A;                    ///< [d_inner x d_state], negative
  vector D;                        ///< [d_inner]
  vector dt_norm, B_norm, C_norm;  ///< Hymba's inner norms, or empty
};

namespace detail {

/// Rows of forks, gathered so that one call can step them together, and scattered back.
inline matrix_view gather_rows(activation_buffer& into, const const_matrix_ref& from,
                               std::span<const index> rows) {
  into.shape(static_cast<index>(rows.size()), from.cols());
  matrix_view out = into.rows(static_cast<index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) out.row(static_cast<index>(i)) = from.row(rows[i]);
  return out;
}
inline void scatter_rows(const const_matrix_ref& from, std::span<const index> rows, matrix_ref into) {
  for (std::size_t i = 0; i < rows.size(); ++i) into.row(rows[i]) = from.row(static_cast<index>(i));
}

/// The scan of one Mamba-1 mixer, for scan_driver. All matrices are row-aligned with the pass.
struct selective_kernel {
  workspace& work;
  const mamba1_weights& weights;
  index groups;
  matrix_view x, dt, B, C, y;

  index state_size() const { return weights.A.size(); }
  activation_view state_view(float* state) const {
    return activation_view::contiguous(state, 3, {groups, weights.A.rows() / groups, weights.A.cols()});
  }
  void scan(index first, index rows, float* state) {
    selective_scan(x.middleRows(first, rows), dt.middleRows(first, rows), weights.A,
                   B.middleRows(first, rows), C.middleRows(first, rows), weights.D.data(), state,
                   y.middleRows(first, rows));
  }
  void step_from(const float* state, std::span<const index> rows) {
    auto& g = work.gathered;
    matrix_view out = gather_rows(g[0], x, rows);
    selective_step_from(state, out, gather_rows(g[1], dt, rows), weights.A, gather_rows(g[2], B, rows),
                        gather_rows(g[3], C, rows), weights.D.data(), out);
    scatter_rows(out, rows, y);
  }
  void read_out(index row, const float* state) {
    const Eigen::Map<const row_matrix> S(state, weights.A.rows(), weights.A.cols());
    y.row(row) = x.row(row).cwiseProduct(weights.D.transpose()) + C.row(row) * S.transpose();
  }

  matrix_view decays(index rows) const { return explicit_rows(work.explicit_decay, rows); }
  matrix_view writes(index rows) const { return explicit_rows(work.explicit_write, rows); }
  void make_explicit(index first, index rows) const {
    selective_log_decay(dt.middleRows(first, rows), weights.A, decays(rows));
    selective_writes(x.middleRows(first, rows), dt.middleRows(first, rows), B.middleRows(first, rows),
                     writes(rows));
  }
  activation_view decay_view(index rows) const {
    return activation_view::contiguous(work.explicit_decay.data(), 3,
                                       {rows, weights.A.rows(), weights.A.cols()});
  }
  activation_view write_view(index rows) const {
    return activation_view::contiguous(work.explicit_write.data(), 4,
                                       {rows, groups, weights.A.rows() / groups, weights.A.cols()});
  }
  void scan_explicit(index first, index offset, index rows, float* state) {
    selective_scan_explicit(decays(offset + rows).bottomRows(rows), writes(offset + rows).bottomRows(rows),
                            C.middleRows(first, rows), x.middleRows(first, rows), weights.D.data(), state,
                            y.middleRows(first, rows));
  }

 private:
  matrix_view explicit_rows(aligned_floats& memory, index rows) const {
    const auto needed = static_cast<std::size_t>(rows * state_size());
    if (memory.size() < needed) memory.resize(needed);
    return {memory.data(), rows, state_size(), Eigen::OuterStride<>(state_size())};
  }
};

}  // namespace detail

/// From the two halves of the input projection, `x` and `gate` [rows x d_inner], to the gated output in `z`.
template <hooks H>
void mix_mamba1(forward_pass<H>& pass, int layer, const state_space_config& shape, const mamba1_weights& w,
                matrix_view x, matrix_view gate, activation_buffer& z) {
  constexpr mixer_kind mamba1 = mixer_kind::mamba1;
  workspace& work = pass.work;
  const index rows = x.rows(), N = shape.d_state, R = shape.dt_rank;
  const matrix_view conv = convolve(pass, layer, mamba1, w.conv_weight, w.conv_bias, x);

  work.step_low.shape(pass.capacity(), R + 2 * N);
  w.x_proj.apply(conv, work.step_low.rows(rows), work.scratch);
  matrix_view low = work.step_low.columns(rows, 0, R);
  matrix_view B = work.step_low.columns(rows, R, N), C = work.step_low.columns(rows, R + N, N);
  const auto inner_norm = [&](matrix_view values, const vector& weight) {
    if (weight.size() > 0)
      rms_norm(values, {weight.data(), static_cast<std::size_t>(weight.size())}, pass.config.norm_eps,
               values);
  };
  inner_norm(low, w.dt_norm);
  inner_norm(B, w.B_norm);
  inner_norm(C, w.C_norm);
  work.step.shape(pass.capacity(), shape.d_inner);
  matrix_view dt = work.step.rows(rows);
  w.dt_proj.apply(low, dt, work.scratch);
  softplus({dt.data(), static_cast<std::size_t>(dt.size())});
  pass.template fire<hook::dt>(layer, mamba1, dt);
  pass.template fire<hook::B>(layer, mamba1, B, 1);
  pass.template fire<hook::C>(layer, mamba1, C, 1);

  z.shape(pass.capacity(), shape.d_inner);
  matrix_view y = z.rows(rows);
  detail::selective_kernel kernel{work, w, shape.heads, conv, dt, B, C, y};
  scan_driver(pass, layer, mamba1, kernel).run();
  pass.template fire<hook::recurrence_out>(layer, mamba1, y, shape.heads);
  pass.template fire<hook::gate>(layer, mamba1, gate, shape.heads);
  gated_product(activation::silu, gate, y, y);
}

/// x += out_proj(mamba1(norm(x)))
struct mamba1_block {
  state_space_config shape;
  mamba1_weights weights;
  linear in_proj, out_proj;
  vector norm;

  template <hooks H>
  void run(forward_pass<H>& pass, int layer) const {
    constexpr mixer_kind mamba1 = mixer_kind::mamba1;
    workspace& work = pass.work;
    const index rows = pass.row_count(), inner = shape.d_inner;
    const matrix_view x =
        input_norm<hook::ln1_scale, hook::ln1_normalized>(pass, layer, work.stream.rows(rows), norm);
    work.projected.shape(pass.capacity(), 2 * inner);
    in_proj.apply(x, work.projected.rows(rows), work.scratch);
    pass.template fire<hook::in_proj>(layer, mamba1, work.projected.rows(rows));
    mix_mamba1(pass, layer, shape, weights, work.projected.columns(rows, 0, inner),
               work.projected.columns(rows, inner, inner), work.mixed_ssm);
    project_state_space(pass, layer, mamba1, shape.heads, out_proj);
  }
};

/// The end of a state-space block: forks join at hook_z, the output projection, the sum into the stream.
template <hooks H>
void project_state_space(forward_pass<H>& pass, int layer, mixer_kind mixer, index heads,
                         const linear& projection) {
  workspace& work = pass.work;
  const index joined = pass.join(layer, fork_stage::z, mixer, {&work.mixed_ssm});
  pass.template fire<hook::z>(layer, mixer, work.mixed_ssm.rows(pass.row_count()), heads);
  matrix_view out = project_heads(pass, projection, heads, work.mixed_ssm, joined);
  pass.template fire<hook::mixer_out>(layer, mixer, out);
  work.stream.rows(out.rows()) += out;
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_MAMBA1_BLOCK_HPP
