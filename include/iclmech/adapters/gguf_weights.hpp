#ifndef ICLMECH_ADAPTERS_GGUF_WEIGHTS_HPP
#define ICLMECH_ADAPTERS_GGUF_WEIGHTS_HPP
// The weights of a GGUF file that methods ask a host for, read when they are asked for.

#include <span>
#include <string>
#include <utility>

#include "iclmech/adapters/gguf_hybrids.hpp"

namespace iclmech {

/// Serves a host whose engine does not hand out weights. The file is mapped, not loaded.
class gguf_weights {
 public:
  /// `mamba1_heads` as in load_options.
  /// @throws file_error if the file is not a GGUF file of a known architecture.
  explicit gguf_weights(const std::string& path, int mamba1_heads = default_channel_groups)
      : gguf_weights(gguf_file(path), mamba1_heads) {}

  const gguf_description& description() const { return described_; }
  const model_spec& spec() const { return described_.spec; }

  /// [ids x d_model], what the logits are multiplied by folded in.
  row_matrix unembedding(std::span<const token_id> ids) const {
    row_matrix rows(static_cast<index>(ids.size()), spec().d_model);
    unembedding_.gather(ids, rows);
    if (described_.logit_scale != 1.0F) rows *= described_.logit_scale;
    return rows;
  }

  /// [d_model x heads*d_head], with the gain of a post norm and the scale of outputs folded in.
  row_matrix output_projection(mixer_id id) const {
    const mixer_spec& mixer = spec().mixer(id.layer, id.mixer);
    const std::string block = "blk." + std::to_string(id.layer) + ".";
    row_matrix w =
        source_.matrix(block + (is_state_space(id.mixer) ? "ssm_out.weight" : "attn_output.weight"),
                       spec().d_model, mixer.width());
    if (described_.post_norms)
      w.array().colwise() *= source_.values(block + "post_attention_norm.weight", spec().d_model).array();
    if (described_.residual_scale) w *= *described_.residual_scale;
    return w;
  }

  row_vector final_norm_gain() const { return source_.values("output_norm.weight", spec().d_model); }

 private:
  gguf_weights(gguf_file file, int mamba1_heads)
      : described_(is_hybrid_gguf(file.require<std::string>("general.architecture"))
                       ? describe_hybrid_gguf(file)
                       : describe_engine_gguf(file, mamba1_heads)),
        // Without translation of names: all architectures have the same ones in GGUF.
        source_(std::move(file).tensors(), {weight_storage::packed, false, false, false}),
        unembedding_(source_.weight(source_.any_of({"output.weight", "token_embd.weight"}), spec().vocab_size,
                                    spec().d_model)) {}

  gguf_description described_;
  weight_source source_;
  weight_matrix unembedding_;
};

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_GGUF_WEIGHTS_HPP
