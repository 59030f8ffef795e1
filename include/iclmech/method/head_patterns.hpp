#ifndef ICLMECH_METHOD_HEAD_PATTERNS_HPP
#define ICLMECH_METHOD_HEAD_PATTERNS_HPP
// Where every head looks, attention and state-space alike: patterns of a run, induction scores, roles of what
// is seen.

#include <map>
#include <vector>

#include "iclmech/attention_role.hpp"
#include "iclmech/host/head_map.hpp"
#include "iclmech/host/host.hpp"
#include "iclmech/induction.hpp"
#include "iclmech/state_space.hpp"

namespace iclmech {
namespace detail {

/// Keeps what patterns are made of: attention patterns as they are, and dt, B, C and decays of scans.
class pattern_collector {
 public:
  static constexpr bool observes(hook point) {
    return hook_mask{hook::pattern, hook::dt, hook::B, hook::C, hook::log_decay}.contains(point);
  }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const { return observes(s.point); }

  void fire(const site& s, const_activation_view view) {
    seen& into = seen_[{s.layer, s.mixer}];
    switch (s.point) {
      case hook::pattern:
        for (index h = 0; h < view.shape(0); ++h)
          into.patterns.push_back(const_matrix_view(view.data() + h * view.row_stride(), view.shape(1),
                                                    view.shape(2), Eigen::OuterStride<>(view.shape(2))));
        return;
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
        into.decay = view.matrix().row(0);
        return;
    }
  }

  /// One head's pattern, [rows x rows].
  row_matrix pattern(const mixer_spec& mixer, head_id id, step_factor factor) const {
    const seen& s = seen_.at({id.layer, id.mixer});
    if (id.mixer == mixer_kind::attention) return s.patterns[static_cast<std::size_t>(id.head)];
    head_scan scan;
    if (id.mixer == mixer_kind::mamba2) {
      const index group = id.head / (mixer.heads / mixer.groups), n = mixer.d_state;
      scan.dt = s.dt.col(id.head);
      // log_decay = dt A, so A shows at any position.
      scan.A = row_matrix::Constant(1, 1, s.decay[id.head] / s.dt(0, id.head));
      scan.B = s.B.middleCols(group * n, n);
      scan.C = s.C.middleCols(group * n, n);
    } else {
      const index first = index{id.head} * mixer.d_head, n = mixer.d_state;
      scan.dt = s.dt.middleCols(first, mixer.d_head);
      scan.A = const_matrix_view(s.decay.data() + first * n, mixer.d_head, n, Eigen::OuterStride<>(n));
      scan.A.array().colwise() /= s.dt.row(0).segment(first, mixer.d_head).transpose().array();
      scan.B = s.B;
      scan.C = s.C;
    }
    return effective_attention(scan, factor);
  }

 private:
  struct seen {
    std::vector<row_matrix> patterns;
    row_matrix dt, B, C;
    row_vector decay;
  };
  std::map<mixer_id, seen> seen_;
};

}  // namespace detail

/// Runs one prompt and calls `f(head, pattern)` for every head: the attention pattern, or the effective
/// attention of a state-space head, [rows x rows]; rows count the model's memory tokens first
/// (`model_spec::prefix_rows`).
/// @throws argument_error for a prompt the model cannot take.
template <class Host, class F>
void for_each_head_pattern(Host& h, const token_sequence& prompt, const F& f,
                           step_factor factor = step_factor::included) {
  require_host<Host>();
  detail::pattern_collector collector;
  h.run(std::span(&prompt, 1), collector, logit_rows::none);
  for (const head_id id : h.spec().heads())
    f(id, collector.pattern(h.spec().mixer(id.layer, id.mixer), id, factor));
}

/// Induction score of every head on a repeated random block (make one with `repeat_random_tokens`).
template <class Host>
head_map<double> induction_scores(Host& h, const repeated_tokens& block) {
  head_map<double> scores(h.spec());
  for_each_head_pattern(h, block.ids, [&](head_id id, const row_matrix& pattern) {
    scores[id] = induction_score(pattern, block.period, block.start + h.spec().prefix_rows);
  });
  return scores;
}

/// What every head looks at from the last position of a prompt, by the roles of its tokens; memory tokens are
/// left out.
template <class Host>
head_map<role_shares> attention_roles(Host& h, const token_sequence& prompt,
                                      std::span<const token_role> roles) {
  head_map<role_shares> shares(h.spec());
  for_each_head_pattern(h, prompt, [&](head_id id, const row_matrix& pattern) {
    const row_vector last = pattern.bottomRows(1).rightCols(static_cast<index>(roles.size()));
    shares[id] = role_shares::of(last, roles);
  });
  return shares;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_HEAD_PATTERNS_HPP
