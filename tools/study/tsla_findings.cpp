#include "study/tsla_findings.hpp"

#include "study/figures.hpp"
#include "study/subject.hpp"

namespace iclmech::cli {
namespace {

double mean_layer(const nlohmann::json& scores, const std::string& kind) {
  double sum = 0.0;
  const nlohmann::json& top = scores.at("top").at(kind);
  for (const auto& head : scores.at("heads"))
    if (std::find(top.begin(), top.end(), head.at("name")) != top.end())
      sum += head.at("layer").get<double>();
  return sum / static_cast<double>(top.size());
}

/// The row of an ablation at the study's own set size, zeroed.
nlohmann::json without(const nlohmann::json& sections, const std::string& set) {
  const std::size_t count = sections.at("scores").at("top").at("tr").size();
  const nlohmann::json rows =
      rows_with(sections.at("ablation").at("rows"), {{"set", set}, {"kind", "zero"}, {"heads", count}});
  return rows.empty() ? nlohmann::json() : rows[0];
}

std::string summary_of(const nlohmann::json& sections, const std::string& name) {
  if (!sections.contains("scores")) return {};
  const nlohmann::json& scores = sections.at("scores");
  std::string text =
      fmt::format("{}: {} of {} prompts right, a label answered in {}.", name, percent(scores.at("accuracy")),
                  scores.at("predictions").size(), percent(scores.at("tr_ratio")));
  const double tr = mean_layer(scores, "tr"), tl = mean_layer(scores, "tl");
  text += fmt::format(" TR heads sit {} TL heads: mean layer {:.1f} against {:.1f}",
                      tr > tl   ? "deeper than"
                      : tr < tl ? "before"
                                : "as deep as",
                      tr, tl);
  if (scores.at("top").contains("induction"))
    text += fmt::format(" (induction heads: {:.1f})", mean_layer(scores, "induction"));
  text += ".";
  if (sections.contains("ablation")) {
    const nlohmann::json no_tr = without(sections, "tr"), no_tl = without(sections, "tl");
    if (!no_tr.is_null() && !no_tl.is_null())
      text += fmt::format(
          " Without its top {} TR heads accuracy is {} and the TR ratio {}; without as many TL heads {} and "
          "{}.",
          no_tr.at("heads").get<int>(), percent(no_tr.at("accuracy")), percent(no_tr.at("tr_ratio")),
          percent(no_tl.at("accuracy")), percent(no_tl.at("tr_ratio")));
  }
  if (sections.contains("steering")) {
    const nlohmann::json& steering = sections.at("steering");
    const auto best = [&](const char* set) {
      double accuracy = 0.0;
      for (const auto& row : rows_with(steering.at("rows"), {{"set", set}}))
        accuracy = std::max(accuracy, row.at("accuracy").get<double>());
      return percent(accuracy);
    };
    text += fmt::format(
        " Without demonstrations accuracy is {}; with the TR task vector it is {}, with the TL task "
        "vector {} (random heads: {}, {}), each at its best layer.",
        percent(steering.at("none").at("accuracy")), best("tr"), best("tl"), best("random like tr"),
        best("random like tl"));
  }
  return text;
}

}  // namespace

void derive_tsla(nlohmann::json& sections, const std::string& name, double fraction) {
  if (sections.contains("scores")) {
    std::vector<scoring> scorings;
    const nlohmann::json& heads = sections.at("scores").at("heads");
    for (const auto& [field, title] : score_titles())
      if (heads[0].contains(field)) scorings.push_back(scoring_of(title, heads, field, "each/" + field));
    sections["overlap"] = agreements(scorings, fraction, true);
  }
  sections["summary"] = summary_of(sections, name);
}

nlohmann::json tsla_between_tasks(const nlohmann::json& tasks, double fraction) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [field, title] : score_titles()) {
    std::vector<scoring> scorings;
    for (const auto& [task, sections] : tasks.items())
      if (sections.contains("scores") && sections.at("scores").at("heads")[0].contains(field))
        scorings.push_back(scoring_of(task, sections.at("scores").at("heads"), field, "each/" + field));
    for (nlohmann::json& row : agreements(scorings, fraction, false)) {
      row["score"] = title;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<std::pair<std::string, std::string>> score_titles() {
  return {{"tr", "TR"},
          {"tl", "TL"},
          {"induction", "induction"},
          {"dla_answer", "DLA"},
          {"logit_difference", "logit difference"}};
}

}  // namespace iclmech::cli
