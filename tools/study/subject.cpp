#include "study/subject.hpp"

#include <cmath>

#include "iclmech/report/results_json.hpp"
#include "iclmech/statistics.hpp"

namespace iclmech::cli {

subject::subject(any_host& model, const study_options& chosen, const prompt_options& source)
    : host(model), options(chosen), prompts(source), make(chosen.model.model, model.spec(), source) {}

const std::vector<labelled_prompt>& subject::shown() {
  if (!shown_) shown_ = make.shown(prompts.demonstrations);
  return *shown_;
}

const head_means& subject::means() {
  if (!means_) {
    std::vector<answered_prompt> clean;
    for (const labelled_prompt& p : shown()) clean.push_back({p.ids, p.answer});
    means_ = cli::means(host, clean, *make_work_("means"));
  }
  return *means_;
}

nlohmann::json names_of(const model_spec& spec, std::span<const head_id> heads) {
  nlohmann::json names = nlohmann::json::array();
  for (const head_id h : heads) names.push_back(spec.label(h));
  return names;
}

std::vector<head_id> heads_named(const model_spec& spec, const nlohmann::json& names) {
  std::vector<head_id> heads;
  for (const auto& name : names) heads.push_back(spec.parse_head(name.get<std::string>()));
  return heads;
}

nlohmann::json rates(std::span<const labelled_prompt> prompts, std::span<const token_id> predictions) {
  std::vector<double> right;
  for (std::size_t p = 0; p < prompts.size(); ++p)
    right.push_back(predictions[p] == prompts[p].answer ? 1.0 : 0.0);
  const interval accuracy = bootstrap_mean(right);
  return {{"accuracy", accuracy.estimate},
          {"accuracy_low", accuracy.low},
          {"accuracy_high", accuracy.high},
          {"tr_ratio", summarize(prompts, predictions).tr_ratio},
          {"prompts", prompts.size()}};
}

nlohmann::json rates(subject& s, const ablation_outcome& outcome) {
  nlohmann::json j = rates(s.shown(), outcome.predictions);
  j["heads"] = outcome.heads;
  j["probability"] = outcome.probability;
  return j;
}

void steering_rows::add(const std::string& set, const std::vector<head_id>& heads) {
  const vector v = task_vector(subject_.host, subject_.means(), heads);
  const auto outcomes = steered(subject_.host, zero_shot_, v, heads, subject_.means(), {}, subject_.work());
  const nlohmann::json all = to_json(outcomes)["outcomes"];
  none_ = all[0];
  for (std::size_t o = 1; o < all.size(); ++o) {
    rows_.push_back(all[o]);
    rows_.back()["set"] = set;
  }
}

std::vector<double> column(const nlohmann::json& rows, const std::string& name) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(number_or_nan(row.at(name)));
  return values;
}

double number_or_nan(const nlohmann::json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

}  // namespace iclmech::cli
