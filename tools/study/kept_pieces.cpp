#include "study/kept_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "progress.hpp"

namespace iclmech::cli {

std::vector<nlohmann::json> kept_pieces::pieces(const std::string& method, std::size_t prompts,
                                                std::size_t size, needed where, const measure& run) {
  const std::string call = fmt::format("{}-{}", method, ++calls_[method]);
  const std::size_t count = (prompts + size - 1) / size;
  std::vector<nlohmann::json> all(count);
  progress bar(what(), group_.leads() ? prompts : 0);
  for (std::size_t k = 0; k < count; ++k) {
    if (!mine(k, count, where)) continue;
    const std::size_t first = k * size, length = std::min(size, prompts - first);
    const std::string name = fmt::format("{}.{}", call, first);
    std::optional<nlohmann::json> kept = store_.find_piece(place_, name);
    if (!kept) store_.keep_piece(place_, name, kept.emplace(run(first, length)));
    all[k] = std::move(*kept);
    bar(first + length);
  }
  if (group_.size() > 1) {
    const std::vector<nlohmann::json> others = group_.exchange(all);
    for (std::size_t k = 0; k < count; ++k) all[k] = others[k % others.size()][k];
  }
  return all;
}

bool kept_pieces::mine(std::size_t piece, std::size_t count, needed where) const {
  if (group_.size() > 1)
    return piece % static_cast<std::size_t>(group_.size()) == static_cast<std::size_t>(group_.rank());
  if (share_.count == 1 || whole_ || where == needed::here) return true;
  // A shard beyond the last piece repeats the first, so that it has a result to go on with.
  const std::size_t own = share_.index < count ? share_.index : 0;
  return piece % share_.count == own;
}

}  // namespace iclmech::cli
