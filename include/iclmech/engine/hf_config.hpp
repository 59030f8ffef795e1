#ifndef ICLMECH_ENGINE_HF_CONFIG_HPP
#define ICLMECH_ENGINE_HF_CONFIG_HPP
// Reads a Hugging Face config.json into a model_config, in both spellings that occur in real checkpoints.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "iclmech/engine/model_config.hpp"
#include "iclmech/io/json_file.hpp"

namespace iclmech {
namespace detail {

/// Fields of one JSON object, with errors that name the file and the field.
class hf_fields {
 public:
  hf_fields(std::string path, nlohmann::json object) : path_(std::move(path)), object_(std::move(object)) {
    if (!object_.is_object()) throw file_error(path_, "whole file", "must be a JSON object");
  }

  bool has(const char* name) const { return object_.contains(name) && !object_.at(name).is_null(); }
  const nlohmann::json& raw(const char* name) const { return object_.at(name); }
  const std::string& path() const { return path_; }

  /// The object `name`, or an empty one.
  hf_fields object(const char* name) const {
    if (!has(name)) return {path_, nlohmann::json::object()};
    if (!raw(name).is_object()) fail(name, "must be an object");
    return {path_, raw(name)};
  }

  int integer(const char* name) const { return convert<int>(name, required(name)); }
  int integer(const char* name, int otherwise) const { return has(name) ? integer(name) : otherwise; }
  int layer_count(const char* name) const {
    const int count = integer(name);
    if (count > max_layers) fail(name, "is " + std::to_string(count) + ", more than any model's");
    return count;
  }
  double real(const char* name) const { return convert<double>(name, required(name)); }
  double real(const char* name, double otherwise) const { return has(name) ? real(name) : otherwise; }
  bool flag(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (!raw(name).is_boolean()) fail(name, "must be true or false, it is " + raw(name).dump());
    return raw(name).get<bool>();
  }
  std::string text(const char* name, const std::string& otherwise) const {
    if (!has(name)) return otherwise;
    if (!raw(name).is_string()) fail(name, "must be a string, it is " + raw(name).dump());
    return raw(name).get<std::string>();
  }
  std::vector<int> integers(const char* name) const {
    std::vector<int> values;
    for (const auto& value : array(name)) values.push_back(convert<int>(name, value));
    return values;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> values;
    for (const auto& value : array(name)) {
      if (!value.is_string()) fail(name, "must be a list of strings");
      values.push_back(value.get<std::string>());
    }
    return values;
  }
  const nlohmann::json& array(const char* name) const {
    const nlohmann::json& value = required(name);
    if (!value.is_array()) fail(name, "must be a list, it is " + value.dump());
    return value;
  }

  template <class T>
  T convert(const char* name, const nlohmann::json& value) const {
    if constexpr (std::is_integral_v<T>) {
      if (value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= 1 << 30)
        return value.get<T>();
      if (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) &&
          std::abs(value.get<double>()) <= 1 << 30)
        return static_cast<T>(value.get<double>());
      // Negative values stand for "not set" in some configurations.
      if (value.is_number_integer() && value.get<double>() < 0 && value.get<double>() >= -(1 << 30))
        return value.get<T>();
      fail(name, "must be a whole number, it is " + value.dump());
    } else {
      if (value.is_number()) return value.get<T>();
      if (value.is_object() && value.contains("__float__")) {
        const auto& inner = value.at("__float__");
        if (inner == "Infinity") return std::numeric_limits<T>::infinity();
        if (inner == "-Infinity") return -std::numeric_limits<T>::infinity();
      }
      fail(name, "must be a number, it is " + value.dump());
    }
  }

  [[noreturn]] void fail(const char* name, const std::string& problem) const {
    throw file_error(path_, name, problem);
  }

  /// file_error naming both fields and values unless they are equal.
  void require_equal(const std::string& a, index value_a, const std::string& b, index value_b) const {
    if (value_a != value_b)
      throw file_error(path_, a + " and " + b,
                       "contradict each other: " + a + " is " + std::to_string(value_a) + ", " + b + " is " +
                           std::to_string(value_b));
  }
  void require_divides(const std::string& small, index a, const std::string& large, index b) const {
    if (a <= 0 || b <= 0 || b % a != 0)
      throw file_error(path_, small + " and " + large,
                       "do not fit: " + small + " (" + std::to_string(a) + ") must divide " + large + " (" +
                           std::to_string(b) + ")");
  }

 private:
  const nlohmann::json& required(const char* name) const {
    if (!has(name)) fail(name, "is missing");
    return raw(name);
  }

