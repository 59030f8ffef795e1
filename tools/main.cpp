// The `iclmech` program: in-context learning of a model file, head by head, from the command line.

#include <cstdio>
#include <iostream>

#include "commands.hpp"
#include "iclmech/error.hpp"
#include "iclmech/version.hpp"
#include "output.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Finds out which heads do in-context learning in a language model, and how."};
  app.set_version_flag("--version", iclmech::library_version);
  app.require_subcommand(1);
  iclmech::cli::add_model_commands(app);
  iclmech::cli::add_score_commands(app);
  iclmech::cli::add_effect_commands(app);
  iclmech::cli::add_study_commands(app);
  iclmech::cli::keep_command_line(argc, argv);
  try {
    app.parse(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw iclmech::error("standard output cannot be written to");
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const iclmech::argument_error& e) {
    std::fprintf(stderr, "iclmech: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "iclmech: %s\n", e.what());
    return 1;
  }
  return 0;
}
