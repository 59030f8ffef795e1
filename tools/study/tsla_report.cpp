// The page of a TSLA study.

#include <cmath>

#include "study/report.hpp"
#include "study/subject.hpp"
#include "study/tsla_findings.hpp"

namespace iclmech::cli {
namespace {

const auto kinds = score_titles();

void show_heads(html_page& page, const report_subject& s) {
  if (!s.has("scores")) return;
  notes(page, s, "scores");
  const nlohmann::json& heads = s.at("scores").at("heads");
  std::vector<svg::curve> profile;
  for (const auto& [field, title] : {kinds[0], kinds[1], kinds[2]}) {
    if (!heads[0].contains(field)) continue;
    const std::vector<double> values = column(heads, field);
    head_maps(page, s, "scores", heads, title, [&](std::size_t i) { return values[i]; });
    // Mean over a layer's heads, as a share of the largest, so that the kinds fit one axis.
    const auto layers = s.model.at("layers").get<std::size_t>();
    std::vector<double> sum(layers), count(layers);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (std::isnan(values[i])) continue;
      const auto layer = heads[i].at("layer").get<std::size_t>();
      sum[layer] += values[i];
      count[layer] += 1.0;
    }
    svg::curve c{title, {}, {}, {}, {}};
    double largest = 0.0;
    for (std::size_t l = 0; l < layers; ++l) {
      if (count[l] == 0.0) continue;
      c.x.push_back(static_cast<double>(l));
      c.y.push_back(sum[l] / count[l]);
      largest = std::max(largest, std::abs(c.y.back()));
    }
    for (double& y : c.y) y /= largest > 0.0 ? largest : 1.0;
    profile.push_back(std::move(c));
  }
  curves(page, s, "scores", "mean score of a layer's heads, of the largest", profile, "layer", "share");
}

void show_top(html_page& page, const report_subject& s) {
  if (!s.has("scores")) return;
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [field, title] : kinds) {
    if (!s.at("scores").at("top").contains(field)) continue;
    for (const auto& name : s.at("scores").at("top").at(field))
      for (nlohmann::json head : rows_with(s.at("scores").at("heads"), {{"name", name}})) {
        head["kind"] = title;
        rows.push_back(std::move(head));
      }
  }
  table(page, s, "scores", "top heads", rows,
        {{"head", "name"},
         {"top by", "kind"},
         {"layer", "layer"},
         {"TR", "tr"},
         {"TL", "tl"},
         {"induction", "induction"},
         {"DLA sum", "dla_sum"},
         {"DLA answer", "dla_answer"},
         {"logit difference", "logit_difference"}});
  table(page, s, "scores", "agreement between kinds of heads", s.sections.at("overlap"), agreement_columns());
}

void show_ablation(html_page& page, const report_subject& s) {
  if (!s.has("ablation")) return;
  const nlohmann::json& rows = s.at("ablation").at("rows");
  const nlohmann::json& none = s.at("ablation").at("none");
  const auto lines = [&](const char* kind, const char* y) {
    std::vector<svg::curve> all;
    for (const auto& [set, title] :
         std::vector<std::pair<std::string, std::string>>{{"tr", "TR"},
                                                          {"tl", "TL"},
                                                          {"induction", "induction"},
                                                          {"dla_answer", "DLA"},
                                                          {"random like tr", "random like TR"},
                                                          {"random like tl", "random like TL"}}) {
      const nlohmann::json chosen = rows_with(rows, {{"set", set}, {"kind", kind}});
      if (chosen.empty()) continue;
      svg::curve c = curve_of(title, chosen, "heads", y);
      c.x.insert(c.x.begin(), 0.0);
      c.y.insert(c.y.begin(), none.at(y).get<double>());
      all.push_back(std::move(c));
    }
    return all;
  };
  for (const char* kind : {"zero", "mean", "resample"}) {
    curves(page, s, "ablation", fmt::format("accuracy without heads ({})", kind), lines(kind, "accuracy"),
           "heads", "accuracy");
    curves(page, s, "ablation", fmt::format("TR ratio without heads ({})", kind), lines(kind, "tr_ratio"),
           "heads", "TR ratio");
  }
  table(page, s, "ablation", "sets taken out", rows,
        with_rates({{"set", "set"}, {"kind", "kind"}, {"heads", "heads"}}));
}

