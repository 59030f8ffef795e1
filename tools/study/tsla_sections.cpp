// What a TSLA study sees in runs as they are: scores, perturbed prompts, geometry, attention, concentration.

#include <fmt/format.h>

#include <cmath>

#include "head_sets.hpp"
#include "iclmech/method/ranking_agreement.hpp"
#include "iclmech/report/results_json.hpp"
#include "study/tsla_sections.hpp"

namespace iclmech::cli {
namespace {

std::vector<std::string> kinds_without_pattern(const model_spec& spec) {
  std::vector<std::string> kinds;
  for (const mixer_kind kind : spec.mixer_kinds())
    if (!shows_pattern(spec, kind)) kinds.emplace_back(to_string(kind));
  return kinds;
}

/// The head scores by name, and what they find.
constexpr std::array score_names{"tr", "tl", "induction", "dla_answer", "logit_difference"};

nlohmann::json score_section(subject& s, const nlohmann::json&) {
  const head_scores found = scores(s.host, s.shown(), {.components = true, .each = true}, s.work());
  nlohmann::json result = to_json(found);
  result.update(rates(s.shown(), found.predictions));
  try {
    const head_map<double> by_induction = induction(s.host, s.shown(), s.prompts.seed);
    for (std::size_t i = 0; i < by_induction.size(); ++i)
      result["heads"][i]["induction"] = by_induction.values()[i];
    for (const std::string& kind : kinds_without_pattern(s.spec()))
      result["notes"].push_back(
          fmt::format("no induction scores of {} heads, whose patterns this host does not show", kind));
  } catch (const unsupported_error& e) {
    result["notes"].push_back(std::string("no induction scores: ") + e.what());
  }
  for (std::size_t i = 0; i < found.heads.size(); ++i)
    result["heads"][i]["name"] = s.spec().label(found.heads.ids()[i]);
  const index count = top_count(static_cast<index>(found.heads.size()), s.options.fraction);
  for (const char* name : score_names)
    if (result["heads"][0].contains(name))
      result["top"][name] =
          names_of(s.spec(), top_scored_heads(found.heads.ids(), column(result["heads"], name), count));
  result["labels"] = s.make.label_names();
  return result;
}

/// Scores of all heads on some prompts, beside those of the section "scores".
nlohmann::json compared(const subject& s, const nlohmann::json& done, nlohmann::json row,
                        const nlohmann::json& heads) {
  const nlohmann::json& plain = done.at("scores");
  const std::vector<head_id> ids = s.spec().heads();
  for (const std::string name : {"tr", "tl"}) {
    const std::vector<double> values = column(heads, name);
    const std::vector<head_id> top = heads_named(s.spec(), plain.at("top").at(name));
    double sum = 0.0;
    for (const head_id h : top)
      sum += values[static_cast<std::size_t>(std::find(ids.begin(), ids.end(), h) - ids.begin())];
    row[name + "_of_" + name + "_heads"] = sum / static_cast<double>(std::max<std::size_t>(1, top.size()));
    const ranking_agreement a = compare_rankings(column(plain.at("heads"), name), values, s.options.fraction);
    row[name + "_agreement"] = {
        {"jaccard", a.jaccard}, {"kendall", a.kendall}, {"percentile", a.first_in_second}};
  }
  return row;
}

/// The row of the section's own prompts, which are not scored again.
nlohmann::json compared_plain(const subject& s, const nlohmann::json& done) {
  nlohmann::json row;
  for (const char* field : {"accuracy", "accuracy_low", "accuracy_high", "tr_ratio", "prompts"})
    row[field] = done.at("scores").at(field);
  return compared(s, done, std::move(row), done.at("scores").at("heads"));
}

nlohmann::json compared_scores(subject& s, const nlohmann::json& done,
                               const std::vector<labelled_prompt>& prompts) {
  const head_scores found = scores(s.host, prompts, {.components = false}, s.work());
  return compared(s, done, rates(prompts, found.predictions), to_json(found)["heads"]);
}

nlohmann::json perturbation_section(subject& s, const nlohmann::json& done) {
  constexpr std::array changes{std::pair{perturbation::random_texts, "random texts"},
                               std::pair{perturbation::unrelated_labels, "unrelated labels"},
                               std::pair{perturbation::shuffled_labels, "shuffled labels"}};
  nlohmann::json rows = nlohmann::json::array();
  rows.push_back(compared_plain(s, done));
  rows.back()["perturbation"] = "none";
  for (const auto& [how, name] : changes) {
    rows.push_back(compared_scores(s, done, s.make.perturbed(how)));
    rows.back()["perturbation"] = name;
  }
  return {{"rows", std::move(rows)}};
}

/// Do heads follow the words or what they mean, and does it matter how many labels there might be?
nlohmann::json label_section(subject& s, const nlohmann::json& done) {
  nlohmann::json j{{"rows", nlohmann::json::array()}};
  const auto add = [&](const std::string& name, const auto& prompts) {
    try {
      nlohmann::json row = compared_scores(s, done, prompts());
      row["labels"] = name;
      j["rows"].push_back(std::move(row));
    } catch (const argument_error& e) {
      // The model's vocabulary has no such words, or they begin alike.
      j["notes"].push_back(fmt::format("no row \"{}\": {}", name, e.what()));
    }
  };
  j["rows"].push_back(compared_plain(s, done));
  j["rows"].back()["labels"] = "as they are";
  if (s.make.has_synonyms()) add("synonyms", [&] { return s.make.perturbed(perturbation::synonym_labels); });
  for (const std::size_t more : {4, 12, 36})
    add(fmt::format("{} more", more), [&] { return s.make.with_more_labels(more); });
  return j;
}

/// Each layer's strongest heads, so that every layer has writes to add.
std::vector<head_id> top_of_layers(const model_spec& spec, const std::vector<double>& by) {
  constexpr double share_of_layer = 0.1;
  const std::vector<head_id> ids = spec.heads();
  std::vector<head_id> chosen;
  for (int layer = 0; layer < spec.layer_count(); ++layer) {
    std::vector<head_id> here;
    std::vector<double> scores_here;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].layer != layer) continue;
      here.push_back(ids[i]);
      scores_here.push_back(by[i]);
    }
    if (here.empty()) continue;
    for (const head_id h : top_heads(here, scores_here, top_count(std::ssize(here), share_of_layer)))
      chosen.push_back(h);
  }
  return chosen;
}

