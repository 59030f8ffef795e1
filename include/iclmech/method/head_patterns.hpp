#ifndef ICLMECH_METHOD_HEAD_PATTERNS_HPP
#define ICLMECH_METHOD_HEAD_PATTERNS_HPP
// Where every head looks, attention and state-space alike: patterns of a run, induction scores, roles of what
// is seen.

#include <cmath>
#include <map>
#include <vector>

#include "iclmech/attention_role.hpp"
#include "iclmech/host/head_map.hpp"
#include "iclmech/host/host.hpp"
#include "iclmech/induction.hpp"
#include "iclmech/method/head_scans.hpp"

namespace iclmech {
namespace detail {

/// Keeps the patterns of every attention head.
class attention_pattern_collector {
 public:
  static constexpr bool observes(hook point) { return point == hook::pattern; }
  static constexpr bool edits(hook) { return false; }
  bool wants(const site& s) const { return observes(s.point); }

  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    std::vector<row_matrix>& patterns = patterns_[s.layer];
    for (index h = 0; h < view.shape(0); ++h)
      patterns.push_back(const_matrix_view(view.data() + h * view.row_stride(), view.shape(1), view.shape(2),
                                           Eigen::OuterStride<>(view.shape(2))));
  }

  const row_matrix& pattern(head_id id) const {
    return patterns_.at(id.layer)[static_cast<std::size_t>(id.head)];
  }

 private:
  std::map<int, std::vector<row_matrix>> patterns_;
};

}  // namespace detail

/// Whether a host shows where heads of a kind look: their pattern, or what their scans are made of.
inline bool shows_pattern(const model_spec& spec, mixer_kind kind) {
  if (!is_state_space(kind)) return spec.observable.contains(hook::pattern);
  for (const hook point : {hook::dt, hook::B, hook::C, hook::log_decay})
    if (!spec.observable.contains(point)) return false;
  return true;
}

/// Runs one prompt and calls `f(head, pattern)` for every head of a kind that the host shows: the attention
/// pattern, or the effective attention of a state-space head, [rows x rows]; rows count the model's memory
/// tokens first (`model_spec::prefix_rows`).
/// @throws argument_error for a prompt the model cannot take; unsupported_error if no head's pattern is
/// shown.
template <class Host, class F>
void for_each_head_pattern(Host& h, const token_sequence& prompt, const F& f,
                           step_factor factor = step_factor::included) {
  require_host<Host>();
  const std::vector<mixer_kind> kinds = h.spec().mixer_kinds();
  if (std::none_of(kinds.begin(), kinds.end(), [&](mixer_kind k) { return shows_pattern(h.spec(), k); }))
    throw unsupported_error(
        "this host shows neither hook_pattern nor hook_log_decay: where its heads look cannot be told");
  head_scan_collector scans;
  detail::attention_pattern_collector patterns;
  hook_set both{hooks_ref(scans), hooks_ref(patterns)};
  h.run(std::span(&prompt, 1), both, logit_rows::none);
  for (const head_id id : h.spec().heads()) {
    if (!shows_pattern(h.spec(), id.mixer)) continue;
    if (is_state_space(id.mixer))
      f(id, effective_attention(scans.scan(h.spec().mixer(id.layer, id.mixer), id), factor));
    else
      f(id, patterns.pattern(id));
  }
}

/// Induction score of every head on a repeated random block (make one with `repeat_random_tokens`); NaN where
/// the host does not show the pattern.
template <class Host>
head_map<double> induction_scores(Host& h, const repeated_tokens& block) {
  head_map<double> scores(h.spec());
  std::fill(scores.values().begin(), scores.values().end(), std::nan(""));
  for_each_head_pattern(h, block.ids, [&](head_id id, const row_matrix& pattern) {
    scores[id] = induction_score(pattern, block.period, block.start + h.spec().prefix_rows);
  });
  return scores;
}

/// What every head looks at from the last position of a prompt, by the roles of its tokens; memory tokens are
/// left out, and nothing is said of heads whose pattern the host does not show.
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
