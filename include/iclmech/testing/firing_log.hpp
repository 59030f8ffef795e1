#ifndef ICLMECH_TESTING_FIRING_LOG_HPP
#define ICLMECH_TESTING_FIRING_LOG_HPP
// What a host's hooks did in a run, firing by firing; and what they should have done by the host's own spec.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "iclmech/hook/hook_set.hpp"
#include "iclmech/hook/name.hpp"

namespace iclmech {

/// One firing: where, the axes of the view, and a copy of its values, [first axis x the others].
struct firing {
  site where;
  std::vector<index> shape;
  row_matrix values;

  hook_place place() const { return {where.point, where.layer, where.mixer}; }
};

/// Hooks that look at a set of points and keep every firing, in order. Of the states only the last one is
/// asked for.
class firing_log {
 public:
  explicit firing_log(hook_mask points) : points_(points) {}

  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const { return points_.contains(s.point) && everywhere{}(s); }

  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    firing f{s, {}, view.matrix()};
    for (int axis = 0; axis < view.rank(); ++axis) f.shape.push_back(view.shape(axis));
    firings_.push_back(std::move(f));
  }

  const std::vector<firing>& firings() const { return firings_; }

  /// The first firing of a place on a sequence, or nothing.
  const firing* find(const hook_place& place, int sequence = 0) const {
    const auto it = std::find_if(firings_.begin(), firings_.end(), [&](const firing& f) {
      return f.where.sequence == sequence && place.holds(f.where);
    });
    return it == firings_.end() ? nullptr : &*it;
  }

 private:
  hook_mask points_;
  std::vector<firing> firings_;
};

/// How far two matrices are apart: the largest difference, relative to the largest value of `expected` (but
/// at least to 1e-3, so that zeros can be compared). Equal infinities are no difference; other shapes are
/// infinitely far apart.
inline float distance(const const_matrix_ref& seen, const const_matrix_ref& expected) {
  if (seen.rows() != expected.rows() || seen.cols() != expected.cols()) return INFINITY;
  float apart = 0.0F, largest = 1e-3F;
  for (index r = 0; r < seen.rows(); ++r)
    for (index c = 0; c < seen.cols(); ++c) {
      const float a = seen(r, c), b = expected(r, c);
      if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
      if (a == b) continue;
      const float difference = std::abs(a - b);
      apart = std::isfinite(difference) ? std::max(apart, difference) : INFINITY;
    }
  return apart / largest;
}

/// The extents that a place's view must have for a prompt of `rows` positions (prefix rows included); -1
/// where the spec does not say. Attention's query and key axes are the positions.
inline std::vector<index> expected_shape(const model_spec& spec, const hook_place& place, index rows) {
  const layer_spec layer =
      place.layer < 0 ? layer_spec{} : spec.layers[static_cast<std::size_t>(place.layer)];
  const mixer_kind kind = place.point == hook::merged ? mixer_kind::attention : place.mixer;
  const mixer_spec* found = layer.find(kind);
  const mixer_spec mixer = found == nullptr ? mixer_spec{} : *found;
  std::vector<index> shape;
  for (const std::string_view axis : axes_of(place.point, kind)) {
    shape.push_back(axis == "position" || axis == "query" || axis == "key" ? rows
                    : axis == "d_model"                                    ? spec.d_model
                    : axis == "d_mlp"                                      ? layer.d_mlp
                    : axis == "head"                                       ? mixer.heads
                    : axis == "kv_head"                                    ? mixer.kv_heads
                    : axis == "d_key"                                      ? mixer.d_key
                    : axis == "d_head"                                     ? mixer.d_head
                    : axis == "group"                                      ? mixer.groups
                    : axis == "d_state"                                    ? mixer.d_state
                                                                           : -1);
  }
  return shape;
}

/// True if a view of shape `seen` may show a place: as many axes, and equal extents where the spec says them.
inline bool fits(const std::vector<index>& seen, const std::vector<index>& expected) {
  return std::equal(seen.begin(), seen.end(), expected.begin(), expected.end(),
                    [](index s, index e) { return s == e || (e < 0 && s > 0); });
}

/// True if the value at `first` goes into the value at `second`, so that the hooks must fire in this order.
/// Points of parallel mixers have no order, nor have siblings such as queries, keys and values.
inline bool must_precede(const model_spec& spec, const hook_place& first, const hook_place& second) {
  const auto is_final = [](hook p) { return p == hook::final_scale || p == hook::final_normalized; };
  if (is_final(first.point))
    return second.point == hook::final_normalized && first.point == hook::final_scale;
  if (is_final(second.point) || first.layer != second.layer)
    return is_final(second.point) || first.layer < second.layer;
  if (first.layer < 0) return false;
  if (belongs_to_mixer(first.point) && belongs_to_mixer(second.point) && first.mixer != second.mixer)
    return false;
  const auto group = [](hook p) {
    switch (p) {
      case hook::k:
      case hook::v:
        return hook::q;
      case hook::rot_k:
        return hook::rot_q;
      case hook::B:
      case hook::C:
      case hook::log_decay:
      case hook::ssm_write:
        return hook::dt;
      case hook::mlp_pre_linear:
        return hook::mlp_pre;
      default:
        return p;
    }
  };
  // The gate meets the scan's output only just before hook_z.
  if (first.point == hook::gate && second.point < hook::z) return false;
  if (second.point == hook::gate && first.point > hook::in_proj && first.point < hook::z) return false;
  // A shared block comes before the layer's own mixer (Zamba2).
  if (spec.layers[static_cast<std::size_t>(first.layer)].shares_block) {
    const auto shared = [](const hook_place& p) {
      return (belongs_to_mixer(p.point) && p.mixer == mixer_kind::attention) || p.point == hook::attn_out ||
             (p.point >= hook::mlp_pre && p.point <= hook::shared_out);
    };
    if (shared(first) != shared(second))
      return shared(first) ? second.point != hook::resid_pre : first.point == hook::resid_pre;
  }
  // The scale of a norm on the mixers' way out comes before or after the output, as the norm does.
  if (first.point == hook::write_scale || second.point == hook::write_scale) {
    const hook other = first.point == hook::write_scale ? second.point : first.point;
    if (other == hook::merged || other == hook::mixer_out) return false;
  }
  return group(first.point) < group(second.point);
}

}  // namespace iclmech

#endif  // ICLMECH_TESTING_FIRING_LOG_HPP