nlohmann::json geometry_json(const std::vector<stream_geometry>& layers) {
  nlohmann::json j;
  for (const stream_geometry& g : layers) {
    j["alignment"].push_back(g.alignment);
    j["logit_difference"].push_back(g.logit_difference);
    j["rotation"].push_back(g.rotation);
  }
  return j;
}

nlohmann::json geometry_section(subject& s, const nlohmann::json& done) {
  const std::vector<double> tr = column(done.at("scores").at("heads"), "tr"),
                            tl = column(done.at("scores").at("heads"), "tl");
  const std::vector<head_selection> chosen{{"tr", top_of_layers(s.spec(), tr)},
                                           {"tl", top_of_layers(s.spec(), tl)}};
  const layer_geometry g = geometry(s.host, s.shown(), chosen, s.work());
  nlohmann::json j{{"entering", geometry_json(g.entering)}, {"leaving", geometry_json({g.leaving})}};
  for (std::size_t c = 0; c < chosen.size(); ++c) j["with"][chosen[c].name] = geometry_json(g.with[c]);
  // Across layers: does what the layer's heads score tell how far the stream moves?
  const std::size_t layers = g.entering.size();
  std::vector<double> tr_sum(layers), tl_sum(layers), aligned(layers), turned(layers);
  const std::vector<head_id> ids = s.spec().heads();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    tr_sum[static_cast<std::size_t>(ids[i].layer)] += tr[i];
    tl_sum[static_cast<std::size_t>(ids[i].layer)] += tl[i];
  }
  for (std::size_t l = 0; l < layers; ++l) {
    aligned[l] = g.with[0][l].alignment - g.entering[l].alignment;
    turned[l] = g.with[1][l].logit_difference - g.entering[l].logit_difference;
  }
  j["correlation"] = {{"tr_with_alignment", layers > 2 ? spearman(tr_sum, aligned) : std::nan("")},
                      {"tl_with_logit_difference", layers > 2 ? spearman(tl_sum, turned) : std::nan("")}};
  return j;
}

