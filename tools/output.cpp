#include "output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "iclmech/io/atomic_file.hpp"

namespace iclmech::cli {

void add_output_option(CLI::App& command, std::string& out, const std::string& name) {
  command.add_option("--out", out,
                     fmt::format("Folder for {0}.json and {0}.csv; none: print the summary only", name));
}

void write_results(const std::string& out, const std::string& name, const nlohmann::json& json,
                   const std::string& csv) {
  if (out.empty()) return;
  const std::filesystem::path folder(out);
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / (name + ".json"), json.dump(1));
  write_file_atomically(folder / (name + ".csv"), csv);
  fmt::print("wrote {}\n", (folder / (name + ".json")).string());
}

}  // namespace iclmech::cli
