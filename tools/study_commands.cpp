// study tsla, study fv: everything about one or several models on one task, in one report.

#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>

#include "commands.hpp"
#include "head_sets.hpp"
#include "iclmech/io/atomic_file.hpp"
#include "iclmech/overlap.hpp"
#include "iclmech/report/html_page.hpp"
#include "iclmech/statistics.hpp"
#include "progress.hpp"

namespace iclmech::cli {
namespace {

struct study_options {
  std::vector<std::string> models;
  model_options model;
  prompt_options prompts;
  std::size_t corrupted = 8;
  double fraction = 0.03;
  int top = 10;
  std::string out;
};

/// What one model contributes to a report: its figures, called once per model inside a row.
struct model_column {
  std::string name;
  std::string summary;
  nlohmann::json json;
  std::vector<std::function<void(html_page&)>> sections;  ///< one per section of the report
};

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100.0 * share);
  return text;
}

std::vector<double> values_of(const head_map<write_scores>& heads, double write_scores::*score) {
  std::vector<double> values;
  for (const write_scores& s : heads.values()) values.push_back(s.*score);
  return values;
}

head_map<double> as_map(const model_spec& spec, const std::vector<double>& values) {
  head_map<double> map(spec);
  std::copy(values.begin(), values.end(), map.values().begin());
  return map;
}

std::vector<head_id> heads_at(std::span<const head_id> ids, const std::vector<index>& positions) {
  std::vector<head_id> heads;
  for (const index p : positions) heads.push_back(ids[static_cast<std::size_t>(p)]);
  return heads;
}

double mean_layer(const std::vector<head_id>& heads) {
  double sum = 0.0;
  for (const head_id h : heads) sum += h.layer;
  return heads.empty() ? 0.0 : sum / static_cast<double>(heads.size());
}

void maps(html_page& page, const model_spec& spec, const std::string& what, const head_map<double>& values) {
  std::string csv = "layer,mixer,head," + what + "\n";
  for (const head_id id : values.ids())
    csv += std::to_string(id.layer) + "," + std::string(to_string(id.mixer)) + "," + std::to_string(id.head) +
           "," + std::to_string(values[id]) + "\n";
  for (const mixer_kind kind : all_mixer_kinds)
    page.figure(what + ", " + std::string(to_string(kind)), svg::heat_map(spec, kind, values, what), csv);
}

std::string table_number(double x) { return svg::number(x); }

void bars_of(html_page& page, const std::string& caption, const std::vector<ablation_outcome>& outcomes) {
  std::vector<svg::bar_row> rows;
  for (const ablation_outcome& o : outcomes)
    rows.push_back({o.name + (o.heads > 0 ? " (" + std::to_string(o.heads) + ")" : ""),
                    {o.summary.accuracy, o.summary.tr_ratio}});
  std::string csv = "set,heads,accuracy,tr_ratio\n";
  for (const ablation_outcome& o : outcomes)
    csv += o.name + "," + std::to_string(o.heads) + "," + std::to_string(o.summary.accuracy) + "," +
           std::to_string(o.summary.tr_ratio) + "\n";
  page.figure(caption, svg::bars({"accuracy", "TR ratio"}, rows), csv);
}

// ---- TSLA