  std::string path_;
  nlohmann::json object_;
};

/// Rope of one layer kind: `fields` holds rope_theta and, in it or in `scaling`, the scaling.
inline rope_config hf_rope(const hf_fields& fields, const hf_fields& scaling, int head_dim, double theta) {
  rope_config rope;
  rope.head_dim = head_dim;
  rope.theta = fields.real("rope_theta", theta);
  const std::string type = scaling.text("rope_type", scaling.text("type", "default"));
  if (type == "linear") {
    rope.scaling = rope_scaling::linear;
    rope.factor = scaling.real("factor");
  } else if (type == "llama3") {
    rope.scaling = rope_scaling::llama3;
    rope.factor = scaling.real("factor");
    rope.low_freq_factor = scaling.real("low_freq_factor");
    rope.high_freq_factor = scaling.real("high_freq_factor");
    rope.original_max_positions = scaling.real("original_max_position_embeddings");
  } else if (type != "default") {
    scaling.fail("rope_type", "'" + type + "' is not supported: default, linear and llama3 are");
  }
  return rope;
}

/// Rope of a model that has one: `rope_parameters` (new) or `rope_theta` with `rope_scaling` (old).
inline rope_config hf_rope(const hf_fields& f, int head_dim) {
  if (f.has("rope_parameters")) {
    const hf_fields parameters = f.object("rope_parameters");
    return hf_rope(parameters, parameters, head_dim, 10000.0);
  }
  return hf_rope(f, f.object("rope_scaling"), head_dim, 10000.0);
}

inline activation hf_activation(const hf_fields& f, const char* field, const std::string& otherwise) {
  const std::string name = f.text(field, otherwise);
  if (name == "silu" || name == "swish") return activation::silu;
  if (name == "gelu") return activation::gelu_erf;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") return activation::gelu_tanh;
  f.fail(field, "'" + name + "' is not supported: silu, gelu and gelu_pytorch_tanh are");
}

/// Fields of llama, qwen2 and gemma3.
inline void hf_transformer(const hf_fields& f, model_config& c) {
  const bool gemma = c.arch == architecture::gemma3;
  const int layers = f.layer_count("num_hidden_layers"), heads = f.integer("num_attention_heads");
  attention_config a;
  a.heads = heads;
  a.kv_heads = f.integer("num_key_value_heads", heads);
  f.require_divides("num_key_value_heads", a.kv_heads, "num_attention_heads", heads);
  if (!f.has("head_dim") && !gemma) f.require_divides("num_attention_heads", heads, "hidden_size", c.d_model);
  a.d_key = a.d_value = f.integer("head_dim", gemma ? 256 : c.d_model / heads);
  a.scale = static_cast<float>(1.0 / std::sqrt(gemma ? f.real("query_pre_attn_scalar", 256.0) : a.d_key));
  a.softcap = static_cast<float>(f.real("attn_logit_softcapping", 0.0));
  c.norm_eps = static_cast<float>(f.real("rms_norm_eps", 1e-6));
  c.mlp_activation = gemma ? hf_activation(f, "hidden_activation", "gelu_pytorch_tanh")
                           : hf_activation(f, "hidden_act", "silu");
  c.logit_softcap = static_cast<float>(f.real("final_logit_softcapping", 0.0));
  const int d_mlp = f.integer("intermediate_size"), window = f.integer("sliding_window", gemma ? 4096 : 0);

  std::vector<bool> sliding(static_cast<std::size_t>(std::max(0, layers)), false);
  if (gemma) {
    c.norm_form = norm_weight::one_plus;
    c.qk_norm = c.post_norms = true;
    c.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
  }
  if (gemma && f.has("layer_types")) {
    const auto types = f.texts("layer_types");
    f.require_equal("the length of layer_types", static_cast<index>(types.size()), "num_hidden_layers",
                    layers);
    for (std::size_t l = 0; l < types.size(); ++l) sliding[l] = types[l] == "sliding_attention";
  } else if (gemma) {
    const int pattern = f.integer("sliding_window_pattern", f.integer("_sliding_window_pattern", 6));
    if (pattern <= 0) f.fail("sliding_window_pattern", "must be positive");
    for (int l = 0; l < layers; ++l) sliding[static_cast<std::size_t>(l)] = (l + 1) % pattern != 0;
  } else if (f.flag("use_sliding_window", false)) {
    for (int l = f.integer("max_window_layers", 28); l < layers; ++l)
      sliding[static_cast<std::size_t>(l)] = true;
  }

  rope_config full, local;
  if (gemma) {
    const hf_fields both = f.object("rope_parameters");
    if (both.has("full_attention") || both.has("sliding_attention")) {
      const hf_fields on_full = both.object("full_attention"), on_sliding = both.object("sliding_attention");
      full = hf_rope(on_full, on_full, a.d_key, 1e6);
      local = hf_rope(on_sliding, on_sliding, a.d_key, 1e4);
    } else {
      full = hf_rope(f, f.object("rope_scaling"), a.d_key, 1e6);
      local.head_dim = a.d_key;
      local.theta = f.real("rope_local_base_freq", 1e4);
    }
  } else {
    full = local = hf_rope(f, a.d_key);
  }
  for (int l = 0; l < layers; ++l) {
    const bool windowed = sliding[static_cast<std::size_t>(l)];
    a.rope = windowed ? local : full;
    a.window = windowed ? window : 0;
    c.layers.push_back({a, std::nullopt, d_mlp, -1, -1});
  }
}

/// Fields of mamba and mamba2; files of the original state-spaces project name a few of them otherwise.
inline void hf_mamba(const hf_fields& f, model_config& c) {
  const hf_fields ssm = f.object("ssm_cfg");
  const int layers = f.layer_count(f.has("num_hidden_layers") ? "num_hidden_layers" : "n_layer");
  state_space_config s;
  s.d_inner = f.integer("intermediate_size", f.integer("expand", ssm.integer("expand", 2)) * c.d_model);
  if (f.has("intermediate_size") && f.has("expand"))
    f.require_equal("intermediate_size", s.d_inner, "expand * hidden_size",
                    index{f.integer("expand")} * c.d_model);
  s.d_conv = f.integer("conv_kernel", ssm.integer("d_conv", 4));
  c.norm_eps = s.norm_eps = static_cast<float>(f.real("layer_norm_epsilon", 1e-5));
  if (c.arch == architecture::mamba) {
    s.d_state = f.integer("state_size", ssm.integer("d_state", 16));
    s.heads = default_channel_groups;
    s.dt_rank = f.has("time_step_rank") && f.raw("time_step_rank") != "auto" ? f.integer("time_step_rank")
                                                                             : (c.d_model + 15) / 16;
  } else {
    s.d_state = f.integer("state_size", ssm.integer("d_state", 128));
    const int head_dim = f.integer("head_dim", ssm.integer("headdim", 64));
    f.require_divides("head_dim", head_dim, "expand * hidden_size", s.d_inner);
    s.heads = f.integer("num_heads", s.d_inner / head_dim);
    f.require_equal("num_heads * head_dim", index{s.heads} * head_dim, "expand * hidden_size", s.d_inner);
    s.groups = f.integer("n_groups", ssm.integer("ngroups", 1));
    f.require_divides("n_groups", s.groups, "num_heads", s.heads);
    if (f.has("time_step_limit")) {
      const auto& limit = f.array("time_step_limit");
      if (limit.size() != 2) f.fail("time_step_limit", "must have two numbers");
      s.dt_min = f.convert<float>("time_step_limit", limit[0]);
      s.dt_max = f.convert<float>("time_step_limit", limit[1]);
    }
  }
  c.layers.assign(static_cast<std::size_t>(std::max(0, layers)), {std::nullopt, s, 0, -1, -1});
}

inline void hf_zamba2(const hf_fields& f, model_config& c) {
  const int layers = f.layer_count("num_hidden_layers");
  state_space_config s;
  s.d_inner = f.integer("mamba_expand", 2) * c.d_model;
  s.heads = f.integer("n_mamba_heads", 8);
  f.require_divides("n_mamba_heads", s.heads, "mamba_expand * hidden_size", s.d_inner);
  if (f.has("mamba_headdim"))
    f.require_equal("n_mamba_heads * mamba_headdim", index{s.heads} * f.integer("mamba_headdim"),
                    "mamba_expand * hidden_size", s.d_inner);
  s.groups = f.integer("mamba_ngroups", 1);
  f.require_divides("mamba_ngroups", s.groups, "n_mamba_heads", s.heads);
  s.d_state = f.integer("mamba_d_state", 64);
  s.d_conv = f.integer("mamba_d_conv", 4);
  s.dt_min = static_cast<float>(f.real("time_step_min", 0.001));
  s.norm_eps = 1e-5F;
  c.norm_eps = static_cast<float>(f.real("rms_norm_eps", 1e-5));
  c.mlp_activation = hf_activation(f, "hidden_act", "gelu");

  attention_config a;
  a.heads = f.integer("num_attention_heads");
  a.kv_heads = f.integer("num_key_value_heads", a.heads);
  f.require_divides("num_key_value_heads", a.kv_heads, "num_attention_heads", a.heads);
  f.require_divides("num_attention_heads", a.heads, "2 * hidden_size", index{2} * c.d_model);
  a.d_key = a.d_value = 2 * c.d_model / a.heads;
  if (f.has("attention_head_dim"))
    f.require_equal("attention_head_dim", f.integer("attention_head_dim"),
                    "2 * hidden_size / num_attention_heads", a.d_key);
  a.scale = static_cast<float>(1.0 / std::sqrt(a.d_key / 2.0));
  if (f.flag("use_mem_rope", false)) a.rope = hf_rope(f, a.d_key);

  const auto kinds = f.texts("layers_block_type");
  f.require_equal("the length of layers_block_type", static_cast<index>(kinds.size()), "num_hidden_layers",
                  layers);
  const int d_mlp = f.integer("intermediate_size");
  if (d_mlp <= 0) f.fail("intermediate_size", "must be positive");
  c.adapter_rank = f.integer("adapter_rank", 128);
  c.attention_adapters = f.flag("use_shared_attention_adapter", false);
  const int blocks = f.integer("num_mem_blocks", 1);
  if (blocks <= 0) f.fail("num_mem_blocks", "must be positive");
  int hybrids = 0;
  for (const std::string& kind : kinds) {
    if (kind == "hybrid") {
      c.layers.push_back({a, s, d_mlp, hybrids % blocks, hybrids});
      ++hybrids;
    } else if (kind == "mamba" || kind == "linear_attention") {
      c.layers.push_back({std::nullopt, s, 0, -1, -1});
    } else {
      f.fail("layers_block_type",
             "'" + kind + "' is not a layer kind: linear_attention (or mamba) and hybrid are");
    }
  }
  if (f.has("hybrid_layer_ids")) {
    std::vector<int> ids;
    for (std::size_t l = 0; l < c.layers.size(); ++l)
      if (c.layers[l].attention) ids.push_back(static_cast<int>(l));
    if (ids != f.integers("hybrid_layer_ids"))
      f.fail("hybrid_layer_ids", f.raw("hybrid_layer_ids").dump() +
                                     " contradicts layers_block_type, whose hybrid layers are " +
                                     nlohmann::json(ids).dump());
  }
}

/// For every layer the one whose keys and values it reads, or -1.
inline std::vector<int> hymba_kv_sources(const hf_fields& f, int layers) {
  std::vector<int> sources(static_cast<std::size_t>(layers), -1);
  if (f.has("kv_reuse_group")) {
    for (const auto& group : f.array("kv_reuse_group")) {
      if (!group.is_array() || group.empty()) f.fail("kv_reuse_group", "must be a list of lists of layers");
      for (std::size_t i = 1; i < group.size(); ++i) {
        const int layer = f.convert<int>("kv_reuse_group", group[i]);
        if (layer < 0 || layer >= layers)
          f.fail("kv_reuse_group", "names layer " + std::to_string(layer) + " of " + std::to_string(layers));
        int& source = sources[static_cast<std::size_t>(layer)];
        if (source < 0) source = f.convert<int>("kv_reuse_group", group[0]);
      }
    }
  } else if (const int every = f.integer("kv_reuse_every_i_layer", -1); every > 0) {
    for (int l = 0; l < layers; ++l)
      if (l % every != 0) sources[static_cast<std::size_t>(l)] = l - l % every;
  }
  return sources;
}

inline void hf_hymba(const hf_fields& f, model_config& c) {
  const int layers = f.layer_count("num_hidden_layers");
  state_space_config s;
  s.d_inner = f.integer("mamba_expand", 2) * c.d_model;
  s.d_state = f.integer("mamba_d_state", 16);
  s.d_conv = f.integer("mamba_d_conv", 4);
  s.dt_rank = f.has("mamba_dt_rank") && f.raw("mamba_dt_rank") != "auto" ? f.integer("mamba_dt_rank")
                                                                         : (c.d_model + 15) / 16;
  s.inner_norms = f.flag("mamba_inner_layernorms", true);
  c.norm_eps = static_cast<float>(f.real("rms_norm_eps", 1e-6));
  c.memory_tokens = f.integer("num_memory_tokens", 0);
  const std::string act = f.text("mlp_hidden_act", "silu");
  c.gated_mlp = act != "relu2";
  if (c.gated_mlp) c.mlp_activation = hf_activation(f, "mlp_hidden_act", "silu");

  const auto unsupported = [&f](const char* field, bool bad, const char* only) {
    if (bad) f.fail(field, "is " + f.raw(field).dump() + ": only " + only + " is supported");
  };
  unsupported("num_experts", f.integer("num_experts", 1) != 1, "1");
  unsupported("num_mamba", f.integer("num_mamba", 1) != 1, "1");
  unsupported("memory_tokens_interspersed_every", f.integer("memory_tokens_interspersed_every", 0) > 0, "0");
  const std::string kq_norm = f.text("kq_norm", "none");
  unsupported("kq_norm", kq_norm != "none", "\"none\"");

  attention_config a;
  a.heads = s.heads = f.integer("num_attention_heads");
  a.kv_heads = f.integer("num_key_value_heads", a.heads);
  f.require_divides("num_key_value_heads", a.kv_heads, "num_attention_heads", a.heads);
  f.require_divides("num_attention_heads", a.heads, "hidden_size", c.d_model);
  a.d_key = c.d_model / a.heads;
  a.d_value = s.d_inner / a.heads;
  if (f.integer("v_head_dim", -1) > 0)
    f.require_equal("v_head_dim", f.integer("v_head_dim"), "mamba_expand * hidden_size / num_attention_heads",
                    a.d_value);
  a.scale = static_cast<float>(1.0 / std::sqrt(a.d_key));
  if (f.flag("rope", true)) {
    rope_config rope;
    rope.head_dim = a.d_key;
    rope.theta = f.real("rope_theta", 10000.0);
    const std::string type = f.text("rope_type", "default");
    if (type == "ntk") {
      rope.scaling = rope_scaling::ntk;
      rope.max_positions = f.real("max_position_embeddings");
      rope.original_max_positions = f.real("orig_max_position_embeddings");
    } else if (type != "default") {
      f.fail("rope_type", "'" + type + "' is not supported: default and ntk are");
    }
    a.rope = rope;
  }
  const bool windows = f.has("sliding_window") && f.has("global_attn_idx");
  const std::vector<int> global = windows ? f.integers("global_attn_idx") : std::vector<int>{};
  const std::vector<int> sources = hymba_kv_sources(f, layers);
  for (int l = 0; l < layers; ++l) {
    const bool windowed = windows && std::find(global.begin(), global.end(), l) == global.end();
    a.window = windowed ? f.integer("sliding_window") + 1 : 0;
    a.always_visible = c.memory_tokens;
    a.kv_source = sources[static_cast<std::size_t>(l)];
    c.layers.push_back({a, s, f.integer("intermediate_size"), -1, -1});
  }
}

}  // namespace detail

