#ifndef ICLMECH_ENGINE_CONFIG_HF_HYMBA_HPP
#define ICLMECH_ENGINE_CONFIG_HF_HYMBA_HPP
// The config.json of Hymba, with the fields of nvidia/Hymba-1.5B-Base.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "iclmech/engine/config/hf_parts.hpp"

namespace iclmech::detail {

/// A list's layer numbers, each checked to be one.
inline int hf_layer_number(const hf_fields& f, const char* name, const nlohmann::json& value, int layers) {
  const int layer = f.convert<int>(name, value);
  if (layer < 0 || layer >= layers)
    f.fail(name, "names layer " + std::to_string(layer) + ", num_hidden_layers is " + std::to_string(layers));
  return layer;
}

/// For every layer the one whose keys and values it reads, or -1.
inline std::vector<int> hf_hymba_key_sources(const hf_fields& f, int layers) {
  std::vector<int> sources(static_cast<std::size_t>(layers), -1);
  if (f.has("kv_reuse_group")) {
    for (const auto& group : f.array("kv_reuse_group")) {
      if (!group.is_array() || group.empty()) f.fail("kv_reuse_group", "must be a list of lists of layers");
      const int source = hf_layer_number(f, "kv_reuse_group", group[0], layers);
      for (std::size_t i = 1; i < group.size(); ++i) {
        const int layer = hf_layer_number(f, "kv_reuse_group", group[i], layers);
        if (layer <= source)
          f.fail("kv_reuse_group", group.dump() + " lets layer " + std::to_string(layer) +
                                       " read the keys of layer " + std::to_string(source) +
                                       ", which does not come before it");
        sources[static_cast<std::size_t>(layer)] = source;
      }
    }
    for (int l = 0; l < layers; ++l)
      if (const int source = sources[static_cast<std::size_t>(l)];
          source >= 0 && sources[static_cast<std::size_t>(source)] >= 0)
        f.fail("kv_reuse_group", "lets layer " + std::to_string(l) + " read the keys of layer " +
                                     std::to_string(source) + ", which reads another layer's itself");
  } else if (const int every = f.integer("kv_reuse_every_i_layer", -1); every > 0) {
    for (int l = 0; l < layers; ++l)
      if (l % every != 0) sources[static_cast<std::size_t>(l)] = l - l % every;
  }
  return sources;
}

inline rope_config hf_hymba_rope(const hf_fields& f, int head_dim) {
  const std::string type = f.text("rope_type", "default");
  if (type != "ntk" && type != "default")
    f.fail("rope_type", "'" + type + "' is not supported: default and ntk are");
  if (head_dim % 2 != 0 || (type == "ntk" && head_dim == 2))
    f.fail("hidden_size / num_attention_heads",
           "is " + std::to_string(head_dim) + ": a rotary embedding needs an even number of channels" +
               (type == "ntk" ? ", with rope_type ntk more than two" : ""));
  rope_config rope;
  rope.head_dim = head_dim;
  rope.theta = f.positive("rope_theta", 10000.0);
  if (type == "ntk") {
    rope.scaling = rope_scaling::ntk;
    rope.max_positions = f.positive("max_position_embeddings");
    rope.original_max_positions = f.positive("orig_max_position_embeddings");
    if (2 * rope.max_positions <= rope.original_max_positions)
      f.fail("max_position_embeddings",
             "is " + f.raw("max_position_embeddings").dump() + ", rope_type ntk needs more than half of " +
                 "orig_max_position_embeddings, which is " + f.raw("orig_max_position_embeddings").dump());
  }
  return rope;
}

inline void read_hf_hymba(const hf_fields& f, model_config& c) {
  const int layers = f.layer_count("num_hidden_layers");
  f.require_supported("num_experts", f.integer("num_experts", 1) == 1, "1");
  f.require_supported("num_mamba", f.integer("num_mamba", 1) == 1, "1");
  f.require_supported("memory_tokens_interspersed_every",
                      f.integer("memory_tokens_interspersed_every", 0) <= 0, "0");
  f.require_supported("kq_norm", f.text("kq_norm", "none") == "none", "\"none\"");

  state_space_config s;
  s.d_inner = hf_inner_width(f, "mamba_expand", c.d_model);
  s.d_state = f.size("mamba_d_state", 16);
  s.d_conv = f.size("mamba_d_conv", 4);
  s.dt_rank = hf_step_rank(f, "mamba_dt_rank", c.d_model);
  s.inner_norms = f.flag("mamba_inner_layernorms", true);
  c.norm_eps = static_cast<float>(f.positive("rms_norm_eps", 1e-6));
  c.memory_tokens = f.count("num_memory_tokens", 0);
  const int d_mlp = f.size("intermediate_size");
  c.gated_mlp = f.text("mlp_hidden_act", "silu") != "relu2";
  if (c.gated_mlp) c.mlp_activation = hf_activation(f, "mlp_hidden_act", "silu");

  c.biases.convolution = hf_bias(f, "mamba_conv_bias");
  c.biases.mixer = hf_bias(f, "mamba_proj_bias");
  c.biases.mlp = fixed_bias(c.arch, false);

  attention_config a = hf_heads(f);
  f.require_divides("num_attention_heads", a.heads, "hidden_size", c.d_model);
  s.heads = a.heads;
  a.d_key = c.d_model / a.heads;
  a.d_value = s.d_inner / a.heads;
  if (f.integer("kq_head_dim", -1) > 0)
    f.require_equal("kq_head_dim", f.integer("kq_head_dim"), "hidden_size / num_attention_heads", a.d_key);
  if (f.integer("v_head_dim", -1) > 0)
    f.require_equal("v_head_dim", f.integer("v_head_dim"), "mamba_expand * hidden_size / num_attention_heads",
                    a.d_value);
  a.scale = static_cast<float>(1.0 / std::sqrt(a.d_key));
  if (f.flag("rope", true)) a.rope = hf_hymba_rope(f, a.d_key);
  a.always_visible = c.memory_tokens;

  std::vector<bool> sliding(static_cast<std::size_t>(layers), f.has("sliding_window"));
  if (f.has("global_attn_idx"))
    for (const auto& value : f.array("global_attn_idx"))
      sliding[static_cast<std::size_t>(hf_layer_number(f, "global_attn_idx", value, layers))] = false;
  const int window = f.count("sliding_window", 0) + 1;  // the window does not count the query itself
  const std::vector<int> sources = hf_hymba_key_sources(f, layers);
  for (std::size_t l = 0; l < sliding.size(); ++l) {
    a.window = sliding[l] ? window : 0;
    a.kv_source = sources[l];
    c.layers.push_back({a, s, d_mlp, -1, -1});
  }
}

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_CONFIG_HF_HYMBA_HPP
