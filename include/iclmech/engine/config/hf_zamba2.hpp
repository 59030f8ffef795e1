#ifndef ICLMECH_ENGINE_CONFIG_HF_ZAMBA2_HPP
#define ICLMECH_ENGINE_CONFIG_HF_ZAMBA2_HPP
// The config.json of Zamba2.

#include <cmath>
#include <string>
#include <vector>

#include "iclmech/engine/config/hf_parts.hpp"

namespace iclmech::detail {

inline state_space_config hf_zamba2_mixer(const hf_fields& f, int d_model) {
  state_space_config s;
  s.d_inner = hf_inner_width(f, "mamba_expand", d_model);
  s.heads = f.size("n_mamba_heads", 8);
  f.require_divides("n_mamba_heads", s.heads, "mamba_expand * hidden_size", s.d_inner);
  if (f.has("mamba_headdim"))
    f.require_equal("n_mamba_heads * mamba_headdim", index{s.heads} * f.size("mamba_headdim"),
                    "mamba_expand * hidden_size", s.d_inner);
  s.groups = f.size("mamba_ngroups", 1);
  f.require_divides("mamba_ngroups", s.groups, "n_mamba_heads", s.heads);
  s.d_state = f.size("mamba_d_state", 64);
  s.d_conv = f.size("mamba_d_conv", 4);
  s.dt_min = static_cast<float>(f.real("time_step_min", 0.001));
  s.norm_eps = 1e-5F;  // whatever rms_norm_eps says
  return s;
}

inline attention_config hf_zamba2_attention(const hf_fields& f, int d_model) {
  attention_config a = hf_heads(f);
  f.require_divides("num_attention_heads", a.heads, "2 * hidden_size", index{2} * d_model);
  a.d_key = a.d_value = 2 * d_model / a.heads;
  if (f.has("attention_head_dim"))
    f.require_equal("attention_head_dim", f.size("attention_head_dim"),
                    "2 * hidden_size / num_attention_heads", a.d_key);
  a.scale = static_cast<float>(1.0 / std::sqrt(a.d_key / 2.0));
  if (f.flag("use_mem_rope", false)) a.rope = hf_rope(f, a.d_key, "2 * hidden_size / num_attention_heads");
  f.require_supported("use_long_context", !f.flag("use_long_context", false), "false");
  return a;
}

inline void read_hf_zamba2(const hf_fields& f, model_config& c) {
  const int layers = f.layer_count("num_hidden_layers");
  const state_space_config s = hf_zamba2_mixer(f, c.d_model);
  const attention_config a = hf_zamba2_attention(f, c.d_model);
  c.norm_eps = static_cast<float>(f.positive("rms_norm_eps", 1e-5));
  c.mlp_activation = hf_activation(f, "hidden_act", "gelu");
  const int d_mlp = f.size("intermediate_size", 4 * c.d_model), blocks = f.size("num_mem_blocks", 1);
  c.adapter_rank = f.size("adapter_rank", 128);
  c.attention_adapters = f.flag("use_shared_attention_adapter", false);

  c.biases.attention_input = c.biases.attention_output = fixed_bias(c.arch, false);
  c.biases.convolution = fixed_bias(c.arch, true);  // whatever use_conv_bias says
  c.biases.mixer = c.biases.mlp = hf_bias(f, "add_bias_linear");

  const auto kinds = f.texts("layers_block_type");
  f.require_equal("the length of layers_block_type", static_cast<index>(kinds.size()), "num_hidden_layers",
                  layers);
  std::vector<int> hybrids;
  for (const std::string& kind : kinds) {
    if (kind == "hybrid") {
      const int use = static_cast<int>(hybrids.size());
      hybrids.push_back(static_cast<int>(c.layers.size()));
      c.layers.push_back({a, s, d_mlp, use % blocks, use});
    } else if (kind == "mamba" || kind == "linear_attention") {
      c.layers.push_back({std::nullopt, s, 0, -1, -1});
    } else {
      f.fail("layers_block_type",
             "'" + kind + "' is not a layer kind: linear_attention (or mamba) and hybrid are");
    }
  }
  if (f.has("hybrid_layer_ids") && hybrids != f.integers("hybrid_layer_ids"))
    f.fail("hybrid_layer_ids", f.raw("hybrid_layer_ids").dump() +
                                   " contradicts layers_block_type, whose hybrid layers are " +
                                   nlohmann::json(hybrids).dump());
  if (static_cast<int>(hybrids.size()) < blocks)
    f.fail("num_mem_blocks", "is " + std::to_string(blocks) + ", but layers_block_type has only " +
                                 std::to_string(hybrids.size()) +
                                 " hybrid layers: the first layer that uses a block holds its weights");
}

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_CONFIG_HF_ZAMBA2_HPP