/// Reads `path` (a config.json).
/// @throws file_error naming the field, and both fields and values where two contradict each other.
inline model_config read_hf_config(const std::string& path) {
  const detail::hf_fields f(path, read_json_file(path));
  model_config c;
  std::string type = f.text("model_type", "");
  if (type.empty() && f.has("ssm_cfg"))
    type = f.object("ssm_cfg").text("layer", "Mamba1") == "Mamba2" ? "mamba2" : "mamba";
  if (type == "gemma3_text") type = "gemma3";
  const auto arch = std::find_if(all_architectures.begin(), all_architectures.end(),
                                 [&type](architecture a) { return to_string(a) == type; });
  if (arch == all_architectures.end())
    throw file_error(path, "model_type",
                     "'" + type +
                         "' is not supported: llama, qwen2, gemma3_text, mamba, mamba2, "
                         "zamba2 and hymba are");
  c.arch = *arch;
  c.d_model = f.has("hidden_size") ? f.integer("hidden_size") : f.integer("d_model");
  if (c.d_model <= 0) f.fail(f.has("hidden_size") ? "hidden_size" : "d_model", "must be positive");
  c.vocab_size = f.integer("vocab_size");
  if (const int multiple = f.integer("pad_vocab_size_multiple", 0); multiple > 0 && !f.has("model_type"))
    c.vocab_size = (c.vocab_size + multiple - 1) / multiple * multiple;
  c.tied_embeddings =
      f.flag("tie_word_embeddings",
             f.flag("tie_embeddings", c.arch == architecture::gemma3 || c.arch == architecture::zamba2 ||
                                          c.arch == architecture::mamba));
  c.context_length = f.integer("max_position_embeddings", 0);
  switch (c.arch) {
    case architecture::llama:
    case architecture::qwen2:
    case architecture::gemma3:
      detail::hf_transformer(f, c);
      break;
    case architecture::mamba:
    case architecture::mamba2:
      detail::hf_mamba(f, c);
      break;
    case architecture::zamba2:
      detail::hf_zamba2(f, c);
      break;
    case architecture::hymba:
      detail::hf_hymba(f, c);
      break;
  }
  return c;
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_HF_CONFIG_HPP
