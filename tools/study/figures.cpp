#include "study/figures.hpp"

#include <cmath>

#include "iclmech/method/ranking_agreement.hpp"
#include "study/subject.hpp"

namespace iclmech::cli {
namespace {

std::string cell(const nlohmann::json& row, const std::string& path) {
  const nlohmann::json::json_pointer pointer("/" + path);
  if (!row.contains(pointer)) return "";
  const nlohmann::json& value = row.at(pointer);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? value.dump() : svg::number(number_or_nan(value));
}

/// Of two scorings the heads that both have a score for.
std::pair<resampled_scores, resampled_scores> of_shared_heads(const resampled_scores& a,
                                                              const resampled_scores& b) {
  std::vector<std::size_t> shared;
  for (std::size_t h = 0; h < a.means.size(); ++h)
    if (!std::isnan(a.means[h]) && !std::isnan(b.means[h])) shared.push_back(h);
  if (shared.size() == a.means.size()) return {a, b};
  const auto picked = [&](const std::vector<double>& values) {
    std::vector<double> some;
    for (const std::size_t h : shared) some.push_back(values[h]);
    return some;
  };
  const auto narrowed = [&](const resampled_scores& s) {
    resampled_scores result{picked(s.means), {}};
    for (const std::vector<double>& draw : s.resamples) result.resamples.push_back(picked(draw));
    return result;
  };
  return {narrowed(a), narrowed(b)};
}

}  // namespace

std::string percent(double share) { return fmt::format("{:.0f} %", 100.0 * share); }

void head_maps(html_page& page, const report_subject& s, const char* section, const nlohmann::json& heads,
               const std::string& what, const std::function<double(std::size_t)>& value) {
  std::string maps, csv = fmt::format("layer,mixer,head,{}\n", what);
  for (const mixer_kind kind : all_mixer_kinds) {
    std::vector<svg::heat_cell> cells;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const nlohmann::json& head = heads[i];
      if (head.at("mixer") != std::string(to_string(kind))) continue;
      cells.push_back({head.at("layer"), head.at("head"), head.at("name"), value(i)});
      csv += fmt::format("{},{},{},{}\n", cells.back().layer, to_string(kind), cells.back().head, value(i));
    }
    if (!cells.empty())
      maps += fmt::format("<p class=scale>{}</p>{}", to_string(kind),
                          svg::heat_map(cells, s.model.at("layers"), what));
  }
  page.figure(what, maps, csv, s.command_of(section));
}

nlohmann::json rows_with(const nlohmann::json& rows,
                         std::initializer_list<std::pair<const char*, nlohmann::json>> fields) {
  nlohmann::json chosen = nlohmann::json::array();
  for (const auto& row : rows)
    if (std::all_of(fields.begin(), fields.end(),
                    [&](const auto& f) { return row.contains(f.first) && row.at(f.first) == f.second; }))
      chosen.push_back(row);
  return chosen;
}

svg::curve curve_of(const std::string& name, const nlohmann::json& rows, const char* x, const char* y,
                    bool interval) {
  svg::curve c{name, {}, {}, {}, {}};
  for (const auto& row : rows) {
    c.x.push_back(row.at(x).get<double>());
    c.y.push_back(number_or_nan(row.at(y)));
    if (!interval) continue;
    c.low.push_back(number_or_nan(row.at(std::string(y) + "_low")));
    c.high.push_back(number_or_nan(row.at(std::string(y) + "_high")));
  }
  return c;
}

void add_baseline(std::vector<svg::curve>& lines, const nlohmann::json& y) {
  if (lines.empty()) return;
  svg::curve none{"no vector", lines[0].x, {}, {}, {}};
  none.y.assign(none.x.size(), y.get<double>());
  lines.push_back(std::move(none));
}

void curves(html_page& page, const report_subject& s, const char* section, const std::string& caption,
            const std::vector<svg::curve>& lines, const char* x, const char* y, svg::vertical_axis axis) {
  std::string csv = fmt::format("curve,{},{},low,high\n", x, y);
  for (const svg::curve& c : lines)
    for (std::size_t i = 0; i < c.x.size(); ++i)
      csv += fmt::format("{},{},{},{},{}\n", c.name, c.x[i], c.y[i],
                         c.low.empty() ? "" : fmt::format("{}", c.low[i]),
                         c.high.empty() ? "" : fmt::format("{}", c.high[i]));
  page.figure(caption, svg::curves(lines, x, y, axis), csv, s.command_of(section));
}

