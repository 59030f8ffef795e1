#ifndef ICLMECH_TOOLS_STUDY_PART_STORE_HPP
#define ICLMECH_TOOLS_STUDY_PART_STORE_HPP
// The finished pieces of a study, each in a file of its own that is there whole or not at all.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/options.hpp"

namespace iclmech::cli {

/// Whose results: a section of one task on one model.
struct section_place {
  std::string model, task, section;
};

class part_store {
 public:
  /// Opens OUT/parts. A new study notes `identity` in OUT/parts/study.json; one that resumes takes over what
  /// is there, also the date. Only the parts of a finished study of the same kind make room for a new one.
  /// @throws argument_error if what is there is another's: a study that is not finished or of another kind,
  /// files that are no study's, or, to be resumed, a study that was made from something else: the fields that
  /// differ are named with both values.
  part_store(const std::filesystem::path& out, nlohmann::json identity, bool resume);

  /// Joins a study that another process has opened.
  static part_store joined(const std::filesystem::path& out, nlohmann::json identity);

  const nlohmann::json& identity() const { return identity_; }

  /// Notes what the first run decides, such as the number of prompts that a budget allows.
  void decide(const std::string& name, const nlohmann::json& value);

  std::optional<nlohmann::json> find(const section_place& place) const;
  void keep(const section_place& place, const nlohmann::json& part) const;

  /// What a section has measured on some of its prompts, until the section is kept. Numbers come back bit for
  /// bit, NaN included.
  /// @throws file_error for a file that is no piece.
  std::optional<nlohmann::json> find_piece(const section_place& place, const std::string& name) const;
  void keep_piece(const section_place& place, const std::string& name, const nlohmann::json& piece) const;
  void drop_pieces(const section_place& place) const;

  /// Notes that there is nothing left to measure, of this shard if there are several.
  void finish(const shard& share);

 private:
  part_store() = default;
  void make_way(const std::filesystem::path& out) const;
  std::string prefix(const section_place& place) const;
  std::filesystem::path piece_path(const section_place& place, const std::string& name) const;
  void write_identity() const;

  std::filesystem::path folder_;
  nlohmann::json identity_;
};

/// Copies what the shards of one study have kept into OUT/parts, so that it can be resumed there, and returns
/// its identity.
/// @throws argument_error naming what is missing: a folder without a finished shard, a shard twice or not at
/// all, a shard of another study.
nlohmann::json gather_shards(const std::vector<std::string>& folders, const std::filesystem::path& out);

/// A name that can be part of a file's name, different for different names.
std::string file_name(const std::string& name);

/// Tells files (or the files of a folder) apart by their sizes and their first and last mebibytes.
/// @throws file_error if there is nothing to read.
std::string fingerprint(const std::filesystem::path& path);
std::string text_fingerprint(std::string_view text);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_PART_STORE_HPP
