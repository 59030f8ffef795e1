#ifndef ICLMECH_IO_SAFETENSORS_HPP
#define ICLMECH_IO_SAFETENSORS_HPP
// Models stored as safetensors: one file, or shards with an index.
//
// Layout of a file: the header's length (8 bytes, little-endian), the header (a JSON object: tensor name ->
// dtype, shape, data_offsets), the data, which the tensors must cover without gaps or overlaps.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/dtype.hpp"
#include "iclmech/io/json_file.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tensor_file.hpp"
#include "iclmech/io/tensor_layout.hpp"

namespace iclmech {
namespace detail {

/// Reads the header: an object with one object for each tensor, which has exactly three members, and
/// optionally
/// `__metadata__`, an object of strings, which is skipped.
class safetensors_header : public json_events {
 public:
  safetensors_header(const std::string& path, std::string_view text) : json_events(path, "header", text, 8) {}

  std::vector<tensor_entry> entries;
  std::vector<tensor_place> places;

  bool start_object(std::size_t) {
    if (depth_ == 2) unexpected("an object");
    ++depth_;
    return true;
  }

  bool key(std::string& name) {
    if (depth_ == 1) {
      start_entry(std::move(name));
    } else if (!in_metadata_) {
      start_member(name);
    }
    return true;
  }

  bool string(std::string& value) {
    if (depth_ == 2 && in_metadata_) return true;
    if (member_ != dtype_member || in_array_) unexpected("the text " + in_quotes(value));
    entry_.type = parse_dtype(value);
    return true;
  }

  bool start_array(std::size_t) {
    if (in_array_ || (member_ != shape_member && member_ != offsets_member)) unexpected("an array");
    in_array_ = true;
    return true;
  }

  bool number_unsigned(std::uint64_t value) {
    if (!in_array_) unexpected("the number " + std::to_string(value));
    if (!std::in_range<index>(value)) fail_member("holds the impossible number " + std::to_string(value));
    (member_ == shape_member ? entry_.shape : offsets_).push_back(static_cast<index>(value));
    return true;
  }

  bool end_array() {
    in_array_ = false;
    return true;
  }

  bool end_object() {
    --depth_;
    if (depth_ == 1 && !in_metadata_) finish_entry();
    return true;
  }

 private:
  enum member_kind : std::size_t { dtype_member, shape_member, offsets_member, no_member };
  static constexpr std::array<const char*, 3> member_names{"dtype", "shape", "data_offsets"};

  void start_entry(std::string name) {
    entry_place_ = key_place();
    if (!names_.insert(name).second) fail("tensor " + in_quotes(name), entry_place_, "is there twice");
    in_metadata_ = name == "__metadata__";
    entry_ = {};
    entry_.name = std::move(name);
    offsets_.clear();
    member_places_.fill(0);
    member_ = no_member;
  }

  void start_member(const std::string& name) {
    member_ = dtype_member;
    while (member_ != no_member && name != member_names[member_])
      member_ = static_cast<member_kind>(member_ + 1);
    if (member_ == no_member) {
      fail("tensor " + in_quotes(entry_.name), key_place(),
           "has the member " + in_quotes(name) + "; dtype, shape and data_offsets are known");
    }
    if (member_places_[member_] != 0) fail_member("is there twice");
    member_places_[member_] = key_place();
  }

  void finish_entry() {
    for (std::size_t i = 0; i < member_names.size(); ++i) {
      if (member_places_[i] == 0) {
        fail("tensor " + in_quotes(entry_.name), entry_place_, std::string("has no ") + member_names[i]);
      }
    }
    member_ = shape_member;
    const auto size = stored_bytes(entry_.type, entry_.shape);
    if (!size) fail_member("is " + shape_text(entry_.shape) + ", which is too large to be true");
    member_ = offsets_member;
    if (offsets_.size() != 2) fail_member("has " + std::to_string(offsets_.size()) + " numbers instead of 2");
    const auto begin = static_cast<std::uint64_t>(offsets_[0]);
    const auto end = static_cast<std::uint64_t>(offsets_[1]);
    if (end < begin || end - begin != *size) {
      fail_member("is " + shape_text(offsets_) + ", but " + shape_text(entry_.shape) + " elements of " +
                  std::string(name(entry_.type)) + " take " + std::to_string(*size) + " bytes");
    }
    places.push_back({begin, first_byte_ + member_places_[offsets_member]});
    entries.push_back(std::move(entry_));
  }

  dtype parse_dtype(const std::string& word) const {
    static const std::map<std::string, dtype, std::less<>> words{
        {"F64", dtype::f64},     {"F32", dtype::f32}, {"F16", dtype::f16}, {"BF16", dtype::bf16},
        {"I64", dtype::i64},     {"I32", dtype::i32}, {"I16", dtype::i16}, {"I8", dtype::i8},
        {"U64", dtype::u64},     {"U32", dtype::u32}, {"U16", dtype::u16}, {"U8", dtype::u8},
        {"BOOL", dtype::boolean}};
    const auto position = words.find(word);
    if (position == words.end()) {
      fail_member("is " + in_quotes(word) +
                  ", which is not read; F64, F32, F16, BF16, BOOL and the integers I8 to I64" +
                  " and U8 to U64 are");
    }
    return position->second;
  }

