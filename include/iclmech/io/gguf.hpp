#ifndef ICLMECH_IO_GGUF_HPP
#define ICLMECH_IO_GGUF_HPP
// GGUF model files, versions 2 and 3: typed metadata and tensors, both read in place.
//
// Layout: magic, version, number of tensors, number of metadata pairs; the pairs (key, type, value); the
// tensor list (name, dimensions with the fastest first, type, offset); padding; the tensors' data.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/dtype.hpp"
#include "iclmech/io/gguf_value.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tensor_file.hpp"
#include "iclmech/io/tensor_layout.hpp"

namespace iclmech {
namespace detail {

struct gguf_contents {
  std::uint32_t version = 0;
  std::vector<gguf_value> metadata;
  std::map<std::string_view, std::size_t> by_key;
  std::vector<tensor_entry> tensors;
};

class gguf_parser {
 public:
  explicit gguf_parser(const mapped_file& file) : file_(file), reader_(file.path(), file.bytes()) {}

  gguf_contents parse() {
    read_version();
    // A tensor takes at least an empty name, no dimensions, a type and an offset; a pair an empty key, a type
    // and one byte.
    const auto tensors = reader_.read_count(8 + 4 + 4 + 8, "tensor count");
    const auto pairs = reader_.read_count(8 + 4 + 1, "metadata count");
    for (std::uint64_t i = 0; i < pairs; ++i) read_pair();
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    const std::uint64_t alignment = read_alignment();
    const std::uint64_t data_start = (reader_.position() + alignment - 1) / alignment * alignment;
    lay_out_tensors(file_, data_start, alignment, "offset", places_, contents_.tensors);
    return std::move(contents_);
  }

 private:
  void read_version() {
    if (reader_.remaining() < 4 || reader_.read<std::uint32_t>("magic") != 0x46554747) {
      reader_.fail("magic", 0, "is not 'GGUF'; this is not a GGUF file");
    }
    contents_.version = reader_.read<std::uint32_t>("version");
    if (contents_.version != 0 && (contents_.version & 0xffffu) == 0) {
      reader_.fail("version", 4, "shows a big-endian file; only little-endian ones are read");
    }
    if (contents_.version != 2 && contents_.version != 3) {
      reader_.fail("version", 4, "is " + std::to_string(contents_.version) + "; versions 2 and 3 are read");
    }
  }

  void read_pair() {
    const auto start = reader_.position();
    const gguf_value value = gguf_metadata_reader(reader_).read_pair();
    if (!contents_.by_key.emplace(value.key, contents_.metadata.size()).second) {
      reader_.fail("metadata " + in_quotes(value.key), start, "is there twice");
    }
    contents_.metadata.push_back(value);
  }

  void read_tensor() {
    const auto start = reader_.position();
    tensor_entry entry;
    entry.name = reader_.read_string("tensor name");
    const std::string field = "tensor " + in_quotes(entry.name);
    const auto rank_place = reader_.position();
    const auto rank = reader_.read<std::uint32_t>(field + " rank");
    if (rank > 4)
      reader_.fail(field + " rank", rank_place, "is " + std::to_string(rank) + "; at most 4 is allowed");
    entry.shape.resize(rank);
    for (std::uint32_t d = 0; d < rank; ++d) {
      const auto place = reader_.position();
      const auto extent = reader_.read<std::uint64_t>(field + " dimension");
      if (!std::in_range<index>(extent)) {
        reader_.fail(field + " dimension", place,
                     "is " + std::to_string(extent) + ", which no file can hold");
      }
      entry.shape[rank - 1 - d] = static_cast<index>(extent);
    }
    entry.type = read_dtype(field + " type");
    if (!stored_bytes(entry.type, entry.shape)) {
      reader_.fail(field + " dimensions", rank_place + 4,
                   "are " + shape_text(entry.shape) +
                       ", which is too large or has rows that are not whole blocks of " +
                       std::string(name(entry.type)));
    }
    const auto place = reader_.position();
    places_.push_back({reader_.read<std::uint64_t>(field + " offset"), place});
    if (!names_.insert(entry.name).second) reader_.fail(field, start, "is there twice");
    contents_.tensors.push_back(std::move(entry));
  }

