#ifndef ICLMECH_ENGINE_CONFIG_HF_TRANSFORMER_HPP
#define ICLMECH_ENGINE_CONFIG_HF_TRANSFORMER_HPP
// The config.json of Llama, Qwen2 and Gemma 3.

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "iclmech/engine/config/hf_parts.hpp"

namespace iclmech::detail {

/// Which layers see a window only: by list, by Gemma's pattern, or Qwen2's upper layers.
inline std::vector<bool> hf_sliding_layers(const hf_fields& f, architecture arch, int layers) {
  std::vector<bool> sliding(static_cast<std::size_t>(layers), false);
  const bool gemma = arch == architecture::gemma3;
  if (!gemma && !(arch == architecture::qwen2 && f.flag("use_sliding_window", false))) return sliding;
  if (f.has("layer_types")) {
    const auto types = f.texts("layer_types");
    f.require_equal("the length of layer_types", static_cast<index>(types.size()), "num_hidden_layers",
                    layers);
    for (std::size_t l = 0; l < types.size(); ++l) {
      sliding[l] = types[l] == "sliding_attention";
      if (!sliding[l] && types[l] != "full_attention")
        f.fail("layer_types",
               "'" + types[l] + "' is not a layer kind: full_attention and sliding_attention are");
    }
    return sliding;
  }
  const int pattern = f.size("sliding_window_pattern", f.size("_sliding_window_pattern", 6));
  const int first = gemma ? 0 : f.count("max_window_layers", 28);
  for (int l = first; l < layers; ++l)
    sliding[static_cast<std::size_t>(l)] = !gemma || (l + 1) % pattern != 0;
  return sliding;
}

/// The two rotary embeddings of Gemma 3, of full and of sliding layers. Older files scale full layers only.
inline std::pair<rope_config, rope_config> hf_gemma_ropes(const hf_fields& f, int head_dim) {
  const hf_fields both = f.object("rope_parameters");
  if (both.has("full_attention") || both.has("sliding_attention")) {
    const hf_fields full = both.object("full_attention"), sliding = both.object("sliding_attention");
    return {hf_rope(full, full, head_dim, "head_dim", 1e6),
            hf_rope(sliding, sliding, head_dim, "head_dim", 1e4)};
  }
  rope_config local;
  local.head_dim = head_dim;
  local.theta = f.positive("rope_local_base_freq", 1e4);
  return {hf_rope(f, f.object("rope_scaling"), head_dim, "head_dim", 1e6), local};
}

inline void read_hf_transformer(const hf_fields& f, model_config& c) {
  const bool gemma = c.arch == architecture::gemma3;
  const int layers = f.layer_count("num_hidden_layers");
  attention_config a = hf_heads(f);
  if (!f.has("head_dim") && !gemma)
    f.require_divides("num_attention_heads", a.heads, "hidden_size", c.d_model);
  a.d_key = a.d_value = f.size("head_dim", gemma ? 256 : c.d_model / a.heads);
  a.scale = static_cast<float>(1.0 / std::sqrt(gemma ? f.positive("query_pre_attn_scalar", 256.0) : a.d_key));
  a.softcap = static_cast<float>(gemma ? f.positive("attn_logit_softcapping", 0.0) : 0.0);
  c.norm_eps = static_cast<float>(f.positive("rms_norm_eps", 1e-6));
  const int d_mlp = f.size("intermediate_size");
  const bool qwen = c.arch == architecture::qwen2;
  c.biases.attention_input = qwen ? fixed_bias(c.arch, true) : hf_bias(f, "attention_bias");
  c.biases.attention_output = qwen ? fixed_bias(c.arch, false) : hf_bias(f, "attention_bias");
  c.biases.mlp = qwen || gemma ? fixed_bias(c.arch, false) : hf_bias(f, "mlp_bias");

  const std::vector<bool> sliding = hf_sliding_layers(f, c.arch, layers);
  rope_config full, local;
  if (gemma) {
    f.require_supported("use_bidirectional_attention", !f.flag("use_bidirectional_attention", false),
                        "false");
    c.mlp_activation = hf_activation(f, "hidden_activation", "gelu_pytorch_tanh");
    c.logit_softcap = static_cast<float>(f.positive("final_logit_softcapping", 0.0));
    c.norm_form = norm_weight::one_plus;
    c.qk_norm = c.post_norms = true;
    c.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
    std::tie(full, local) = hf_gemma_ropes(f, a.d_key);
  } else {
    c.mlp_activation = hf_activation(f, "hidden_act", "silu");
    full = local = hf_rope(f, a.d_key, f.has("head_dim") ? "head_dim" : "hidden_size / num_attention_heads");
  }
  const int window = f.size("sliding_window", 4096);
  for (const bool windowed : sliding) {
    a.rope = windowed ? local : full;
    a.window = windowed ? window : 0;
    c.layers.push_back({a, std::nullopt, d_mlp, -1, -1});
  }
}

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_CONFIG_HF_TRANSFORMER_HPP
