#ifndef ICLMECH_ENGINE_BLOCK_HYMBA_BLOCK_HPP
#define ICLMECH_ENGINE_BLOCK_HYMBA_BLOCK_HPP
// Hymba's mixer: attention and Mamba-1 side by side on one input projection, each normed, averaged,
// projected.

#include "iclmech/engine/block/attention_block.hpp"
#include "iclmech/engine/block/mamba1_block.hpp"

namespace iclmech {

/// x += out_proj((norm(attention) + norm(mamba)) / 2). The rows of the input projection are q | k | v | x |
/// gate, and q | x | gate in a layer that reads the keys and values of an earlier one.
struct hymba_block {
  attention_config attention;
  state_space_config shape;
  mamba1_weights mamba;
  linear in_proj, out_proj;
  vector norm, attention_norm, mamba_norm;
  int rope = -1;
  bool lends_keys = false;  ///< a later layer reads this one's keys and values

  template <hooks H>
  void run(forward_pass<H>& pass, int layer) const {
    workspace& work = pass.work;
    const index rows = pass.row_count(), inner = shape.d_inner;
    const matrix_view input =
        input_norm<hook::ln1_scale, hook::ln1_normalized>(pass, layer, work.stream.rows(rows), norm);
    work.projected.shape(pass.capacity(), in_proj.outputs());
    in_proj.apply(input, work.projected.rows(rows), work.scratch);
    pass.template fire<hook::in_proj>(layer, mixer_kind::mamba1, work.projected.rows(rows));
    const bool own = attention.kv_source < 0;
    const index q = index{attention.heads} * attention.d_key;
    const index k = own ? index{attention.kv_heads} * attention.d_key : 0;
    const index v = own ? index{attention.kv_heads} * attention.d_value : 0;

    const matrix_view queries = work.projected.columns(rows, 0, q);
    if (own) {
      matrix_view keys = work.projected.columns(rows, q, k), values = work.projected.columns(rows, q + k, v);
      rotate_and_attend(pass, layer, attention, rope, queries, keys, values);
      if (lends_keys) lend(pass, static_cast<std::size_t>(layer), keys, values);
    } else {
      const auto source = static_cast<std::size_t>(attention.kv_source);
      rotate_and_attend(pass, layer, attention, rope, queries, work.keys[source].rows(rows),
                        work.values[source].rows(rows), false);
    }
    mix_mamba1(pass, layer, shape, mamba, work.projected.columns(rows, q + k + v, inner),
               work.projected.columns(rows, q + k + v + inner, inner), work.mixed_ssm);

    pass.join(layer, fork_stage::z, mixer_kind::mamba1, {&work.mixed, &work.mixed_ssm});
    merge(pass, layer);
    work.block_out.shape(pass.capacity(), out_proj.outputs());
    matrix_view out = work.block_out.rows(pass.row_count());
    out_proj.apply(work.merged.rows(out.rows()), out, work.scratch);
    pass.template fire<hook::mixer_out>(layer, mixer_kind::attention, out);
    work.stream.rows(out.rows()) += out;
  }

 private:
  template <hooks H>
  static void lend(forward_pass<H>& pass, std::size_t layer, const matrix_view& keys,
                   const matrix_view& values) {
    workspace& work = pass.work;
    work.keys[layer].shape(pass.capacity(), keys.cols());
    work.values[layer].shape(pass.capacity(), values.cols());
    work.keys[layer].rows(keys.rows()) = keys;
    work.values[layer].rows(values.rows()) = values;
    pass.keep(work.keys[layer]);
    pass.keep(work.values[layer]);
  }

  // The average of the normed branches, in work.merged. Hooks see each branch before its norm.
  template <hooks H>
  void merge(forward_pass<H>& pass, int layer) const {
    workspace& work = pass.work;
    const index rows = pass.row_count();
    work.merged.shape(pass.capacity(), shape.d_inner);
    matrix_view merged = work.merged.rows(rows);
    const auto branch = [&](mixer_kind mixer, activation_buffer& z, index heads, const vector& weight) {
      pass.template fire<hook::z>(layer, mixer, z.rows(rows), heads);
      normalize(pass, z.rows(rows), weight, z.rows(rows));
      pass.template fire_scalar<hook::write_scale>(
          layer, mixer, [&work](index row) { return work.scale[static_cast<std::size_t>(row)]; });
    };
    branch(mixer_kind::attention, work.mixed, attention.heads, attention_norm);
    branch(mixer_kind::mamba1, work.mixed_ssm, shape.heads, mamba_norm);
    merged = 0.5F * (work.mixed.rows(rows) + work.mixed_ssm.rows(rows));
    pass.template fire<hook::merged>(layer, mixer_kind::attention, merged, attention.heads);
  }
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_HYMBA_BLOCK_HPP
