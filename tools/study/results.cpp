#include "study/results.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "iclmech/io/atomic_file.hpp"
#include "iclmech/io/npy.hpp"
#include "study/part_store.hpp"
#include "study/subject.hpp"

namespace iclmech::cli {
namespace {

template <class Items>
std::string joined(const Items& items, const char* separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

/// The command that makes a study (or one of its models and tasks) again.
std::string command_of(const study_options& o, const std::string& kind,
                       const std::vector<std::string>& models, const std::vector<std::string>& tasks) {
  std::string command =
      fmt::format("iclmech study {} {} --task {} --count {} --shots {} --seed {} --fraction {}", kind,
                  joined(models, " "), joined(tasks, ","), o.count, o.demonstrations, o.seed, o.fraction);
  if (kind == "fv")
    command += fmt::format(" --corrupted {} --top {} --grid-count {} --grid-shots {}", o.corrupted, o.top,
                           o.grid_count, joined(o.grid_shots, ","));
  else
    command += fmt::format(" --sizes {}", joined(o.sizes, ","));
  if (o.model.host != "reference") command += " --host " + o.model.host;
  if (o.model.low_memory) command += " --low-memory";
  if (o.model.mamba_groups != model_options().mamba_groups)
    command += fmt::format(" --mamba-groups {}", o.model.mamba_groups);
  return command + " --out " + o.out;
}

/// Scores of heads as arrays [layer, head], one for each mixer kind, NaN where there is no such head.
void write_maps(const std::filesystem::path& folder, const std::string& prefix, int layers,
                const nlohmann::json& heads, const std::vector<const char*>& scores) {
  std::map<std::string, index> width;
  for (const auto& head : heads)
    width[head.at("mixer")] = std::max(width[head.at("mixer")], head.at("head").get<index>() + 1);
  for (const auto& [mixer, columns] : width)
    for (const char* score : scores) {
      if (!heads[0].contains(score)) continue;
      std::vector<double> map(static_cast<std::size_t>(layers * columns),
                              std::numeric_limits<double>::quiet_NaN());
      for (const auto& head : heads)
        if (head.at("mixer") == mixer)
          map[static_cast<std::size_t>(head.at("layer").get<index>() * columns +
                                       head.at("head").get<index>())] = number_or_nan(head.at(score));
      write_npy(folder / fmt::format("{}.{}.{}.npy", prefix, score, mixer), {index{layers}, columns}, map);
    }
}

}  // namespace

void study_results::add(const std::string& model, nlohmann::json entry) {
  entry["model"] = model;
  entry["architecture"] = entry["spec"]["architecture"];
  entry["prompts"] = joined(options.tasks, ",");
  entry["seed"] = options.seed;
  entry["command"] = command_of(options, kind, {model}, options.tasks) + chosen_sections();
  entry["library_version"] = identity["library_version"];
  entry["date"] = identity["date"];
  entry["model_fingerprint"] = identity["models"][model];
  if (!options.budget.empty()) entry["budget"] = {{"time", options.budget}, {"prompts", options.count}};
  models.push_back(std::move(entry));
}

std::string study_results::chosen_sections() const {
  return options.sections.empty() ? "" : " --sections " + joined(options.sections, ",");
}

void study_results::write(const report_kind& report) const {
  const std::filesystem::path out(options.out);
  std::filesystem::create_directories(out / "maps");
  html_page page(fmt::format("{}: {}", report.title, joined(options.tasks, ", ")));
  if (!options.budget.empty())
    page.paragraph(fmt::format("Made with a budget of {}: {} prompts of each task were taken.",
                               options.budget, options.count));
  for (const auto& model : models)
    for (const std::string& task : options.tasks) {
      const nlohmann::json& sections = model.at("tasks").at(task);
      if (const std::string text = sections.at("summary"); !text.empty()) page.paragraph(text);
      const std::string prefix =
          fmt::format("{}.{}", file_name(model.at("model").get<std::string>()), file_name(task));
      const int layers = model.at("spec").at("layers");
      if (sections.contains("scores"))
        write_maps(out / "maps", prefix, layers, sections.at("scores").at("heads"),
                   {"tr", "tl", "induction", "dla_answer", "logit_difference"});
      if (sections.contains("effects"))
        write_maps(out / "maps", prefix, layers, sections.at("effects").at("heads"), {"aie"});
    }
  page.command(command_of(options, kind, options.models, options.tasks) + chosen_sections());

  for (const page_section& part : report.sections) {
    page.heading(part.heading);
    for (const std::string& task : options.tasks) {
      for (const auto& model : models) {
        page.begin_column(fmt::format("{}, {}", model.at("spec").at("name").get<std::string>(), task));
        part.show(page, {model.at("spec"), model.at("tasks").at(task),
                         command_of(options, kind, {model.at("model").get<std::string>()}, {task})});
      }
      page.end_columns();
    }
  }
  if (options.tasks.size() > 1) {
    page.heading("Agreement between tasks");
    auto columns = agreement_columns();
    columns.insert(columns.begin(), {"score", "score"});
    for (const auto& model : models) {
      page.begin_column(model.at("spec").at("name").get<std::string>());
      const report_subject s{
          model.at("spec"), model.at("tasks"),
          command_of(options, kind, {model.at("model").get<std::string>()}, options.tasks)};
      table(page, s, kind == "fv" ? "effects" : "scores", "agreement between tasks",
            model.at("between_tasks"), columns);
    }
    page.end_columns();
  }
  page.heading("What this was made from");
  std::vector<std::vector<std::string>> rows;
  for (const auto& m : models)
    rows.push_back({m.at("model"), m.at("architecture"), m.at("model_fingerprint"), m.at("prompts"),
                    m.at("seed").dump(), m.at("library_version"), m.at("date")});
  page.table("Models, data, versions",
             {"model", "architecture", "fingerprint", "tasks", "seed", "iclmech", "date"}, rows);
  write_file_atomically(out / fmt::format("{}.json", kind), models.dump(1));
  write_file_atomically(out / "report.html", page.html());
}

}  // namespace iclmech::cli
