#ifndef ICLMECH_TOOLS_OPEN_HOST_HPP
#define ICLMECH_TOOLS_OPEN_HOST_HPP
// A model from the command line as a host. The engine is compiled in open_host.cpp alone.

#include <CLI/CLI.hpp>
#include <string>

#include "iclmech/host/any_host.hpp"

namespace iclmech::cli {

/// What every command that runs a model asks for.
struct model_options {
  std::string model;
  bool low_memory = false;
  int mamba_groups = 8;
  int threads = 0;
};

void add_model_options(CLI::App& command, model_options& options);
any_host open_host(const model_options& options);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_OPEN_HOST_HPP
