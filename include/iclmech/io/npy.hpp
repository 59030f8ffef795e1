#ifndef ICLMECH_IO_NPY_HPP
#define ICLMECH_IO_NPY_HPP
// Arrays as NumPy's .npy files: `numpy.load` reads what is written here, and `read_npy` what `numpy.save`
// writes.
//
// Layout: magic, version, length of the header, the header (a Python dict: descr, fortran_order, shape), the
// data.

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/atomic_file.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tensor_file.hpp"

namespace iclmech {

/// What an array can hold.
template <typename T>
concept npy_element = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t>;

/// An array in memory, last dimension fastest.
template <npy_element T>
struct npy_array {
  std::vector<index> shape;
  std::vector<T> values;
};

namespace detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// NumPy's word for the type, little-endian: "<f4".
template <npy_element T>
constexpr std::string_view npy_descr() {
  if constexpr (std::same_as<T, float>) return "<f4";
  if constexpr (std::same_as<T, double>) return "<f8";
  if constexpr (std::same_as<T, std::int32_t>) return "<i4";
  if constexpr (std::same_as<T, std::int64_t>) return "<i8";
}

/// The number of elements of an array, or nothing if a dimension is negative or the array is too large for
/// memory.
inline std::optional<std::size_t> npy_size(std::span<const index> shape, std::size_t element_bytes) {
  std::optional<std::uint64_t> bytes = element_bytes;
  for (const index extent : shape) {
    if (extent < 0) return std::nullopt;
    bytes = checked_product(*bytes, static_cast<std::uint64_t>(extent));
    if (!bytes || *bytes > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()))
      return std::nullopt;
  }
  return static_cast<std::size_t>(*bytes / element_bytes);
}

/// Reads the header's dict. Only what NumPy writes is accepted, with its members in any order.
class npy_header {
 public:
  npy_header(const byte_reader& reader, std::string_view text, std::uint64_t first_byte)
      : reader_(reader), text_(text), first_byte_(first_byte) {}

  std::string_view descr;
  std::vector<index> shape;

  void parse() {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = read_text();
      expect(':');
      if (key == "descr" && !std::exchange(has_descr, true)) {
        descr = read_text();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        read_order();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        read_shape();
      } else {
        fail("has the member " + in_quotes(key) + ", which is unknown or there twice");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (place_ != text_.size()) fail("goes on after the dict");
    if (!has_descr || !has_order || !has_shape) fail("lacks descr, fortran_order or shape");
  }

 private:
  void skip_spaces() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n')) ++place_;
  }

  bool accept(char wanted) {
    skip_spaces();
    if (place_ == text_.size() || text_[place_] != wanted) return false;
    ++place_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(std::string("lacks a '") + wanted + "'");
  }

  std::string_view read_text() {
    expect('\'');
    const std::size_t end = text_.find('\'', place_);
    if (end == std::string_view::npos) fail("has text without an end");
    const std::string_view result = text_.substr(place_, end - place_);
    place_ = end + 1;
    return result;
  }

  void read_order() {
    skip_spaces();
    if (text_.substr(place_).starts_with("True")) fail("says fortran_order: save the array in C order");
    if (!text_.substr(place_).starts_with("False"))
      fail("has a fortran_order that is neither True nor False");
    place_ += 5;
  }

  void read_shape() {
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      index extent = 0;
      const char* const end = text_.data() + text_.size();
      const auto [rest, problem] = std::from_chars(text_.data() + place_, end, extent);
      if (problem != std::errc() || extent < 0) fail("has a bad number in its shape");
      place_ = static_cast<std::size_t>(rest - text_.data());
      shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    reader_.fail("header", first_byte_ + place_, problem);
  }

  const byte_reader& reader_;
  std::string_view text_;
  std::uint64_t first_byte_;
  std::size_t place_ = 0;
};

}  // namespace detail

/// Writes an array of the given shape, last dimension fastest, atomically. Throws argument_error if the shape
/// does not fit the values, file_error if the file cannot be written.
template <npy_element T>
void write_npy(const std::filesystem::path& path, std::span<const index> shape, std::span<const T> values) {
  if (detail::npy_size(shape, sizeof(T)) != values.size()) {
    throw argument_error("write_npy: " + std::to_string(values.size()) + " values do not fill the shape " +
                         detail::shape_text(shape));
  }
  std::string extents;
  for (const index extent : shape) extents += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string header = "{'descr': '" + std::string(detail::npy_descr<T>()) +
                       "', 'fortran_order': False, 'shape': (" + extents + "), }";
  // Magic, version, length and header together fill whole lines of 64 bytes, the last of which is a newline.
  const std::size_t before = detail::npy_magic.size() + 2 + 2;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  if (header.size() > 0xffff) throw argument_error("write_npy: the shape has too many dimensions");
  std::string start(detail::npy_magic);
  start += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;

  detail::replacement_file file(path.string());
  file.write(std::as_bytes(std::span(start)));
  file.write(std::as_bytes(values));
  file.commit();
}

/// As above, for a shape written out and any contiguous range: `write_npy("x.npy", {2, 3}, values)`.
template <std::ranges::contiguous_range Values>
void write_npy(const std::filesystem::path& path, std::initializer_list<index> shape, const Values& values) {
  using element = std::ranges::range_value_t<Values>;
  write_npy<element>(path, std::span<const index>(shape.begin(), shape.size()),
                     std::span<const element>(values));
}

/// A matrix of shape [rows x columns].
inline void write_npy(const std::filesystem::path& path, const row_matrix& matrix) {
  write_npy(path, {matrix.rows(), matrix.cols()},
            std::span<const float>(matrix.data(), static_cast<std::size_t>(matrix.size())));
}

/// Reads an array of exactly that element type. Throws file_error for anything else.
template <npy_element T>
npy_array<T> read_npy(const std::filesystem::path& path) {
  const mapped_file file(path.string());
  detail::byte_reader reader(file.path(), file.bytes());
  if (reader.remaining() < 8 ||
      std::memcmp(reader.read_bytes(6, "magic").data(), detail::npy_magic.data(), 6) != 0) {
    reader.fail("magic", 0, "is not that of a .npy file");
  }
  const auto version = reader.read<std::uint16_t>("version") & 0xff;
  if (version < 1 || version > 3)
    reader.fail("version", 6, "is " + std::to_string(version) + "; 1 to 3 are read");
  const std::uint64_t length = version == 1 ? reader.read<std::uint16_t>("header length")
                                            : reader.read<std::uint32_t>("header length");
  const auto first_byte = reader.position();
  const auto text = reader.read_bytes(length, "header");
  detail::npy_header header(reader, {reinterpret_cast<const char*>(text.data()), text.size()}, first_byte);
  header.parse();
  if (header.descr != detail::npy_descr<T>()) {
    reader.fail("descr", first_byte,
                "is " + detail::in_quotes(header.descr) + ", but " +
                    detail::in_quotes(detail::npy_descr<T>()) + " is needed here");
  }
  const auto size = detail::npy_size(header.shape, sizeof(T));
  if (!size || *size * sizeof(T) != reader.remaining()) {
    reader.fail("shape", first_byte,
                "is " + detail::shape_text(header.shape) + ", which does not fit the " +
                    std::to_string(reader.remaining()) + " bytes of data");
  }
  npy_array<T> array{std::move(header.shape), std::vector<T>(*size)};
  const auto data = reader.read_bytes(*size * sizeof(T), "data");
  if (!data.empty()) std::memcpy(array.values.data(), data.data(), data.size());
  return array;
}

}  // namespace iclmech

#endif  // ICLMECH_IO_NPY_HPP
