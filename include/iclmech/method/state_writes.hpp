#ifndef ICLMECH_METHOD_STATE_WRITES_HPP
#define ICLMECH_METHOD_STATE_WRITES_HPP
// What a state-space head writes into the stream at one position, split by the positions it came from.
//
// The scan's output y at the position is a sum over the positions that wrote to the state, plus the skip D x
// of the position itself. What follows acts on every channel by a factor: the gate and, in Mamba-2, the norm
// behind it with its scale held at its value in the run. The factor is hook_z / hook_recurrence_out, so no
// host has to show norms or gates. Then come the output projection and hook_write_scale.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/method/head_scans.hpp"

namespace iclmech {
namespace detail {

/// Keeps the inputs of scans and, at one position, what they put out and what reaches the output projection.
/// With a mixer given it watches that one alone.
class scan_output_collector {
 public:
  scan_output_collector(const model_spec& spec, index position, std::optional<mixer_id> only)
      : spec_(spec), position_(position), only_(only) {}

  static constexpr bool observes(hook point) {
    return hook_mask{hook::conv, hook::recurrence_out, hook::z, hook::write_scale}.contains(point);
  }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const {
    return observes(s.point) && is_state_space(s.mixer) && (!only_ || *only_ == mixer_id{s.layer, s.mixer});
  }

  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    seen& into = seen_[{s.layer, s.mixer}];
    const index row = position_ - s.first_position;
    switch (s.point) {
      case hook::conv:  // B and C follow x in Mamba-2
        into.x = view.matrix().leftCols(spec_.mixer(s.layer, s.mixer).width());
        return;
      case hook::recurrence_out:
        into.y = view.row(row);
        return;
      case hook::z:
        into.z = view.row(row);
        return;
      default:
        into.scale = view.data()[row * view.row_stride()];
        return;
    }
  }

  /// A head's z at the position, by source.
  state_attribution output_by_source(const head_scan& scan, head_id id) const {
    const seen& s = seen_.at({id.layer, id.mixer});
    const index width = spec_.mixer(id.layer, id.mixer).d_head, first = id.head * width;
    const auto y = s.y.segment(first, width), z = s.z.segment(first, width);
    state_attribution parts = attribute_to_sources(scan, position_ + spec_.prefix_rows,
                                                   s.x.middleCols(first, width), row_vector::Zero(width));
    parts.skip = y - parts.sources.colwise().sum();
    // A channel that puts out exactly zero does not show its factor, and writes nothing.
    return parts.scaled((y.array() == 0.0F).select(0.0F, z.array() / y.array()).matrix());
  }

  float write_scale(mixer_id id) const { return seen_.at(id).scale; }

 private:
  struct seen {
    row_matrix x;
    row_vector y, z;
    float scale = 1.0F;
  };

