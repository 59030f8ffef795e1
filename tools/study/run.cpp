#include "study/run.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "iclmech/io/atomic_file.hpp"
#include "iclmech/report/results_json.hpp"
#include "iclmech/task/bundled_models.hpp"
#include "study/part_store.hpp"
#include "study/results.hpp"

namespace iclmech::cli {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// The sections asked for and those that they need, in the order of the study.
std::vector<section> chosen_sections(const study_options& options, const std::vector<section>& all) {
  std::vector<std::string> wanted = options.sections;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const section& s) { return s.name == wanted[i]; });
    if (found == all.end()) {
      std::string names;
      for (const section& s : all) names += (names.empty() ? "" : ", ") + s.name;
      throw argument_error(fmt::format("there is no section '{}': choose among {}", wanted[i], names));
    }
    const std::vector<std::string> needs = found->needs;
    wanted.insert(wanted.end(), needs.begin(), needs.end());
  }
  std::vector<section> chosen;
  for (const section& s : all)
    if (options.sections.empty() || std::find(wanted.begin(), wanted.end(), s.name) != wanted.end())
      chosen.push_back(s);
  return chosen;
}

/// Everything that decides the numbers, so that a study resumes only as what it was.
nlohmann::json identity_of(const study_options& o, const std::string& kind) {
  nlohmann::json j{{"study", kind},
                   {"seed", o.seed},
                   {"demonstrations", o.demonstrations},
                   {"count", o.count},
                   {"grid_count", o.grid_count},
                   {"grid_shots", o.grid_shots},
                   {"corrupted", o.corrupted},
                   {"fraction", o.fraction},
                   {"sizes", o.sizes},
                   {"top", o.top},
                   {"budget", o.budget},
                   {"host", o.model.host},
                   {"low_memory", o.model.low_memory},
                   {"mamba_groups", o.model.mamba_groups},
                   {"library_version", library_version}};
  for (const std::string& model : o.models) j["models"][model] = fingerprint(find_model(model));
  for (const std::string& name : o.tasks) {
    std::string text;
    const task t = find_any_task(name);
    for (const task_pair& pair : t.pairs) text += pair.input + '\n' + pair.output + '\n';
    for (const label_mapping& mapping : t.mappings)
      for (const auto& [from, to] : mapping.entries) text += from + '\n' + to + '\n';
    for (const std::string& part :
         {t.layout.input_prefix, t.layout.output_prefix, t.layout.label_prefix, t.layout.separator})
      text += part + '\n';
    j["tasks"][name] = text_fingerprint(text);
  }
  return j;
}

prompt_options prompts_of(const study_options& o, const std::string& task, std::size_t count) {
  prompt_options prompts;
  prompts.task = task;
  prompts.demonstrations = o.demonstrations;
  prompts.prompts = count;
  prompts.seed = o.seed;
  return prompts;
}

/// How many prompts the budget has time for: runs a prompt of every task on every model and takes the
/// sections' rough costs.
std::size_t affordable(study_options& o, const std::vector<section>& sections) {
  double forwards = 0.0, seconds = 0.0;
  for (const section& s : sections) forwards += s.forwards;
  for (const std::string& model : o.models) {
    o.model.model = model;
    any_host host = open_host(o.model);
    for (const std::string& task : o.tasks) {
      const auto one = prompt_maker(model, host.spec(), prompts_of(o, task, 1)).shown(o.demonstrations);
      answers(host, one, "warming up");
      const auto start = clock::now();
      answers(host, one, "timing");
      seconds += seconds_since(start) * forwards;
    }
  }
  const double count = std::floor(parse_budget(o.budget) / std::max(seconds, 1e-9));
  return std::clamp<std::size_t>(count < 1e6 ? static_cast<std::size_t>(count) : o.count, 2, o.count);
}

