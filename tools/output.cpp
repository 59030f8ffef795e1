#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "iclmech/error.hpp"
#include "iclmech/io/atomic_file.hpp"

namespace iclmech::cli {
namespace {

std::string kept_command_line;

std::string quoted(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,+=:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

void keep_command_line(int argc, const char* const* argv) {
  kept_command_line = "iclmech";
  for (int i = 1; i < argc; ++i) kept_command_line += ' ' + quoted(argv[i]);
}

const std::string& command_line() { return kept_command_line; }

void prepare_output(const std::string& out) {
  if (out.empty()) return;
  std::error_code problem;
  std::filesystem::create_directories(out, problem);
  if (problem) throw argument_error(fmt::format("--out {}: {}", out, problem.message()));
  if (::access(out.c_str(), W_OK) != 0)
    throw argument_error(fmt::format("--out {}: cannot be written to", out));
}

void add_output_option(CLI::App& command, std::string& out, const std::string& name) {
  command.add_option("--out", out,
                     fmt::format("Folder for {0}.json and {0}.csv; none: print the summary only", name));
}

void write_results(const std::string& out, const std::string& name, const nlohmann::json& json,
                   const std::string& csv) {
  if (out.empty()) return;
  const std::filesystem::path folder(out);
  write_file_atomically(folder / (name + ".json"), json.dump(1));
  write_file_atomically(folder / (name + ".csv"), csv);
  fmt::print("wrote {}\n", (folder / (name + ".json")).string());
}

}  // namespace iclmech::cli