void bars(html_page& page, const report_subject& s, const char* section, const std::string& caption,
          const nlohmann::json& rows, const char* name,
          const std::vector<std::pair<std::string, const char*>>& series) {
  std::vector<std::string> names;
  std::string csv = name;
  for (const auto& [title, field] : series) {
    names.push_back(title);
    csv += "," + title;
  }
  csv += '\n';
  std::vector<svg::bar_row> drawn;
  for (const auto& row : rows) {
    svg::bar_row bar{row.at(name).get<std::string>(), {}};
    csv += bar.label;
    for (const auto& [title, field] : series) {
      bar.shares.push_back(number_or_nan(row.at(field)));
      csv += fmt::format(",{}", bar.shares.back());
    }
    csv += '\n';
    drawn.push_back(std::move(bar));
  }
  page.figure(caption, svg::bars(names, drawn), csv, s.command_of(section));
}

void notes(html_page& page, const report_subject& s, const char* section) {
  for (const auto& note : s.at(section).value("notes", nlohmann::json::array()))
    page.paragraph(note.get<std::string>());
}

void table(html_page& page, const report_subject& s, const char* section, const std::string& caption,
           const nlohmann::json& rows, const table_columns& columns) {
  std::vector<std::string> names;
  for (const auto& [title, path] : columns) names.push_back(title);
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows) {
    std::vector<std::string>& line = cells.emplace_back();
    for (const auto& [title, path] : columns) line.push_back(cell(row, path));
  }
  page.table(caption, names, cells, s.command_of(section));
}

void add_interval(table_columns& columns, const std::string& title, const std::string& field) {
  columns.emplace_back(title, field);
  columns.emplace_back("95 % low", field + "_low");
  columns.emplace_back("95 % high", field + "_high");
}

table_columns with_rates(table_columns first) {
  add_interval(first, "accuracy", "accuracy");
  first.emplace_back("TR ratio", "tr_ratio");
  first.emplace_back("P(answer)", "probability");
  return first;
}

scoring scoring_of(const std::string& name, const nlohmann::json& heads, const std::string& score,
                   const std::string& each) {
  scoring s{name, column(heads, score), {}};
  const nlohmann::json::json_pointer place("/" + each);
  if (!heads.at(0).contains(place)) return s;
  s.each.resize(std::ssize(heads.at(0).at(place)), std::ssize(heads));
  for (index h = 0; h < s.each.cols(); ++h)
    for (index p = 0; p < s.each.rows(); ++p)
      s.each(p, h) =
          heads.at(static_cast<std::size_t>(h)).at(place).at(static_cast<std::size_t>(p)).get<double>();
  return s;
}

nlohmann::json agreements(const std::vector<scoring>& scorings, double fraction, bool same_prompts) {
  std::vector<resampled_scores> resampled;
  for (std::size_t i = 0; i < scorings.size(); ++i) {
    resampled.push_back({scorings[i].scores, {}});
    if (scorings[i].each.rows() > 0)
      resampled.back().resamples =
          resample_scores(scorings[i].each, {.seed = same_prompts ? std::uint64_t{0} : i}).resamples;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t a = 0; a < scorings.size(); ++a)
    for (std::size_t b = a + 1; b < scorings.size(); ++b) {
      const auto [first, second] = of_shared_heads(resampled[a], resampled[b]);
      if (first.means.empty()) continue;
      const agreement_intervals r = bootstrap_agreement(first, second, fraction);
      nlohmann::json& row = rows.emplace_back();
      row = {{"first", scorings[a].name}, {"second", scorings[b].name}};
      for (const auto& [name, measure] : {std::pair{"jaccard", r.jaccard},
                                          {"kendall_tau_b", r.kendall},
                                          {"spearman", r.spearman},
                                          {"first_in_second", r.first_in_second},
                                          {"second_in_first", r.second_in_first}}) {
        row[name] = measure.estimate;
        row[std::string(name) + "_low"] = measure.low;
        row[std::string(name) + "_high"] = measure.high;
      }
    }
  return rows;
}

table_columns agreement_columns() {
  table_columns columns{{"first", "first"}, {"second", "second"}};
  for (const auto& [title, field] : {std::pair<std::string, std::string>{"Jaccard of top sets", "jaccard"},
                                     {"Kendall tau-b", "kendall_tau_b"},
                                     {"Spearman", "spearman"},
                                     {"percentile of first's top in second", "first_in_second"},
                                     {"of second's top in first", "second_in_first"}})
    add_interval(columns, title, field);
  return columns;
}

}  // namespace iclmech::cli
