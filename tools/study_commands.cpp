// study tsla, study fv: everything about one or several models on one or several tasks, in one report.

#include <charconv>

#include "commands.hpp"
#include "study/run.hpp"

namespace iclmech::cli {
namespace {

/// "2/4" as the second of four shards.
shard parse_shard(const std::string& text) {
  std::size_t number = 0, count = 0;
  const char* const end = text.data() + text.size();
  const auto slash = std::from_chars(text.data(), end, number);
  const bool divided = slash.ec == std::errc() && slash.ptr != end && *slash.ptr == '/';
  const auto last = divided ? std::from_chars(slash.ptr + 1, end, count) : slash;
  if (!divided || last.ec != std::errc() || last.ptr != end || number < 1 || number > count)
    throw argument_error("'" + text + "' is no shard: write 1/4 to 4/4 for four of them");
  return {number - 1, count};
}

void add_study(CLI::App& parent, const char* name, const char* description, study_options& options,
               study_kind kind) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->add_option("models", options.models, "Model folders, .gguf files or bundled models")->required();
  add_run_options(*command, options.model);
  std::string sections;
  for (const section& s : kind.sections) sections += (sections.empty() ? "" : ", ") + s.name;
  command->add_option("--task", options.tasks, "Tasks, separated by commas: bundled ones by name, or files")
      ->delimiter(',')
      ->required();
  command->add_option("--sections", options.sections, "What to measure, separated by commas: " + sections)
      ->delimiter(',');
  command->add_option("--shots", options.demonstrations, "Demonstrations per prompt")->capture_default_str();
  command->add_option("--count", options.count, "Prompts of each task")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options.seed, "Seed of the draw")->capture_default_str();
  command->add_option("--fraction", options.fraction, "Share of all heads in a top set")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  if (kind.name == "tsla") {
    command->add_option("--sizes", options.sizes, "Shares of all heads to take out, separated by commas")
        ->delimiter(',')
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0));
  } else {
    command->add_option("--corrupted", options.corrupted, "Corrupted prompts for indirect effects")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--top", options.top, "Heads in the function vector")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--grid-count", options.grid_count, "Prompts for each cell of the grid of wrong labels")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--grid-shots", options.grid_shots, "Demonstrations in that grid, separated by commas")
        ->delimiter(',')
        ->capture_default_str();
  }
  command->add_option("--budget", options.budget,
                      "Time to stay in, as 90s, 10m or 2h: takes as many prompts as it has room for");
  command
      ->add_option_function<std::string>(
          "--shard", [&options](const std::string& text) { options.share = parse_shard(text); },
          "Which share of the prompts to measure, as 2/4: for machines that cannot talk to each other")
      ->type_name("I/N");
  command->add_flag("--resume", options.resume, "Go on with the study in the folder of --out");
  command->add_option("--out", options.out, "Folder for results and report")->required();
  command->callback([&options, kind] { run_study(options, kind); });
}

}  // namespace

void add_study_commands(CLI::App& app) {
  CLI::App* parent = app.add_subcommand("study", "One report on one or several models");
  parent->require_subcommand(1);
  static study_options tsla, fv;
  static const std::vector<study_kind> kinds{{"tsla", tsla_sections(), tsla_report()},
                                             {"fv", fv_sections(), fv_report()}};
  add_study(*parent, "tsla", "Which heads recognise the task and which learn it", tsla, kinds[0]);
  add_study(*parent, "fv", "Which heads carry function vectors", fv, kinds[1]);

  static std::vector<std::string> shards;
  static std::string out;
  CLI::App* merge = app.add_subcommand("merge", "Puts the shards of a study together and writes its report");
  merge->add_option("shards", shards, "The --out folders of all shards")->required();
  merge->add_option("--out", out, "Folder for results and report")->required();
  merge->callback([] { merge_study(shards, out, kinds); });
}

}  // namespace iclmech::cli