model_column study_tsla(any_host& host, const model_options& model, const study_options& options) {
  const model_spec& spec = host.spec();
  const auto prompts = labelled_prompts(model.model, spec, options.prompts);
  progress bar("scoring " + model.model, prompts.size());
  const head_scores scores = score_heads(host, prompts, {}, [&bar](std::size_t done) { bar(done); });
  const auto tr = values_of(scores.heads, &write_scores::tr), tl = values_of(scores.heads, &write_scores::tl);
  const auto dla = values_of(scores.heads, &write_scores::dla_answer);
  const std::vector<head_id> ids(scores.heads.ids().begin(), scores.heads.ids().end());
  std::vector<head_selection> sets{{"TR", heads_at(ids, top_fraction(tr, options.fraction))},
                                   {"TL", heads_at(ids, top_fraction(tl, options.fraction))},
                                   {"DLA", heads_at(ids, top_fraction(dla, options.fraction))}};
  const double tr_layer = mean_layer(sets[0].heads), tl_layer = mean_layer(sets[1].heads);
  for (std::size_t s = 0; s < 3; ++s)
    sets.push_back(
        {"random like " + sets[s].name, matched_random_heads(spec, sets[s].heads, options.prompts.seed)});
  progress ablating("ablating " + model.model, prompts.size());
  const auto outcomes =
      ablate_heads(host, prompts, sets, {}, [&ablating](std::size_t done) { ablating(done); });

  const std::size_t size = sets[0].heads.size();
  std::string summary =
      spec.name + " gets " + percent(scores.accuracy) + " right and answers with a label in " +
      percent(scores.tr_ratio) + " of " + std::to_string(prompts.size()) + " prompts. TR heads sit " +
      (tr_layer > tl_layer   ? "deeper than"
       : tr_layer < tl_layer ? "before"
                             : "as deep as") +
      " TL heads: mean layer " + table_number(tr_layer) + " against " + table_number(tl_layer) +
      ". Without its top " + std::to_string(size) + " TR heads the TR ratio is " +
      percent(outcomes[1].summary.tr_ratio) + " and accuracy " + percent(outcomes[1].summary.accuracy) +
      "; without its top " + std::to_string(size) + " TL heads " + percent(outcomes[2].summary.tr_ratio) +
      " and " + percent(outcomes[2].summary.accuracy) + ".";
  const double kendall = kendall_tau_b(tr, tl), rank = spearman(tr, tl);

  model_column column{
      spec.name, summary, to_json(scores, identity(model, options.prompts, spec, "study tsla")), {}};
  column.json["ablation"] = to_json(outcomes, {})["outcomes"];
  column.json["overlap"] = {
      {"tr_tl",
       {{"kendall_tau_b", kendall}, {"spearman", rank}, {"jaccard", jaccard(sets[0].heads, sets[1].heads)}}}};
  column.sections.push_back([=](html_page& page) {
    maps(page, spec, "TR", as_map(spec, tr));
    maps(page, spec, "TL", as_map(spec, tl));
    bars_of(page, "top heads zeroed at the last position", outcomes);
  });
  column.sections.push_back([=](html_page& page) {
    std::vector<std::vector<std::string>> rows;
    const auto add = [&](const char* kind, const std::vector<double>& by) {
      for (const index i : top_positions(by, std::min<index>(8, static_cast<index>(by.size())))) {
        const write_scores& s = scores.heads.values()[static_cast<std::size_t>(i)];
        const head_id id = ids[static_cast<std::size_t>(i)];
        rows.push_back({spec.label(id), kind, std::to_string(id.layer), table_number(s.tr),
                        table_number(s.tl), table_number(s.dla_sum), table_number(s.dla_answer)});
      }
    };
    add("TR", tr);
    add("TL", tl);
    page.table(spec.name + ", top heads", {"head", "top by", "layer", "TR", "TL", "DLA sum", "DLA answer"},
               rows);
  });
  column.sections.push_back([=](html_page& page) {
    std::vector<svg::curve> lines{{"mixers", {}, {}, {}, {}}, {"MLPs", {}, {}, {}, {}}};
    std::vector<std::vector<std::string>> rows;
    for (const component_scores& c : scores.components) {
      rows.push_back(
          {c.name, table_number(c.scores.tr), table_number(c.scores.tl), table_number(c.scores.dla_answer)});
      if (c.layer < 0) continue;
      svg::curve& line = lines[c.name.ends_with("mlp") ? 1 : 0];
      line.x.push_back(c.layer);
      line.y.push_back(c.scores.tr);
    }
    std::erase_if(lines, [](const svg::curve& l) { return l.x.empty(); });
    page.figure(spec.name + ", TR of whole mixers and MLPs by layer", svg::curves(lines, "layer", "TR"));
    page.table(spec.name + ", components", {"component", "TR", "TL", "DLA answer"}, rows);
    page.table(
        spec.name + ", TR against TL", {"Jaccard of the top sets", "Kendall tau-b", "Spearman"},
        {{table_number(jaccard(sets[0].heads, sets[1].heads)), table_number(kendall), table_number(rank)}});
  });
  return column;
}

// ---- Function vectors

struct shot_point {
  std::size_t shots;
  prediction_summary summary;
};

std::vector<shot_point> accuracy_by_shots(any_host& host, const model_options& model, prompt_options source) {
  std::vector<shot_point> points;
  for (const std::size_t shots : {0, 1, 2, 4, 8, 16}) {
    source.demonstrations = shots;
    std::vector<labelled_prompt> prompts;
    try {
      prompts = labelled_prompts(model.model, host.spec(), source);
    } catch (const argument_error&) {
      break;  // the task or the context has no room for so many
    }
    std::vector<token_sequence> ids;
    std::vector<token_id> predictions;
    no_hooks none;
    for (const labelled_prompt& p : prompts) {
      const row_matrix logits = host.run(std::span(&p.ids, 1), none, logit_rows::last);
      predictions.push_back(reduce::argmax_of(logits));
    }
    points.push_back({shots, summarize(prompts, predictions)});
  }
  return points;
}

