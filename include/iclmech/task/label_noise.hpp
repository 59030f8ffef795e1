#ifndef ICLMECH_TASK_LABEL_NOISE_HPP
#define ICLMECH_TASK_LABEL_NOISE_HPP
// Makes demonstrations lie: a chosen share of wrong labels, random labels, or a consistent wrong mapping.
//
// Every function is pure: the same episode, seed and number give the same result on every platform.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/random.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/episode.hpp"

namespace iclmech {

/// The episode with `share_right` (0 to 1, rounded to whole demonstrations) of its demonstrations left as
/// they are and a wrong label, any other of `label_space` alike, on the rest. The answer stays. Which ones
/// stay right is nested: those that are right at a share are right at every higher one. Throws argument_error
/// for a share outside [0, 1], or if a wrong label is needed and there is none.
inline episode with_label_noise(episode source, double share_right, std::span<const std::string> label_space,
                                std::uint64_t seed, std::uint64_t number) {
  if (!(share_right >= 0.0 && share_right <= 1.0))
    throw argument_error("the share of right labels is " + std::to_string(share_right) +
                         ", but must be from 0 to 1");
  const std::size_t count = source.demonstrations.size();
  const auto right = static_cast<std::size_t>(std::lround(share_right * static_cast<double>(count)));
  detail::random_stream random{seed, detail::stream_key("label noise"), number};
  const std::vector<std::size_t> order = random.permutation(count);
  for (std::size_t place = 0; place < count; ++place) {
    std::string& label = source.demonstrations[order[place]].output;
    std::vector<std::string> wrong;
    for (const std::string& candidate : label_space)
      if (candidate != label) wrong.push_back(candidate);
    if (wrong.empty() && place < right) continue;
    if (wrong.empty())
      throw argument_error("there is no wrong label for \"" + label + "\": the label space holds no other");
    // Drawn for the right ones as well, so that the wrong labels of one share recur at every lower one.
    const std::string& replacement = random.pick(std::span<const std::string>(wrong));
    if (place >= right) label = replacement;
  }
  update_labels(source);
  return source;
}

/// The episode with a label drawn from `label_space` on every demonstration, whatever was right. The answer
/// stays. Throws argument_error if `label_space` is empty.
inline episode with_random_labels(episode source, std::span<const std::string> label_space,
                                  std::uint64_t seed, std::uint64_t number) {
  if (label_space.empty()) throw argument_error("random labels need a label space, but it is empty");
  detail::random_stream random{seed, detail::stream_key("random labels"), number};
  for (task_pair& pair : source.demonstrations) pair.output = random.pick(label_space);
  update_labels(source);
  return source;
}

/// A consistent wrong mapping of `labels` onto themselves in which none stays what it is; give the result to
/// `relabelled`, which flips the expected answer too. One random cycle through all labels (Sattolo's
/// algorithm): two labels change places. Throws argument_error for fewer than two labels.
inline label_mapping flip_mapping(std::span<const std::string> labels, std::uint64_t seed) {
  if (labels.size() < 2)
    throw argument_error("flipping needs at least two labels, but there are " +
                         std::to_string(labels.size()));
  std::vector<std::size_t> target(labels.size());
  std::iota(target.begin(), target.end(), std::size_t{0});
  detail::random_stream random{seed, detail::stream_key("flipped labels")};
  for (std::size_t last = target.size() - 1; last > 0; --last)
    std::swap(target[last], target[random.below(last)]);
  label_mapping mapping;
  for (std::size_t label = 0; label < labels.size(); ++label)
    mapping.entries.emplace_back(labels[label], labels[target[label]]);
  return mapping;
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_LABEL_NOISE_HPP
