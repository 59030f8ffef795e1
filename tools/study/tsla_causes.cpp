// What a TSLA study changes: sets of heads taken out, every head taken out, task vectors added.

#include <map>

#include "study/tsla_sections.hpp"

namespace iclmech::cli {
namespace {

constexpr std::array kinds{std::pair{"zero", ablation_kind::zero}, std::pair{"mean", ablation_kind::mean},
                           std::pair{"resample", ablation_kind::resample}};

}  // namespace

nlohmann::json ablation_section(subject& s, const nlohmann::json& done) {
  const nlohmann::json& scored = done.at("scores");
  const std::vector<head_id> ids = s.spec().heads();
  // Sizes that mean as many heads are one size; a set is drawn once, of the largest, and cut.
  std::map<index, double> sizes;
  for (const double share : s.options.sizes) sizes.emplace(top_count(std::ssize(ids), share), share);
  std::vector<head_selection> sets;
  std::vector<double> share_of_set;
  for (const auto& [name, unused] : scored.at("top").items()) {
    const std::vector<double> by = column(scored.at("heads"), name);
    for (const auto& [count, share] : sizes) {
      sets.push_back({name, top_heads(ids, by, count)});
      share_of_set.push_back(share);
      if (name != "tr" && name != "tl") continue;
      sets.push_back(
          {"random like " + name, matched_random_heads(s.spec(), sets.back().heads, s.prompts.seed)});
      share_of_set.push_back(share);
    }
  }
  nlohmann::json rows = nlohmann::json::array(), none;
  for (const auto& [kind_name, kind] : kinds) {
    if (kind == ablation_kind::resample && s.shown().size() < 2) continue;
    ablation_options how;
    how.kind = kind;
    how.seed = s.prompts.seed;
    const auto outcomes = ablated(s.host, s.shown(), sets, how, s.unit);
    none = rates(s, outcomes[0]);
    for (std::size_t k = 0; k < sets.size(); ++k) {
      nlohmann::json row = rates(s, outcomes[k + 1]);
      row["set"] = sets[k].name;
      row["kind"] = kind_name;
      row["fraction"] = share_of_set[k];
      rows.push_back(std::move(row));
    }
  }
  return {{"none", std::move(none)}, {"rows", std::move(rows)}};
}

nlohmann::json each_head_section(subject& s, const nlohmann::json& done) {
  const std::vector<head_id> ids = s.spec().heads();
  std::vector<head_selection> sets = each_head(s.spec());
  const std::vector<std::string> names{"tr", "tl"};
  std::vector<std::vector<head_id>> top;
  for (const std::string& name : names) {
    top.push_back(heads_named(s.spec(), done.at("scores").at("top").at(name)));
    sets.push_back({name, top.back()});
    for (head_selection& less : less_each_head(s.spec(), top.back())) sets.push_back(std::move(less));
  }
  const auto outcomes = ablated(s.host, s.shown(), sets, {}, s.unit);
  const auto plain = [&](const ablation_outcome& o) {
    return nlohmann::json{
        {"accuracy", o.summary.accuracy}, {"tr_ratio", o.summary.tr_ratio}, {"probability", o.probability}};
  };
  nlohmann::json j{{"none", plain(outcomes[0])}, {"leave_one_out", nlohmann::json::array()}};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    nlohmann::json row = plain(outcomes[i + 1]);
    row["name"] = outcomes[i + 1].name;
    j["leave_one_out"].push_back(std::move(row));
  }
  std::size_t next = ids.size() + 1;
  for (std::size_t k = 0; k < names.size(); ++k) {
    nlohmann::json& set = j["marginal"][names[k]];
    set["without_set"] = plain(outcomes[next++]);
    for (const head_id h : top[k]) {
      const auto place = static_cast<std::size_t>(std::find(ids.begin(), ids.end(), h) - ids.begin());
      set["rows"].push_back({{"name", s.spec().label(h)},
                             {"without_it_alone", plain(outcomes[place + 1])},
                             {"without_the_others", plain(outcomes[next++])}});
    }
  }
  return j;
}

nlohmann::json task_vector_section(subject& s, const nlohmann::json& done) {
  steering_rows table(s);
  for (const std::string name : {"tr", "tl"}) {
    const std::vector<head_id> heads = heads_named(s.spec(), done.at("scores").at("top").at(name));
    table.add(name, heads);
    table.add("random like " + name, matched_random_heads(s.spec(), heads, s.prompts.seed));
  }
  return std::move(table).json();
}

}  // namespace iclmech::cli
