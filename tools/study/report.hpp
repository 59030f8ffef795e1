#ifndef ICLMECH_TOOLS_STUDY_REPORT_HPP
#define ICLMECH_TOOLS_STUDY_REPORT_HPP
// From a study's JSON to what follows from it and to its page.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "iclmech/report/html_page.hpp"
#include "study/figures.hpp"

namespace iclmech::cli {

/// A part of the page: what it shows of each subject.
struct page_section {
  std::string heading;
  void (*show)(html_page&, const report_subject&);
};

/// What a kind of study adds to the shared machinery. Entries of JSON are those of docs/results.md.
struct report_kind {
  std::string title;
  /// Adds what follows from a task's sections ("overlap", "summary"); `fraction` makes top sets.
  void (*derive)(nlohmann::json& sections, const std::string& name, double fraction);
  /// What follows from several tasks of one model, a list of rows.
  nlohmann::json (*between_tasks)(const nlohmann::json& tasks, double fraction);
  std::vector<page_section> sections;
};

report_kind tsla_report();
report_kind fv_report();

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_REPORT_HPP
