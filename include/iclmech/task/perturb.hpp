#ifndef ICLMECH_TASK_PERTURB_HPP
#define ICLMECH_TASK_PERTURB_HPP
// Breaks one thing about an episode at a time: its texts, its label words, or which label goes with which
// text.
//
// Every function is pure: the same episode, seed and number give the same result on every platform.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/detail/random.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/episode.hpp"

namespace iclmech {

/// Common short English nouns that name no sentiment, topic or truth, to put in the place of texts or labels.
inline std::vector<std::string> neutral_words() {
  static constexpr std::array<std::string_view, 48> words{
      "table",  "river",  "spoon",  "window", "paper",  "garden", "button",  "ladder", "pencil", "bridge",
      "candle", "pocket", "basket", "stone",  "carpet", "engine", "bottle",  "mirror", "hammer", "island",
      "jacket", "kettle", "lemon",  "magnet", "needle", "orange", "piano",   "quilt",  "rocket", "saddle",
      "tunnel", "velvet", "wagon",  "yarn",   "zebra",  "anchor", "blanket", "copper", "drawer", "fabric",
      "glove",  "helmet", "ink",    "jar",    "lamp",   "oven",   "roof",    "shelf"};
  return {words.begin(), words.end()};
}

/// The episode with every demonstration's text replaced by as many random `words` as it had words; labels,
/// query and answer stay. What can still be read off the demonstrations is the label set, not the mapping.
/// Throws argument_error if `words` is empty.
inline episode with_random_texts(episode source, std::span<const std::string> words, std::uint64_t seed,
                                 std::uint64_t number) {
  if (words.empty())
    throw argument_error("random texts need at least one word to be made of, but the list is empty");
  detail::random_stream random{seed, detail::stream_key("random texts"), number};
  for (task_pair& pair : source.demonstrations) {
    std::size_t count = 0;
    bool inside_word = false;
    for (const char letter : pair.input) {
      const bool space = letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
      if (!space && !inside_word) ++count;
      inside_word = !space;
    }
    std::string text(random.pick(words));
    for (std::size_t word = 1; word < count; ++word) text += " " + random.pick(words);
    pair.input = text;
  }
  return source;
}

/// A different, unrelated word for each of `labels`, drawn from `words`; give the result to `relabelled`. A
/// function of the labels and the seed, so that all episodes of a classification task change in the same way.
/// Throws argument_error if `words` holds fewer words than are needed that are not labels themselves.
inline label_mapping unrelated_labels(std::span<const std::string> labels, std::span<const std::string> words,
                                      std::uint64_t seed) {
  std::vector<std::string> unused;
  for (const std::string& word : words)
    if (std::find(labels.begin(), labels.end(), word) == labels.end() &&
        std::find(unused.begin(), unused.end(), word) == unused.end())
      unused.push_back(word);
  if (unused.size() < labels.size())
    throw argument_error(std::to_string(labels.size()) + " labels need as many unrelated words, but only " +
                         std::to_string(unused.size()) + " of those given are not labels: give more words");
  detail::random_stream random{seed, detail::stream_key("unrelated labels")};
  random.shuffle(unused);
  label_mapping mapping;
  for (std::size_t label = 0; label < labels.size(); ++label)
    mapping.entries.emplace_back(labels[label], unused[label]);
  return mapping;
}

/// The corrupted episode of function-vector studies: the labels permuted at random among the demonstrations,
/// texts, query and answer as they were. At least one demonstration's label changes, unless all have the
/// same.
inline episode with_shuffled_labels(episode source, std::uint64_t seed, std::uint64_t number) {
  const std::vector<task_pair> original = source.demonstrations;
  if (distinct_outputs(original).size() < 2) return source;
  detail::random_stream random{seed, detail::stream_key("shuffled labels"), number};
  while (source.demonstrations == original) {
    const std::vector<std::size_t> order = random.permutation(original.size());
    for (std::size_t place = 0; place < order.size(); ++place)
      source.demonstrations[place].output = original[order[place]].output;
  }
  update_labels(source);
  return source;
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_PERTURB_HPP
