#ifndef ICLMECH_TOOLS_STUDY_FIGURES_HPP
#define ICLMECH_TOOLS_STUDY_FIGURES_HPP
// Figures of a report from the JSON of a study's sections, with their CSV and the command that makes them.

#include <Eigen/Core>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "iclmech/report/html_page.hpp"

namespace iclmech::cli {

/// One model on one task in a report.
struct report_subject {
  const nlohmann::json& model;     ///< name, architecture, layers, ...
  const nlohmann::json& sections;  ///< by name
  std::string command;             ///< the study of this model and task, up to " --sections"

  bool has(const char* section) const { return sections.contains(section); }
  const nlohmann::json& at(const char* section) const { return sections.at(section); }
  std::string command_of(const char* section) const { return command + " --sections " + section; }
};

std::string percent(double share);

/// Heat maps of `value` of each head in `rows`, one for each mixer kind, in one figure.
void head_maps(html_page& page, const report_subject& s, const char* section, const nlohmann::json& heads,
               const std::string& what, const std::function<double(std::size_t)>& value);

/// The rows whose fields have the given values, in order.
nlohmann::json rows_with(const nlohmann::json& rows,
                         std::initializer_list<std::pair<const char*, nlohmann::json>> fields);

/// A curve over rows; with `interval`, `y` + "_low" and "_high" are its band.
svg::curve curve_of(const std::string& name, const nlohmann::json& rows, const char* x, const char* y,
                    bool interval = false);

/// Adds the level `y` of prompts without a vector to curves over the same x; nothing to no curves.
void add_baseline(std::vector<svg::curve>& lines, const nlohmann::json& y);

void curves(html_page& page, const report_subject& s, const char* section, const std::string& caption,
            const std::vector<svg::curve>& lines, const char* x, const char* y,
            svg::vertical_axis axis = svg::vertical_axis::shares);

/// A bar for each row, named by its field `name`; series are fields.
void bars(html_page& page, const report_subject& s, const char* section, const std::string& caption,
          const nlohmann::json& rows, const char* name,
          const std::vector<std::pair<std::string, const char*>>& series);

/// What a section says it could not measure, and why.
void notes(html_page& page, const report_subject& s, const char* section);

/// Titles and the fields of rows that they show; a field may be a path such as "roles/label".
using table_columns = std::vector<std::pair<std::string, std::string>>;

/// A table of rows; the first column names the row.
void table(html_page& page, const report_subject& s, const char* section, const std::string& caption,
           const nlohmann::json& rows, const table_columns& columns);

/// Adds `field` and its interval, `field` + "_low" and "_high".
void add_interval(table_columns& columns, const std::string& title, const std::string& field);

/// `first` and the columns of `rates`, with P(answer), for `table`.
table_columns with_rates(table_columns first);

/// Scores of all heads, to be compared with others of the same heads.
struct scoring {
  std::string name;
  std::vector<double> scores;
  Eigen::MatrixXd each;  ///< [prompts x heads] that `scores` are the means of; empty: they count as certain
};

/// The numbers that a list of heads has under `name`, with each prompt's under `each`, a path, if it is
/// there.
scoring scoring_of(const std::string& name, const nlohmann::json& heads, const std::string& score,
                   const std::string& each);

/// How rankings and top sets agree between scorings of the same heads: each with each. Intervals are over
/// prompts, which scorings on the `same_prompts` share.
nlohmann::json agreements(const std::vector<scoring>& scorings, double fraction, bool same_prompts);

/// Columns of `agreements` for `table`.
table_columns agreement_columns();

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_FIGURES_HPP
