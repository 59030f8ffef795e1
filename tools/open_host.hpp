#ifndef ICLMECH_TOOLS_OPEN_HOST_HPP
#define ICLMECH_TOOLS_OPEN_HOST_HPP
// A model from the command line as a host. The engines are compiled in open_host.cpp and
// open_llama_cpp.cpp alone.

#include <CLI/CLI.hpp>
#include <string>

#include "iclmech/host/any_host.hpp"

namespace iclmech::cli {

/// What every command that runs a model asks for.
struct model_options {
  std::string model;
  std::string host = "reference";
  bool low_memory = false;
  int mamba_groups = 8;
  int threads = 0;
};

void add_model_options(CLI::App& command, model_options& options);
/// The same without the model itself, for commands that take several.
void add_run_options(CLI::App& command, model_options& options);
any_host open_host(const model_options& options);

/// A GGUF file run by llama.cpp; unsupported_error in a program that was built without it.
any_host open_llama_cpp(const std::string& path, const model_options& options);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_OPEN_HOST_HPP
