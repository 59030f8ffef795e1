#ifndef ICLMECH_ADAPTERS_GGUF_DESCRIPTION_HPP
#define ICLMECH_ADAPTERS_GGUF_DESCRIPTION_HPP
// What adapters need to know of the model in a GGUF file, whether the reference engine knows its kind or not.

#include <optional>
#include <string>

#include "iclmech/engine/load.hpp"

namespace iclmech {

/// A model as its GGUF file describes it, but for what a host has to say of itself (observable points).
struct gguf_description {
  model_spec spec;
  float norm_eps = 0.0F;
  std::optional<float> residual_scale;  ///< what mixers and MLPs put out is multiplied by it (Granite)
  float logit_scale = 1.0F;             ///< the logits are multiplied by it
  bool post_norms = false;              ///< a norm stands between a mixer and the stream (Gemma 3)
  bool attention_output_bias = false;
  bool gated_norm = false;  ///< a norm stands between the gate and the output projection of Mamba-2 mixers
};

namespace detail {

/// Fills in what only the list of tensors tells.
inline void describe_tensors(const tensor_file& tensors, gguf_description& d) {
  for (int layer = 0; layer < d.spec.layer_count(); ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    if (tensors.find(block + "attn_output.bias") != nullptr) d.attention_output_bias = true;
    if (tensors.find(block + "ssm_norm.weight") != nullptr) d.gated_norm = true;
  }
}

}  // namespace detail

/// Describes a file whose architecture the reference engine knows. `mamba1_heads` as in load_options.
/// @throws file_error naming the key that is missing or does not fit.
inline gguf_description describe_engine_gguf(const gguf_file& file, int mamba1_heads) {
  const model_config config = read_model_config(file.path(), {weight_storage::packed, mamba1_heads});
  gguf_description d;
  d.spec = model_builder::describe_model(config);
  d.norm_eps = config.norm_eps;
  d.post_norms = config.post_norms;
  detail::describe_tensors(file.tensors(), d);
  return d;
}

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_GGUF_DESCRIPTION_HPP
