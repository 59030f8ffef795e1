#ifndef ICLMECH_TOOLS_STUDY_RUN_HPP
#define ICLMECH_TOOLS_STUDY_RUN_HPP
// Runs a study: measures what is missing, keeps every piece as it is done, writes results and report.

#include <span>
#include <string>
#include <vector>

#include "study/options.hpp"
#include "study/report.hpp"
#include "study/subject.hpp"

namespace iclmech::cli {

/// A kind of study: what it measures and how it is shown.
struct study_kind {
  std::string name;  ///< "tsla", "fv"
  std::vector<section> sections;
  report_kind report;
};

/// @throws argument_error for options that do not fit, or a resumed study that was made from something else.
void run_study(study_options options, const study_kind& kind);

/// Puts the shards of a study together, measures what none of them could, and writes results and report.
/// @throws argument_error if shards are missing or belong to different studies.
void merge_study(const std::vector<std::string>& shards, const std::string& out,
                 std::span<const study_kind> kinds);

/// "90s", "10m", "2h" in seconds.
/// @throws argument_error for anything else.
double parse_budget(const std::string& text);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_RUN_HPP