  [[noreturn]] void fail_member(const std::string& problem) const {
    fail("tensor " + in_quotes(entry_.name) + " " + member_names[member_], member_places_[member_], problem);
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  bool in_array_ = false;
  member_kind member_ = no_member;
  tensor_entry entry_;
  std::vector<index> offsets_;
  std::set<std::string> names_;
  std::size_t entry_place_ = 0;
  std::array<std::size_t, 3> member_places_{};  // 0: not seen yet; no member can start at byte 0
};

inline std::vector<tensor_entry> parse_safetensors(const mapped_file& file) {
  byte_reader reader(file.path(), file.bytes());
  const auto length = reader.read_count(1, "header length");
  const auto text = as_text(reader.read_bytes(length, "header"));
  safetensors_header header(file.path(), text);
  json_events::parse(header);
  lay_out_tensors(file, reader.position(), 1, "data_offsets", header.places, header.entries);
  return std::move(header.entries);
}

/// Reads model.safetensors.index.json: `weight_map` says which file holds which tensor; the rest is skipped.
class safetensors_index : public json_events {
 public:
  safetensors_index(const std::string& path, std::string_view text) : json_events(path, "index", text, 0) {}

  struct location {
    std::string shard;
    std::size_t byte;
  };
  std::map<std::string, location, std::less<>> weights;

  bool null() { return skipped("null"); }
  bool boolean(bool) { return skipped("a truth value"); }
  bool number_integer(std::int64_t) { return skipped("a number"); }
  bool number_unsigned(std::uint64_t) { return skipped("a number"); }
  bool number_float(double, const std::string&) { return skipped("a number"); }

  bool start_array(std::size_t) {
    skipped("an array");
    ++depth_;
    return true;
  }

  bool start_object(std::size_t) {
    if (in_weights_ && depth_ == 2) unexpected("an object");
    ++depth_;
    return true;
  }

  bool end_array() { return end_object(); }

  bool end_object() {
    --depth_;
    return true;
  }

  bool key(std::string& name) {
    if (depth_ == 1) {
      in_weights_ = name == "weight_map";
      if (in_weights_ && has_weights_) fail("weight_map", key_place(), "is there twice");
      has_weights_ = has_weights_ || in_weights_;
    } else if (in_weights_) {
      name_ = std::move(name);
      name_place_ = key_place();
    }
    return true;
  }

  bool string(std::string& value) {
    if (!in_weights_ || depth_ != 2) return skipped("text");
    const std::string field = "weight_map " + in_quotes(name_);
    if (value.empty() || value == "." || value == ".." || value.find('/') != std::string::npos ||
        value.find('\0') != std::string::npos) {
      fail(field, name_place_,
           "names the shard " + in_quotes(value) + ", which is not a file in the index's own folder");
    }
    if (!weights.emplace(name_, location{std::move(value), name_place_}).second) {
      fail(field, name_place_, "is there twice");
    }
    return true;
  }

  void finish() const {
    if (!has_weights_) fail(field_, 0, "has no weight_map");
  }

 private:
  bool skipped(const char* found) {
    if (depth_ == 0 || in_weights_) unexpected(found);
    return true;
  }

  int depth_ = 0;
  bool in_weights_ = false;
  bool has_weights_ = false;
  std::string name_;
  std::size_t name_place_ = 0;
};

inline tensor_file read_safetensors_shards(const std::filesystem::path& index_path) {
  const mapped_file index_file(index_path.string());
  safetensors_index index(index_file.path(), as_text(index_file.bytes()));
  json_events::parse(index);
  index.finish();

  std::map<std::string, std::size_t> shards;
  std::vector<mapped_file> files;
  std::vector<tensor_entry> entries;
  for (const auto& [name, location] : index.weights) {
    if (!shards.emplace(location.shard, files.size()).second) continue;
    const std::filesystem::path path = index_path.parent_path() / location.shard;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      throw file_error(index_file.path(), "weight_map " + in_quotes(name), location.byte,
                       "is in the shard " + in_quotes(location.shard) + ", and there is no such file");
    }
    mapped_file file(path.string());
    for (tensor_entry& entry : parse_safetensors(file)) {
      // The index decides: a shard may hold tensors that the model takes from another one, or not at all.
      const auto listed = index.weights.find(entry.name);
      if (listed == index.weights.end() || listed->second.shard != location.shard) continue;
      entry.file = files.size();
      entries.push_back(std::move(entry));
    }
    files.push_back(std::move(file));
  }

  tensor_file tensors(index_file.path(), std::move(files), std::move(entries));
  for (const auto& [name, location] : index.weights) {
    if (tensors.find(name) == nullptr) {
      throw file_error(index_file.path(), "weight_map " + in_quotes(name), location.byte,
                       "is said to be in " + in_quotes(location.shard) + ", which holds no such tensor");
    }
  }
  return tensors;
}

}  // namespace detail

/// Opens a safetensors file, an index (`*.json`) with its shards, or a folder that holds model.safetensors or
/// model.safetensors.index.json. Headers are checked completely; data is read when asked for. Throws
/// file_error.
inline tensor_file read_safetensors(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const auto single = path / "model.safetensors";
    const auto shards = path / "model.safetensors.index.json";
    if (std::filesystem::exists(single, ignored)) return read_safetensors(single);
    if (std::filesystem::exists(shards, ignored)) return detail::read_safetensors_shards(shards);
    throw file_error(path.string(), "folder",
                     "holds neither model.safetensors nor model.safetensors.index.json");
  }
  if (path.extension() == ".json") return detail::read_safetensors_shards(path);
  mapped_file file(path.string());
  std::vector<tensor_entry> entries = detail::parse_safetensors(file);
  return tensor_file(std::move(file), std::move(entries));
}

}  // namespace iclmech

#endif  // ICLMECH_IO_SAFETENSORS_HPP
