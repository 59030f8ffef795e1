#ifndef ICLMECH_TOOLS_STUDY_PART_STORE_HPP
#define ICLMECH_TOOLS_STUDY_PART_STORE_HPP
// The finished pieces of a study, each in a file of its own that is there whole or not at all.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace iclmech::cli {

class part_store {
 public:
  /// Opens OUT/parts. A new study removes earlier parts and notes `identity` in OUT/parts/study.json; one
  /// that resumes takes over what is there, also the date.
  /// @throws argument_error if there is nothing to resume, or it was made from something else: the fields
  /// that differ are named with both values.
  part_store(const std::filesystem::path& out, nlohmann::json identity, bool resume);

  const nlohmann::json& identity() const { return identity_; }

  /// Notes what the first run decides, such as the number of prompts that a budget allows.
  void decide(const std::string& name, const nlohmann::json& value);

  std::optional<nlohmann::json> find(const std::string& model, const std::string& task,
                                     const std::string& section) const;
  void keep(const std::string& model, const std::string& task, const std::string& section,
            const nlohmann::json& part) const;

 private:
  std::filesystem::path path(const std::string& model, const std::string& task,
                             const std::string& section) const;
  void write_identity() const;

  std::filesystem::path folder_;
  nlohmann::json identity_;
};

/// A name that can be part of a file's name, different for different names.
std::string file_name(const std::string& name);

/// Tells files (or the files of a folder) apart by their sizes and their first and last mebibytes.
/// @throws file_error if there is nothing to read.
std::string fingerprint(const std::filesystem::path& path);
std::string text_fingerprint(std::string_view text);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_PART_STORE_HPP
