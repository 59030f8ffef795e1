// What a function-vector study measures: indirect effects, steering and ablation, by mixer kind.

#include <cmath>

#include "iclmech/report/results_json.hpp"
#include "study/behaviour_sections.hpp"

namespace iclmech::cli {
namespace {

nlohmann::json concentration_json(std::vector<double> values) {
  // Concentration is about heads that help; the others count as nothing.
  for (double& x : values) x = std::max(x, 0.0);
  return {{"gini", gini(values)}, {"top_3_percent", top_share(values, top_count(std::ssize(values), 0.03))}};
}

nlohmann::json effect_section(subject& s, const nlohmann::json&) {
  const measured_effects m = effects(s.host, s.make.effects(s.options.corrupted), s.work());
  nlohmann::json j = to_json(m.effects);
  const Eigen::VectorXd mean = m.effects.effects.mean();
  const std::vector<double> aie(mean.data(), mean.data() + mean.size());
  for (std::size_t i = 0; i < m.effects.heads.size(); ++i)
    j["heads"][i]["name"] = s.spec().label(m.effects.heads[i]);
  j["concentration"] = concentration_json(aie);
  const auto best = [&](const std::vector<head_id>& ids, const std::vector<double>& values) {
    return names_of(s.spec(), top_heads(ids, values, std::min<index>(s.options.top, std::ssize(ids))));
  };
  j["top"]["all"] = best(m.effects.heads, aie);
  for (const mixer_kind kind : s.spec().mixer_kinds()) {
    std::vector<head_id> ids;
    std::vector<double> values;
    for (std::size_t i = 0; i < aie.size(); ++i)
      if (m.effects.heads[i].mixer == kind) {
        ids.push_back(m.effects.heads[i]);
        values.push_back(aie[i]);
      }
    const std::string name(to_string(kind));
    double sum = 0.0;
    for (const double x : values) sum += x;
    j["by_kind"][name] = concentration_json(values);
    j["by_kind"][name]["heads"] = ids.size();
    j["by_kind"][name]["sum"] = sum;
    if (ids.size() < aie.size()) j["top"][name] = best(ids, values);
  }
  return j;
}

/// Half of the heads at most, so that random ones can differ from the set.
std::vector<head_id> function_heads(const subject& s, const nlohmann::json& names) {
  std::vector<head_id> heads = heads_named(s.spec(), names);
  heads.resize(std::min(heads.size(), std::max<std::size_t>(1, s.spec().heads().size() / 2)));
  return heads;
}

nlohmann::json vector_steering_section(subject& s, const nlohmann::json& done) {
  steering_rows table(s);
  const nlohmann::json& top = done.at("effects").at("top");
  for (const auto& [name, heads] : top.items()) table.add(name, function_heads(s, heads));
  table.add("random", matched_random_heads(s.spec(), function_heads(s, top.at("all")), s.prompts.seed));
  return std::move(table).json();
}

nlohmann::json vector_ablation_section(subject& s, const nlohmann::json& done) {
  std::vector<head_selection> sets;
  for (const auto& [name, names] : done.at("effects").at("top").items()) {
    const std::vector<head_id> heads = function_heads(s, names);
    sets.push_back({name, heads});
    sets.push_back({"random like " + name, matched_random_heads(s.spec(), heads, s.prompts.seed)});
  }
  const auto outcomes = ablated(s.host, s.shown(), sets, {}, {}, s.work());
  nlohmann::json rows = nlohmann::json::array(), none;
  for (const ablation_outcome& o : outcomes) {
    nlohmann::json row = rates(s, o);
    row["set"] = o.name;
    (&o == &outcomes.front() ? none : rows.emplace_back()) = std::move(row);
  }
  return {{"none", std::move(none)}, {"rows", std::move(rows)}};
}

}  // namespace

std::vector<section> fv_sections() {
  return {{"shots", {}, shots_section, 9.0},
          {"noise", {}, noise_section, 45.0},
          {"flips", {}, flips_section, 8.0},
          {"effects", {}, effect_section, 2.0},
          {"steering", {"effects"}, vector_steering_section, 1.5},
          {"ablation", {"effects"}, vector_ablation_section, 1.5}};
}

}  // namespace iclmech::cli