nlohmann::json model_facts(const any_host& host) {
  const model_spec& spec = host.spec();
  nlohmann::json j{{"name", spec.name},
                   {"architecture", spec.architecture},
                   {"layers", spec.layer_count()},
                   {"d_model", spec.d_model},
                   {"heads", spec.head_count()}};
  return j;
}

/// Says where a study is, on a terminal.
class study_progress {
 public:
  explicit study_progress(std::size_t units) : units_(units), start_(clock::now()) {}

  std::string begin(const std::string& what) {
    const double passed = seconds_since(start_);
    std::string left;
    if (measured_ > 0)
      left = fmt::format(" (about {:.0f} s for all that is left)",
                         passed / static_cast<double>(measured_) * static_cast<double>(units_ - done_));
    return fmt::format("[{}/{}]{} {}", done_ + 1, units_, left, what);
  }
  void end(bool measured) {
    ++done_;
    if (measured) ++measured_;
  }

 private:
  std::size_t units_, done_ = 0, measured_ = 0;
  clock::time_point start_;
};

}  // namespace

double parse_budget(const std::string& text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  const std::string unit(rest, end);
  if (problem == std::errc() && value > 0.0) {
    if (unit == "s") return value;
    if (unit == "m") return 60.0 * value;
    if (unit == "h") return 3600.0 * value;
  }
  throw argument_error(fmt::format("'{}' is not a time: write for example 90s, 10m or 2h", text));
}

void run_study(study_options options, const study_kind& kind) {
  const std::vector<section> sections = chosen_sections(options, kind.sections);
  if (!options.budget.empty()) parse_budget(options.budget);
  part_store store(options.out, identity_of(options, kind.name), options.resume);
  if (!options.budget.empty()) {
    const std::size_t asked = options.count;
    if (!store.identity().contains("affordable")) store.decide("affordable", affordable(options, sections));
    options.count = store.identity().at("affordable").get<std::size_t>();
    options.grid_count = std::min(options.grid_count, options.count);
    options.corrupted = std::min(options.corrupted, options.count);
    fmt::print("budget of {}: {} of {} prompts\n", options.budget, options.count, asked);
  }

  study_results results{options, kind.name, store.identity(), nlohmann::json::array()};
  study_progress bar(options.models.size() * options.tasks.size() * sections.size());
  for (const std::string& model : options.models) {
    options.model.model = model;
    std::unique_ptr<any_host> host;
    const auto open = [&]() -> any_host& {
      if (!host) host = std::make_unique<any_host>(open_host(options.model));
      return *host;
    };
    std::optional<nlohmann::json> facts = store.find(model, "-", "model");
    if (!facts) store.keep(model, "-", "model", facts.emplace(model_facts(open())));
    nlohmann::json entry{{"spec", *facts}, {"tasks", nlohmann::json::object()}};
    for (const std::string& task : options.tasks) {
      std::unique_ptr<subject> measured;
      nlohmann::json done = nlohmann::json::object();
      for (const section& s : sections) {
        const std::string unit = bar.begin(fmt::format("{} {}: {}", model, task, s.name));
        std::optional<nlohmann::json> part = store.find(model, task, s.name);
        bar.end(!part.has_value());
        if (!part) {
          if (!measured)
            measured = std::make_unique<subject>(open(), options, prompts_of(options, task, options.count));
          measured->unit = unit;
          part.emplace(s.measure(*measured, done));
          store.keep(model, task, s.name, *part);
        }
        done[s.name] = std::move(*part);
      }
      done["family"] = std::string(to_string(find_any_task(task).family));
      kind.report.derive(done, fmt::format("{}, {}", facts->at("name").get<std::string>(), task),
                         options.fraction);
      fmt::print("{}\n", done.at("summary").get<std::string>());
      entry["tasks"][task] = std::move(done);
    }
    entry["between_tasks"] = kind.report.between_tasks(entry["tasks"], options.fraction);
    results.add(model, std::move(entry));
  }
  results.write(kind.report);
  fmt::print("report: {}\n", (std::filesystem::path(options.out) / "report.html").string());
}

}  // namespace iclmech::cli
