#ifndef ICLMECH_TOOLS_STUDY_OPTIONS_HPP
#define ICLMECH_TOOLS_STUDY_OPTIONS_HPP
// What a study is asked for.

#include <cstdint>
#include <string>
#include <vector>

#include "open_host.hpp"

namespace iclmech::cli {

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
  std::string out;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_OPTIONS_HPP
