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
#include "output.hpp"
#include "study/kept_pieces.hpp"
#include "study/part_store.hpp"
#include "study/process_group.hpp"
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

void require_different(std::vector<std::string> names, const char* what) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw argument_error(fmt::format("the {} '{}' is named twice", what, *twice));
}

/// Everything that decides the numbers, so that a study resumes only as what it was.
nlohmann::json identity_of(const study_options& o, const std::string& kind) {
  nlohmann::json j = o;
  // More sections may be measured later.
  j.erase("sections");
  j["study"] = kind;
  j["library_version"] = library_version;
  j["models"] = nlohmann::json::object();
  j["tasks"] = nlohmann::json::object();
  for (const std::string& model : o.models) j["models"][model] = fingerprint(find_model(model));
  for (const std::string& name : o.tasks) {
    std::string text;
    const task t = find_any_task(name);
    for (const task_pair& pair : t.pairs) text += pair.input + '\n' + pair.output + '\n';
    for (const label_mapping& mapping : t.mappings)
      for (const auto& [from, to] : mapping.entries) text += from + '\n' + to + '\n';
    for (const auto& [from, to] : t.synonyms.entries) text += from + '\n' + to + '\n';
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
      piecework work("timing");
      answers(host, one, work);
      const auto start = clock::now();
      answers(host, one, work);
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

/// The leading process opens the store, the others join it.
part_store open_store(const study_options& options, const study_kind& kind, const process_group& group) {
  if (!group.leads()) return part_store::joined(options.out, group.of_leader({}));
  part_store store(options.out, identity_of(options, kind.name), options.resume);
  store.decide("options", options);
  store.decide("finished", false);
  group.of_leader(store.identity());
  return store;
}

/// Measures the sections of a study on one model after another.
class study_run {
 public:
  study_run(study_options& options, const study_kind& kind, const std::vector<section>& sections,
            const process_group& group, const part_store& store)
      : options_(options),
        kind_(kind),
        sections_(sections),
        group_(group),
        store_(store),
        bar_(options.models.size() * options.tasks.size() * sections.size()) {}

  /// What a model says of itself; so a model that cannot be run is found before any is measured.
  nlohmann::json facts_of(const std::string& model) {
    return kept_or_measured({model, "-", "model"}, [&] { return model_facts(host(model)); });
  }

  /// What results keep of a model.
  nlohmann::json measure(const std::string& model) {
    const nlohmann::json facts = facts_of(model);
    const auto name = facts.at("name").get<std::string>();
    nlohmann::json entry{{"spec", facts}, {"tasks", nlohmann::json::object()}};
    for (const std::string& task : options_.tasks) entry["tasks"][task] = measure(model, name, task);
    if (options_.share.count == 1)
      entry["between_tasks"] = kind_.report.between_tasks(entry["tasks"], options_.fraction);
    return entry;
  }

 private:
  nlohmann::json measure(const std::string& model, const std::string& name, const std::string& task) {
    std::unique_ptr<subject> measured;
    nlohmann::json done = nlohmann::json::object();
    for (const section& s : sections_) {
      const std::string unit = bar_.begin(fmt::format("{} {}: {}", model, task, s.name));
      bool found = true;
      // What other sections build on, every shard measures in full; of the rest it keeps its pieces.
      const bool whole = std::any_of(sections_.begin(), sections_.end(), [&](const section& other) {
        return std::find(other.needs.begin(), other.needs.end(), s.name) != other.needs.end();
      });
      const auto work_on = [&, unit, whole](const std::string& what) {
        return std::make_unique<kept_pieces>(store_, group_, options_.share, section_place{model, task, what},
                                             whole, unit);
      };
      const auto run = [&] {
        found = false;
        if (!measured)
          measured =
              std::make_unique<subject>(host(model), options_, prompts_of(options_, task, options_.count));
        measured->begin(s.name, work_on);
        return s.measure(*measured, done);
      };
      if (options_.share.count > 1 && !whole)
        run();
      else
        done[s.name] = kept_or_measured({model, task, s.name}, run);
      bar_.end(!found);
    }
    if (options_.share.count > 1) return done;
    if (group_.leads()) store_.drop_pieces({model, task, "means"});
    done["family"] = std::string(to_string(find_any_task(task).family));
    kind_.report.derive(done, fmt::format("{}, {}", name, task), options_.fraction);
    if (group_.leads()) fmt::print("{}\n", done.at("summary").get<std::string>());
    return done;
  }

  /// What the leading process has kept, or else what all measure together.
  template <class Measure>
  nlohmann::json kept_or_measured(const section_place& place, const Measure& run) {
    const std::optional<nlohmann::json> kept = store_.find(place);
    nlohmann::json part = group_.of_leader(kept ? *kept : nlohmann::json());
    if (!part.is_null()) return part;
    part = run();
    if (group_.leads()) store_.keep(place, part);
    group_.of_leader({});  // no piece goes before its section is kept
    store_.drop_pieces(place);
    return part;
  }

  any_host& host(const std::string& model) {
    if (!host_ || options_.model.model != model) {
      host_.reset();
      options_.model.model = model;
      host_ = std::make_unique<any_host>(open_host(options_.model));
    }
    return *host_;
  }

  study_options& options_;
  const study_kind& kind_;
  const std::vector<section>& sections_;
  const process_group& group_;
  const part_store& store_;
  study_progress bar_;
  std::unique_ptr<any_host> host_;
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
  require_different(options.models, "model");
  require_different(options.tasks, "task");
  if (!options.budget.empty()) parse_budget(options.budget);
  prepare_output(options.out);
  const process_group group;
  if (options.share.count > 1 && (group.size() > 1 || !options.budget.empty()))
    throw argument_error(
        "--shard goes with neither mpirun, which shares the prompts itself, nor --budget, on which shards "
        "could not agree: give --count");
  part_store store = open_store(options, kind, group);
  if (!options.budget.empty()) {
    const std::size_t asked = options.count;
    if (!store.identity().contains("affordable"))
      store.decide("affordable", group.of_leader(affordable(options, sections)));
    options.count = store.identity().at("affordable").get<std::size_t>();
    options.grid_count = std::min(options.grid_count, options.count);
    options.corrupted = std::min(options.corrupted, options.count);
    if (group.leads()) fmt::print("budget of {}: {} of {} prompts\n", options.budget, options.count, asked);
  }

  study_run run{options, kind, sections, group, store};
  study_results results{options, kind.name, store.identity(), nlohmann::json::array()};
  // Backwards, so that the first model is open when it is measured.
  for (auto model = options.models.rbegin(); model != options.models.rend(); ++model) run.facts_of(*model);
  for (const std::string& model : options.models) results.add(model, run.measure(model));
  if (options.share.count > 1) {
    store.finish(options.share);
    fmt::print("shard {}/{} is done: iclmech merge puts the folders of all {} together\n",
               options.share.index + 1, options.share.count, options.share.count);
  } else if (group.leads()) {
    results.write(kind.report);
    store.finish(options.share);
    fmt::print("report: {}\n", (std::filesystem::path(options.out) / "report.html").string());
  }
  group.finish();
}

void merge_study(const std::vector<std::string>& shards, const std::string& out,
                 std::span<const study_kind> kinds) {
  const nlohmann::json identity = gather_shards(shards, out);
  auto options = identity.at("options").get<study_options>();
  options.resume = true;
  options.out = out;
  for (const study_kind& kind : kinds)
    if (kind.name == identity.at("study")) return run_study(options, kind);
  throw argument_error(
      fmt::format("{} holds a study of an unknown kind, {}", shards.front(), identity.at("study").dump()));
}

}  // namespace iclmech::cli
