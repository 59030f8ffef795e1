#ifndef ICLMECH_ENGINE_GGUF_CONFIG_HPP
#define ICLMECH_ENGINE_GGUF_CONFIG_HPP
// Reads the metadata of a GGUF file, as llama.cpp's converter writes it, into a model_config.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "iclmech/engine/model_config.hpp"
#include "iclmech/io/gguf.hpp"

namespace iclmech {
namespace detail {

/// Metadata of one architecture: keys without their "llama." prefix, errors with it.
class gguf_fields {
 public:
  gguf_fields(const gguf_file& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  template <class T>
  T require(const char* key) const {
    return file_.require<T>(prefix_ + key);
  }
  template <class T>
  T get(const char* key, T otherwise) const {
    return file_.get<T>(prefix_ + key).value_or(otherwise);
  }
  std::string name(const char* key) const { return prefix_ + key; }
  const gguf_file& file() const { return file_; }

  /// A number of things that there must be at least one of.
  int size(const char* key) const { return checked_size(key, require<std::int32_t>(key)); }
  int size(const char* key, int otherwise) const {
    return checked_size(key, get<std::int32_t>(key, otherwise));
  }
  int layer_count() const {
    const int count = size("block_count");
    if (count > max_layers) fail("block_count", "is " + std::to_string(count) + ", more than any model's");
    return count;
  }
  float positive(const char* key) const { return checked_positive(key, require<float>(key)); }
  float positive(const char* key, float otherwise) const {
    return checked_positive(key, get<float>(key, otherwise));
  }
  /// 0 stands for no factor, as a missing key does.
  std::optional<float> factor(const char* key) const {
    const auto value = get<float>(key, 0.0F);
    if (value == 0.0F) return std::nullopt;
    return checked_positive(key, value);
  }

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    throw file_error(file_.path(), "metadata " + in_quotes(prefix_ + key), problem);
  }
  void require_divides(const char* small, index a, const char* large, index b) const {
    if (a <= 0 || b <= 0 || b % a != 0)
      throw file_error(file_.path(), name(small) + " and " + name(large),
                       "do not fit: " + name(small) + " (" + std::to_string(a) + ") must divide " +
                           name(large) + " (" + std::to_string(b) + ")");
  }

 private:
  float checked_positive(const char* key, float value) const {
    if (!(value > 0.0F) || std::isinf(value))
      fail(key, "must be a positive number, it is " + std::to_string(value));
    return value;
  }
  int checked_size(const char* key, int value) const {
    if (value <= 0) fail(key, "must be positive, it is " + std::to_string(value));
    if (value > max_size) fail(key, "is " + std::to_string(value) + ", more than any model's");
    return value;
  }

