#ifndef ICLMECH_TESTS_SUPPORT_TOKENIZER_GOLDENS_HPP
#define ICLMECH_TESTS_SUPPORT_TOKENIZER_GOLDENS_HPP
// Where the tokenizers' reference data lie.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace iclmech::test {

inline std::filesystem::path tokenizer_data() {
  return std::filesystem::path(ICLMECH_TEST_DATA) / "tokenizers";
}

/// Where scripts/fetch_real_files.sh puts real tokenizers and models, which are too large for the repository.
inline std::filesystem::path real_files() {
  if (const char* const folder = std::getenv("ICLMECH_REAL_FILES")) return folder;
  const char* const home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/") / ".cache/iclmech/real";
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return nlohmann::json::parse(stream);
}

/// The texts that every tokenizer is compared on.
inline std::vector<std::string> golden_texts() {
  return read_json(tokenizer_data() / "strings.json").get<std::vector<std::string>>();
}

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_TOKENIZER_GOLDENS_HPP
