#ifndef ICLMECH_ENGINE_BLOCK_MAMBA2_BLOCK_HPP
#define ICLMECH_ENGINE_BLOCK_MAMBA2_BLOCK_HPP
// The Mamba-2 mixer: a scan with one decay per head, gated, then normed by groups of channels.

#include "iclmech/engine/block/mamba1_block.hpp"
#include "iclmech/engine/ssd_scan.hpp"

namespace iclmech {

/// What a Mamba-2 mixer has between its input and output projections.
struct mamba2_weights {
  row_matrix conv_weight;  ///< [d_inner + 2 groups*d_state x d_conv]
  vector conv_bias;        ///< or empty
  vector dt_bias;          ///< [heads]
  vector A;                ///< [heads], negative
  vector D;                ///< [heads]
  vector gated_norm;       ///< [d_inner]
};

namespace detail {

/// The scan of one Mamba-2 mixer, for scan_driver. All matrices are row-aligned with the pass.
struct ssd_kernel {
  workspace& work;
  const mamba2_weights& weights;
  ssd_shape shape;
  matrix_view x, dt, B, C, y;

  index state_size() const { return shape.heads * shape.head_size * shape.state_size; }
  activation_view state_view(float* state) const {
    return activation_view::contiguous(state, 3, {shape.heads, shape.head_size, shape.state_size});
  }
  void scan(index first, index rows, float* state) {
    ssd_scan(shape, x.middleRows(first, rows), dt.middleRows(first, rows), weights.A.data(),
             B.middleRows(first, rows), C.middleRows(first, rows), weights.D.data(), state,
             y.middleRows(first, rows));
  }
  void step_from(const float* state, std::span<const index> rows) {
    auto& g = work.gathered;
    const matrix_view inputs = gather_rows(g[0], x, rows);
    g[4].shape(inputs.rows(), y.cols());
    matrix_view out = g[4].rows(inputs.rows());
    ssd_step_from(shape, state, inputs, gather_rows(g[1], dt, rows), weights.A.data(),
                  gather_rows(g[2], B, rows), gather_rows(g[3], C, rows), weights.D.data(), out);
    scatter_rows(out, rows, y);
  }
  void read_out(index row, const float* state) {
    for (index h = 0; h < shape.heads; ++h) {
      const Eigen::Map<const row_matrix> S(state + h * shape.head_size * shape.state_size, shape.head_size,
                                           shape.state_size);
      const auto c = C.row(row).segment(shape.group_of(h) * shape.state_size, shape.state_size);
      y.row(row).segment(h * shape.head_size, shape.head_size) =
          weights.D[h] * x.row(row).segment(h * shape.head_size, shape.head_size) + c * S.transpose();
    }
  }

  matrix_view decays(index rows) const { return explicit_rows(work.explicit_decay, rows, shape.heads); }
  matrix_view writes(index rows) const { return explicit_rows(work.explicit_write, rows, state_size()); }
  void make_explicit(index first, index rows) const {
    ssd_log_decay(dt.middleRows(first, rows), weights.A.data(), decays(rows));
    ssd_writes(shape, x.middleRows(first, rows), dt.middleRows(first, rows), B.middleRows(first, rows),
               writes(rows));
  }
  activation_view decay_view(index rows) const {
    return activation_view::contiguous(work.explicit_decay.data(), 2, {rows, shape.heads});
  }
  activation_view write_view(index rows) const {
    return activation_view::contiguous(work.explicit_write.data(), 4,
                                       {rows, shape.heads, shape.head_size, shape.state_size});
  }
  void scan_explicit(index first, index offset, index rows, float* state) {
    ssd_scan_explicit(shape, decays(offset + rows).bottomRows(rows), writes(offset + rows).bottomRows(rows),
                      C.middleRows(first, rows), x.middleRows(first, rows), weights.D.data(), state,
                      y.middleRows(first, rows));
  }

 private:
  static matrix_view explicit_rows(aligned_floats& memory, index rows, index width) {
    const auto needed = static_cast<std::size_t>(rows * width);
    if (memory.size() < needed) memory.resize(needed);
    return {memory.data(), rows, width, Eigen::OuterStride<>(width)};
  }
};

}  // namespace detail

/// From the normed input to the gated, normed output in work.mixed_ssm, with all the mixer's hooks but z.
template <hooks H>
void mix_mamba2(forward_pass<H>& pass, int layer, const state_space_config& shape, const linear& in_proj,
                const mamba2_weights& w, const const_matrix_ref& input) {
  constexpr mixer_kind mamba2 = mixer_kind::mamba2;
  workspace& work = pass.work;
  const index rows = input.rows(), inner = shape.d_inner, bc = index{shape.groups} * shape.d_state;
  work.projected.shape(pass.capacity(), in_proj.outputs());
  in_proj.apply(input, work.projected.rows(rows), work.scratch);
  pass.template fire<hook::in_proj>(layer, mamba2, work.projected.rows(rows));
  matrix_view gate = work.projected.columns(rows, 0, inner);
  const matrix_view conv = convolve(pass, layer, mamba2, w.conv_weight, w.conv_bias,
                                    work.projected.columns(rows, inner, inner + 2 * bc));
  matrix_view x = work.conv.columns(rows, 0, inner);
  matrix_view B = work.conv.columns(rows, inner, bc), C = work.conv.columns(rows, inner + bc, bc);

  work.step.shape(pass.capacity(), shape.heads);
  matrix_view dt = work.step.rows(rows);
  dt = work.projected.columns(rows, inner + conv.cols(), shape.heads).rowwise() + w.dt_bias.transpose();
  softplus({dt.data(), static_cast<std::size_t>(dt.size())});
  dt = dt.array().max(shape.dt_min).min(shape.dt_max);
  pass.template fire<hook::dt>(layer, mamba2, dt);
  pass.template fire<hook::B>(layer, mamba2, B, shape.groups);
  pass.template fire<hook::C>(layer, mamba2, C, shape.groups);

  work.mixed_ssm.shape(pass.capacity(), inner);
  matrix_view y = work.mixed_ssm.rows(rows);
  detail::ssd_kernel kernel{
      work, w, {shape.heads, inner / shape.heads, shape.groups, shape.d_state}, x, dt, B, C, y};
  scan_driver(pass, layer, mamba2, kernel).run();
  pass.template fire<hook::recurrence_out>(layer, mamba2, y, shape.heads);
  pass.template fire<hook::gate>(layer, mamba2, gate, shape.heads);
  gated_product(activation::silu, gate, y, y);
  rms_norm(y, {w.gated_norm.data(), static_cast<std::size_t>(inner)}, shape.norm_eps, y, norm_weight::plain,
           inner / shape.groups);
}

/// x += out_proj(mamba2(norm(x + side))), side being what a shared block of the same layer left (Zamba2).
struct mamba2_block {
  state_space_config shape;
  mamba2_weights weights;
  linear in_proj, out_proj;
  vector norm;
  bool reads_side = false;

  template <hooks H>
  void run(forward_pass<H>& pass, int layer) const {
    workspace& work = pass.work;
    const index rows = pass.row_count();
    if (reads_side) work.side.rows(rows) += work.stream.rows(rows);
    activation_buffer& source = reads_side ? work.side : work.stream;
    const matrix_view x =
        input_norm<hook::ln1_scale, hook::ln1_normalized>(pass, layer, source.rows(rows), norm);
    mix_mamba2(pass, layer, shape, in_proj, weights, x);
    project_state_space(pass, layer, mixer_kind::mamba2, shape.heads, out_proj);
  }
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_MAMBA2_BLOCK_HPP
