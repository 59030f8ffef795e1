#ifndef ICLMECH_ENGINE_BLOCK_BLOCK_PARTS_HPP
#define ICLMECH_ENGINE_BLOCK_BLOCK_PARTS_HPP
// The steps that blocks share: norms with their hooks, the heads' output projection, the gated MLP.

#include "iclmech/engine/forward_pass.hpp"
#include "iclmech/engine/linear.hpp"

namespace iclmech {

/// Norm of `x` into `y`. On return `pass.work.scale[r]` is the factor 1 / rms of row r.
template <hooks H>
void normalize(forward_pass<H>& pass, const const_matrix_ref& x, const vector& weight, matrix_ref y) {
  aligned_floats& scale = pass.work.scale;
  const auto rows = static_cast<std::size_t>(x.rows());
  if (scale.size() < rows) scale.resize(rows);
  rms_norm(x, {weight.data(), static_cast<std::size_t>(weight.size())}, pass.config.norm_eps, y,
           pass.config.norm_form, 0, {scale.data(), rows});
}

/// A norm at the input of a block: of the stream (or what stands in for it) into `work.normed`, with its two
/// hooks.
template <hook Scale, hook Normalized, hooks H>
matrix_view input_norm(forward_pass<H>& pass, int layer, const const_matrix_ref& x, const vector& weight) {
  pass.work.normed.shape(pass.capacity(), weight.size());
  matrix_view normed = pass.work.normed.rows(pass.row_count());
  normalize(pass, x, weight, normed);
  pass.template fire_scalar<Scale>(layer, mixer_kind::attention, [&pass](index row) {
    return 1.0F / pass.work.scale[static_cast<std::size_t>(row)];
  });
  pass.template fire<Normalized>(layer, mixer_kind::attention, normed);
  return normed;
}

/// Adds a block's output to the stream, through a post norm where the model has one. `Out` is the hook for
/// what is added. On return `pass.work.scale` holds the post norm's factors.
template <hook Out, hooks H>
void add_to_stream(forward_pass<H>& pass, int layer, const vector& post_norm, matrix_view out) {
  if (post_norm.size() > 0) {
    normalize(pass, out, post_norm, out);
    if constexpr (Out == hook::attn_out)
      pass.template fire_scalar<hook::write_scale>(layer, mixer_kind::attention, [&pass](index row) {
        return pass.work.scale[static_cast<std::size_t>(row)];
      });
  }
  pass.template fire<Out>(layer, mixer_kind::attention, out);
  pass.work.stream.rows(out.rows()) += out;
}

/// Output projection of a mixer's heads, `z` [rows x heads*d_head] to work.block_out. Forks that joined at z
/// (rows from `joined` on) differ from their prompts in few heads: their output is the prompt's plus W_O of
/// the difference.
template <hooks H>
matrix_view project_heads(forward_pass<H>& pass, const linear& projection, index heads, activation_buffer& z,
                          index joined) {
  activation_buffer& out = pass.work.block_out;
  out.shape(pass.capacity(), projection.outputs());
  const index rows = pass.row_count(), d_head = z.width() / heads;
  if (!projection.weight.is_dense()) joined = rows;
  projection.apply(z.rows(joined), out.rows(joined), pass.work.scratch);
  if (joined == rows) return out.rows(rows);

  std::vector<index> prompt_row(static_cast<std::size_t>(rows - joined));
  for (const segment& s : pass.segments()) {
    if (s.first_row < joined) continue;
    const index from = pass.segments()[static_cast<std::size_t>(s.parent)].first_row + s.first_position;
    out.block(s.first_row, s.rows) = out.block(from, s.rows);
    for (index r = 0; r < s.rows; ++r)
      prompt_row[static_cast<std::size_t>(s.first_row + r - joined)] = from + r;
  }
  activation_buffer &difference = pass.work.gathered[0], &change = pass.work.gathered[1];
  difference.shape(rows - joined, d_head);
  change.shape(rows - joined, projection.outputs());
  std::vector<index> changed;
  for (index head = 0; head < heads; ++head) {
    changed.clear();
    for (index row = joined; row < rows; ++row) {
      const auto own = z.block(row, 1).middleCols(head * d_head, d_head);
      const auto before =
          z.block(prompt_row[static_cast<std::size_t>(row - joined)], 1).middleCols(head * d_head, d_head);
      if ((own.array() == before.array()).all()) continue;
      difference.rows(rows - joined).row(static_cast<index>(changed.size())) = own - before;
      changed.push_back(row);
    }
    const index n = static_cast<index>(changed.size());
    if (n == 0) continue;
    multiply_transposed(difference.rows(n), projection.weight.dense().middleCols(head * d_head, d_head),
                        change.rows(n));
    for (index i = 0; i < n; ++i) out.block(changed[static_cast<std::size_t>(i)], 1) += change.block(i, 1);
  }
  return out.rows(rows);
}

/// Weights of an MLP: down(act(gate x) * up x), or down(relu(up x)^2) where `gate` is empty.
struct mlp_weights {
  linear gate, up, down;
  activation act = activation::silu;
};

/// The MLP of `x` into work.block_out, with its inner hooks.
template <hooks H>
matrix_view apply_mlp(forward_pass<H>& pass, int layer, const mlp_weights& w, const const_matrix_ref& x) {
  workspace& work = pass.work;
  const index rows = x.rows(), width = w.up.outputs();
  work.hidden.shape(pass.capacity(), 2 * width);
  matrix_view gate = work.hidden.columns(rows, 0, width), up = work.hidden.columns(rows, width, width);
  w.up.apply(x, up, work.scratch);
  if (w.gate.empty()) {
    pass.template fire<hook::mlp_pre>(layer, mixer_kind::attention, up);
    gate = up.array().max(0.0F).square();
  } else {
    w.gate.apply(x, gate, work.scratch);
    pass.template fire<hook::mlp_pre>(layer, mixer_kind::attention, gate);
    pass.template fire<hook::mlp_pre_linear>(layer, mixer_kind::attention, up);
    gated_product(w.act, gate, up, gate);
  }
  pass.template fire<hook::mlp_post>(layer, mixer_kind::attention, gate);
  work.block_out.shape(pass.capacity(), w.down.outputs());
  matrix_view out = work.block_out.rows(rows);
  w.down.apply(gate, out, work.scratch);
  return out;
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_BLOCK_PARTS_HPP
