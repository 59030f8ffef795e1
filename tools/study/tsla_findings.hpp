#ifndef ICLMECH_TOOLS_STUDY_TSLA_FINDINGS_HPP
#define ICLMECH_TOOLS_STUDY_TSLA_FINDINGS_HPP
// What follows from the numbers of a TSLA study: agreements and a summary in words.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace iclmech::cli {

/// The scores of heads that a study compares: their field in results and what they are called.
std::vector<std::pair<std::string, std::string>> score_titles();

/// Adds "overlap" and "summary" to a task's sections; `name` says model and task.
void derive_tsla(nlohmann::json& sections, const std::string& name, double fraction);

/// Agreement of each score between the tasks of one model, a list of rows.
nlohmann::json tsla_between_tasks(const nlohmann::json& tasks, double fraction);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_TSLA_FINDINGS_HPP
