#include "head_sets.hpp"

#include <cstdio>
#include <optional>
#include <sstream>

#include "iclmech/overlap.hpp"
#include "progress.hpp"

namespace iclmech::cli {
namespace {

std::vector<head_id> top_heads(std::span<const head_id> ids, const std::vector<double>& scores,
                               double fraction) {
  std::vector<head_id> heads;
  for (const index i : top_fraction(scores, fraction)) heads.push_back(ids[static_cast<std::size_t>(i)]);
  return heads;
}

std::vector<double> column(const head_map<write_scores>& heads, double write_scores::*score) {
  std::vector<double> values;
  for (const write_scores& s : heads.values()) values.push_back(s.*score);
  return values;
}

std::vector<head_id> listed_heads(const model_spec& spec, const std::string& list) {
  std::vector<head_id> heads;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, '+');) heads.push_back(spec.parse_head(name));
  return heads;
}

}  // namespace

std::vector<head_selection> head_sets(any_host& host, const model_options& model,
                                      const prompt_options& source,
                                      const std::vector<labelled_prompt>& prompts, const std::string& names,
                                      double fraction) {
  std::optional<head_scores> scores;
  const auto by_score = [&](double write_scores::*score) {
    if (!scores) {
      progress bar("scoring", prompts.size());
      scores = score_heads(host, prompts, {.components = false}, [&bar](std::size_t done) { bar(done); });
    }
    return top_heads(scores->heads.ids(), column(scores->heads, score), fraction);
  };
  std::vector<head_selection> sets;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "tr") {
      sets.push_back({name, by_score(&write_scores::tr)});
    } else if (name == "tl") {
      sets.push_back({name, by_score(&write_scores::tl)});
    } else if (name == "dla") {
      sets.push_back({name, by_score(&write_scores::dla_answer)});
    } else if (name == "fv") {
      const effect_prompts clean = effect_prompts_of(model.model, host.spec(), source, 10);
      const measured_effects m = measure_effects(host, clean);
      const Eigen::VectorXd aie = m.effects.effects.mean();
      sets.push_back({name, top_heads(m.effects.heads, {aie.data(), aie.data() + aie.size()}, fraction)});
    } else if (name == "random") {
      // As many as each set before has, in the same layers and mixers.
      const std::vector<head_selection> before = sets;
      for (const head_selection& s : before)
        sets.push_back({"random:" + s.name, matched_random_heads(host.spec(), s.heads, source.seed)});
      if (before.empty())
        throw argument_error(
            "'random' is drawn to match the sets named before it: name one first, as in tr,random");
    } else {
      sets.push_back({name, listed_heads(host.spec(), name)});
    }
  }
  return sets;
}

result_identity identity(const model_options& model, const prompt_options& prompts, const model_spec& spec,
                         const std::string& command) {
  return {model.model, spec.architecture, source_name(prompts), prompts.seed, command};
}

void print_top(const model_spec& spec, const char* name, const head_map<write_scores>& heads,
               double write_scores::*score) {
  std::printf("top %s heads:", name);
  const std::vector<double> values = column(heads, score);
  for (const index i : top_positions(values, std::min<index>(5, static_cast<index>(values.size()))))
    std::printf("  %s %.3f", spec.label(heads.ids()[static_cast<std::size_t>(i)]).c_str(),
                values[static_cast<std::size_t>(i)]);
  std::printf("\n");
}

measured_effects measure_effects(any_host& host, const effect_prompts& prompts) {
  head_means means = mean_head_outputs(host, std::span<const answered_prompt>(prompts.clean));
  progress bar("sweeping", prompts.shuffled.size());
  indirect_effect_result effects =
      measure_indirect_effects(host, means.outputs, std::span<const answered_prompt>(prompts.shuffled), {}, 4,
                               [&bar](std::size_t done) { bar(done); });
  return {std::move(means), std::move(effects)};
}

}  // namespace iclmech::cli
