#ifndef ICLMECH_IO_TENSOR_FILE_HPP
#define ICLMECH_IO_TENSOR_FILE_HPP
// The named tensors of a model, whatever format they are stored in, read in place from mapped files.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/nearest_names.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/dequantize.hpp"
#include "iclmech/io/dtype.hpp"
#include "iclmech/io/mapped_file.hpp"

namespace iclmech {

/// A stored tensor. `shape` lists the outermost dimension first (for GGUF: the reverse of the file's order),
/// so the last one runs fastest; a scalar has none. `data` lies in the mapped file and may have any
/// alignment.
struct tensor_entry {
  std::string name;
  dtype type = dtype::f32;
  std::vector<index> shape;
  std::span<const std::byte> data;
  std::size_t file = 0;  ///< which of the tensor_file's files holds it

  /// How many elements it has.
  index size() const noexcept {
    index product = 1;
    for (const index extent : shape) product *= extent;
    return product;
  }
};

namespace detail {

inline std::string shape_text(std::span<const index> shape) {
  std::string text = "[";
  for (const index extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

/// The bytes a tensor takes, or nothing if a dimension is negative, a row is not whole blocks, or the size of
/// the tensor in elements or bytes overflows.
inline std::optional<std::uint64_t> stored_bytes(dtype type, std::span<const index> shape) noexcept {
  std::optional<std::uint64_t> elements = 1;
  for (const index extent : shape) {
    if (extent < 0) return std::nullopt;
    elements = checked_product(*elements, static_cast<std::uint64_t>(extent));
    if (!elements || *elements > static_cast<std::uint64_t>(std::numeric_limits<index>::max()))
      return std::nullopt;
  }
  if ((shape.empty() ? 1 : shape.back()) % block_elements(type) != 0) return std::nullopt;
  return checked_product(*elements / static_cast<std::uint64_t>(block_elements(type)),
                         static_cast<std::uint64_t>(block_bytes(type)));
}

}  // namespace detail

/// Owns the mapped files and the list of what is in them. Movable, not copyable; reading from several threads
/// at once is fine. Made by `read_safetensors` and `gguf_file`.
class tensor_file {
 public:
  /// `path` names the whole (a file or a folder) in messages; every entry's data lies in `files[entry.file]`.
  /// Throws file_error for two tensors of one name, argument_error for an entry whose data does not fit its
  /// shape.
  tensor_file(std::string path, std::vector<mapped_file> files, std::vector<tensor_entry> entries)
      : path_(std::move(path)), files_(std::move(files)), entries_(std::move(entries)) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const tensor_entry& entry = entries_[i];
      if (entry.file >= files_.size() || detail::stored_bytes(entry.type, entry.shape) != entry.data.size()) {
        throw argument_error("tensor_file: the data of tensor " + detail::in_quotes(entry.name) +
                             " does not fit its shape " + detail::shape_text(entry.shape));
      }
      const auto [other, added] = by_name_.emplace(entry.name, i);
      if (!added) {
        throw file_error(file_of(entry), "tensor " + detail::in_quotes(entry.name), byte_of(entry),
                         "is stored twice; the other one is in " + file_of(entries_[other->second]) +
                             " at byte " + std::to_string(byte_of(entries_[other->second])));
      }
    }
  }

  /// A single file, which also gives the path.
  tensor_file(mapped_file file, std::vector<tensor_entry> entries)
      : tensor_file({}, as_vector(std::move(file)), std::move(entries)) {
    path_ = files_.front().path();
  }

  tensor_file(tensor_file&&) = default;
  tensor_file& operator=(tensor_file&&) = default;

  /// All tensors, in the order of the file.
  const std::vector<tensor_entry>& entries() const noexcept { return entries_; }

  /// Lets the system drop the pages of a tensor that has been copied; see mapped_file::release.
  void release(const tensor_entry& entry) const noexcept { files_[entry.file].release(entry.data); }

  /// The tensor of that name, or nullptr.
  const tensor_entry* find(std::string_view name) const {
    const auto position = by_name_.find(name);
    return position == by_name_.end() ? nullptr : &entries_[position->second];
  }

  /// The tensor of that name. Throws file_error if there is none.
  const tensor_entry& require(std::string_view name) const {
    const tensor_entry* const entry = find(name);
    if (entry == nullptr) {
      throw file_error(path_, "tensor " + detail::in_quotes(name), "is missing; " + nearest(name));
    }
    return *entry;
  }

