#ifndef ICLMECH_DETAIL_NEAREST_NAMES_HPP
#define ICLMECH_DETAIL_NEAREST_NAMES_HPP
// Finds the known names closest to one that is not known, for error messages that help.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iclmech::detail {

/// How many single-character insertions, deletions and replacements turn `from` into `to` (Levenshtein).
inline std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Up to `count` of `names`, most similar to `wanted` first: those that contain it or are contained in it,
/// then by edit distance, then in their own order.
inline std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names,
                                              std::size_t count) {
  struct candidate {
    bool apart;
    std::size_t distance;
    const std::string* name;
  };
  std::vector<candidate> candidates;
  for (const std::string& name : names) {
    const bool contains = !wanted.empty() && (name.find(wanted) != std::string::npos ||
                                              (!name.empty() && wanted.find(name) != std::string_view::npos));
    candidates.push_back({!contains, edit_distance(wanted, name), &name});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const candidate& left, const candidate& right) {
    return std::pair(left.apart, left.distance) < std::pair(right.apart, right.distance);
  });
  std::vector<std::string> nearest;
  for (const candidate& each : candidates)
    if (nearest.size() < count) nearest.push_back(*each.name);
  return nearest;
}

/// `names` as a list for a message: "a, b, c".
inline std::string joined(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_NEAREST_NAMES_HPP
