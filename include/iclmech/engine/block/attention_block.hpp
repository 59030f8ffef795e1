#ifndef ICLMECH_ENGINE_BLOCK_ATTENTION_BLOCK_HPP
#define ICLMECH_ENGINE_BLOCK_ATTENTION_BLOCK_HPP
// Self-attention as a residual block: norm, queries/keys/values, attention, output projection (Llama, Qwen2,
// Gemma 3).

#include "iclmech/engine/block/attention_core.hpp"
#include "iclmech/engine/block/block_parts.hpp"

namespace iclmech {

/// The projections of an attention mixer. Query and key norms act on each head before the rotary embedding.
struct attention_weights {
  linear q, k, v, o;
  vector q_norm, k_norm;  ///< [d_key] or empty
  int rope = -1;          ///< index of the model's rotary table; -1: none
};

/// From a block's normed input to hook_z in work.mixed. Returns the number of rows before forks joined at z.
template <hooks H>
index mix_attention(forward_pass<H>& pass, int layer, const attention_config& a, const attention_weights& w,
                    const const_matrix_ref& x) {
  workspace& work = pass.work;
  const index rows = x.rows(), q_width = w.q.outputs(), k_width = w.k.outputs(), v_width = w.v.outputs();
  work.projected.shape(pass.capacity(), q_width + k_width + v_width);
  matrix_view q = work.projected.columns(rows, 0, q_width);
  matrix_view k = work.projected.columns(rows, q_width, k_width);
  matrix_view v = work.projected.columns(rows, q_width + k_width, v_width);
  w.q.apply(x, q, work.scratch);
  w.k.apply(x, k, work.scratch);
  w.v.apply(x, v, work.scratch);
  const auto head_norm = [&](matrix_view heads, const vector& weight) {
    if (weight.size() > 0)
      rms_norm(heads, {weight.data(), static_cast<std::size_t>(weight.size())}, pass.config.norm_eps, heads,
               pass.config.norm_form, a.d_key);
  };
  head_norm(q, w.q_norm);
  head_norm(k, w.k_norm);
  rotate_and_attend(pass, layer, a, w.rope, q, k, v);
  return pass.join(layer, fork_stage::z, mixer_kind::attention, {&work.mixed});
}

/// Rotary embedding and attention of ready queries, keys and values into work.mixed, with their hooks.
template <hooks H>
void rotate_and_attend(forward_pass<H>& pass, int layer, const attention_config& a, int rope, matrix_view q,
                       matrix_view k, matrix_view v, bool own_keys = true) {
  constexpr mixer_kind attention = mixer_kind::attention;
  pass.template fire<hook::q>(layer, attention, q, a.heads);
  if (own_keys) {
    pass.template fire<hook::k>(layer, attention, k, a.kv_heads);
    pass.template fire<hook::v>(layer, attention, v, a.kv_heads);
  }
  if (rope >= 0) {
    const rope_table& table = pass.ropes[static_cast<std::size_t>(rope)];
    table.apply(q, pass.positions());
    if (own_keys) table.apply(k, pass.positions());
  }
  pass.template fire<hook::rot_q>(layer, attention, q, a.heads);
  if (own_keys) pass.template fire<hook::rot_k>(layer, attention, k, a.kv_heads);
  pass.work.mixed.shape(pass.capacity(), index{a.heads} * a.d_value);
  attend(pass, layer, a, q, k, v, pass.work.mixed.rows(q.rows()), own_keys);
}

/// x += post_norm(attention(norm(x)))
struct attention_block {
  attention_config shape;
  attention_weights weights;
  vector norm;
  vector post_norm;  ///< empty: none

  template <hooks H>
  void run(forward_pass<H>& pass, int layer) const {
    const matrix_view x = input_norm<hook::ln1_scale, hook::ln1_normalized>(
        pass, layer, pass.work.stream.rows(pass.row_count()), norm);
    const index joined = mix_attention(pass, layer, shape, weights, x);
    pass.template fire<hook::z>(layer, mixer_kind::attention, pass.work.mixed.rows(pass.row_count()),
                                shape.heads);
    const matrix_view out = project_heads(pass, weights.o, shape.heads, pass.work.mixed, joined);
    pass.template fire<hook::mixer_out>(layer, mixer_kind::attention, out);
    add_to_stream<hook::attn_out>(pass, layer, post_norm, out);
  }
};

/// x += post_norm(mlp(norm(x)))
struct mlp_block {
  mlp_weights weights;
  vector norm;
  vector post_norm;  ///< empty: none

  template <hooks H>
  void run(forward_pass<H>& pass, int layer) const {
    pass.join(layer, fork_stage::resid_mid, mixer_kind::attention);
    matrix_view stream = pass.work.stream.rows(pass.row_count());
    pass.template fire<hook::resid_mid>(layer, mixer_kind::attention, stream);
    const matrix_view x = input_norm<hook::ln2_scale, hook::ln2_normalized>(pass, layer, stream, norm);
    add_to_stream<hook::mlp_out>(pass, layer, post_norm, apply_mlp(pass, layer, weights, x));
  }
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_ATTENTION_BLOCK_HPP
