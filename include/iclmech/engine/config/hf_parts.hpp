#ifndef ICLMECH_ENGINE_CONFIG_HF_PARTS_HPP
#define ICLMECH_ENGINE_CONFIG_HF_PARTS_HPP
// What the configurations of several model families have in common: rotary embeddings, activations, head
// counts.

#include <string>

#include "iclmech/engine/config/hf_fields.hpp"

namespace iclmech::detail {

/// The rotary embedding of one kind of layer: `fields` holds rope_theta, `scaling` how it is scaled.
/// `width` names the fields that `head_dim` comes from.
inline rope_config hf_rope(const hf_fields& fields, const hf_fields& scaling, int head_dim,
                           const std::string& width, double theta) {
  if (head_dim % 2 != 0)
    throw file_error(
        fields.path(), width,
        "is " + std::to_string(head_dim) + ": a rotary embedding needs an even number of channels");
  rope_config rope;
  rope.head_dim = head_dim;
  rope.theta = fields.positive("rope_theta", theta);
  for (const hf_fields& f : {fields, scaling})
    f.require_supported("partial_rotary_factor", f.real("partial_rotary_factor", 1.0) == 1.0, "1");
  const char* name = scaling.has("rope_type") ? "rope_type" : "type";
  const std::string type = scaling.text(name, "default");
  if (type == "linear") {
    rope.scaling = rope_scaling::linear;
    rope.factor = scaling.positive("factor");
  } else if (type == "llama3") {
    rope.scaling = rope_scaling::llama3;
    rope.factor = scaling.positive("factor");
    rope.low_freq_factor = scaling.positive("low_freq_factor");
    rope.high_freq_factor = scaling.positive("high_freq_factor");
    rope.original_max_positions = scaling.positive("original_max_position_embeddings");
    if (rope.low_freq_factor >= rope.high_freq_factor)
      scaling.fail("low_freq_factor", "is " + scaling.raw("low_freq_factor").dump() +
                                          ", it must be below high_freq_factor, which is " +
                                          scaling.raw("high_freq_factor").dump());
  } else if (type != "default") {
    scaling.fail(name, "'" + type + "' is not supported: default, linear and llama3 are");
  }
  return rope;
}

/// The rotary embedding of a model that has one: `rope_parameters`, or in older files `rope_theta` and
/// `rope_scaling`.
inline rope_config hf_rope(const hf_fields& f, int head_dim, const std::string& width) {
  if (f.has("rope_parameters")) {
    const hf_fields parameters = f.object("rope_parameters");
    return hf_rope(parameters, parameters, head_dim, width, 10000.0);
  }
  return hf_rope(f, f.object("rope_scaling"), head_dim, width, 10000.0);
}

inline activation hf_activation(const hf_fields& f, const char* field, const std::string& otherwise) {
  const std::string name = f.text(field, otherwise);
  if (name == "silu" || name == "swish") return activation::silu;
  if (name == "gelu") return activation::gelu_erf;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast") return activation::gelu_tanh;
  f.fail(field, "'" + name + "' is not supported: silu, gelu and gelu_pytorch_tanh are");
}

/// What a flag says about biases. Without the flag, the weights decide.
inline bias_rule hf_bias(const hf_fields& f, const char* flag) {
  if (!f.has(flag)) return {};
  const bool expected = f.flag(flag, false);
  return {expected, f.path() + " says " + f.full_name(flag) + (expected ? ": true" : ": false")};
}

/// Biases that all models of an architecture have, or none.
inline bias_rule fixed_bias(architecture arch, bool expected) {
  return {expected,
          std::string(to_string(arch)) + (expected ? " models always have one" : " models never have one")};
}

/// Query heads and the key/value heads they share.
inline attention_config hf_heads(const hf_fields& f) {
  attention_config a;
  a.heads = f.size("num_attention_heads");
  a.kv_heads = f.size("num_key_value_heads", a.heads);
  f.require_divides("num_key_value_heads", a.kv_heads, "num_attention_heads", a.heads);
  return a;
}

/// Width of a state-space mixer, `expand` times that of the model.
inline int hf_inner_width(const hf_fields& f, const char* expand, int d_model) {
  return f.checked_size(std::string(expand) + " * hidden_size", index{f.size(expand, 2)} * d_model);
}

/// Rank of Mamba-1's step sizes: a number, or "auto" for a sixteenth of the model's width.
inline int hf_step_rank(const hf_fields& f, const char* name, int d_model) {
  return f.has(name) && f.raw(name) != "auto" ? f.size(name) : (d_model + 15) / 16;
}

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_CONFIG_HF_PARTS_HPP
