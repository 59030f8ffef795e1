#ifndef ICLMECH_HOOK_RECORDER_HPP
#define ICLMECH_HOOK_RECORDER_HPP
// Records activations of one sequence into memory of its own: what TransformerLens calls run_with_cache.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/hook/hook_set.hpp"
#include "iclmech/hook/name.hpp"

namespace iclmech {

/// A recorded activation. A point that fired several times (states, one per position) has one more axis in
/// front.
struct recorded_activation {
  std::vector<index> shape;
  std::vector<float> values;
};

/// Observes chosen places of one sequence and keeps copies, by name. States are kept for `state_positions`,
/// or for the last position if there are none.
class activation_recorder {
 public:
  explicit activation_recorder(std::vector<hook_place> places, int sequence = 0,
                               std::vector<index> state_positions = {})
      : places_(std::move(places)), state_positions_(std::move(state_positions)), sequence_(sequence) {}

  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return false; }

  bool wants(const site& s) const {
    if (s.sequence != sequence_) return false;
    if (s.point == hook::ssm_state && !wants_position(s)) return false;
    return std::any_of(places_.begin(), places_.end(), [&s](const hook_place& p) { return p.holds(s); });
  }

  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    const auto place =
        std::find_if(places_.begin(), places_.end(), [&s](const hook_place& p) { return p.holds(s); });
    entry& e = entries_[hook_name(*place)];
    std::vector<index> shape;
    for (int axis = 0; axis < view.rank(); ++axis) shape.push_back(view.shape(axis));
    e.one = shape;
    ++e.times;
    const row_matrix copy = view.matrix();
    e.values.insert(e.values.end(), copy.data(), copy.data() + copy.size());
  }

  /// Everything recorded, by hook name.
  std::map<std::string, recorded_activation> take() {
    std::map<std::string, recorded_activation> result;
    for (auto& [name, e] : entries_) {
      std::vector<index> shape = e.one;
      if (e.times > 1) shape.insert(shape.begin(), e.times);
      result[name] = {std::move(shape), std::move(e.values)};
    }
    entries_.clear();
    return result;
  }

 private:
  struct entry {
    std::vector<index> one;
    index times = 0;
    std::vector<float> values;
  };

  bool wants_position(const site& s) const {
    if (state_positions_.empty()) return s.ends_sequence;
    return std::find(state_positions_.begin(), state_positions_.end(), s.first_position) !=
           state_positions_.end();
  }

  std::vector<hook_place> places_;
  std::vector<index> state_positions_;
  int sequence_;
  std::map<std::string, entry> entries_;
};

static_assert(hooks<activation_recorder>);

}  // namespace iclmech

#endif  // ICLMECH_HOOK_RECORDER_HPP
