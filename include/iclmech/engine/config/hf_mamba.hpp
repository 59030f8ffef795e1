#ifndef ICLMECH_ENGINE_CONFIG_HF_MAMBA_HPP
#define ICLMECH_ENGINE_CONFIG_HF_MAMBA_HPP
// The config.json of Mamba and Mamba-2, as transformers and as the original state-spaces project write it.

#include <string>

#include "iclmech/engine/config/hf_parts.hpp"

namespace iclmech::detail {

/// Whether `f` is the state-spaces project's: it has no model_type, the mixer's fields are in ssm_cfg.
inline bool is_state_spaces_config(const hf_fields& f) { return !f.has("model_type") && f.has("ssm_cfg"); }

/// "mamba" or "mamba2".
inline std::string state_spaces_model_type(const hf_fields& f) {
  const std::string layer = f.object("ssm_cfg").text("layer", "Mamba1");
  if (layer == "Mamba1") return "mamba";
  if (layer == "Mamba2") return "mamba2";
  f.fail("ssm_cfg.layer", "'" + layer + "' is not supported: Mamba1 and Mamba2 are");
}

/// The names that one of the two kinds of files gives to a mixer's fields.
struct mamba_field_names {
  const char *expand, *state_size, *conv_kernel, *step_rank, *head_dim, *groups, *step_limit, *conv_bias,
      *bias;
};

inline constexpr mamba_field_names transformers_mamba_fields{
    "expand",   "state_size",      "conv_kernel",   "time_step_rank", "head_dim",
    "n_groups", "time_step_limit", "use_conv_bias", "use_bias"};
inline constexpr mamba_field_names state_spaces_fields{
    "expand", "d_state", "d_conv", "dt_rank", "headdim", "ngroups", "dt_limit", "conv_bias", "bias"};

/// What the state-spaces project's models may be but the supported ones are not.
inline void refuse_other_state_spaces_models(const hf_fields& f, const hf_fields& mixer) {
  f.require_supported("d_intermediate", f.integer("d_intermediate", 0) == 0, "0 (no MLP)");
  f.require_supported("attn_layer_idx", !f.has("attn_layer_idx") || f.array("attn_layer_idx").empty(),
                      "[] (no attention layers)");
  f.require_supported("rms_norm", f.flag("rms_norm", true), "true");
  mixer.require_supported("rmsnorm", mixer.flag("rmsnorm", true), "true");
  mixer.require_supported("norm_before_gate", !mixer.flag("norm_before_gate", false), "false");
  mixer.require_supported("D_has_hdim", !mixer.flag("D_has_hdim", false), "false");
  mixer.require_supported("d_ssm", !mixer.has("d_ssm"), "null (all channels)");
}

/// Heads, groups and step limits of Mamba-2.
inline void read_mamba2_heads(const hf_fields& mixer, const mamba_field_names& names, int default_groups,
                              state_space_config& s) {
  const std::string inner = std::string(names.expand) + " * hidden_size";
  const int head_dim = mixer.size(names.head_dim, 64);
  mixer.require_divides(names.head_dim, head_dim, inner, s.d_inner);
  s.heads = mixer.size("num_heads", s.d_inner / head_dim);
  mixer.require_equal("num_heads * head_dim", index{s.heads} * head_dim, inner, s.d_inner);
  s.groups = mixer.size(names.groups, default_groups);
  mixer.require_divides(names.groups, s.groups, "num_heads", s.heads);
  if (!mixer.has(names.step_limit)) return;
  const auto& limit = mixer.array(names.step_limit);
  if (limit.size() != 2) mixer.fail(names.step_limit, "must be two numbers, it is " + limit.dump());
  s.dt_min = mixer.convert<float>(names.step_limit, limit[0]);
  s.dt_max = mixer.convert<float>(names.step_limit, limit[1]);
  if (!(s.dt_min <= s.dt_max))
    mixer.fail(names.step_limit, "is " + limit.dump() + ": the first must not be above the second");
}

inline void read_hf_mamba(const hf_fields& f, model_config& c) {
  const bool original = is_state_spaces_config(f);
  const hf_fields mixer = original ? f.object("ssm_cfg") : f;
  const mamba_field_names& names = original ? state_spaces_fields : transformers_mamba_fields;
  if (original) refuse_other_state_spaces_models(f, mixer);
  f.require_supported("hidden_act", hf_activation(f, "hidden_act", "silu") == activation::silu, "\"silu\"");

  const int layers = f.layer_count(present_name(f, "num_hidden_layers", "n_layer"));
  state_space_config s;
  s.d_inner = hf_inner_width(mixer, names.expand, c.d_model);
  if (f.has("intermediate_size"))
    f.require_equal("intermediate_size", f.size("intermediate_size"), "expand * hidden_size", s.d_inner);
  s.d_conv = mixer.size(names.conv_kernel, 4);
  c.biases.convolution = hf_bias(mixer, names.conv_bias);
  c.biases.mixer = hf_bias(mixer, names.bias);
  c.norm_eps = s.norm_eps = static_cast<float>(f.positive("layer_norm_epsilon", 1e-5));
  if (c.arch == architecture::mamba) {
    s.d_state = mixer.size(names.state_size, 16);
    s.heads = default_channel_groups;
    s.dt_rank = hf_step_rank(mixer, names.step_rank, c.d_model);
  } else {
    s.d_state = mixer.size(names.state_size, 128);
    read_mamba2_heads(mixer, names, original ? 1 : 8, s);
  }
  c.layers.assign(static_cast<std::size_t>(layers), {std::nullopt, s, 0, -1, -1});
}

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_CONFIG_HF_MAMBA_HPP
