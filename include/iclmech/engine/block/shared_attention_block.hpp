#ifndef ICLMECH_ENGINE_BLOCK_SHARED_ATTENTION_BLOCK_HPP
#define ICLMECH_ENGINE_BLOCK_SHARED_ATTENTION_BLOCK_HPP
// Zamba2's shared transformer block: attention and MLP over [stream | embedding], handed to the layer's mamba
// input.

#include "iclmech/engine/block/attention_block.hpp"

namespace iclmech {

/// side = out(mlp(norm(attention(norm([x | x0]))))), without residual connections. Layers that share a block
/// hold copies of its weights (which share memory) with the adapters of their own use.
struct shared_attention_block {
  attention_config shape;
  attention_weights attention;
  mlp_weights mlp;
  linear out;       ///< the layer's own
  vector norm;      ///< [2 d_model]
  vector mlp_norm;  ///< [d_model]

  template <hooks H>
  void run(forward_pass<H>& pass, int layer) const {
    workspace& work = pass.work;
    const index d = pass.config.d_model;
    work.normed.shape(pass.capacity(), 2 * d);
    matrix_view both = work.normed.rows(pass.row_count());
    both.leftCols(d) = work.stream.rows(both.rows());
    both.rightCols(d) = work.embedded.rows(both.rows());
    normalize(pass, both, norm, both);
    const index joined = mix_attention(pass, layer, shape, attention, both);
    pass.template fire<hook::z>(layer, mixer_kind::attention, work.mixed.rows(pass.row_count()), shape.heads);
    const matrix_view attended = project_heads(pass, attention.o, shape.heads, work.mixed, joined);
    pass.template fire<hook::attn_out>(layer, mixer_kind::attention, attended);

    work.normed.shape(pass.capacity(), d);
    matrix_view x = work.normed.rows(attended.rows());
    normalize(pass, attended, mlp_norm, x);
    const matrix_view hidden = apply_mlp(pass, layer, mlp, x);
    pass.template fire<hook::mlp_out>(layer, mixer_kind::attention, hidden);
    work.side.shape(pass.capacity(), d);
    out.apply(hidden, work.side.rows(hidden.rows()), work.scratch);
    pass.template fire<hook::shared_out>(layer, mixer_kind::attention, work.side.rows(hidden.rows()));
  }
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_SHARED_ATTENTION_BLOCK_HPP
