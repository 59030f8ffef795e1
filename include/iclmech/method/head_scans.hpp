#ifndef ICLMECH_METHOD_HEAD_SCANS_HPP
#define ICLMECH_METHOD_HEAD_SCANS_HPP
// What the scans of a model's state-space heads were made of in a run of one prompt.

#include <map>
#include <optional>

#include "iclmech/host/host.hpp"
#include "iclmech/state_space.hpp"

namespace iclmech {

/// Keeps dt, B, C and the decays of scans while one prompt runs, and takes single heads out of them. With a
/// mixer given it watches that one alone.
class head_scan_collector {
 public:
  explicit head_scan_collector(std::optional<mixer_id> only = {}) : only_(only) {}

  static constexpr bool observes(hook point) {
    return hook_mask{hook::dt, hook::B, hook::C, hook::log_decay}.contains(point);
  }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const {
    return observes(s.point) && (!only_ || *only_ == mixer_id{s.layer, s.mixer});
  }

  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    seen& into = seen_[{s.layer, s.mixer}];
    switch (s.point) {
      case hook::dt:
        into.dt = view.matrix();
        return;
      case hook::B:
        into.B = view.matrix();
        return;
      case hook::C:
        into.C = view.matrix();
        return;
      default:
        into.lowest_log_decay = view.matrix().colwise().minCoeff();
        return;
    }
  }

  /// The scan of a head of `mixer`; rows count the model's memory tokens first (`model_spec::prefix_rows`).
  head_scan scan(const mixer_spec& mixer, head_id id) const {
    const seen& s = seen_.at({id.layer, id.mixer});
    const index states = mixer.d_state;
    head_scan scan;
    if (id.mixer == mixer_kind::mamba2) {
      const index group = id.head / (mixer.heads / mixer.groups);
      scan.dt = s.dt.col(id.head);
      scan.A = rates(s.lowest_log_decay.segment(id.head, 1), scan.dt, 1);
      scan.B = s.B.middleCols(group * states, states);
      scan.C = s.C.middleCols(group * states, states);
    } else {
      const index first = index{id.head} * mixer.d_head;
      scan.dt = s.dt.middleCols(first, mixer.d_head);
      scan.A = rates(s.lowest_log_decay.segment(first * states, mixer.d_head * states), scan.dt, states);
      scan.B = s.B;
      scan.C = s.C;
    }
    return scan;
  }

 private:
  struct seen {
    row_matrix dt, B, C;
    row_vector lowest_log_decay;
  };

  // A out of log_decay = dt A, [columns of dt x states], A being negative. A step size may underflow to zero,
  // where nothing shows of A, so it is read where dt is largest. Where dt is zero throughout, any A will do.
  static row_matrix rates(const Eigen::Ref<const row_vector>& lowest_log_decay, const row_matrix& dt,
                          index states) {
    row_matrix A =
        const_matrix_view(lowest_log_decay.data(), dt.cols(), states, Eigen::OuterStride<>(states));
    for (index c = 0; c < dt.cols(); ++c) {
      const float largest = dt.col(c).maxCoeff();
      if (largest > 0.0F) A.row(c) /= largest;
    }
    return A;
  }

  std::optional<mixer_id> only_;
  std::map<mixer_id, seen> seen_;
};

static_assert(hooks<head_scan_collector>);

/// Runs one prompt and calls `f(head, scan)` for every state-space head, with its `head_scan`; rows count the
/// model's memory tokens first (`model_spec::prefix_rows`).
/// @throws argument_error for a prompt the model cannot take.
template <class Host, class F>
void for_each_head_scan(Host& h, const token_sequence& prompt, const F& f) {
  require_host<Host>();
  head_scan_collector collector;
  h.run(std::span(&prompt, 1), collector, logit_rows::none);
  for (const head_id id : h.spec().heads())
    if (is_state_space(id.mixer)) f(id, collector.scan(h.spec().mixer(id.layer, id.mixer), id));
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_HEAD_SCANS_HPP
