#ifndef ICLMECH_TOOLS_COMMANDS_HPP
#define ICLMECH_TOOLS_COMMANDS_HPP
// The program's commands: each adds itself to the command line and runs when chosen.

#include <CLI/CLI.hpp>

namespace iclmech::cli {

void add_model_commands(CLI::App& app);   // models, inspect, trace, tokenize
void add_score_commands(CLI::App& app);   // tsla, ablate
void add_effect_commands(CLI::App& app);  // aie, steer
void add_study_commands(CLI::App& app);   // study tsla, study fv

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_COMMANDS_HPP