nlohmann::json profile_json(const attention_profile& p) {
  nlohmann::json j{
      {"demonstrations", p.demonstrations}, {"on_answer", p.on_answer}, {"answer_share", p.answer_share}};
  for (std::size_t r = 0; r < p.roles.size(); ++r)
    j["roles"][std::string(to_string(all_token_roles[r]))] = p.roles[r];
  return j;
}

nlohmann::json attention_section(subject& s, const nlohmann::json& done) {
  nlohmann::json j{{"groups", nlohmann::json::object()}, {"heads", nlohmann::json::array()}};
  head_map<attention_profile> all;
  try {
    all = profiles(s.host, s.make.tagged(), s.work());
  } catch (const unsupported_error& e) {
    j["notes"] = {e.what()};
    return j;
  }
  for (const std::string& kind : kinds_without_pattern(s.spec()))
    j["notes"].push_back(fmt::format("{} heads are left out: this host does not show their patterns", kind));
  const auto group = [&](const std::string& name, std::vector<head_id> heads) {
    std::erase_if(heads, [&](head_id h) { return !all[h].shown(); });
    if (heads.empty()) return;
    attention_profile mean;
    for (const head_id h : heads) {
      const attention_profile& p = all[h];
      const double n = static_cast<double>(heads.size());
      mean.demonstrations.resize(p.demonstrations.size(), 0.0);
      for (std::size_t d = 0; d < p.demonstrations.size(); ++d)
        mean.demonstrations[d] += p.demonstrations[d] / n;
      for (std::size_t r = 0; r < p.roles.size(); ++r) mean.roles[r] += p.roles[r] / n;
      mean.on_answer += p.on_answer / n;
      mean.answer_share += p.answer_share / n;
    }
    j["groups"][name] = profile_json(mean);
  };
  for (const auto& [name, heads] : done.at("scores").at("top").items())
    if (name == "tr" || name == "tl" || name == "induction") {
      group(name, heads_named(s.spec(), heads));
      for (const head_id h : heads_named(s.spec(), heads)) {
        if (!all[h].shown()) continue;
        nlohmann::json row = profile_json(all[h]);
        row["name"] = s.spec().label(h);
        row["set"] = name;
        j["heads"].push_back(std::move(row));
      }
    }
  group("all", s.spec().heads());
  return j;
}

nlohmann::json concentration_section(subject& s, const nlohmann::json& done) {
  nlohmann::json rows = nlohmann::json::array();
  for (const char* set : {"tr", "tl"}) {
    const std::vector<head_id> heads = heads_named(s.spec(), done.at("scores").at("top").at(set));
    const std::vector<head_id> random = matched_random_heads(s.spec(), heads, s.prompts.seed);
    const auto add = [&](const std::string& name, std::span<const head_id> of) {
      for (const subspace_share& x : shares(s.host, s.shown(), of, s.work()))
        rows.push_back({{"set", name},
                        {"name", s.spec().label(x.head)},
                        {"share", x.share},
                        {"expected", x.expected},
                        {"median_p", x.median_p()}});
    };
    add(set, heads);
    add(std::string("random like ") + set, random);
  }
  return {{"rows", std::move(rows)}};
}

}  // namespace

std::vector<section> tsla_sections() {
  return {{"scores", {}, score_section, 1.2},
          {"ablation", {"scores"}, ablation_section, 5.0},
          {"heads", {"scores"}, each_head_section, 5.0},
          {"perturbation", {"scores"}, perturbation_section, 3.2},
          {"labels", {"scores"}, label_section, 4.4},
          {"steering", {"scores"}, task_vector_section, 2.0},
          {"generation", {"scores", "steering"}, generation_section, 1.0},
          {"geometry", {"scores"}, geometry_section, 1.2},
          {"attention", {"scores"}, attention_section, 2.0},
          {"concentration", {"scores"}, concentration_section, 4.2}};
}

}  // namespace iclmech::cli
