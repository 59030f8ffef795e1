#ifndef ICLMECH_TOOLS_STUDY_RESULTS_HPP
#define ICLMECH_TOOLS_STUDY_RESULTS_HPP
// What a study leaves behind: one JSON file, maps as .npy and the report.

#include <nlohmann/json.hpp>
#include <string>

#include "study/options.hpp"
#include "study/report.hpp"

namespace iclmech::cli {

struct study_results {
  const study_options& options;
  std::string kind;
  nlohmann::json identity;
  nlohmann::json models;  ///< one entry per model, as docs/results.md says

  void add(const std::string& model, nlohmann::json entry);
  void write(const report_kind& report) const;

 private:
  std::string chosen_sections() const;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_RESULTS_HPP