  dtype read_dtype(const std::string& field) {
    const auto start = reader_.position();
    const auto number = reader_.read<std::uint32_t>(field);
    switch (number) {
      case 0:
        return dtype::f32;
      case 1:
        return dtype::f16;
      case 2:
        return dtype::q4_0;
      case 3:
        return dtype::q4_1;
      case 6:
        return dtype::q5_0;
      case 7:
        return dtype::q5_1;
      case 8:
        return dtype::q8_0;
      case 12:
        return dtype::q4_k;
      case 13:
        return dtype::q5_k;
      case 14:
        return dtype::q6_k;
      case 24:
        return dtype::i8;
      case 25:
        return dtype::i16;
      case 26:
        return dtype::i32;
      case 27:
        return dtype::i64;
      case 28:
        return dtype::f64;
      case 30:
        return dtype::bf16;
      default:
        reader_.fail(
            field, start,
            "is ggml's number " + std::to_string(number) +
                ", which is not read; f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k and q6_k are");
    }
  }

  std::uint64_t read_alignment() const {
    const auto position = contents_.by_key.find("general.alignment");
    if (position == contents_.by_key.end()) return 32;
    const gguf_value& value = contents_.metadata[position->second];
    const std::uint64_t alignment = gguf_decoder(file_.path(), value).scalar<std::uint32_t>();
    if (!std::has_single_bit(alignment)) {
      reader_.fail("metadata 'general.alignment'", value.byte,
                   "is " + std::to_string(alignment) + ", which is not a power of two");
    }
    return alignment;
  }

  const mapped_file& file_;
  byte_reader reader_;
  gguf_contents contents_;
  std::vector<tensor_place> places_;
  std::set<std::string> names_;
};

}  // namespace detail

/// A mapped GGUF file. String views it hands out, and those in `metadata()`, point into the mapping: they
/// live as long as the object, or the tensor_file moved out of it.
class gguf_file {
 public:
  /// Reads and checks everything but the tensors' values. A file with metadata and no tensors is fine.
  /// Throws file_error.
  explicit gguf_file(std::string path) : gguf_file(mapped_file(std::move(path))) {}

  /// Format version: 2 or 3.
  std::uint32_t version() const noexcept { return version_; }

  /// All metadata pairs, in the order of the file.
  const std::vector<gguf_value>& metadata() const noexcept { return metadata_; }

  /// The pair of that key, or nullptr.
  const gguf_value* find(std::string_view key) const {
    const auto position = by_key_.find(key);
    return position == by_key_.end() ? nullptr : &metadata_[position->second];
  }

  /// The value of that key, or nothing if the file has no such key. T is an arithmetic type, std::string,
  /// std::string_view, or a std::vector of these for an array. Whole numbers convert between integer types as
  /// far as they fit, reals between float and double. Throws file_error for a value of another kind.
  template <gguf_readable T>
  std::optional<T> get(std::string_view key) const {
    const gguf_value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    detail::gguf_decoder decoder(path(), *value);
    if constexpr (detail::gguf_scalar<T>) {
      return decoder.template scalar<T>();
    } else {
      return decoder.template array<typename T::value_type>();
    }
  }

  /// As `get`, but throws file_error if the file has no such key.
  template <gguf_readable T>
  T require(std::string_view key) const {
    std::optional<T> value = get<T>(key);
    if (!value) throw file_error(path(), "metadata " + detail::in_quotes(key), "is missing");
    return *std::move(value);
  }

  /// The tensors; none in a file that holds only a vocabulary.
  const tensor_file& tensors() const& noexcept { return tensors_; }
  tensor_file tensors() && { return std::move(tensors_); }

  /// The path as it was given.
  const std::string& path() const noexcept { return tensors_.path(); }

 private:
  explicit gguf_file(mapped_file file) : gguf_file(detail::gguf_parser(file).parse(), file) {}

  gguf_file(detail::gguf_contents&& contents, mapped_file& file)
      : version_(contents.version),
        metadata_(std::move(contents.metadata)),
        by_key_(std::move(contents.by_key)),
        tensors_(std::move(file), std::move(contents.tensors)) {}

  std::uint32_t version_;
  std::vector<gguf_value> metadata_;
  std::map<std::string_view, std::size_t> by_key_;
  tensor_file tensors_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_GGUF_HPP
