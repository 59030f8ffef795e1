// tsla, ablate

#include <fmt/format.h>

#include "commands.hpp"
#include "head_sets.hpp"
#include "iclmech/report/results_json.hpp"
#include "methods.hpp"
#include "open_host.hpp"
#include "output.hpp"
#include "prompts.hpp"

namespace iclmech::cli {
namespace {

struct tsla_options {
  model_options model;
  prompt_options prompts;
  std::string out;
};

void tsla(const tsla_options& options) {
  prepare_output(options.out);
  any_host host = open_host(options.model);
  const auto prompts = labelled_prompts(options.model.model, host.spec(), options.prompts);
  piecework work("scoring");
  const head_scores result = scores(host, prompts, {.components = true}, work);
  const result_identity id = identity(options.model, options.prompts, host.spec());
  for (const std::string& note : result.notes) fmt::print("note: {}\n", note);
  fmt::print("{} prompts, accuracy {:.3f}, TR ratio {:.3f}\n", prompts.size(), result.accuracy,
             result.tr_ratio);
  print_top(host.spec(), "TR", result.heads, &write_scores::tr);
  print_top(host.spec(), "TL", result.heads, &write_scores::tl);
  write_results(options.out, "tsla", with_identity(to_json(result), id), to_csv(result));
}

struct ablate_options {
  model_options model;
  prompt_options prompts;
  std::string sets = "tr,tl,dla,random";
  std::string kind = "zero";
  std::string positions = "last";
  double fraction = 0.03;
  std::string out;
};

void ablate(const ablate_options& options) {
  prepare_output(options.out);
  any_host host = open_host(options.model);
  const auto prompts = labelled_prompts(options.model.model, host.spec(), options.prompts);
  const std::vector<head_selection> sets =
      head_sets(host, options.model, options.prompts, prompts, options.sets, options.fraction);
  ablation_options how;
  how.kind = options.kind == "zero"   ? ablation_kind::zero
             : options.kind == "mean" ? ablation_kind::mean
                                      : ablation_kind::resample;
  how.all_positions = options.positions == "all";
  how.seed = options.prompts.seed;
  piecework work("ablating");
  head_outputs drawn;
  if (how.kind != ablation_kind::zero) drawn = outputs(host, prompts, work);
  const auto outcomes = ablated(host, prompts, sets, how, drawn, work);
  nlohmann::json result =
      with_identity(to_json(outcomes), identity(options.model, options.prompts, host.spec()));
  result["kind"] = options.kind;
  result["positions"] = options.positions;
  for (const head_selection& s : sets)
    for (const head_id head : s.heads) result["sets"][s.name].push_back(host.spec().label(head));
  fmt::print("{:<12} {:>5}  {:>8}  {:>8}  {:>9}\n", "set", "heads", "accuracy", "TR ratio", "P(answer)");
  for (const ablation_outcome& o : outcomes)
    fmt::print("{:<12} {:5}  {:8.3f}  {:8.3f}  {:9.4f}\n", o.name, o.heads, o.summary.accuracy,
               o.summary.tr_ratio, o.probability);
  write_results(options.out, "ablation", result, to_csv(outcomes));
}

}  // namespace

void add_score_commands(CLI::App& app) {
  static tsla_options scored;
  CLI::App* tsla_command = app.add_subcommand("tsla", "Score all heads: TR, TL and their baselines");
  add_model_options(*tsla_command, scored.model);
  add_prompt_options(*tsla_command, scored.prompts);
  add_output_option(*tsla_command, scored.out, "tsla");
  tsla_command->callback([] { tsla(scored); });

  static ablate_options ablated;
  CLI::App* ablate_command =
      app.add_subcommand("ablate", "Take sets of heads out and measure accuracy and TR ratio");
  add_model_options(*ablate_command, ablated.model);
  add_prompt_options(*ablate_command, ablated.prompts);
  ablate_command
      ->add_option(
          "--heads", ablated.sets,
          "Sets, separated by commas: tr, tl, dla, induction, fv, random, each (every head alone), or "
          "heads such as L5H3+L7H0")
      ->capture_default_str();
  ablate_command->add_option("--kind", ablated.kind, "What the heads' outputs are replaced by")
      ->check(CLI::IsMember({"zero", "mean", "resample"}))
      ->capture_default_str();
  ablate_command->add_option("--positions", ablated.positions, "Where: the last position, or all")
      ->check(CLI::IsMember({"last", "all"}))
      ->capture_default_str();
  ablate_command
      ->add_option("--fraction", ablated.fraction, "Share of all heads in a set (at least one head)")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  add_output_option(*ablate_command, ablated.out, "ablation");
  ablate_command->callback([] { ablate(ablated); });
}

}  // namespace iclmech::cli
