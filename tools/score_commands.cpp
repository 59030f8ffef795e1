// tsla, ablate

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "head_sets.hpp"
#include "iclmech/io/atomic_file.hpp"
#include "iclmech/report/results_json.hpp"
#include "open_host.hpp"
#include "progress.hpp"
#include "prompts.hpp"

namespace iclmech::cli {
namespace {

struct tsla_options {
  model_options model;
  prompt_options prompts;
  std::string out;
};

head_scores score(any_host& host, const std::vector<labelled_prompt>& prompts) {
  progress bar("scoring", prompts.size());
  return score_heads(host, prompts, {}, [&bar](std::size_t done) { bar(done); });
}

void tsla(const tsla_options& options) {
  any_host host = open_host(options.model);
  const auto prompts = labelled_prompts(options.model.model, host.spec(), options.prompts);
  const head_scores result = score(host, prompts);
  const result_identity id = identity(options.model, options.prompts, host.spec(), "tsla");
  const std::filesystem::path out(options.out);
  std::filesystem::create_directories(out);
  write_file_atomically(out / "tsla.json", to_json(result, id).dump(1));
  write_file_atomically(out / "tsla.csv", to_csv(result));
  for (const std::string& note : result.notes) std::cout << "note: " << note << '\n';
  std::printf("%zu prompts, accuracy %.3f, TR ratio %.3f\n", prompts.size(), result.accuracy,
              result.tr_ratio);
  print_top(host.spec(), "TR", result.heads, &write_scores::tr);
  print_top(host.spec(), "TL", result.heads, &write_scores::tl);
  std::cout << "wrote " << (out / "tsla.json").string() << '\n';
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
  progress bar("ablating", prompts.size());
  const auto outcomes = ablate_heads(host, prompts, sets, how, [&bar](std::size_t done) { bar(done); });
  const std::filesystem::path out(options.out);
  std::filesystem::create_directories(out);
  nlohmann::json result = to_json(outcomes, identity(options.model, options.prompts, host.spec(), "ablate"));
  result["kind"] = options.kind;
  result["positions"] = options.positions;
  for (const head_selection& s : sets)
    for (const head_id head : s.heads) result["sets"][s.name].push_back(host.spec().label(head));
  write_file_atomically(out / "ablation.json", result.dump(1));
  std::printf("%-12s %5s  %8s  %8s\n", "set", "heads", "accuracy", "TR ratio");
  for (const ablation_outcome& o : outcomes)
    std::printf("%-12s %5zu  %8.3f  %8.3f\n", o.name.c_str(), o.heads, o.summary.accuracy,
                o.summary.tr_ratio);
  std::cout << "wrote " << (out / "ablation.json").string() << '\n';
}

}  // namespace

void add_score_commands(CLI::App& app) {
  static tsla_options scored;
  CLI::App* tsla_command = app.add_subcommand("tsla", "Score all heads: TR, TL and their baselines");
  add_model_options(*tsla_command, scored.model);
  add_prompt_options(*tsla_command, scored.prompts);
  tsla_command->add_option("--out", scored.out, "Folder for tsla.json and tsla.csv")->required();
  tsla_command->callback([] { tsla(scored); });

  static ablate_options ablated;
  CLI::App* ablate_command =
      app.add_subcommand("ablate", "Take sets of heads out and measure accuracy and TR ratio");
  add_model_options(*ablate_command, ablated.model);
  add_prompt_options(*ablate_command, ablated.prompts);
  ablate_command
      ->add_option("--heads", ablated.sets,
                   "Sets, separated by commas: tr, tl, dla, fv, random, or heads such as L5H3+L7H0")
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
  ablate_command->add_option("--out", ablated.out, "Folder for ablation.json")->required();
  ablate_command->callback([] { ablate(ablated); });
}

}  // namespace iclmech::cli
