#ifndef ICLMECH_TOOLS_HEAD_SETS_HPP
#define ICLMECH_TOOLS_HEAD_SETS_HPP
// Sets of heads by name (tr, tl, dla, induction, fv, random, each) or by list, and tables of the best.

#include <string>
#include <vector>

#include "iclmech/report/results_json.hpp"
#include "open_host.hpp"
#include "prompts.hpp"

namespace iclmech::cli {

/// The sets that `names` (separated by commas) asks for. Scores or effects are measured when a name needs
/// them.
std::vector<head_selection> head_sets(any_host& host, const model_options& model,
                                      const prompt_options& source,
                                      const std::vector<labelled_prompt>& prompts, const std::string& names,
                                      double fraction);

/// The `count` heads with the highest scores, or fewer; heads without a score (NaN) are passed over.
std::vector<head_id> top_scored_heads(std::span<const head_id> ids, std::span<const double> scores,
                                      index count);

result_identity identity(const model_options& model, const prompt_options& prompts, const model_spec& spec);

/// Prints the five heads with the largest value of one score.
void print_top(const model_spec& spec, const char* name, const head_map<write_scores>& heads,
               double write_scores::*score);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_HEAD_SETS_HPP
