// aie, steer

#include <fmt/format.h>

#include "commands.hpp"
#include "head_sets.hpp"
#include "iclmech/overlap.hpp"
#include "methods.hpp"
#include "output.hpp"

namespace iclmech::cli {
namespace {

struct effect_options {
  model_options model;
  prompt_options prompts;
  std::size_t corrupted = 10;
  int top = 10;
  std::vector<float> strengths{1.0F};
  std::string out;
};

std::vector<index> strongest(const indirect_effect_result& effects, index count) {
  const Eigen::VectorXd aie = effects.effects.mean();
  return top_positions({aie.data(), static_cast<std::size_t>(aie.size())},
                       std::min<index>(count, aie.size()));
}

void print_strongest(const model_spec& spec, const indirect_effect_result& effects) {
  const Eigen::VectorXd aie = effects.effects.mean();
  fmt::print("top AIE heads:");
  for (const index i : strongest(effects, 5))
    fmt::print("  {} {:.4f}", spec.label(effects.heads[static_cast<std::size_t>(i)]), aie[i]);
  // Concentration is about heads that help; the others count as nothing.
  const Eigen::VectorXd positive = aie.cwiseMax(0.0);
  const std::vector<double> values(positive.data(), positive.data() + positive.size());
  fmt::print("\nconcentration of positive effects: Gini {:.3f}, share of the top 3% {:.3f}\n", gini(values),
             top_share(values, top_count(aie.size(), 0.03)));
}

void aie(const effect_options& options) {
  prepare_output(options.out);
  any_host host = open_host(options.model);
  const effect_prompts prompts =
      effect_prompts_of(options.model.model, host.spec(), options.prompts, options.corrupted);
  piecework work("sweeping");
  const measured_effects m = effects(host, prompts, work);
  print_strongest(host.spec(), m.effects);
  write_results(options.out, "aie",
                with_identity(to_json(m.effects), identity(options.model, options.prompts, host.spec())),
                to_csv(m.effects));
}

void steer_command(const effect_options& options) {
  if (options.prompts.task.empty())
    throw argument_error("steer needs --task: its prompts without demonstrations are drawn from it");
  prepare_output(options.out);
  any_host host = open_host(options.model);
  const effect_prompts prompts =
      effect_prompts_of(options.model.model, host.spec(), options.prompts, options.corrupted);
  piecework sweeping("sweeping"), steering("steering");
  const measured_effects m = effects(host, prompts, sweeping);
  print_strongest(host.spec(), m.effects);
  std::vector<head_id> heads;
  for (const index i : strongest(m.effects, options.top))
    heads.push_back(m.effects.heads[static_cast<std::size_t>(i)]);
  const vector v = task_vector(host, m.means, heads);
  steering_options how;
  how.strengths = options.strengths;
  const auto outcomes = steered(host, prompts.zero_shot, v, heads, m.means, how, steering);
  fmt::print("{:<8} {:>5} {:>8}  {:>8}  {:>8}  {:>9}\n", "at", "layer", "strength", "accuracy", "TR ratio",
             "P(answer)");
  for (const steering_outcome& o : outcomes)
    fmt::print("{:<8} {:5} {:8.2f}  {:8.3f}  {:8.3f}  {:9.4f}\n", o.name, o.layer, o.strength,
               o.summary.accuracy, o.summary.tr_ratio, o.probability);
  write_results(options.out, "steering",
                with_identity(to_json(outcomes), identity(options.model, options.prompts, host.spec())),
                to_csv(outcomes));
}

}  // namespace

void add_effect_commands(CLI::App& app) {
  static effect_options effect;
  CLI::App* aie_command =
      app.add_subcommand("aie", "Average indirect effect of every head on prompts with shuffled labels");
  add_model_options(*aie_command, effect.model);
  add_prompt_options(*aie_command, effect.prompts);
  aie_command->add_option("--corrupted", effect.corrupted, "Corrupted prompts (with --task)")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_output_option(*aie_command, effect.out, "aie");
  aie_command->callback([] { aie(effect); });

  static effect_options steered;
  CLI::App* command =
      app.add_subcommand("steer", "Steer prompts without demonstrations by a function vector");
  add_model_options(*command, steered.model);
  add_prompt_options(*command, steered.prompts);
  command->add_option("--corrupted", steered.corrupted, "Corrupted prompts from which the heads are found")
      ->capture_default_str();
  command->add_option("--top", steered.top, "Heads in the function vector")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--strength", steered.strengths, "Strengths, separated by commas")->delimiter(',');
  add_output_option(*command, steered.out, "steering");
  command->callback([] { steer_command(steered); });
}

}  // namespace iclmech::cli
