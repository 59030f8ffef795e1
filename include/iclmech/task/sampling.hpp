#ifndef ICLMECH_TASK_SAMPLING_HPP
#define ICLMECH_TASK_SAMPLING_HPP
// Draws few-shot episodes from a task: seeded, without leaks between queries and demonstrations, the same
// everywhere.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/random.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/episode.hpp"
#include "iclmech/task/task.hpp"

namespace iclmech {

/// How episodes are drawn.
struct sampling_options {
  std::uint64_t seed = 0;
  std::size_t demonstrations = 8;

  /// How many pairs are kept for queries and never shown as demonstrations. 0 means 50, or half of the pairs
  /// where that is less.
  std::size_t held_out = 0;

  /// Classification only: each label equally often (to within one), so that all are shown if there is room
  /// for all.
  bool balanced = true;

  /// Open answers only, and optional: labels that differ but have the same key (in practice: their first
  /// token) are not put into one prompt. `first_token_key` in task/tokenized.hpp makes one.
  std::function<std::int64_t(const std::string& label)> label_key = {};
};

/// Draws episodes of one task. `draw` is a pure function of the task, the options and the number, so any
/// process can make any share of the prompts. Owns a copy of the task; safe to use from several threads.
class episode_sampler {
 public:
  /// Throws argument_error if the task is too small for the options.
  explicit episode_sampler(task source, sampling_options options = {})
      : source_(std::move(source)), options_(std::move(options)), labels_(source_.labels()) {
    split();
    if (source_.kind == label_kind::open && options_.label_key)
      for (const std::string& label : labels_) keys_.emplace(label, options_.label_key(label));
    if (queries_.empty() || pool_.size() < options_.demonstrations)
      throw argument_error("task \"" + source_.name + "\" has " + std::to_string(source_.pairs.size()) +
                           " pairs, too few to keep " + std::to_string(queries_.size()) +
                           " for queries and show " + std::to_string(options_.demonstrations) +
                           " others: ask for fewer demonstrations or fewer held-out queries");
  }

  const task& source() const { return source_; }
  const sampling_options& options() const { return options_; }

  /// The number of held-out queries. Episodes beyond it ask them again, with other demonstrations.
  std::size_t queries() const { return queries_.size(); }

  /// Episode number `number`. Its query is the held-out one at `number` modulo `queries()`; no demonstration
  /// has the query's input, and no two have the same. Throws argument_error if the rules leave fewer
  /// candidates than demonstrations asked for.
  episode draw(std::uint64_t number) const {
    detail::random_stream random{options_.seed, detail::stream_key("episode"), number};
    const task_pair& query = source_.pairs[queries_[number % queries_.size()]];
    const label_mapping* mapping = pick_mapping(query, random);

    episode drawn;
    drawn.query = query;
    drawn.kind = source_.kind;
    drawn.demonstrations = pick_demonstrations(query, mapping, random);
    if (drawn.kind == label_kind::classification)
      drawn.labels = mapping != nullptr ? keys(*mapping) : labels_;
    update_labels(drawn);
    return mapping != nullptr ? relabelled(std::move(drawn), *mapping) : drawn;
  }

 private:
  static std::vector<std::string> keys(const label_mapping& mapping) {
    std::vector<std::string> names;
    for (const auto& [from, to] : mapping.entries) names.push_back(from);
    return names;
  }

