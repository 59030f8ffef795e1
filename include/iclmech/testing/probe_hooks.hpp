#ifndef ICLMECH_TESTING_PROBE_HOOKS_HPP
#define ICLMECH_TESTING_PROBE_HOOKS_HPP
// Hooks with which the conformance checks poke at one place of a host.

#include "iclmech/detail/random.hpp"
#include "iclmech/testing/firing_log.hpp"

namespace iclmech::detail {

/// Keeps the firings of one place in a log.
struct watch_one {
  hook_place place;
  firing_log* log;

  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const { return place.holds(s) && log->wants(s); }
  void fire(const site& s, activation_view view) {
    if (wants(s)) log->fire(s, view);
  }
};

/// Scales every number of the last position by a random factor from 0.5 to 1.5, which keeps signs and
/// infinities.
struct shake_last {
  hook_place place;

  static constexpr bool observes(hook) { return false; }
  static constexpr bool edits(hook) { return true; }
  bool wants(const site& s) const { return place.holds(s) && everywhere{}(s); }
  void fire(const site& s, activation_view view) const {
    if (!wants(s)) return;
    random_stream random{11, stream_key("conformance edits")};
    const bool map = s.point == hook::pattern || s.point == hook::attn_scores;  // [head, query, key]
    const bool every_row = map || s.point == hook::ssm_state;
    for (index r = every_row ? 0 : view.rows() - 1; r < view.rows(); ++r)
      for (index c = map ? view.row_size() - view.shape(2) : 0; c < view.row_size(); ++c)
        view.data()[r * view.row_stride() + c] *= static_cast<float>(0.5 + random.uniform());
  }
};

/// Throws where it fires.
struct throw_at {
  hook_place place;

  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const { return place.holds(s); }
  void fire(const site& s, const_activation_view) const {
    if (wants(s)) throw unsupported_error("a hook that fails on purpose");
  }
};

}  // namespace iclmech::detail

#endif  // ICLMECH_TESTING_PROBE_HOOKS_HPP
