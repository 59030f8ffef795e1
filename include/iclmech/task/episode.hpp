#ifndef ICLMECH_TASK_EPISODE_HPP
#define ICLMECH_TASK_EPISODE_HPP
// An episode: the demonstrations, the query and the labels that one few-shot prompt is written from.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/task/task.hpp"

namespace iclmech {

/// What a prompt says, before it is text. The query's output is the answer that is expected from the model.
struct episode {
  std::vector<task_pair> demonstrations;
  task_pair query;
  label_kind kind = label_kind::open;
  std::vector<std::string> labels;  ///< the labels in play; the answer is one of them

  friend bool operator==(const episode&, const episode&) = default;
};

/// Brings `labels` up to date with the demonstrations and the answer. Classification keeps its label set and
/// adds what is new; for open answers the labels in play are those that occur, in that order.
inline void update_labels(episode& target) {
  if (target.kind == label_kind::open) target.labels.clear();
  const auto add = [&target](const std::string& label) {
    if (std::find(target.labels.begin(), target.labels.end(), label) == target.labels.end())
      target.labels.push_back(label);
  };
  for (const task_pair& pair : target.demonstrations) add(pair.output);
  add(target.query.output);
}

/// The episode with every label, the expected answer's too, replaced by what `mapping` says.
/// Labels that become one are in play once. Throws argument_error if the mapping lacks a label of the
/// episode.
inline episode relabelled(episode source, const label_mapping& mapping) {
  const auto replace = [&mapping](std::string& label) {
    const std::string* replacement = mapping.find(label);
    if (replacement == nullptr)
      throw argument_error("the label mapping has no entry for the label \"" + label +
                           "\": map every label of the episode");
    label = *replacement;
  };
  for (task_pair& pair : source.demonstrations) replace(pair.output);
  replace(source.query.output);
  std::vector<std::string> labels;
  for (std::string& label : source.labels) {
    replace(label);
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  source.labels = labels;
  return source;
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_EPISODE_HPP