  const model_spec& spec_;
  index position_;
  std::optional<mixer_id> only_;
  std::map<mixer_id, seen> seen_;
};

/// unsupported_error unless the host shows what the attribution of a mixer's writes is made of.
inline void require_attributable(const model_spec& spec, const mixer_spec& mixer, int layer) {
  const auto require = [&](hook point) {
    if (spec.observable.contains(point)) return;
    throw unsupported_error("this host does not show " + std::string(describe(point).name) +
                            " of state-space mixers, without which their writes cannot be split by source");
  };
  for (const hook point :
       {hook::conv, hook::dt, hook::B, hook::C, hook::log_decay, hook::recurrence_out, hook::z})
    require(point);
  if (mixer.write == write_path::frozen_norm) require(hook::write_scale);
  if (mixer.write == write_path::measured)
    throw unsupported_error("the state-space heads of layer " + std::to_string(layer) +
                            " have no linear path to the stream, so their writes cannot be split by source");
}

/// Calls `f(head, parts)` for the state-space heads among `heads`, the parts carried on through
/// `carry(W_O^h)`.
template <class Host, class Carry, class F>
void attribute_writes(Host& h, const token_sequence& prompt, index position, std::span<const head_id> heads,
                      std::optional<mixer_id> only, const Carry& carry, const F& f) {
  const model_spec& spec = h.spec();
  std::vector<mixer_id> mixers;
  for (const head_id id : heads) {
    const mixer_id mixer{id.layer, id.mixer};
    if (!is_state_space(id.mixer) || (!mixers.empty() && mixers.back() == mixer)) continue;
    require_attributable(spec, spec.mixer(id.layer, id.mixer), id.layer);
    mixers.push_back(mixer);
  }
  if (mixers.empty()) return;
  head_scan_collector scans(only);
  scan_output_collector outputs(spec, position, only);
  hook_set both{hooks_ref(scans), hooks_ref(outputs)};
  h.run(std::span(&prompt, 1), both, logit_rows::none);
  for (const mixer_id m : mixers) {
    const mixer_spec& mixer = spec.mixer(m.layer, m.mixer);
    const row_matrix& projection = h.output_projection(m);
    for (const head_id id : heads) {
      if (mixer_id{id.layer, id.mixer} != m) continue;
      const row_matrix map =
          outputs.write_scale(m) * carry(projection.middleCols(index{id.head} * mixer.d_head, mixer.d_head));
      f(id, outputs.output_by_source(scans.scan(mixer, id), id).mapped(map));
    }
  }
}

}  // namespace detail

/// Runs one prompt and calls `f(head, parts)` for every state-space head: `parts` (a `state_attribution`)
/// splits the head's write [d_model] at `position`, a token of the prompt, by source. Rows of `parts.sources`
/// count the model's memory tokens first (`model_spec::prefix_rows`); `parts.initial` is zero. Nothing is
/// called for a model without such heads.
///
/// The factors of gate and norm are those of `position` in this run; a channel whose scan puts out exactly
/// zero there counts as zero, source by source. Costs one pass of every head over the positions before.
/// @throws argument_error for a prompt the model cannot take, or a position that it does not have.
/// @throws unsupported_error if the host does not show the scans, or for writes without a linear path.
template <class Host, class F>
void for_each_state_attribution(Host& h, const token_sequence& prompt, index position, const F& f) {
  require_host<Host>();
  detail::require_position("for_each_state_attribution", position, std::ssize(prompt));
  detail::attribute_writes(
      h, prompt, position, h.spec().heads(), std::nullopt,
      [](const auto& block) { return row_matrix(block); }, f);
}

/// The same for a linear readout of the writes, `readout` [m x d_model]: with unembedding rows of labels, the
/// parts [m] of the heads' label coordinates, without forming what each source wrote.
/// @throws argument_error also if `readout` does not have d_model columns.
template <class Host, class F>
void for_each_state_attribution(Host& h, const token_sequence& prompt, index position,
                                const const_matrix_ref& readout, const F& f) {
  require_host<Host>();
  detail::require_position("for_each_state_attribution", position, std::ssize(prompt));
  detail::require_shape("for_each_state_attribution", "readout", readout, readout.rows(), h.spec().d_model);
  detail::attribute_writes(
      h, prompt, position, h.spec().heads(), std::nullopt,
      [&readout](const auto& block) { return row_matrix(readout * block); }, f);
}

/// One head's write at `position`, by source; see `for_each_state_attribution`.
/// @throws argument_error also for a head that the model does not have or that is not a state-space head.
template <class Host>
state_attribution source_writes(Host& h, const token_sequence& prompt, head_id head, index position) {
  require_host<Host>();
  h.spec().check(head);
  if (!is_state_space(head.mixer))
    throw argument_error("source_writes: " + h.spec().label(head) +
                         " is an attention head: only state-space heads write from a state");
  detail::require_position("source_writes", position, std::ssize(prompt));
  state_attribution parts;
  detail::attribute_writes(
      h, prompt, position, std::span(&head, 1), mixer_id{head.layer, head.mixer},
      [](const auto& block) { return row_matrix(block); },
      [&parts](head_id, state_attribution found) { parts = std::move(found); });
  return parts;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_STATE_WRITES_HPP
