// The page of a function-vector study, and what follows from its numbers.

#include <cmath>

#include "study/report.hpp"
#include "study/subject.hpp"

namespace iclmech::cli {
namespace {

std::string set_title(const std::string& set) { return set == "all" ? "top heads" : set; }

std::string summary_of(const nlohmann::json& sections, const std::string& name) {
  if (!sections.contains("effects")) return {};
  const nlohmann::json& effects = sections.at("effects");
  const std::string first = effects.at("top").at("all")[0];
  const nlohmann::json head = rows_with(effects.at("heads"), {{"name", first}})[0];
  std::string text = fmt::format(
      "{}: the strongest head is {} (AIE {}, 95 % {} to {}); effects that help have a Gini "
      "coefficient of {:.2f}, the top 3 % of heads hold {} of them.",
      name, first, svg::number(head.at("aie")), svg::number(head.at("aie_low")),
      svg::number(head.at("aie_high")), effects.at("concentration").at("gini").get<double>(),
      percent(effects.at("concentration").at("top_3_percent")));
  if (effects.at("by_kind").size() > 1) {
    text += " Summed AIE by mixer kind:";
    for (const auto& [kind, part] : effects.at("by_kind").items())
      text +=
          fmt::format(" {} {} ({} heads);", kind, svg::number(part.at("sum")), part.at("heads").get<int>());
    text.back() = '.';
  }
  if (sections.contains("ablation")) {
    const nlohmann::json& part = sections.at("ablation");
    const nlohmann::json out = rows_with(part.at("rows"), {{"set", "all"}})[0],
                         random = rows_with(part.at("rows"), {{"set", "random like all"}})[0];
    text += fmt::format(" Without its top {} heads accuracy goes from {} to {} (matched random heads: {}).",
                        out.at("heads").get<int>(), percent(part.at("none").at("accuracy")),
                        percent(out.at("accuracy")), percent(random.at("accuracy")));
  }
  if (sections.contains("steering")) {
    const nlohmann::json& part = sections.at("steering");
    const nlohmann::json* best = nullptr;
    for (const auto& row : part.at("rows"))
      if (row.at("set") == "all" && (best == nullptr || row.at("accuracy") > best->at("accuracy")))
        best = &row;
    const std::string none = percent(part.at("none").at("accuracy"));
    if (best != nullptr && best->at("accuracy") > part.at("none").at("accuracy"))
      text += fmt::format(" Steering takes prompts without demonstrations from {} to {} ({}).", none,
                          percent(best->at("accuracy")),
                          best->at("at") == "stream"
                              ? fmt::format("vector at layer {}", best->at("layer").get<int>())
                              : std::string("mean outputs at the heads"));
    else
      text += fmt::format(" Steering does not lift prompts without demonstrations above {}.", none);
  }
  return text;
}

void derive(nlohmann::json& sections, const std::string& name, double) {
  sections["summary"] = summary_of(sections, name);
}

nlohmann::json between_tasks(const nlohmann::json& tasks, double fraction) {
  std::vector<scoring> scorings;
  for (const auto& [task, sections] : tasks.items())
    if (sections.contains("effects"))
      scorings.push_back(scoring_of(task, sections.at("effects").at("heads"), "aie", "cie"));
  nlohmann::json rows = agreements(scorings, fraction, false);
  for (nlohmann::json& row : rows) {
    const std::string a = tasks.at(row.at("first").get<std::string>()).at("family"),
                      b = tasks.at(row.at("second").get<std::string>()).at("family");
    row["score"] = a == b ? "AIE, both " + a : "AIE, " + a + " and " + b;
  }
  return rows;
}

void show_effects(html_page& page, const report_subject& s) {
  if (!s.has("effects")) return;
  const nlohmann::json& effects = s.at("effects");
  const std::vector<double> aie = column(effects.at("heads"), "aie");
  head_maps(page, s, "effects", effects.at("heads"), "AIE", [&](std::size_t i) { return aie[i]; });
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& name : effects.at("top").at("all"))
    rows.push_back(rows_with(effects.at("heads"), {{"name", name}})[0]);
  table_columns columns{{"head", "name"}, {"mixer", "mixer"}, {"layer", "layer"}};
  add_interval(columns, "AIE", "aie");
  table(page, s, "effects", "strongest heads", rows, columns);
  nlohmann::json kinds = nlohmann::json::array();
  for (const auto& [kind, part] : effects.at("by_kind").items()) {
    kinds.push_back(part);
    kinds.back()["kind"] = kind;
  }
  table(page, s, "effects", "concentration of helping effects", kinds,
        {{"mixer", "kind"},
         {"heads", "heads"},
         {"summed AIE", "sum"},
         {"Gini", "gini"},
         {"share of the top 3 %", "top_3_percent"}});
}

void show_shots(html_page& page, const report_subject& s) {
  if (!s.has("shots")) return;
  notes(page, s, "shots");
  const nlohmann::json& rows = s.at("shots").at("rows");
  curves(
      page, s, "shots", "by number of demonstrations",
      {curve_of("accuracy", rows, "shots", "accuracy", true), curve_of("TR ratio", rows, "shots", "tr_ratio"),
       curve_of("P(answer)", rows, "shots", "probability")},
      "demonstrations", "share");
}

void show_noise(html_page& page, const report_subject& s) {
  if (s.has("noise")) {
    notes(page, s, "noise");
    const nlohmann::json& rows = s.at("noise").at("rows");
    std::vector<svg::curve> lines;
    for (const char* labels :
         {"100 % right", "75 % right", "50 % right", "25 % right", "0 % right", "random"}) {
      const nlohmann::json chosen = rows_with(rows, {{"labels", labels}});
      if (!chosen.empty()) lines.push_back(curve_of(labels, chosen, "shots", "accuracy"));
    }
    curves(page, s, "noise", "accuracy by right labels shown", lines, "demonstrations", "accuracy");
    table(page, s, "noise", "label randomization", rows,
          with_rates({{"demonstrations", "shots"}, {"labels", "labels"}}));
  }
  if (s.has("flips")) {
    notes(page, s, "flips");
    const nlohmann::json& rows = s.at("flips").at("rows");
    curves(page, s, "flips", "labels exchanged consistently",
           {curve_of("answers as shown", rows, "shots", "accuracy", true),
            curve_of("answers as before", rows, "shots", "original")},
           "demonstrations", "share");
  }
}

void show_steering(html_page& page, const report_subject& s) {
  if (!s.has("steering")) return;
  const nlohmann::json& rows = s.at("steering").at("rows");
  std::vector<svg::curve> lines;
  for (const char* set : {"all", "attention", "mamba1", "mamba2", "random"}) {
    const nlohmann::json chosen = rows_with(rows, {{"set", set}, {"at", "stream"}});
    if (!chosen.empty()) lines.push_back(curve_of(set_title(set), chosen, "layer", "accuracy"));
  }
  add_baseline(lines, s.at("steering").at("none").at("accuracy"));
  curves(page, s, "steering", "function vectors added to prompts without demonstrations", lines, "layer",
         "accuracy");
  table(page, s, "steering", "mean outputs added at the heads themselves", rows_with(rows, {{"at", "heads"}}),
        {{"heads", "set"}, {"accuracy", "accuracy"}, {"TR ratio", "tr_ratio"}, {"P(answer)", "probability"}});
}

void show_ablation(html_page& page, const report_subject& s) {
  if (!s.has("ablation")) return;
  nlohmann::json rows = nlohmann::json::array({s.at("ablation").at("none")});
  for (const auto& row : s.at("ablation").at("rows")) rows.push_back(row);
  bars(page, s, "ablation", "heads zeroed at the last position", rows, "set",
       {{"accuracy", "accuracy"}, {"TR ratio", "tr_ratio"}});
  table(page, s, "ablation", "heads zeroed", rows, with_rates({{"set", "set"}, {"heads", "heads"}}));
}

}  // namespace

report_kind fv_report() {
  return {"Function vectors",
          derive,
          between_tasks,
          {{"Average indirect effects", show_effects},
           {"Demonstrations", show_shots},
           {"Wrong labels", show_noise},
           {"Steering", show_steering},
           {"Ablation", show_ablation}}};
}

}  // namespace iclmech::cli
