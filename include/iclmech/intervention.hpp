#ifndef ICLMECH_INTERVENTION_HPP
#define ICLMECH_INTERVENTION_HPP
// Interventions: what to change, where, in a run; and the hooks that carry them out on any host.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "iclmech/hook/hook_set.hpp"
#include "iclmech/host/model_spec.hpp"

namespace iclmech {

/// Which positions of a prompt an intervention touches. `all` are those of its tokens: rows that the model
/// puts in front of every prompt (Hymba's memory) are not part of it.
struct position_choice {
  enum class kind : unsigned char { last, all, one } which = kind::last;
  index at = 0;  ///< for `one`

  static constexpr position_choice last() { return {kind::last, 0}; }
  static constexpr position_choice all() { return {kind::all, 0}; }
  static constexpr position_choice one(index position) { return {kind::one, position}; }
};

/// x := factor * x + value (value empty: 0), on one head's slice or the whole width of a hook point. With
/// factor 0 that replaces, with factor 1 it adds, without a value it scales. Mean and resample ablation
/// replace by a mean, or by the value of another prompt.
struct intervention {
  hook point = hook::z;
  int layer = 0;
  mixer_kind mixer = mixer_kind::attention;  ///< for points that belong to a mixer
  int head = -1;                             ///< for points with heads; -1: the whole width
  position_choice positions;
  float factor = 0.0F;
  vector value;

  /// The same on a head's `hook_z`.
  static intervention on_head(head_id id, float factor, vector value = {}) {
    return {hook::z, id.layer, id.mixer, id.head, {}, factor, std::move(value)};
  }
};

inline intervention zero_head(head_id id) { return intervention::on_head(id, 0.0F); }
inline intervention replace_head(head_id id, vector value) {
  return intervention::on_head(id, 0.0F, std::move(value));
}
inline intervention scale_head(head_id id, float factor) { return intervention::on_head(id, factor); }
inline intervention add_to_head(head_id id, vector value) {
  return intervention::on_head(id, 1.0F, std::move(value));
}

/// Adds `value` to the stream entering a layer (steering).
inline intervention add_to_stream_at(int layer, vector value) {
  return {hook::resid_pre, layer, mixer_kind::attention, -1, {}, 1.0F, std::move(value)};
}
/// Sets what a layer's mixers, or its MLP, put out to zero.
inline intervention zero_output(hook point, int layer) {
  return {point, layer, mixer_kind::attention, -1, {}, 0.0F, {}};
}

/// A prompt with something changed: all of `edits` at once.
struct variant {
  int prompt = 0;
  std::vector<intervention> edits;
};

/// The points that interventions may name.
inline constexpr hook_mask intervention_points{hook::z,          hook::mixer_out, hook::attn_out,
                                               hook::mlp_out,    hook::resid_pre, hook::resid_mid,
                                               hook::resid_post, hook::ssm_state};

/// @throws argument_error if the model has no such place, or the value does not fit it.
inline void check(const model_spec& spec, const intervention& edit) {
  const std::string where =
      std::string(describe(edit.point).name) + " of layer " + std::to_string(edit.layer);
  if (!intervention_points.contains(edit.point))
    throw argument_error(
        "interventions cannot be made at " + std::string(describe(edit.point).name) +
        ": hook_z, hook_mixer_out, hook_attn_out, hook_mlp_out, hook_resid_pre, hook_resid_mid, "
        "hook_resid_post and hook_ssm_state are possible");
  if (!spec.editable.contains(edit.point)) throw unsupported_error("this host cannot edit " + where);
  if (edit.layer < 0 || edit.layer >= spec.layer_count())
    throw argument_error(where + ": the model has layers 0 to " + std::to_string(spec.layer_count() - 1));
  const layer_spec& layer = spec.layers[static_cast<std::size_t>(edit.layer)];
  if ((edit.point == hook::resid_mid || edit.point == hook::mlp_out) && !layer.has_mlp && !layer.shares_block)
    throw argument_error(where + ": this layer has no MLP");
  index width = spec.d_model;
  if (belongs_to_mixer(edit.point)) {
    const mixer_spec& mixer = spec.mixer(edit.layer, edit.mixer);
    const index states = edit.point == hook::ssm_state ? mixer.d_state : 1;
    if (edit.point == hook::ssm_state && !is_state_space(edit.mixer))
      throw argument_error(where + ": attention has no state");
    if (edit.head >= mixer.heads || edit.head < -1) spec.check({edit.layer, edit.mixer, edit.head});
    width = (edit.head < 0 ? mixer.width() : mixer.d_head) * states;
  }
  if (edit.value.size() != 0 && edit.value.size() != width)
    throw argument_error(where + ": the value has " + std::to_string(edit.value.size()) +
                         " numbers, the place " + std::to_string(width));
  if (!edit.value.allFinite() || !std::isfinite(edit.factor))
    throw argument_error(where + ": the value holds numbers that are not finite");
}

/// Carries out interventions: `of(sequence)` gives those of a sequence of the run, as a span. Satisfies
/// `hooks`.
template <class Lookup>
class intervention_hooks {
 public:
  explicit intervention_hooks(Lookup of) : of_(std::move(of)) {}

  static constexpr bool observes(hook) { return false; }
  static constexpr bool edits(hook point) { return intervention_points.contains(point); }

  bool wants(const site& s) const {
    const std::span<const intervention> all = of_(s.sequence);
    return std::any_of(all.begin(), all.end(), [&s](const intervention& edit) { return meets(edit, s); });
  }

  void fire(const site& s, activation_view view) {
    for (const intervention& edit : of_(s.sequence))
      if (meets(edit, s)) apply(edit, s, view);
  }

 private:
  static bool meets(const intervention& edit, const site& s) {
    if (edit.point != s.point || edit.layer != s.layer ||
        (belongs_to_mixer(s.point) && edit.mixer != s.mixer))
      return false;
    if (s.point != hook::ssm_state) return true;
    // A state is shown for one position at a time.
    using kind = position_choice::kind;
    return (edit.positions.which == kind::all && s.first_position >= 0) ||
           (edit.positions.which == kind::last && s.ends_sequence) ||
           (edit.positions.which == kind::one && edit.positions.at == s.first_position);
  }

  static void apply(const intervention& edit, const site& s, activation_view view) {
    const auto change = [&edit](float* data, index size) {
      Eigen::Map<row_vector> x(data, size);
      x *= edit.factor;
      // NaN and infinity times 0 must not survive a replacement.
      if (edit.factor == 0.0F) x.setZero();
      if (edit.value.size() > 0) x += edit.value.transpose();
    };
    if (s.point == hook::ssm_state) {  // [head, d_head, d_state], contiguous
      const index slice = view.row_size();
      if (edit.head < 0)
        change(view.data(), view.rows() * slice);
      else
        change(view.data() + edit.head * slice, slice);
      return;
    }
    const index slice = edit.head < 0 ? view.row_size() : view.shape(2);
    const index offset = edit.head < 0 ? 0 : edit.head * slice;
    using kind = position_choice::kind;
    index first = -s.first_position, end = view.rows();
    if (edit.positions.which == kind::last) first = s.ends_sequence ? end - 1 : end;
    if (edit.positions.which == kind::one) {
      first = edit.positions.at - s.first_position;
      end = std::min(end, first + 1);
    }
    for (index r = std::max<index>(0, first); r < end; ++r)
      change(view.data() + r * view.row_stride() + offset, slice);
  }

  Lookup of_;
};

}  // namespace iclmech

#endif  // ICLMECH_INTERVENTION_HPP
