#ifndef ICLMECH_TOOLS_STUDY_SUBJECT_HPP
#define ICLMECH_TOOLS_STUDY_SUBJECT_HPP
// One model on one task: what the sections of a study measure, and what they share.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "methods.hpp"
#include "study/options.hpp"
#include "study/prompt_maker.hpp"

namespace iclmech::cli {

class subject {
 public:
  /// `work_on` gives the piecework of what is called so: a section, or "means".
  using make_work = std::function<std::unique_ptr<piecework>(const std::string& name)>;

  subject(any_host& model, const study_options& chosen, const prompt_options& source);

  any_host& host;
  const study_options& options;
  prompt_options prompts;
  prompt_maker make;

  const model_spec& spec() const { return host.spec(); }

  /// How the section being measured goes through prompts.
  piecework& work() { return *work_; }
  void begin(const std::string& section, make_work work_on) {
    make_work_ = std::move(work_on);
    work_ = make_work_(section);
  }

  /// The task's prompts with demonstrations.
  const std::vector<labelled_prompt>& shown();
  /// Mean head outputs over them.
  const head_means& means();

 private:
  make_work make_work_;
  std::unique_ptr<piecework> work_;
  std::optional<std::vector<labelled_prompt>> shown_;
  std::optional<head_means> means_;
};

/// A section of a study: measures one thing about a subject. `done` holds the sections that it needs by name.
struct section {
  std::string name;
  std::vector<std::string> needs;
  nlohmann::json (*measure)(subject&, const nlohmann::json& done);
  double forwards;  ///< rough cost, in runs of one prompt with demonstrations, for each prompt
};

std::vector<section> tsla_sections();
std::vector<section> fv_sections();

// ---- How sections keep heads and numbers

nlohmann::json names_of(const model_spec& spec, std::span<const head_id> heads);
std::vector<head_id> heads_named(const model_spec& spec, const nlohmann::json& names);

/// Accuracy, TR ratio and, for accuracy, a 95 % bootstrap interval over prompts.
nlohmann::json rates(std::span<const labelled_prompt> prompts, std::span<const token_id> predictions);

/// The same of a set of heads taken out, with how many they are and the mean P(answer).
nlohmann::json rates(subject& s, const ablation_outcome& outcome);

/// What task vectors of several sets of heads do to prompts without demonstrations: the result of a section
/// "steering".
class steering_rows {
 public:
  explicit steering_rows(subject& s) : subject_(s), zero_shot_(s.make.effects(0).zero_shot) {}

  void add(const std::string& set, const std::vector<head_id>& heads);
  nlohmann::json json() && { return {{"none", std::move(none_)}, {"rows", std::move(rows_)}}; }

 private:
  subject& subject_;
  std::vector<labelled_prompt> zero_shot_;
  nlohmann::json none_, rows_ = nlohmann::json::array();
};

/// One number of every head from a list of objects, such as the "heads" of the section "scores".
std::vector<double> column(const nlohmann::json& rows, const std::string& name);

/// A number that JSON keeps as null when it is NaN.
double number_or_nan(const nlohmann::json& value);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_SUBJECT_HPP
