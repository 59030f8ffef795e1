#ifndef ICLMECH_TOOLS_STUDY_OPTIONS_HPP
#define ICLMECH_TOOLS_STUDY_OPTIONS_HPP
// What a study is asked for.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "open_host.hpp"

namespace iclmech::cli {

/// A part of a study's prompts, for machines that cannot talk to each other.
struct shard {
  std::size_t index = 0;  ///< from 0
  std::size_t count = 1;
};

struct study_options {
  std::vector<std::string> models;
  model_options model;  ///< how models are run; its `model` is each of `models` in turn
  std::vector<std::string> tasks;
  std::vector<std::string> sections;  ///< none: all
  std::size_t demonstrations = 8;
  std::size_t count = 50;
  std::size_t grid_count = 24;
  std::vector<std::size_t> grid_shots{4, 8, 16, 32};
  std::uint64_t seed = 0;
  std::size_t corrupted = 10;
  double fraction = 0.03;
  std::vector<double> sizes{0.01, 0.02, 0.03, 0.05, 0.1};
  int top = 10;
  std::string budget;
  bool resume = false;
  shard share;
  std::string out;
};

/// Everything that decides the numbers: not where they go, nor who measures them.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(model_options, host, low_memory, mamba_groups)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(study_options, models, model, tasks, sections, demonstrations, count,
                                   grid_count, grid_shots, seed, corrupted, fraction, sizes, top, budget)

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_OPTIONS_HPP
