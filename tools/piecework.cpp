#include "piecework.hpp"

#include <algorithm>

#include "progress.hpp"

namespace iclmech::cli {

std::vector<nlohmann::json> piecework::pieces(const std::string&, std::size_t prompts, std::size_t size,
                                              needed, const measure& run) {
  progress bar(what_, prompts);
  std::vector<nlohmann::json> all;
  for (std::size_t first = 0; first < prompts; first += size) {
    const std::size_t count = std::min(size, prompts - first);
    all.push_back(run(first, count));
    bar(first + count);
  }
  return all;
}

}  // namespace iclmech::cli
