#ifndef ICLMECH_HOOK_ANY_HOOKS_HPP
#define ICLMECH_HOOK_ANY_HOOKS_HPP
// Hooks chosen at run time: a reference to any hook set, behind one type. Hosts are compiled once for it.

#include "iclmech/hook/hook_set.hpp"

namespace iclmech {

/// Refers to a hook set that the caller keeps alive. Every point may fire, so a host tests `wants` at run
/// time; which points the set can want at all is known beforehand, which makes the test one comparison.
class any_hooks {
 public:
  template <hooks H>
  requires(!std::same_as<H, any_hooks>) explicit any_hooks(H& set)
      : set_(&set),
        wants_([](const void* s, const site& where) { return static_cast<const H*>(s)->wants(where); }),
        fire_(
            [](void* s, const site& where, activation_view view) { static_cast<H*>(s)->fire(where, view); }) {
    for (std::size_t i = 0; i < hook_count; ++i) {
      const auto point = static_cast<hook>(i);
      if (H::observes(point) || H::edits(point)) points_.add(point);
    }
  }

  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return true; }
  bool wants(const site& s) const { return points_.contains(s.point) && wants_(set_, s); }
  void fire(const site& s, activation_view view) { fire_(set_, s, view); }

 private:
  void* set_;
  hook_mask points_;
  bool (*wants_)(const void*, const site&);
  void (*fire_)(void*, const site&, activation_view);
};

}  // namespace iclmech

#endif  // ICLMECH_HOOK_ANY_HOOKS_HPP
