#ifndef ICLMECH_TASK_TASK_HPP
#define ICLMECH_TASK_TASK_HPP
// A task as data: input/output pairs, what kind of answers they have, and how a prompt of them is written.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iclmech {

/// One example of a task.
struct task_pair {
  std::string input;
  std::string output;

  friend bool operator==(const task_pair&, const task_pair&) = default;
};

/// Classification: a few labels that recur. Open: the answer can be any word.
enum class label_kind : unsigned char { classification, open };

/// Parametric: the answer is a fact in the weights (a capital). Contextual: it follows from the text (its
/// sentiment).
enum class task_family : unsigned char { parametric, contextual };

constexpr std::string_view to_string(label_kind kind) {
  return kind == label_kind::classification ? "classification" : "open";
}

constexpr std::string_view to_string(task_family family) {
  return family == task_family::parametric ? "parametric" : "contextual";
}

/// How pairs are written one after the other:
/// `input_prefix input output_prefix label_prefix output separator ... input_prefix query output_prefix`.
/// The label token is the first token of `label_prefix` + label, so a space before labels belongs in
/// `label_prefix`.
struct prompt_template {
  std::string input_prefix = "Q: ";
  std::string output_prefix = "\nA:";
  std::string label_prefix = " ";
  std::string separator = "\n\n";

  friend bool operator==(const prompt_template&, const prompt_template&) = default;
};

/// `x : y ; x : y ; q :`, for models whose vocabulary is words.
inline prompt_template word_level_template() { return {"", " :", " ", " ; "}; }

/// Which label stands for which other one.
struct label_mapping {
  std::vector<std::pair<std::string, std::string>> entries;  ///< from, to

  /// What `label` becomes; null if the mapping does not say.
  const std::string* find(std::string_view label) const {
    const auto entry = std::find_if(entries.begin(), entries.end(),
                                    [label](const auto& candidate) { return candidate.first == label; });
    return entry == entries.end() ? nullptr : &entry->second;
  }

  friend bool operator==(const label_mapping&, const label_mapping&) = default;
};

/// The distinct outputs of `pairs` in the order in which they first occur.
inline std::vector<std::string> distinct_outputs(std::span<const task_pair> pairs) {
  std::map<std::string_view, bool> seen;
  std::vector<std::string> outputs;
  for (const task_pair& pair : pairs)
    if (seen.emplace(pair.output, true).second) outputs.push_back(pair.output);
  return outputs;
}

/// Guesses the kind of pairs that come without one: classification if there are 2 to 10 distinct outputs and
/// each occurs at least twice, otherwise open.
inline label_kind infer_label_kind(std::span<const task_pair> pairs) {
  constexpr std::size_t most_labels = 10;
  std::map<std::string_view, std::size_t> count;
  for (const task_pair& pair : pairs) ++count[pair.output];
  const bool few = count.size() >= 2 && count.size() <= most_labels;
  const bool recur =
      std::all_of(count.begin(), count.end(), [](const auto& label) { return label.second >= 2; });
  return few && recur ? label_kind::classification : label_kind::open;
}

/// A named set of examples from which prompts are drawn.
struct task {
  std::string name;
  std::string description;
  std::vector<task_pair> pairs;
  label_kind kind = label_kind::open;
  task_family family = task_family::parametric;
  prompt_template layout;

  /// If there are any, each prompt follows one of them: it uses only pairs whose output the mapping knows and
  /// writes what that output stands for. So the right answer can come from the demonstrations alone.
  std::vector<label_mapping> mappings;

  /// What each label may be called instead, for studies of whether heads follow words or meanings; may be
  /// empty.
  label_mapping synonyms;

  /// The distinct outputs, in the order in which they first occur.
  std::vector<std::string> labels() const { return distinct_outputs(pairs); }
};

}  // namespace iclmech

#endif  // ICLMECH_TASK_TASK_HPP
