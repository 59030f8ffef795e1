#ifndef ICLMECH_HOOK_POINT_HPP
#define ICLMECH_HOOK_POINT_HPP
// The places in a forward pass where a hook can look or write: their names, scopes and axes.
//
// Names are those of TransformerLens where it has one. Every value is indexed [position, ...] unless said
// otherwise; axes of a state have no position because a state belongs to one position.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "iclmech/host/head_id.hpp"

namespace iclmech {

/// A hook point. The comment says what the value is; `hook_info` below gives name and axes.
enum class hook : std::uint8_t {
  embed,             ///< token embeddings as they enter the stream
  resid_pre,         ///< the stream entering a layer
  ln1_scale,         ///< root mean square that the layer's first norm divides by
  ln1_normalized,    ///< what leaves the layer's first norm, gain included
  q,                 ///< queries before the rotary embedding (after a query norm)
  k,                 ///< keys before the rotary embedding (after a key norm)
  v,                 ///< values
  rot_q,             ///< queries as they meet the keys
  rot_k,             ///< keys as they meet the queries
  attn_scores,       ///< scaled scores before the mask, [head, query, key]
  pattern,           ///< attention weights, [head, query, key]
  in_proj,           ///< output of an SSM mixer's input projection
  conv,              ///< after the causal convolution and its activation
  dt,                ///< step sizes as the scan uses them (after bias, softplus and clamp)
  B,                 ///< input matrix of the scan
  C,                 ///< output matrix of the scan
  log_decay,         ///< dt * A: logarithm of what a step leaves of the state
  ssm_write,         ///< what a step adds to the state: dt x B^T
  ssm_state,         ///< the state after one position; fires once per chosen position
  recurrence_out,    ///< scan output with the D skip, before the gate
  gate,              ///< the gate's input (before its activation)
  z,                 ///< per-head input of the mixer's output projection
  merged,            ///< average of two parallel mixers, input of their common output projection (Hymba)
  write_scale,       ///< the factor, frozen in this run, by which a norm multiplies the heads' linear writes
  mixer_out,         ///< output of the mixer's output projection
  attn_out,          ///< what attention adds to the stream (after a post norm)
  resid_mid,         ///< the stream between mixer and MLP
  ln2_scale,         ///< root mean square that the layer's second norm divides by
  ln2_normalized,    ///< what leaves the layer's second norm, gain included
  mlp_pre,           ///< input of the MLP's activation
  mlp_pre_linear,    ///< the gated MLP's linear branch
  mlp_post,          ///< input of the MLP's output projection
  mlp_out,           ///< what the MLP adds to the stream (after a post norm)
  shared_out,        ///< what Zamba2's shared block hands to its layer's mamba input
  resid_post,        ///< the stream leaving a layer
  final_scale,       ///< root mean square that the final norm divides by
  final_normalized,  ///< what enters the unembedding
  count_
};

inline constexpr std::size_t hook_count = static_cast<std::size_t>(hook::count_);

/// Where a point lives; decides the prefix of its name.
enum class hook_scope : std::uint8_t { model, ln_final, block, ln1, ln2, mlp, attention, state_space, mixer };

/// A point's name within its scope, and the axes of its value (unused ones empty); see `axes_of`.
struct hook_description {
  hook point;
  std::string_view name;
  hook_scope scope;
  std::array<std::string_view, 4> axes;
};

inline constexpr std::array<hook_description, hook_count> hook_table{{
    {hook::embed, "hook_embed", hook_scope::model, {"position", "d_model"}},
    {hook::resid_pre, "hook_resid_pre", hook_scope::block, {"position", "d_model"}},
    {hook::ln1_scale, "hook_scale", hook_scope::ln1, {"position"}},
    {hook::ln1_normalized, "hook_normalized", hook_scope::ln1, {"position", "d_model"}},
    {hook::q, "hook_q", hook_scope::attention, {"position", "head", "d_key"}},
    {hook::k, "hook_k", hook_scope::attention, {"position", "kv_head", "d_key"}},
    {hook::v, "hook_v", hook_scope::attention, {"position", "kv_head", "d_head"}},
    {hook::rot_q, "hook_rot_q", hook_scope::attention, {"position", "head", "d_key"}},
    {hook::rot_k, "hook_rot_k", hook_scope::attention, {"position", "kv_head", "d_key"}},
    {hook::attn_scores, "hook_attn_scores", hook_scope::attention, {"head", "query", "key"}},
    {hook::pattern, "hook_pattern", hook_scope::attention, {"head", "query", "key"}},
    {hook::in_proj, "hook_in_proj", hook_scope::state_space, {"position", "channel"}},
    {hook::conv, "hook_conv", hook_scope::state_space, {"position", "channel"}},
    {hook::dt, "hook_dt", hook_scope::state_space, {"position", "channel"}},
    {hook::B, "hook_B", hook_scope::state_space, {"position", "group", "d_state"}},
    {hook::C, "hook_C", hook_scope::state_space, {"position", "group", "d_state"}},
    {hook::log_decay, "hook_log_decay", hook_scope::state_space, {"position", "channel", "d_state"}},
    {hook::ssm_write, "hook_ssm_write", hook_scope::state_space, {"position", "head", "d_head", "d_state"}},
    {hook::ssm_state, "hook_ssm_state", hook_scope::state_space, {"head", "d_head", "d_state"}},
    {hook::recurrence_out, "hook_recurrence_out", hook_scope::state_space, {"position", "head", "d_head"}},
    {hook::gate, "hook_gate", hook_scope::state_space, {"position", "head", "d_head"}},
    {hook::z, "hook_z", hook_scope::mixer, {"position", "head", "d_head"}},
    {hook::merged, "hook_merged", hook_scope::block, {"position", "head", "d_head"}},
    {hook::write_scale, "hook_write_scale", hook_scope::mixer, {"position"}},
    {hook::mixer_out, "hook_mixer_out", hook_scope::block, {"position", "d_model"}},
    {hook::attn_out, "hook_attn_out", hook_scope::block, {"position", "d_model"}},
    {hook::resid_mid, "hook_resid_mid", hook_scope::block, {"position", "d_model"}},
    {hook::ln2_scale, "hook_scale", hook_scope::ln2, {"position"}},
    {hook::ln2_normalized, "hook_normalized", hook_scope::ln2, {"position", "d_model"}},
    {hook::mlp_pre, "hook_pre", hook_scope::mlp, {"position", "d_mlp"}},
    {hook::mlp_pre_linear, "hook_pre_linear", hook_scope::mlp, {"position", "d_mlp"}},
    {hook::mlp_post, "hook_post", hook_scope::mlp, {"position", "d_mlp"}},
    {hook::mlp_out, "hook_mlp_out", hook_scope::block, {"position", "d_model"}},
    {hook::shared_out, "hook_shared_out", hook_scope::block, {"position", "d_model"}},
    {hook::resid_post, "hook_resid_post", hook_scope::block, {"position", "d_model"}},
    {hook::final_scale, "hook_scale", hook_scope::ln_final, {"position"}},
    {hook::final_normalized, "hook_normalized", hook_scope::ln_final, {"position", "d_model"}},
}};

/// The description of a point; `hook_table` is in the enum's order, which the test suite holds it to.
constexpr const hook_description& describe(hook point) { return hook_table[static_cast<std::size_t>(point)]; }

namespace detail {
inline constexpr std::array<std::string_view, 2> per_head_axes{"position", "head"};
}

/// The axes of a point's value in a mixer of some kind, outermost first: {"position", "head", "d_head"} for
/// hook_z. Mamba-2's heads have one step size and one decay each, where Mamba-1 has them for every channel.
constexpr std::span<const std::string_view> axes_of(hook point, mixer_kind mixer) {
  if (mixer == mixer_kind::mamba2 && (point == hook::dt || point == hook::log_decay))
    return detail::per_head_axes;
  const auto& axes = describe(point).axes;
  std::size_t rank = 0;
  while (rank < axes.size() && !axes[rank].empty()) ++rank;
  return {axes.data(), rank};
}

/// True for points that belong to one mixer of a layer, so that a site needs the mixer to be complete.
constexpr bool belongs_to_mixer(hook point) {
  const hook_scope scope = describe(point).scope;
  return scope == hook_scope::attention || scope == hook_scope::state_space || scope == hook_scope::mixer;
}

/// True for points outside the layers.
constexpr bool belongs_to_model(hook point) {
  const hook_scope scope = describe(point).scope;
  return scope == hook_scope::model || scope == hook_scope::ln_final;
}

/// A set of hook points.
class hook_mask {
 public:
  constexpr hook_mask() = default;
  constexpr hook_mask(std::initializer_list<hook> points) {
    for (const hook point : points) add(point);
  }

  static constexpr hook_mask all() {
    hook_mask mask;
    mask.bits_ = (std::uint64_t{1} << hook_count) - 1;
    return mask;
  }

  constexpr void add(hook point) { bits_ |= bit(point); }
  constexpr void remove(hook point) { bits_ &= ~bit(point); }
  constexpr bool contains(hook point) const { return (bits_ & bit(point)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(hook_mask, hook_mask) = default;

 private:
  static constexpr std::uint64_t bit(hook point) { return std::uint64_t{1} << static_cast<unsigned>(point); }
  std::uint64_t bits_ = 0;
};

}  // namespace iclmech

#endif  // ICLMECH_HOOK_POINT_HPP
