#ifndef ICLMECH_TOOLS_PIECES_HPP
#define ICLMECH_TOOLS_PIECES_HPP
// Results of methods on some of the prompts as JSON that gives them back bit for bit, and their gathering.

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "iclmech/method/merge.hpp"
#include "piecework.hpp"

namespace nlohmann {

template <>
struct adl_serializer<iclmech::vector> {
  static void to_json(json& j, const iclmech::vector& v) {
    j = std::vector<float>(v.data(), v.data() + v.size());
  }
  static void from_json(const json& j, iclmech::vector& v) {
    const auto values = j.get<std::vector<float>>();
    v = Eigen::Map<const iclmech::vector>(values.data(), std::ssize(values));
  }
};

/// Values alone: a map is read into one of the same model.
template <class T>
struct adl_serializer<iclmech::head_map<T>> {
  static void to_json(json& j, const iclmech::head_map<T>& map) {
    j = json::array();
    for (const T& value : map.values()) j.push_back(value);
  }
  static void from_json(const json& j, iclmech::head_map<T>& map) {
    for (std::size_t h = 0; h < map.size(); ++h) j.at(h).get_to(map.values()[h]);
  }
};

template <>
struct adl_serializer<iclmech::indirect_effect_result> {
  static void to_json(json& j, const iclmech::indirect_effect_result& r) {
    const auto effects = r.effects.effects();
    j = {{"baseline", r.baseline}, {"effects", json::array()}};
    for (iclmech::index p = 0; p < effects.rows(); ++p)
      j["effects"].push_back(
          std::vector<float>(effects.row(p).data(), effects.row(p).data() + effects.cols()));
  }
  static void from_json(const json& j, iclmech::indirect_effect_result& r) {
    j.at("baseline").get_to(r.baseline);
    for (std::size_t p = 0; p < j.at("effects").size(); ++p)
      r.effects.add(static_cast<std::int64_t>(p), j.at("effects")[p].get<std::vector<float>>());
  }
};

}  // namespace nlohmann

namespace iclmech {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(prediction_summary, accuracy, tr_ratio)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(prediction_result, predictions, probabilities, summary)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(write_scores, tr, tl, dla_sum, dla_answer, logit_difference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(component_scores, name, layer, scores)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(head_scores, heads, components, predictions, each, notes, accuracy,
                                   tr_ratio)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(head_means, outputs, scaled)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ablation_outcome, name, heads, summary, probability, predictions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(steering_outcome, name, layer, strength, summary, probability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(stream_geometry, alignment, logit_difference, rotation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(layer_geometry, entering, leaving, selections, with)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(head_id, layer, mixer, head)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(subspace_share, head, share, expected, p_values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(attention_profile, roles, demonstrations, on_answer, answer_share)

namespace cli {

// What stands for prompts that are left to other processes, so that a result has its full length.
inline void pad(prediction_result& r, std::size_t prompts) {
  r.predictions.resize(prompts);
  r.probabilities.resize(prompts);
}
inline void pad(head_scores& r, std::size_t prompts) { r.predictions.resize(prompts); }
inline void pad(std::vector<ablation_outcome>& r, std::size_t prompts) {
  for (ablation_outcome& o : r) o.predictions.resize(prompts);
}
template <class T>
void pad(T&, std::size_t) {}

/// The result on all prompts: `run(first, count)` measures a piece, `empty` is a result on no prompts.
template <class T, class Run>
T gather(piecework& work, const std::string& method, std::size_t prompts, std::size_t size, needed where,
         const T& empty, Run&& run) {
  const std::vector<nlohmann::json> parts =
      work.pieces(method, prompts, size, where,
                  [&](std::size_t first, std::size_t count) { return nlohmann::json(run(first, count)); });
  T whole = empty;
  std::size_t merged = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].is_null()) continue;
    T part = empty;
    parts[i].get_to(part);
    const std::size_t count = std::min(size, prompts - i * size);
    merge(whole, merged, part, count);
    merged += count;
  }
  if (merged < prompts) pad(whole, prompts);
  return whole;
}

}  // namespace cli
}  // namespace iclmech

#endif  // ICLMECH_TOOLS_PIECES_HPP
