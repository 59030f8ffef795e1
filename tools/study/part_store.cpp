#include "study/part_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
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

/// The fields of `now` that `before` has otherwise.
std::string differences_of(const nlohmann::json& before, const nlohmann::json& now) {
  std::string differences;
  for (const auto& [name, value] : now.items())
    if (!before.contains(name) || before[name] != value)
      differences += fmt::format("{}{}: {} before, {} now", differences.empty() ? "" : "; ", name,
                                 before.contains(name) ? before[name].dump() : "absent", value.dump());
  return differences;
}

}  // namespace

part_store::part_store(const std::filesystem::path& out, nlohmann::json identity, bool resume)
    : folder_(out / "parts"), identity_(std::move(identity)) {
  const std::filesystem::path file = folder_ / "study.json";
  const bool something_kept = std::filesystem::exists(file);
  if (!resume || !something_kept) {
    if (resume)
      fmt::print(stderr, "note: {} holds no study to go on with, so this one begins\n", out.string());
    make_way(out);
    std::filesystem::create_directories(folder_);
    identity_["date"] = iclmech::detail::utc_now();
    write_identity();
    return;
  }
  nlohmann::json before = read_json_file(file.string());
  const std::string differences = differences_of(before, identity_);
  if (!differences.empty())
    throw argument_error(
        fmt::format("the study in {} was made from something else ({}): go on with what it was "
                    "made from, or start another in a new folder",
                    out.string(), differences));
  identity_ = std::move(before);
}

void part_store::make_way(const std::filesystem::path& out) const {
  if (!std::filesystem::exists(folder_)) return;
  const std::filesystem::path file = folder_ / "study.json";
  const std::filesystem::directory_iterator entries(folder_);
  if (!std::filesystem::exists(file)) {
    // A kill may have left the beginnings of study.json.
    const bool foreign = std::any_of(begin(entries), end(entries), [](const auto& entry) {
      return !entry.path().filename().string().starts_with("study.json");
    });
    if (foreign)
      throw argument_error(fmt::format(
          "{} holds files that no study has kept: choose another folder for --out", folder_.string()));
    return;
  }
  const nlohmann::json before = read_json_file(file.string());
  const std::string kind = before.value("study", std::string());
  if (kind != identity_.at("study"))
    throw argument_error(
        fmt::format("{} holds a study {}: choose another folder for --out", out.string(), kind));
  if (!before.value("finished", false))
    throw argument_error(
        fmt::format("{} holds a study that is not finished: go on with it by --resume, choose another folder "
                    "for --out, or remove {} to give it up",
                    out.string(), folder_.string()));
  // Not study.json, which the new study writes over: without it what is left after a kill would be nobody's.
  for (const auto& entry : entries) {
    const std::filesystem::path kind_of_file = entry.path().extension();
    if (entry.is_regular_file() && entry.path() != file &&
        (kind_of_file == ".json" || kind_of_file == ".cbor"))
      std::filesystem::remove(entry.path());
  }
}

void part_store::decide(const std::string& name, const nlohmann::json& value) {
  identity_[name] = value;
  write_identity();
}

part_store part_store::joined(const std::filesystem::path& out, nlohmann::json identity) {
  part_store store;
  store.folder_ = out / "parts";
  store.identity_ = std::move(identity);
  std::filesystem::create_directories(store.folder_);
  return store;
}

std::optional<nlohmann::json> part_store::find(const section_place& place) const {
  const std::filesystem::path file = folder_ / (prefix(place) + ".json");
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    return std::make_optional(read_json_file(file.string()));
  } catch (const file_error& e) {
    throw error(fmt::format("{}: remove the file, and --resume measures it again", e.what()));
  }
}

void part_store::keep(const section_place& place, const nlohmann::json& part) const {
  write_file_atomically(folder_ / (prefix(place) + ".json"), part.dump());
}

std::optional<nlohmann::json> part_store::find_piece(const section_place& place,
                                                     const std::string& name) const {
  const std::filesystem::path file = piece_path(place, name);
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  try {
    return std::make_optional(nlohmann::json::from_cbor(in));
  } catch (const nlohmann::json::exception& e) {
    throw file_error(
        file.string(), "content",
        fmt::format("is no piece of a study ({}): remove the file, and --resume measures it again",
                    e.what()));
  }
}

void part_store::keep_piece(const section_place& place, const std::string& name,
                            const nlohmann::json& piece) const {
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(piece);
  write_file_atomically(piece_path(place, name),
                        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void part_store::drop_pieces(const section_place& place) const {
  const std::string start = prefix(place) + ".piece.";
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (entry.path().filename().string().starts_with(start)) {
      std::error_code gone_already;
      std::filesystem::remove(entry.path(), gone_already);
    }
}

void part_store::finish(const shard& share) {
  if (share.count > 1)
    write_file_atomically(folder_ / "shard.json",
                          nlohmann::json{{"index", share.index}, {"count", share.count}}.dump(1));
  decide("finished", true);
}

nlohmann::json gather_shards(const std::vector<std::string>& folders, const std::filesystem::path& out) {
  std::map<std::size_t, std::string> found;
  nlohmann::json study;
  std::size_t count = 0;
  for (const std::string& folder : folders) {
    const std::filesystem::path parts = std::filesystem::path(folder) / "parts";
    if (!std::filesystem::exists(parts / "shard.json"))
      throw argument_error(
          fmt::format("{} holds no finished shard of a study: run it with --shard first, or "
                      "again with --resume",
                      folder));
    const nlohmann::json share = read_json_file((parts / "shard.json").string());
    if (std::filesystem::exists(out) && std::filesystem::equivalent(folder, out))
      throw argument_error(fmt::format("{} is one of the shards: choose another folder for --out", folder));
    nlohmann::json identity = read_json_file((parts / "study.json").string());
    identity.erase("date");
    if (study.is_null()) {
      study = identity;
      count = share.at("count").get<std::size_t>();
    }
    const std::string differences = differences_of(study, identity);
    if (!differences.empty() || share.at("count").get<std::size_t>() != count)
      throw argument_error(fmt::format(
          "{} and {} are not shards of one study ({})", folders.front(), folder,
          differences.empty() ? fmt::format("of {} and {} shards", count, share.at("count").dump())
                              : differences));
    const auto [other, is_new] = found.emplace(share.at("index").get<std::size_t>(), folder);
    if (!is_new)
      throw argument_error(
          fmt::format("{} and {} are both shard {}/{}", other->second, folder, other->first + 1, count));
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!found.contains(i))
      throw argument_error(fmt::format("shard {}/{} is missing: name its folder too", i + 1, count));
  std::filesystem::create_directories(out / "parts");
  for (const auto& [index, folder] : found)
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "parts"))
      if (entry.path().filename() != "shard.json")
        std::filesystem::copy_file(entry.path(), out / "parts" / entry.path().filename(),
                                   std::filesystem::copy_options::overwrite_existing);
  return study;
}

std::string part_store::prefix(const section_place& place) const {
  return fmt::format("{}.{}.{}", file_name(place.model), file_name(place.task), place.section);
}

std::filesystem::path part_store::piece_path(const section_place& place, const std::string& name) const {
  return folder_ / fmt::format("{}.piece.{}.cbor", prefix(place), name);
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
