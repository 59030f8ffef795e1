#ifndef ICLMECH_METHOD_HEAD_SELECTION_HPP
#define ICLMECH_METHOD_HEAD_SELECTION_HPP
// Sets of heads with names: the best by a score, random ones that match them, every head alone, a set less
// one.

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/random.hpp"
#include "iclmech/host/model_spec.hpp"
#include "iclmech/overlap.hpp"

namespace iclmech {

/// A set of heads to treat together, with a name for tables.
struct head_selection {
  std::string name;
  std::vector<head_id> heads;
};

/// The heads with the highest `count` of `scores`, highest first; `ids` and `scores` go together.
/// @throws argument_error for a count outside 1 to the number of heads, or NaN scores.
inline std::vector<head_id> top_heads(std::span<const head_id> ids, std::span<const double> scores,
                                      index count) {
  if (ids.size() != scores.size())
    throw argument_error("top_heads: " + std::to_string(scores.size()) + " scores for " +
                         std::to_string(ids.size()) + " heads");
  std::vector<head_id> heads;
  for (const index i : top_positions(scores, count)) heads.push_back(ids[static_cast<std::size_t>(i)]);
  return heads;
}

/// As many random heads as `like` has, layer by layer and of the same mixer kind; none of `like` itself where
/// the layer has enough others.
inline std::vector<head_id> matched_random_heads(const model_spec& spec, std::span<const head_id> like,
                                                 std::uint64_t seed) {
  detail::random_stream random{seed, detail::stream_key("matched random heads")};
  std::map<mixer_id, std::vector<int>> taken;
  for (const head_id h : like) taken[{h.layer, h.mixer}].push_back(h.head);
  std::vector<head_id> chosen;
  for (const auto& [mixer, heads] : taken) {
    const int count = spec.mixer(mixer.layer, mixer.mixer).heads;
    std::vector<int> pool;
    for (int k = 0; k < count; ++k)
      if (std::find(heads.begin(), heads.end(), k) == heads.end()) pool.push_back(k);
    random.shuffle(pool);
    std::vector<int> rest = heads;
    random.shuffle(rest);
    pool.insert(pool.end(), rest.begin(), rest.end());
    for (std::size_t i = 0; i < heads.size(); ++i) chosen.push_back({mixer.layer, mixer.mixer, pool[i]});
  }
  return chosen;
}

/// Every head of the model as a selection of its own, named as the model names it. Taking each out measures
/// leave-one-out effects.
inline std::vector<head_selection> each_head(const model_spec& spec) {
  std::vector<head_selection> all;
  for (const head_id head : spec.heads()) all.push_back({spec.label(head), {head}});
  return all;
}

/// The set less each of its heads in turn, named by the head that stays in the model: what a head adds to the
/// effect of the others.
inline std::vector<head_selection> less_each_head(const model_spec& spec, std::span<const head_id> heads) {
  std::vector<head_selection> all;
  for (const head_id spared : heads) {
    head_selection rest{spec.label(spared), {}};
    for (const head_id head : heads)
      if (head != spared) rest.heads.push_back(head);
    all.push_back(std::move(rest));
  }
  return all;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_HEAD_SELECTION_HPP
