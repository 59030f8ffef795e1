#ifndef ICLMECH_HOOK_HOOK_SET_HPP
#define ICLMECH_HOOK_HOOK_SET_HPP
// Hooks as values: a callable bound to a point, and sets of them that a host fires without any run-time cost
// for points that no hook of the set names.
//
//   auto hooks = hook_set(observe<hook::z>([&](const site& s, const_activation_view z) { ... }),
//                         edit<hook::resid_pre>(at_layer(5), [&](const site& s, activation_view x) { ... }));
//   host.run(prompts, hooks);
//
// A set lives as long as the caller keeps it: nothing is registered anywhere. Hooks run in the order given,
// so an observer placed behind an editor sees what the editor wrote.

#include <concepts>
#include <tuple>
#include <utility>

#include "iclmech/hook/site.hpp"
#include "iclmech/hook/tensor_view.hpp"

namespace iclmech {

/// The default filter. A state has no row axis and there is one per position, so unless a filter says
/// otherwise only the state after the last position is shown; every other point is shown whenever it fires.
struct everywhere {
  constexpr bool operator()(const site& s) const { return s.point != hook::ssm_state || s.ends_sequence; }
};

/// A callable bound to point P. `Edits` says whether it gets a writable view.
template <hook P, bool Edits, std::predicate<const site&> When, class F>
class bound_hook {
 public:
  bound_hook(When when, F call) : when_(std::move(when)), call_(std::move(call)) {}

  static constexpr bool observes(hook point) { return point == P && !Edits; }
  static constexpr bool edits(hook point) { return point == P && Edits; }
  bool wants(const site& s) const { return s.point == P && when_(s); }

  void fire(const site& s, activation_view view) {
    if (!wants(s)) return;
    if constexpr (Edits)
      call_(s, view);
    else
      call_(s, const_activation_view(view));
  }

 private:
  When when_;
  F call_;
};

/// Looks at point P wherever `when(site)` holds (everywhere if not given). `f(const site&,
/// const_activation_view)`.
template <hook P, std::predicate<const site&> When, class F>
requires std::invocable<F&, const site&, const_activation_view>
auto observe(When when, F f) { return bound_hook<P, false, When, F>(std::move(when), std::move(f)); }
template <hook P, class F>
requires std::invocable<F&, const site&, const_activation_view>
auto observe(F f) { return observe<P>(everywhere{}, std::move(f)); }

/// May write at point P wherever `when(site)` holds (everywhere if not given). `f(const site&,
/// activation_view)`.
template <hook P, std::predicate<const site&> When, class F>
requires std::invocable<F&, const site&, activation_view>
auto edit(When when, F f) { return bound_hook<P, true, When, F>(std::move(when), std::move(f)); }
template <hook P, class F>
requires std::invocable<F&, const site&, activation_view>
auto edit(F f) { return edit<P>(everywhere{}, std::move(f)); }

/// Filters for the common cases.
constexpr auto at_layer(int layer) {
  return [layer](const site& s) { return s.layer == layer; };
}
constexpr auto at_mixer(mixer_id id) {
  return [id](const site& s) { return s.layer == id.layer && s.mixer == id.mixer; };
}
constexpr auto at_position(index position) {
  return [position](const site& s) { return s.first_position == position; };
}

/// What a host needs of hooks: which points may fire (known at compile time), whether a site is wanted now,
/// and the call itself. `hook_set`, a single `observe`/`edit` and `any_hooks` all satisfy it.
template <class H>
concept hooks = requires(H& h, const std::remove_cvref_t<H>& constant, const site& s, activation_view view) {
  {std::bool_constant<std::remove_cvref_t<H>::observes(hook::z)>{}};
  {std::bool_constant<std::remove_cvref_t<H>::edits(hook::z)>{}};
  { constant.wants(s) } -> std::same_as<bool>;
  h.fire(s, view);
};

/// Several hooks (or sets of hooks) fired as one, in order.
template <hooks... Hs>
class hook_set {
 public:
  explicit hook_set(Hs... hs) : hooks_(std::move(hs)...) {}

  static constexpr bool observes([[maybe_unused]] hook point) {
    return (std::remove_cvref_t<Hs>::observes(point) || ...);
  }
  static constexpr bool edits([[maybe_unused]] hook point) {
    return (std::remove_cvref_t<Hs>::edits(point) || ...);
  }

  bool wants([[maybe_unused]] const site& s) const {
    return std::apply([&](const auto&... h) { return (h.wants(s) || ...); }, hooks_);
  }
  void fire([[maybe_unused]] const site& s, [[maybe_unused]] activation_view view) {
    std::apply([&](auto&... h) { (h.fire(s, view), ...); }, hooks_);
  }

 private:
  std::tuple<Hs...> hooks_;
};

/// A set that refers to hooks owned elsewhere, for composing with a caller's set without moving it.
template <hooks H>
class hooks_ref {
 public:
  explicit hooks_ref(H& h) : hooks_(&h) {}
  static constexpr bool observes(hook point) { return H::observes(point); }
  static constexpr bool edits(hook point) { return H::edits(point); }
  bool wants(const site& s) const { return hooks_->wants(s); }
  void fire(const site& s, activation_view view) { hooks_->fire(s, view); }

 private:
  H* hooks_;
};

/// No hooks at all: a host compiled with it has no trace of hooks in its machine code.
using no_hooks = hook_set<>;

/// True if a set of type H can want point P; hosts test it with `if constexpr` before doing anything for P.
template <class H, hook P>
inline constexpr bool can_fire = std::remove_cvref_t<H>::observes(P) || std::remove_cvref_t<H>::edits(P);

}  // namespace iclmech

#endif  // ICLMECH_HOOK_HOOK_SET_HPP
