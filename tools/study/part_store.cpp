#include "study/part_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/atomic_file.hpp"
#include "iclmech/io/json_file.hpp"
#include "iclmech/report/results_json.hpp"

namespace iclmech::cli {
namespace {

/// FNV-1a, 64 bits.
class hash {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 14695981039346656037ULL;
};

}  // namespace

part_store::part_store(const std::filesystem::path& out, nlohmann::json identity, bool resume)
    : folder_(out / "parts"), identity_(std::move(identity)) {
  const std::filesystem::path file = folder_ / "study.json";
  if (!resume) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    identity_["date"] = iclmech::detail::utc_now();
    write_identity();
    return;
  }
  if (!std::filesystem::exists(file))
    throw argument_error(fmt::format("{} holds no study to go on with: leave --resume out", out.string()));
  nlohmann::json before = read_json_file(file.string());
  std::string differences;
  for (const auto& [name, value] : identity_.items())
    if (!before.contains(name) || before[name] != value)
      differences += fmt::format("{}{}: {} before, {} now", differences.empty() ? "" : "; ", name,
                                 before.contains(name) ? before[name].dump() : "absent", value.dump());
  if (!differences.empty())
    throw argument_error(
        fmt::format("the study in {} was made from something else ({}): go on with what it was "
                    "made from, or start another in a new folder",
                    out.string(), differences));
  identity_ = std::move(before);
}

void part_store::decide(const std::string& name, const nlohmann::json& value) {
  identity_[name] = value;
  write_identity();
}

std::optional<nlohmann::json> part_store::find(const std::string& model, const std::string& task,
                                               const std::string& section) const {
  const std::filesystem::path file = path(model, task, section);
  if (!std::filesystem::exists(file)) return std::nullopt;
  return std::make_optional(read_json_file(file.string()));
}

void part_store::keep(const std::string& model, const std::string& task, const std::string& section,
                      const nlohmann::json& part) const {
  write_file_atomically(path(model, task, section), part.dump());
}

std::filesystem::path part_store::path(const std::string& model, const std::string& task,
                                       const std::string& section) const {
  return folder_ / fmt::format("{}.{}.{}.json", file_name(model), file_name(task), section);
}

void part_store::write_identity() const { write_file_atomically(folder_ / "study.json", identity_.dump(1)); }

std::string file_name(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!name.empty() && std::all_of(name.begin(), name.end(), plain)) return name;
  // A path: its last part, made plain, and a hash of the whole.
  std::string last = std::filesystem::path(name).stem().string();
  for (char& c : last)
    if (!plain(c)) c = '_';
  hash whole;
  whole.add(name);
  return fmt::format("{}-{}", last, whole.text().substr(0, 8));
}

std::string fingerprint(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  constexpr std::uintmax_t piece = 1 << 20;
  hash all;
  std::string bytes(piece, '\0');
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw file_error(file.string(), "file", "cannot be read");
    const std::uintmax_t size = std::filesystem::file_size(file);
    all.add(fmt::format("{} {} ", file.filename().string(), size));
    for (const std::uintmax_t from : {std::uintmax_t{0}, size > piece ? size - piece : 0}) {
      in.clear();
      in.seekg(static_cast<std::streamoff>(from));
      in.read(bytes.data(), static_cast<std::streamsize>(piece));
      all.add(std::string_view(bytes).substr(0, static_cast<std::size_t>(in.gcount())));
    }
  }
  return all.text();
}

std::string text_fingerprint(std::string_view text) {
  hash all;
  all.add(text);
  return all.text();
}

}  // namespace iclmech::cli