model_column study_fv(any_host& host, const model_options& model, const study_options& options) {
  const model_spec& spec = host.spec();
  const effect_prompts prompts = effect_prompts_of(model.model, spec, options.prompts, options.corrupted);
  const measured_effects m = measure_effects(host, prompts);
  const Eigen::VectorXd aie = m.effects.effects.mean();
  const std::vector<double> effect(aie.data(), aie.data() + aie.size());
  const Eigen::VectorXd positive = aie.cwiseMax(0.0);
  const std::vector<double> helping(positive.data(), positive.data() + positive.size());
  const auto top = heads_at(m.effects.heads, top_positions(effect, std::min<index>(options.top, aie.size())));

  std::vector<head_id> linear;
  for (const head_id h : top)
    if (spec.mixer(h.layer, h.mixer).write != write_path::measured) linear.push_back(h);
  const vector v = linear.empty() ? vector{} : function_vector(host, m.means, linear);
  const auto steering = steer(host, std::span<const labelled_prompt>(prompts.zero_shot), v,
                              std::span<const head_id>(top), m.means.outputs, {}, [](std::size_t) {});
  const auto shown = labelled_prompts(model.model, spec, options.prompts);
  const std::vector<head_selection> sets{
      {"FV", top}, {"random like FV", matched_random_heads(spec, top, options.prompts.seed)}};
  const auto outcomes = ablate_heads(host, shown, sets, {}, [](std::size_t) {});
  const auto shots = accuracy_by_shots(host, model, options.prompts);

  const auto best = std::max_element(steering.begin() + 1, steering.end(),
                                     [](const steering_outcome& a, const steering_outcome& b) {
                                       return a.summary.accuracy < b.summary.accuracy;
                                     });
  std::string by_kind;
  for (const mixer_kind kind : all_mixer_kinds) {
    const auto count =
        std::count_if(top.begin(), top.end(), [kind](const head_id h) { return h.mixer == kind; });
    if (count > 0)
      by_kind += (by_kind.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(to_string(kind));
  }
  const std::string summary =
      spec.name + ": the strongest head is " + spec.label(top.front()) + " (AIE " +
      table_number(aie.maxCoeff()) + "); the top " + std::to_string(top.size()) + " are " + by_kind +
      ". Without them accuracy falls from " + percent(outcomes[0].summary.accuracy) + " to " +
      percent(outcomes[1].summary.accuracy) +
      " (matched random heads: " + percent(outcomes[2].summary.accuracy) +
      "). Steering prompts without demonstrations takes accuracy from " +
      percent(steering[0].summary.accuracy) + " to " + percent(best->summary.accuracy) +
      (best->layer >= 0 ? " (vector at layer " + std::to_string(best->layer) + ")."
                        : " (mean outputs at the heads).");

  model_column column{
      spec.name, summary, to_json(m.effects, identity(model, options.prompts, spec, "study fv")), {}};
  column.json["ablation"] = to_json(outcomes, {})["outcomes"];
  column.json["steering"] = to_json(steering, {})["outcomes"];
  column.json["gini"] = gini(helping);
  column.json["top_share"] = top_share(helping, top_count(aie.size(), 0.03));
  for (const shot_point& p : shots)
    column.json["shots"].push_back(
        {{"shots", p.shots}, {"accuracy", p.summary.accuracy}, {"tr_ratio", p.summary.tr_ratio}});
  column.sections.push_back([=](html_page& page) { maps(page, spec, "AIE", as_map(spec, effect)); });
  column.sections.push_back([=](html_page& page) {
    svg::curve accuracy{"accuracy", {}, {}, {}, {}}, ratio{"TR ratio", {}, {}, {}, {}};
    for (const shot_point& p : shots) {
      accuracy.x.push_back(static_cast<double>(p.shots));
      accuracy.y.push_back(p.summary.accuracy);
      ratio.x.push_back(static_cast<double>(p.shots));
      ratio.y.push_back(p.summary.tr_ratio);
    }
    page.figure(spec.name + ", by number of demonstrations",
                svg::curves({accuracy, ratio}, "demonstrations", "share"));
  });
  column.sections.push_back([=](html_page& page) {
    svg::curve line{"function vector added at this layer", {}, {}, {}, {}},
        none{"no steering", {}, {}, {}, {}};
    for (const steering_outcome& o : steering) {
      if (o.layer < 0) continue;
      line.x.push_back(o.layer);
      line.y.push_back(o.summary.accuracy);
      none.x.push_back(o.layer);
      none.y.push_back(steering[0].summary.accuracy);
    }
    if (!line.x.empty())
      page.figure(spec.name + ", steering without demonstrations",
                  svg::curves({line, none}, "layer", "accuracy"));
    bars_of(page, spec.name + ", heads zeroed at the last position", outcomes);
  });
  column.sections.push_back([=](html_page& page) {
    const std::vector<interval> intervals = m.effects.effects.intervals();
    std::vector<std::vector<std::string>> rows;
    for (const index i : top_positions(effect, std::min<index>(10, aie.size()))) {
      const interval& x = intervals[static_cast<std::size_t>(i)];
      rows.push_back({spec.label(m.effects.heads[static_cast<std::size_t>(i)]), table_number(x.estimate),
                      table_number(x.low), table_number(x.high)});
    }
    page.table(spec.name + ", strongest heads", {"head", "AIE", "95 % low", "95 % high"}, rows);
    page.table(
        spec.name + ", concentration of helping effects", {"Gini", "share of the top 3 %"},
        {{table_number(gini(helping)), table_number(top_share(helping, top_count(aie.size(), 0.03)))}});
  });
  return column;
}

// ---- Both

using study_function = model_column (*)(any_host&, const model_options&, const study_options&);

void run_study(const study_options& options, const char* kind, const char* title,
               const std::vector<const char*>& headings, study_function study) {
  if (options.prompts.task.empty())
    throw argument_error("a study needs --task: it draws prompts with and without demonstrations");
  std::vector<model_column> columns;
  std::string command = std::string("iclmech study ") + kind;
  for (const std::string& name : options.models) {
    command += " " + name;
    model_options model = options.model;
    model.model = name;
    any_host host = open_host(model);
    columns.push_back(study(host, model, options));
    std::cout << columns.back().summary << '\n';
  }
  command += " --task " + options.prompts.task + " --count " + std::to_string(options.prompts.prompts) +
             " --shots " + std::to_string(options.prompts.demonstrations) + " --seed " +
             std::to_string(options.prompts.seed) + " --out " + options.out;

  html_page page(std::string(title) + ": " + options.prompts.task);
  for (const model_column& c : columns) page.paragraph(c.summary);
  page.command(command);
  for (std::size_t s = 0; s < headings.size(); ++s) {
    page.heading(headings[s]);
    for (const model_column& c : columns) {
      if (columns.size() > 1) page.subheading(c.name);
      page.begin_row();
      c.sections[s](page);
      page.end_row();
    }
  }
  page.heading("What this was made from");
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows;
  for (const model_column& c : columns) {
    all.push_back(c.json);
    rows.push_back({c.json["model"], c.json["architecture"], c.json["prompts"], c.json["seed"].dump(),
                    c.json["library_version"], c.json["date"]});
  }
  page.table("Models, data, versions", {"model", "architecture", "task", "seed", "iclmech", "date"}, rows);
  const std::filesystem::path out(options.out);
  std::filesystem::create_directories(out);
  write_file_atomically(out / (std::string(kind) + ".json"), all.dump(1));
  write_file_atomically(out / "report.html", page.html());
  std::cout << "report: " << (out / "report.html").string() << '\n';
}

void add_study(CLI::App& parent, const char* name, const char* description, study_options& options,
               std::function<void()> run) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->add_option("models", options.models, "Model folders, .gguf files or bundled models")->required();
  add_prompt_options(*command, options.prompts);
  command->add_option("--corrupted", options.corrupted, "Corrupted prompts for indirect effects")
      ->capture_default_str();
  command->add_option("--fraction", options.fraction, "Share of all heads in a top set")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--top", options.top, "Heads in the function vector")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--out", options.out, "Folder for the report")->required();
  command->callback(std::move(run));
}

}  // namespace

void add_study_commands(CLI::App& app) {
  CLI::App* parent = app.add_subcommand("study", "One report on one or several models");
  parent->require_subcommand(1);
  static study_options tsla, fv;
  add_study(*parent, "tsla", "Which heads recognise the task and which learn it", tsla, [] {
    run_study(
        tsla, "tsla", "Task recognition and task learning",
        {"Where TR and TL are, and what is left without them", "The heads", "Mixers and MLPs, overlaps"},
        study_tsla);
  });
  add_study(*parent, "fv", "Which heads carry function vectors", fv, [] {
    run_study(fv, "fv", "Function vectors",
              {"Average indirect effects", "Demonstrations", "Steering and ablation", "The heads"}, study_fv);
  });
}

}  // namespace iclmech::cli
