#ifndef ICLMECH_TOOLS_OUTPUT_HPP
#define ICLMECH_TOOLS_OUTPUT_HPP
// Where a command's results go: a JSON file with its CSV beside it, or nowhere but the terminal. And the
// command.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace iclmech::cli {

/// Adds `--out`, which may be left out: then results are only printed.
void add_output_option(CLI::App& command, std::string& out, const std::string& name);

/// Makes the folder, so that a long run does not end with nowhere to write to; nothing without `out`.
/// @throws argument_error if it cannot be made or written to.
void prepare_output(const std::string& out);

/// Writes OUT/NAME.json and OUT/NAME.csv, whole or not at all, and says so; nothing without `out`.
/// @throws file_error if they cannot be written.
void write_results(const std::string& out, const std::string& name, const nlohmann::json& json,
                   const std::string& csv);

/// The command line as a shell takes it, for results to name; `main` keeps it.
void keep_command_line(int argc, const char* const* argv);
const std::string& command_line();

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_OUTPUT_HPP