void show_each_head(html_page& page, const report_subject& s) {
  if (!s.has("heads") || !s.has("scores")) return;
  const nlohmann::json& part = s.at("heads");
  const double base = part.at("none").at("probability").get<double>();
  head_maps(
      page, s, "heads", s.at("scores").at("heads"), "P(answer) lost without the head",
      [&](std::size_t i) { return base - part.at("leave_one_out")[i].at("probability").get<double>(); });
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [set, title] : {kinds[0], kinds[1]}) {
    const nlohmann::json& marginal = part.at("marginal").at(set);
    const double whole = marginal.at("without_set").at("probability").get<double>();
    for (const auto& row : marginal.at("rows"))
      rows.push_back({{"set", title},
                      {"name", row.at("name")},
                      {"alone", base - row.at("without_it_alone").at("probability").get<double>()},
                      {"last", row.at("without_the_others").at("probability").get<double>() - whole},
                      {"whole", base - whole}});
  }
  table(page, s, "heads", "P(answer) lost: a head first, a head last, the whole set", rows,
        {{"set", "set"},
         {"head", "name"},
         {"it alone out", "alone"},
         {"it out after the others", "last"},
         {"whole set out", "whole"}});
}

void show_perturbation(html_page& page, const report_subject& s) {
  if (!s.has("perturbation")) return;
  const nlohmann::json& rows = s.at("perturbation").at("rows");
  bars(page, s, "perturbation", "perturbed demonstrations", rows, "perturbation",
       {{"accuracy", "accuracy"}, {"TR ratio", "tr_ratio"}});
  table(page, s, "perturbation", "perturbed demonstrations: the heads", rows,
        {{"perturbation", "perturbation"},
         {"mean TR of TR heads", "tr_of_tr_heads"},
         {"mean TL of TL heads", "tl_of_tl_heads"},
         {"TR sets, Jaccard", "tr_agreement/jaccard"},
         {"TR percentile", "tr_agreement/percentile"},
         {"TL sets, Jaccard", "tl_agreement/jaccard"},
         {"TL percentile", "tl_agreement/percentile"}});
}

void show_steering(html_page& page, const report_subject& s) {
  if (!s.has("steering")) return;
  const nlohmann::json& rows = s.at("steering").at("rows");
  for (const char* y : {"accuracy", "tr_ratio"}) {
    std::vector<svg::curve> lines;
    for (const char* set : {"tr", "tl", "random like tr", "random like tl"}) {
      const nlohmann::json chosen = rows_with(rows, {{"set", set}, {"at", "stream"}});
      if (!chosen.empty()) lines.push_back(curve_of(set, chosen, "layer", y));
    }
    if (lines.empty()) continue;
    add_baseline(lines, s.at("steering").at("none").at(y));
    curves(page, s, "steering", "task vectors added to prompts without demonstrations", lines, "layer", y);
  }
  table(page, s, "steering", "mean outputs added at the heads themselves", rows_with(rows, {{"at", "heads"}}),
        {{"set", "set"}, {"accuracy", "accuracy"}, {"TR ratio", "tr_ratio"}, {"P(answer)", "probability"}});
}

void show_labels(html_page& page, const report_subject& s) {
  if (!s.has("labels")) return;
  notes(page, s, "labels");
  table(page, s, "labels", "other words for the labels, and more labels", s.at("labels").at("rows"),
        with_rates({{"labels", "labels"},
                    {"mean TR of TR heads", "tr_of_tr_heads"},
                    {"mean TL of TL heads", "tl_of_tl_heads"},
                    {"TR sets, Jaccard", "tr_agreement/jaccard"},
                    {"TR percentile", "tr_agreement/percentile"},
                    {"TL sets, Jaccard", "tl_agreement/jaccard"},
                    {"TL percentile", "tl_agreement/percentile"}}));
}

void show_generation(html_page& page, const report_subject& s) {
  if (!s.has("generation")) return;
  const nlohmann::json& part = s.at("generation");
  table_columns columns{{"query", "query"}, {"answer", "answer"}, {"as it is", "none"}};
  for (const std::string name : {"tr", "tl"})
    if (part.at("has_answer").contains(name))
      columns.emplace_back(fmt::format("{} vector, layer {}", name == "tr" ? "TR" : "TL",
                                       part.at("layer").at(name).get<int>()),
                           name);
  table(page, s, "generation", "what the model writes without demonstrations", part.at("rows"), columns);
}

