#ifndef ICLMECH_ADAPTERS_GGUF_WEIGHTS_HPP
#define ICLMECH_ADAPTERS_GGUF_WEIGHTS_HPP
// The weights of a GGUF file that methods ask a host for, read when they are asked for.

#include <span>
#include <string>
#include <utility>

#include "iclmech/engine/load.hpp"

namespace iclmech {

/// Serves a host whose engine does not hand out weights. The file is mapped, not loaded.
class gguf_weights {
 public:
  /// `mamba1_heads` as in load_options.
  /// @throws file_error if the file is not a GGUF file of a known architecture.
  explicit gguf_weights(const std::string& path, int mamba1_heads = default_channel_groups)
      : config_(read_model_config(path, {weight_storage::packed, mamba1_heads})),
        spec_(model_builder::describe_model(config_)),
        source_(gguf_file(path).tensors(),
                {weight_storage::packed, true, config_.arch == architecture::gemma3, false}),
        state_space_(config_.arch == architecture::mamba || config_.arch == architecture::mamba2),
        unembedding_(source_.weight(config_.tied_embeddings ? embedding_name() : "lm_head.weight",
                                    config_.vocab_size, config_.d_model)) {}

  const model_config& config() const { return config_; }
  /// What the reference engine says of the same file.
  const model_spec& spec() const { return spec_; }

  /// Whether attention's output projections have a bias.
  bool has_attention_bias() const { return source_.has(mixer_name(0) + "o_proj.bias"); }

  /// [ids x d_model].
  row_matrix unembedding(std::span<const token_id> ids) const {
    row_matrix rows(static_cast<index>(ids.size()), config_.d_model);
    unembedding_.gather(ids, rows);
    return rows;
  }

  /// [d_model x heads*d_head], with the gain of a post norm folded in.
  row_matrix output_projection(mixer_id id) const {
    const mixer_spec& mixer = spec_.mixer(id.layer, id.mixer);
    const std::string name = mixer_name(id.layer) + (state_space_ ? "out_proj.weight" : "o_proj.weight");
    row_matrix w = source_.matrix(name, config_.d_model, mixer.width());
    if (config_.post_norms)
      w.array().colwise() *=
          source_.values(layer_name(id.layer) + "post_attention_layernorm.weight", config_.d_model).array();
    return w;
  }

  row_vector final_norm_gain() const {
    return source_.values(state_space_ ? "backbone.norm_f.weight" : "model.norm.weight", config_.d_model);
  }

 private:
  std::string embedding_name() const {
    return state_space_ ? "backbone.embeddings.weight" : "model.embed_tokens.weight";
  }
  std::string layer_name(int layer) const {
    return (state_space_ ? "backbone.layers." : "model.layers.") + std::to_string(layer) + ".";
  }
  std::string mixer_name(int layer) const {
    return layer_name(layer) + (state_space_ ? "mixer." : "self_attn.");
  }

  model_config config_;
  model_spec spec_;
  weight_source source_;
  bool state_space_;
  weight_matrix unembedding_;
};

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_GGUF_WEIGHTS_HPP