  /// The tensor of that name and shape. Throws file_error if there is none, naming both shapes if they
  /// differ.
  const tensor_entry& require(std::string_view name, std::span<const index> shape) const {
    const tensor_entry& entry = require(name);
    if (!std::equal(shape.begin(), shape.end(), entry.shape.begin(), entry.shape.end())) {
      throw file_error(file_of(entry), "tensor " + detail::in_quotes(name), byte_of(entry),
                       "has the shape " + detail::shape_text(entry.shape) +
                           ", but the model's description asks for " + detail::shape_text(shape));
    }
    return entry;
  }

  /// As above: `require("model.norm.weight", {64})`.
  const tensor_entry& require(std::string_view name, std::initializer_list<index> shape) const {
    return require(name, std::span<const index>(shape.begin(), shape.size()));
  }

  /// Throws file_error if the tensor does not hold reals.
  void require_reals(const tensor_entry& entry) const {
    if (!holds_reals(entry.type)) fail_type(entry, "real numbers");
  }

  /// All elements as float32, last dimension fastest. Throws file_error if the tensor does not hold reals.
  std::vector<float> read(const tensor_entry& entry) const {
    require_reals(entry);
    std::vector<float> values(static_cast<std::size_t>(entry.size()));
    dequantize(entry.type, entry.data.data(), entry.size(), values.data());
    return values;
  }

  /// The elements as a matrix of float32: columns are the last dimension, rows all others together (a vector
  /// becomes one row). Throws file_error if the tensor does not hold reals.
  row_matrix read_matrix(const tensor_entry& entry) const {
    require_reals(entry);
    const index size = entry.size();
    const index columns = entry.shape.empty() ? 1 : entry.shape.back();
    row_matrix values(columns == 0 ? 0 : size / columns, columns);
    dequantize(entry.type, entry.data.data(), size, values.data());
    return values;
  }

  /// All elements of an integer tensor. Throws file_error if it holds reals or a number above 2^63 - 1.
  std::vector<std::int64_t> read_integers(const tensor_entry& entry) const {
    switch (entry.type) {
      case dtype::i64:
        return integers<std::int64_t>(entry);
      case dtype::i32:
        return integers<std::int32_t>(entry);
      case dtype::i16:
        return integers<std::int16_t>(entry);
      case dtype::i8:
        return integers<std::int8_t>(entry);
      case dtype::u64:
        return integers<std::uint64_t>(entry);
      case dtype::u32:
        return integers<std::uint32_t>(entry);
      case dtype::u16:
        return integers<std::uint16_t>(entry);
      case dtype::u8:
      case dtype::boolean:
        return integers<std::uint8_t>(entry);
      default:
        fail_type(entry, "whole numbers");
    }
  }

  /// The file that holds the tensor, and the byte in it where the tensor starts.
  const std::string& file_of(const tensor_entry& entry) const { return files_.at(entry.file).path(); }
  std::uint64_t byte_of(const tensor_entry& entry) const {
    return entry.data.empty()
               ? 0
               : static_cast<std::uint64_t>(entry.data.data() - files_.at(entry.file).bytes().data());
  }

  /// The file or folder as it was named by the caller.
  const std::string& path() const noexcept { return path_; }

 private:
  static std::vector<mapped_file> as_vector(mapped_file file) {
    std::vector<mapped_file> files;
    files.push_back(std::move(file));
    return files;
  }

  std::string nearest(std::string_view name) const {
    if (entries_.empty()) return "there are no tensors at all";
    std::vector<std::string> names;
    for (const tensor_entry& entry : entries_) names.push_back(entry.name);
    std::vector<std::string> found = detail::nearest_names(name, names, 3);
    for (std::string& each : found) each = detail::in_quotes(each);
    return "the nearest of the " + std::to_string(names.size()) + " names: " + detail::joined(found);
  }

  [[noreturn]] void fail_type(const tensor_entry& entry, const char* wanted) const {
    throw file_error(
        file_of(entry), "tensor " + detail::in_quotes(entry.name), byte_of(entry),
        "holds " + std::string(iclmech::name(entry.type)) + ", but " + wanted + " are needed here");
  }

  template <typename T>
  std::vector<std::int64_t> integers(const tensor_entry& entry) const {
    std::vector<std::int64_t> values(static_cast<std::size_t>(entry.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = detail::load<T>(entry.data.data() + i * sizeof(T));
      if (!std::in_range<std::int64_t>(value)) {
        throw file_error(file_of(entry), "tensor " + detail::in_quotes(entry.name),
                         byte_of(entry) + i * sizeof(T),
                         "holds " + std::to_string(value) + ", which does not fit a signed 64-bit number");
      }
      values[i] = static_cast<std::int64_t>(value);
    }
    return values;
  }

  std::string path_;
  std::vector<mapped_file> files_;
  std::vector<tensor_entry> entries_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_TENSOR_FILE_HPP