void show_geometry(html_page& page, const report_subject& s) {
  if (!s.has("geometry")) return;
  const nlohmann::json& g = s.at("geometry");
  for (const auto& [field, title] : {std::pair{"alignment", "alignment with the label subspace"},
                                     std::pair{"logit_difference", "logit difference inside it"}}) {
    const auto line = [&, field = field](const char* name, const nlohmann::json& part) {
      svg::curve c{name, {}, {}, {}, {}};
      for (const auto& y : part.at(field)) {
        c.x.push_back(static_cast<double>(c.x.size()));
        c.y.push_back(number_or_nan(y));
      }
      return c;
    };
    curves(page, s, "geometry", title,
           {line("stream", g.at("entering")), line("with the layer's TR heads", g.at("with").at("tr")),
            line("with its TL heads", g.at("with").at("tl"))},
           "layer", title, svg::vertical_axis::values);
  }
}

void show_attention(html_page& page, const report_subject& s) {
  if (!s.has("attention")) return;
  notes(page, s, "attention");
  nlohmann::json rows = nlohmann::json::array();
  std::vector<svg::curve> lines;
  for (const auto& [name, profile] : s.at("attention").at("groups").items()) {
    nlohmann::json row = profile.at("roles");
    row["heads"] = name;
    rows.push_back(std::move(row));
    svg::curve c{name, {}, {}, {}, {}};
    for (const auto& share : profile.at("demonstrations")) {
      c.x.push_back(static_cast<double>(c.x.size() + 1));
      c.y.push_back(number_or_nan(share));
    }
    lines.push_back(std::move(c));
  }
  bars(page, s, "attention", "what heads look at from the last position", rows, "heads",
       {{"first token", "first"},
        {"demonstrations", "demonstration"},
        {"labels", "label"},
        {"query", "query"},
        {"separators", "separator"}});
  curves(page, s, "attention", "attention on each demonstration", lines, "demonstration",
         "share of attention", svg::vertical_axis::values);
  table(page, s, "attention", "where each head looks", s.at("attention").at("heads"),
        {{"set", "set"},
         {"head", "name"},
         {"labels", "roles/label"},
         {"demonstrations", "roles/demonstration"},
         {"query", "roles/query"},
         {"separators", "roles/separator"},
         {"first token", "roles/first"},
         {"on demonstrations with the answer", "on_answer"},
         {"such demonstrations", "answer_share"}});
}

void show_rest(html_page& page, const report_subject& s) {
  if (s.has("concentration"))
    table(page, s, "concentration", "share of a head's write in the label subspace",
          s.at("concentration").at("rows"),
          {{"set", "set"},
           {"head", "name"},
           {"share", "share"},
           {"of a random subspace", "expected"},
           {"median p", "median_p"}});
  if (!s.has("scores")) return;
  std::vector<svg::curve> lines{{"mixers", {}, {}, {}, {}}, {"MLPs", {}, {}, {}, {}}};
  for (const auto& c : s.at("scores").at("components")) {
    if (c.at("layer").get<int>() < 0) continue;
    svg::curve& line = lines[c.at("name").get<std::string>().ends_with("mlp") ? 1 : 0];
    line.x.push_back(c.at("layer").get<double>());
    line.y.push_back(number_or_nan(c.at("tr")));
  }
  std::erase_if(lines, [](const svg::curve& l) { return l.x.empty(); });
  curves(page, s, "scores", "TR of whole mixers and MLPs", lines, "layer", "TR", svg::vertical_axis::values);
  table(page, s, "scores", "components", s.at("scores").at("components"),
        {{"component", "name"},
         {"TR", "tr"},
         {"TL", "tl"},
         {"DLA answer", "dla_answer"},
         {"logit difference", "logit_difference"}});
}

}  // namespace

report_kind tsla_report() {
  return {"Task recognition and task learning",
          derive_tsla,
          tsla_between_tasks,
          {{"Where the heads are", show_heads},
           {"The heads, and how their kinds agree", show_top},
           {"Sets of heads taken out", show_ablation},
           {"Every head taken out", show_each_head},
           {"Perturbed demonstrations", show_perturbation},
           {"The labels' words", show_labels},
           {"Task vectors", show_steering},
           {"Task vectors in open generation", show_generation},
           {"Geometry of the stream", show_geometry},
           {"Attention", show_attention},
           {"Concentration, mixers and MLPs", show_rest}}};
}

}  // namespace iclmech::cli