  /// Puts the pairs in a random order and cuts it in two. The pairs of each label of a classification are
  /// spread evenly over that order, so that the labels' shares are the same among the queries, the first few
  /// of them, and the rest.
  void split() {
    detail::random_stream random{options_.seed, detail::stream_key("held-out queries")};
    std::vector<std::size_t> order = random.permutation(source_.pairs.size());
    if (source_.kind == label_kind::classification) {
      std::map<std::string, double> count;
      for (const task_pair& pair : source_.pairs) ++count[pair.output];
      std::map<std::string, double> seen;
      std::vector<double> rank(order.size());
      for (const std::size_t pair : order) {
        const std::string& label = source_.pairs[pair].output;
        rank[pair] = (seen[label]++ + 0.5) / count[label];
      }
      std::stable_sort(order.begin(), order.end(),
                       [&rank](std::size_t left, std::size_t right) { return rank[left] < rank[right]; });
    }
    constexpr std::size_t usual_queries = 50;
    const std::size_t wanted = options_.held_out != 0
                                   ? options_.held_out
                                   : std::clamp(order.size() / 2, std::size_t{1}, usual_queries);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, order.size()));
    queries_.assign(order.begin(), middle);
    pool_.assign(middle, order.end());
  }

  const label_mapping* pick_mapping(const task_pair& query, detail::random_stream& random) const {
    if (source_.mappings.empty()) return nullptr;
    std::vector<const label_mapping*> candidates;
    for (const label_mapping& mapping : source_.mappings)
      if (mapping.find(query.output) != nullptr) candidates.push_back(&mapping);
    if (candidates.empty())
      throw argument_error("task \"" + source_.name + "\": no mapping has an entry for \"" + query.output +
                           "\": add one or drop the pairs with that output");
    return candidates[random.below(candidates.size())];
  }

  std::vector<task_pair> pick_demonstrations(const task_pair& query, const label_mapping* mapping,
                                             detail::random_stream& random) const {
    std::set<std::string_view> inputs{query.input};
    std::map<std::int64_t, std::string_view> label_of_key;
    if (!keys_.empty()) label_of_key.emplace(keys_.at(query.output), query.output);
    std::vector<const task_pair*> candidates;
    for (const std::size_t place : random.permutation(pool_.size())) {
      const task_pair& pair = source_.pairs[pool_[place]];
      if (mapping != nullptr && mapping->find(pair.output) == nullptr) continue;
      if (!keys_.empty() &&
          label_of_key.emplace(keys_.at(pair.output), pair.output).first->second != pair.output)
        continue;
      if (inputs.insert(pair.input).second) candidates.push_back(&pair);
    }
    if (candidates.size() < options_.demonstrations)
      throw argument_error("task \"" + source_.name + "\": only " + std::to_string(candidates.size()) +
                           " pairs can be shown before the query \"" + query.input + "\", but " +
                           std::to_string(options_.demonstrations) + " demonstrations were asked for");
    if (source_.kind == label_kind::classification && options_.balanced)
      candidates = balanced_first(candidates, mapping != nullptr ? keys(*mapping) : labels_, random);
    candidates.resize(options_.demonstrations);
    random.shuffle(candidates);
    std::vector<task_pair> demonstrations;
    for (const task_pair* pair : candidates) demonstrations.push_back(*pair);
    return demonstrations;
  }

  /// First as many of each label as its share of the demonstrations, then the others: a label with too few
  /// pairs leaves its places to them.
  std::vector<const task_pair*> balanced_first(const std::vector<const task_pair*>& candidates,
                                               std::vector<std::string> labels,
                                               detail::random_stream& random) const {
    random.shuffle(labels);
    std::map<std::string, std::size_t> places_left;
    for (std::size_t place = 0; place < options_.demonstrations; ++place)
      ++places_left[labels[place % labels.size()]];
    std::vector<const task_pair*> chosen;
    std::vector<const task_pair*> others;
    for (const task_pair* pair : candidates) {
      std::size_t& left = places_left[pair->output];
      (left > 0 ? chosen : others).push_back(pair);
      if (left > 0) --left;
    }
    chosen.insert(chosen.end(), others.begin(), others.end());
    return chosen;
  }

  task source_;
  sampling_options options_;
  std::vector<std::string> labels_;
  std::map<std::string, std::int64_t> keys_;  // of every label; empty where keys play no part
  std::vector<std::size_t> queries_;          // indices into source_.pairs
  std::vector<std::size_t> pool_;
};

}  // namespace iclmech

#endif  // ICLMECH_TASK_SAMPLING_HPP
