#ifndef ICLMECH_ADAPTERS_GGUF_HYBRIDS_HPP
#define ICLMECH_ADAPTERS_GGUF_HYBRIDS_HPP
// Hybrids that llama.cpp runs and the reference engine does not: what their GGUF files say of them.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/adapters/gguf_description.hpp"

namespace iclmech {
namespace detail {

/// Mixers of attention and Mamba-2 as a hybrid's metadata give them, the same in all layers that have them.
class hybrid_metadata {
 public:
  explicit hybrid_metadata(const gguf_file& file, const std::string& architecture)
      : file_(file), f_(file, architecture + "."), layers_(f_.layer_count()) {}

  /// Either mixer in every layer: attention where `attention.head_count_kv`, a list, is not zero (Granite 4).
  gguf_description one_mixer_per_layer() const {
    gguf_description d = outer_parts();
    if (f_.get<std::int32_t>("expert_count", 0) != 0)
      f_.fail("expert_count", "is not 0: of Granite's hybrids, only those without experts are supported");
    const auto kv_heads = f_.require<std::vector<std::int32_t>>("attention.head_count_kv");
    if (kv_heads.size() != static_cast<std::size_t>(layers_))
      f_.fail("attention.head_count_kv", "has " + std::to_string(kv_heads.size()) + " numbers for " +
                                             std::to_string(layers_) + " layers");
    const mixer_spec mamba = mamba2();
    // llama.cpp stops the program where this is not so.
    if (mamba.width() != index{2} * d.spec.d_model)
      f_.fail("ssm.inner_size", "is " + std::to_string(mamba.width()) + ": llama.cpp takes twice " +
                                    f_.name("embedding_length") + " (" + std::to_string(d.spec.d_model) +
                                    ") only");
    for (int l = 0; l < layers_; ++l) {
      const int count = kv_heads[static_cast<std::size_t>(l)];
      if (count < 0) f_.fail("attention.head_count_kv", "has a negative number, " + std::to_string(count));
      add_layer(d, {count > 0 ? attention(count, d.spec.d_model) : mamba});
      if (count == 0) require_conv_bias(l);
    }
    d.residual_scale = f_.factor("residual_scale");
    if (const auto divisor = f_.factor("logit_scale")) d.logit_scale = 1.0F / *divisor;
    describe_tensors(file_.tensors(), d);
    return d;
  }

  /// Both mixers side by side in every layer (Falcon-H1).
  gguf_description both_mixers_per_layer() const {
    gguf_description d = outer_parts();
    const mixer_spec attending = attention(f_.size("attention.head_count_kv"), d.spec.d_model);
    const mixer_spec mamba = mamba2();
    for (int l = 0; l < layers_; ++l) {
      add_layer(d, {attending, mamba});
      require_conv_bias(l);
    }
    describe_tensors(file_.tensors(), d);
    return d;
  }

 private:
  gguf_description outer_parts() const {
    gguf_description d;
    d.spec.vocab_size = gguf_vocab_size(file_);
    d.spec.name = std::filesystem::path(file_.path()).filename().string();
    d.spec.architecture = file_.require<std::string>("general.architecture");
    d.spec.d_model = f_.size("embedding_length");
    d.spec.context_length = f_.get<std::int32_t>("context_length", 0);
    d.norm_eps = f_.positive("attention.layer_norm_rms_epsilon");
    // llama.cpp multiplies by what is there.
    for (const char* key : {"embedding_scale", "attention.scale"}) f_.factor(key);
    f_.positive("rope.freq_base", 1e4F);
    return d;
  }

  void add_layer(gguf_description& d, std::vector<mixer_spec> mixers) const {
    layer_spec layer;
    layer.mixers = std::move(mixers);
    layer.d_mlp = f_.size("feed_forward_length");
    layer.has_mlp = true;
    d.spec.layers.push_back(std::move(layer));
  }

  mixer_spec attention(int kv_heads, int d_model) const {
    const attention_config a = gguf_attention(f_, d_model, kv_heads);
    mixer_spec m;
    m.heads = a.heads;
    m.kv_heads = a.kv_heads;
    m.d_key = a.d_key;
    m.d_head = a.d_value;
    if (m.d_head != m.d_key)
      f_.fail("attention.value_length", "is " + std::to_string(m.d_head) + ", but keys have " +
                                            std::to_string(m.d_key) + " channels: llama.cpp wants as many");
    return m;
  }

  mixer_spec mamba2() const {
    state_space_config s;
    s.d_inner = f_.size("ssm.inner_size");
    gguf_mamba2_heads(f_, s);
    mixer_spec m;
    m.kind = mixer_kind::mamba2;
    m.heads = s.heads;
    m.groups = s.groups;
    m.d_state = f_.size("ssm.state_size");
    m.d_head = s.d_inner / s.heads;
    return m;
  }

  /// llama.cpp adds the bias without a look whether there is one.
  void require_conv_bias(int layer) const {
    file_.tensors().require("blk." + std::to_string(layer) + ".ssm_conv1d.bias");
  }

  const gguf_file& file_;
  gguf_fields f_;
  int layers_;
};

}  // namespace detail

/// Whether `architecture`, of a GGUF file, is one that describe_hybrid_gguf knows.
constexpr bool is_hybrid_gguf(std::string_view architecture) {
  return architecture == "granitehybrid" || architecture == "falcon-h1";
}

/// Describes a file of Granite 4 H without experts, or of Falcon-H1.
/// @throws file_error naming the key that is missing or does not fit.
inline gguf_description describe_hybrid_gguf(const gguf_file& file) {
  const auto architecture = file.require<std::string>("general.architecture");
  if (!is_hybrid_gguf(architecture))
    throw file_error(file.path(), "metadata 'general.architecture'",
                     detail::in_quotes(architecture) + " is not a hybrid: granitehybrid and falcon-h1 are");
  const detail::hybrid_metadata metadata(file, architecture);
  return architecture == "granitehybrid" ? metadata.one_mixer_per_layer() : metadata.both_mixers_per_layer();
}

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_GGUF_HYBRIDS_HPP
