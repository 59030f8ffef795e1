#include "head_sets.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <sstream>

#include "iclmech/overlap.hpp"
#include "methods.hpp"
#include "output.hpp"

namespace iclmech::cli {
namespace {

std::vector<head_id> best(std::span<const head_id> ids, std::span<const double> scores, double fraction) {
  return top_scored_heads(ids, scores, top_count(std::ssize(ids), fraction));
}

std::vector<double> column(const head_map<write_scores>& heads, double write_scores::*score) {
  std::vector<double> values;
  for (const write_scores& s : heads.values()) values.push_back(s.*score);
  return values;
}

std::vector<head_id> listed_heads(const model_spec& spec, const std::string& list) {
  std::vector<head_id> heads;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, '+');) {
    heads.push_back(spec.parse_head(name));
    if (std::find(heads.begin(), heads.end() - 1, heads.back()) != heads.end() - 1)
      throw argument_error(fmt::format("'{}' names {} twice", list, name));
  }
  if (heads.empty()) throw argument_error("a set of heads has no name: write for example tr,L5H3+L7H0");
  return heads;
}

}  // namespace

std::vector<head_id> top_scored_heads(std::span<const head_id> ids, std::span<const double> scores,
                                      index count) {
  std::vector<head_id> scored;
  std::vector<double> finite;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (std::isnan(scores[i])) continue;
    scored.push_back(ids[i]);
    finite.push_back(scores[i]);
  }
  return top_heads(scored, finite, std::min<index>(count, std::ssize(scored)));
}

std::vector<head_selection> head_sets(any_host& host, const model_options& model,
                                      const prompt_options& source,
                                      const std::vector<labelled_prompt>& prompts, const std::string& names,
                                      double fraction) {
  std::optional<head_scores> scored;
  const auto by_score = [&](double write_scores::*score) {
    piecework work("scoring");
    if (!scored) scored = scores(host, prompts, {.components = false}, work);
    return best(scored->heads.ids(), column(scored->heads, score), fraction);
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
    } else if (name == "induction") {
      const head_map<double> by = induction(host, prompts, source.seed);
      sets.push_back({name, best(by.ids(), by.values(), fraction)});
    } else if (name == "each") {
      for (head_selection& one : each_head(host.spec())) sets.push_back(std::move(one));
    } else if (name == "fv") {
      const effect_prompts clean = effect_prompts_of(model.model, host.spec(), source, 10);
      piecework work("sweeping");
      const measured_effects m = effects(host, clean, work);
      const Eigen::VectorXd aie = m.effects.effects.mean();
      sets.push_back(
          {name, best(m.effects.heads, {aie.data(), static_cast<std::size_t>(aie.size())}, fraction)});
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

result_identity identity(const model_options& model, const prompt_options& prompts, const model_spec& spec) {
  return {model.model, spec.architecture, source_name(prompts), prompts.seed, command_line()};
}

void print_top(const model_spec& spec, const char* name, const head_map<write_scores>& heads,
               double write_scores::*score) {
  fmt::print("top {} heads:", name);
  const std::vector<double> values = column(heads, score);
  for (const index i : top_positions(values, std::min<index>(5, static_cast<index>(values.size()))))
    fmt::print("  {} {:.3f}", spec.label(heads.ids()[static_cast<std::size_t>(i)]),
               values[static_cast<std::size_t>(i)]);
  fmt::print("\n");
}

}  // namespace iclmech::cli
