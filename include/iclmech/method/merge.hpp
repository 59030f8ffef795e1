#ifndef ICLMECH_METHOD_MERGE_HPP
#define ICLMECH_METHOD_MERGE_HPP
// Puts results on different prompts together, so that prompts can be shared among runs, processes and
// machines.
//
// `merge(into, n, next, m)`: `into` is a result on n prompts, `next` the same on m others that come after
// them; afterwards `into` is the result on all n + m. Means are weighted by the numbers of prompts, in double
// where the results are; merging the same parts in the same order gives the same bits. With n = 0, `into` may
// be empty.

#include "iclmech/method/ablate_heads.hpp"
#include "iclmech/method/attention_profile.hpp"
#include "iclmech/method/layer_geometry.hpp"
#include "iclmech/method/steer.hpp"

namespace iclmech {

namespace detail {

/// How far a mean over n moves towards that of m more.
inline double step(std::size_t n, std::size_t m) {
  return n == 0 ? 1.0 : static_cast<double>(m) / static_cast<double>(n + m);
}

inline void approach(double& mean, double next, double share) { mean += share * (next - mean); }
inline void approach(vector& mean, const vector& next, double share) {
  mean += static_cast<float>(share) * (next - mean);
}

template <auto... fields, class T>
void approach_fields(T& mean, const T& next, double share) {
  (approach(mean.*fields, next.*fields, share), ...);
}
inline void approach(prediction_summary& mean, const prediction_summary& next, double share) {
  using s = prediction_summary;
  approach_fields<&s::accuracy, &s::tr_ratio>(mean, next, share);
}
inline void approach(write_scores& mean, const write_scores& next, double share) {
  using s = write_scores;
  approach_fields<&s::tr, &s::tl, &s::dla_sum, &s::dla_answer, &s::logit_difference>(mean, next, share);
}
inline void approach(stream_geometry& mean, const stream_geometry& next, double share) {
  using g = stream_geometry;
  approach_fields<&g::alignment, &g::logit_difference, &g::rotation>(mean, next, share);
}

template <class Means>
void approach_all(Means&& means, const std::remove_cvref_t<Means>& next, double share) {
  for (std::size_t i = 0; i < means.size(); ++i) approach(means[i], next[i], share);
}
inline void approach(attention_profile& mean, const attention_profile& next, double share) {
  approach_all(mean.roles, next.roles, share);
  approach_all(mean.demonstrations, next.demonstrations, share);
  approach(mean.on_answer, next.on_answer, share);
  approach(mean.answer_share, next.answer_share, share);
}
template <class T>
void approach_all(head_map<T>& means, const head_map<T>& next, double share) {
  for (std::size_t i = 0; i < means.size(); ++i) approach(means.values()[i], next.values()[i], share);
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace detail

inline void merge(prediction_result& into, std::size_t n, const prediction_result& next, std::size_t m) {
  detail::append(into.predictions, next.predictions);
  detail::append(into.probabilities, next.probabilities);
  detail::approach(into.summary, next.summary, detail::step(n, m));
}

inline void merge(head_scores& into, std::size_t n, const head_scores& next, std::size_t m) {
  if (n == 0) return void(into = next);
  const double share = detail::step(n, m);
  detail::approach_all(into.heads, next.heads, share);
  for (std::size_t c = 0; c < into.components.size(); ++c)
    detail::approach(into.components[c].scores, next.components[c].scores, share);
  detail::append(into.predictions, next.predictions);
  detail::append(into.each, next.each);
  for (const std::string& note : next.notes)
    if (std::find(into.notes.begin(), into.notes.end(), note) == into.notes.end()) into.notes.push_back(note);
  detail::approach(into.accuracy, next.accuracy, share);
  detail::approach(into.tr_ratio, next.tr_ratio, share);
}

inline void merge(head_means& into, std::size_t n, const head_means& next, std::size_t m) {
  if (n == 0) return void(into = next);
  detail::approach_all(into.outputs, next.outputs, detail::step(n, m));
  detail::approach_all(into.scaled, next.scaled, detail::step(n, m));
}

inline void merge(head_outputs& into, std::size_t, const head_outputs& next, std::size_t) {
  for (std::size_t h = 0; h < into.size(); ++h) detail::append(into.values()[h], next.values()[h]);
}

inline void merge(std::vector<ablation_outcome>& into, std::size_t n,
                  const std::vector<ablation_outcome>& next, std::size_t m) {
  if (n == 0) return void(into = next);
  for (std::size_t o = 0; o < into.size(); ++o) {
    detail::approach(into[o].summary, next[o].summary, detail::step(n, m));
    detail::approach(into[o].probability, next[o].probability, detail::step(n, m));
    detail::append(into[o].predictions, next[o].predictions);
  }
}

/// The prompts of `next` are numbered from 0 as those of `into`, and count on from them.
inline void merge(indirect_effect_result& into, std::size_t n, const indirect_effect_result& next,
                  std::size_t) {
  const auto effects = next.effects.effects();
  for (index p = 0; p < effects.rows(); ++p)
    into.effects.add(static_cast<std::int64_t>(n) + p,
                     {effects.row(p).data(), static_cast<std::size_t>(effects.cols())});
  detail::append(into.baseline, next.baseline);
}

inline void merge(std::vector<steering_outcome>& into, std::size_t n,
                  const std::vector<steering_outcome>& next, std::size_t m) {
  if (n == 0) return void(into = next);
  for (std::size_t o = 0; o < into.size(); ++o) {
    detail::approach(into[o].summary, next[o].summary, detail::step(n, m));
    detail::approach(into[o].probability, next[o].probability, detail::step(n, m));
  }
}

inline void merge(layer_geometry& into, std::size_t n, const layer_geometry& next, std::size_t m) {
  if (n == 0) return void(into = next);
  detail::approach_all(into.entering, next.entering, detail::step(n, m));
  detail::approach(into.leaving, next.leaving, detail::step(n, m));
  for (std::size_t s = 0; s < into.with.size(); ++s)
    detail::approach_all(into.with[s], next.with[s], detail::step(n, m));
}

inline void merge(std::vector<subspace_share>& into, std::size_t n, const std::vector<subspace_share>& next,
                  std::size_t m) {
  if (n == 0) return void(into = next);
  for (std::size_t k = 0; k < into.size(); ++k) {
    detail::approach(into[k].share, next[k].share, detail::step(n, m));
    detail::approach(into[k].expected, next[k].expected, detail::step(n, m));
    detail::append(into[k].p_values, next[k].p_values);
  }
}

inline void merge(head_map<attention_profile>& into, std::size_t n, const head_map<attention_profile>& next,
                  std::size_t m) {
  if (n == 0) return void(into = next);
  detail::approach_all(into, next, detail::step(n, m));
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_MERGE_HPP
