#ifndef ICLMECH_TOOLS_OUTPUT_HPP
#define ICLMECH_TOOLS_OUTPUT_HPP
// Where a command's results go: a JSON file with its CSV beside it, or nowhere but the terminal.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace iclmech::cli {

/// Adds `--out`, which may be left out: then results are only printed.
void add_output_option(CLI::App& command, std::string& out, const std::string& name);

/// Writes OUT/NAME.json and OUT/NAME.csv, whole or not at all, and says so; nothing without `out`.
/// @throws file_error if they cannot be written.
void write_results(const std::string& out, const std::string& name, const nlohmann::json& json,
                   const std::string& csv);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_OUTPUT_HPP