  const gguf_file& file_;
  std::string prefix_;
};

inline rope_config gguf_rope(const gguf_fields& f, int head_dim, double theta) {
  rope_config rope;
  rope.head_dim = head_dim;
  if (head_dim % 2 != 0)
    f.fail("attention.key_length",
           "is " + std::to_string(head_dim) + ": a rotary embedding needs an even number of channels");
  rope.theta = f.positive("rope.freq_base", static_cast<float>(theta));
  const auto rotated = f.get<std::uint32_t>("rope.dimension_count", static_cast<std::uint32_t>(head_dim));
  if (rotated != static_cast<std::uint32_t>(head_dim))
    f.fail("rope.dimension_count", "is " + std::to_string(rotated) + " but heads have " +
                                       std::to_string(head_dim) +
                                       " channels: rotating a part of a head is not supported");
  const std::string scaling = f.get<std::string>("rope.scaling.type", "none");
  if (scaling == "linear") {
    rope.scaling = rope_scaling::linear;
    rope.factor = f.positive("rope.scaling.factor");
  } else if (scaling != "none" && scaling != "llama3") {
    f.fail("rope.scaling.type", "'" + scaling + "' is not supported: none and linear are");
  }
  // Llama 3's scaling comes as divisors of the frequencies, one per pair.
  const tensor_file& tensors = f.file().tensors();
  if (tensors.find("rope_freqs.weight") != nullptr)
    rope.divisors = tensors.read(tensors.require("rope_freqs.weight", {head_dim / 2}));
  return rope;
}

/// Rows of the embedding matrix, which the metadata need not say.
inline int gguf_vocab_size(const gguf_file& file) {
  const tensor_entry& embedding = file.tensors().require("token_embd.weight");
  if (embedding.shape.size() != 2)
    throw file_error(file.path(), "tensor 'token_embd.weight'", "must have two dimensions");
  return static_cast<int>(std::min<index>(embedding.shape[0], std::numeric_limits<int>::max()));
}

/// Heads and their widths, of a layer with `kv_heads`.
inline attention_config gguf_attention(const gguf_fields& f, int d_model, int kv_heads) {
  attention_config a;
  a.heads = f.size("attention.head_count");
  a.kv_heads = kv_heads;
  f.require_divides("attention.head_count_kv", a.kv_heads, "attention.head_count", a.heads);
  if (!f.file().find(f.name("attention.key_length")))
    f.require_divides("attention.head_count", a.heads, "embedding_length", d_model);
  a.d_key = f.size("attention.key_length", d_model / a.heads);
  a.d_value = f.size("attention.value_length", a.d_key);
  return a;
}

/// Heads and groups of Mamba-2, which share out `d_inner` channels.
inline void gguf_mamba2_heads(const gguf_fields& f, state_space_config& s) {
  s.heads = f.size("ssm.time_step_rank");
  s.groups = f.size("ssm.group_count");
  f.require_divides("ssm.group_count", s.groups, "ssm.time_step_rank", s.heads);
  f.require_divides("ssm.time_step_rank", s.heads, "ssm.inner_size", s.d_inner);
}

inline void gguf_transformer(const gguf_fields& f, model_config& c) {
  const bool gemma = c.arch == architecture::gemma3;
  const int layers = f.layer_count();
  attention_config a =
      gguf_attention(f, c.d_model, f.size("attention.head_count_kv", f.size("attention.head_count")));
  a.scale = static_cast<float>(1.0 / std::sqrt(a.d_key));
  c.norm_eps = f.positive("attention.layer_norm_rms_epsilon");
  c.mlp_activation = gemma ? activation::gelu_tanh : activation::silu;
  c.logit_softcap = f.factor("final_logit_softcapping").value_or(0.0F);
  if (gemma) {
    // The converter stores 1 + w, so norms are plain here.
    c.qk_norm = c.post_norms = true;
    c.embedding_scale = std::sqrt(static_cast<float>(c.d_model));
  }
  const int window = f.get<std::int32_t>("attention.sliding_window", 0);
  const int pattern = f.size("attention.sliding_window_pattern", 6);
  const rope_config full = gguf_rope(f, a.d_key, gemma ? 1e6 : 1e4);
  rope_config local = full;
  if (gemma) {
    local = {};
    local.head_dim = a.d_key;
    local.theta = f.positive("rope.freq_base_swa", f.positive("rope.local.freq_base", 1e4F));
  }
  const int d_mlp = f.size("feed_forward_length");
  for (int l = 0; l < layers; ++l) {
    const bool sliding = gemma && window > 0 && (l + 1) % pattern != 0;
    a.rope = sliding ? local : full;
    a.window = sliding ? window : 0;
    c.layers.push_back({a, std::nullopt, d_mlp, -1, -1});
  }
}

inline void gguf_mamba(const gguf_fields& f, model_config& c) {
  state_space_config s;
  s.d_inner = f.size("ssm.inner_size");
  s.d_state = f.size("ssm.state_size");
  s.d_conv = f.size("ssm.conv_kernel");
  c.norm_eps = s.norm_eps = f.positive("attention.layer_norm_rms_epsilon");
  if (f.get<bool>("ssm.dt_b_c_rms", false))
    f.fail("ssm.dt_b_c_rms", "is true: mixers that norm their step sizes, B and C are not supported");
  if (c.arch == architecture::mamba) {
    s.dt_rank = f.size("ssm.time_step_rank");
    s.heads = default_channel_groups;
  } else {
    gguf_mamba2_heads(f, s);
  }
  c.layers.assign(static_cast<std::size_t>(f.layer_count()), {std::nullopt, s, 0, -1, -1});
}

}  // namespace detail

/// The configuration of the model in a GGUF file.
/// @throws file_error naming the key; a file without weights has no model to describe.
inline model_config read_gguf_config(const gguf_file& file) {
  const std::string type = file.require<std::string>("general.architecture");
  model_config c;
  if (type == "llama" || type == "qwen2" || type == "gemma3" || type == "mamba" || type == "mamba2")
    c.arch = *std::find_if(all_architectures.begin(), all_architectures.end(),
                           [&type](architecture a) { return to_string(a) == type; });
  else
    throw file_error(file.path(), "metadata 'general.architecture'",
                     "'" + type +
                         "' is not supported: llama, qwen2, gemma3, mamba and mamba2 are, and granitehybrid "
                         "and falcon-h1 by the llama.cpp host");
  c.vocab_size = detail::gguf_vocab_size(file);
  const detail::gguf_fields f(file, type + ".");
  c.d_model = f.size("embedding_length");
  c.context_length = f.get<std::int32_t>("context_length", 0);
  c.tied_embeddings = file.tensors().find("output.weight") == nullptr;
  if (c.arch == architecture::mamba || c.arch == architecture::mamba2) {
    c.context_length = 0;  // a recurrence has no limit; the number is the training length
    detail::gguf_mamba(f, c);
  } else {
    detail::gguf_transformer(f, c);
  }
  return c;
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_GGUF_CONFIG_HPP
