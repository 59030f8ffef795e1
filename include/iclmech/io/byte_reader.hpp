#ifndef ICLMECH_IO_BYTE_READER_HPP
#define ICLMECH_IO_BYTE_READER_HPP
// Reading numbers and strings out of untrusted bytes: every step is checked against what is left.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "iclmech/error.hpp"

namespace iclmech::detail {

/// a * b, or nothing if it does not fit.
inline std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) noexcept {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) return std::nullopt;
  return a * b;
}

/// Text from a file, fit for an error message: in quotes, control and non-ASCII bytes as \xNN, cut after 80
/// bytes.
inline std::string in_quotes(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "'";
  for (const char c : text.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result + (text.size() > 80 ? "...'" : "'");
}

/// Walks over a file's bytes from front to back. Reading past the end throws a file_error that names the
/// file, the field being read and its byte.
class byte_reader {
 public:
  byte_reader(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return bytes_.size() - position_; }

  /// What has been read from `start` on.
  std::span<const std::byte> bytes_since(std::uint64_t start) const {
    return bytes_.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(position_ - start));
  }

  /// The next `count` bytes, in place.
  std::span<const std::byte> read_bytes(std::uint64_t count, std::string_view field) {
    if (count > remaining()) {
      fail(field, position_,
           "needs " + std::to_string(count) + " bytes, but the file ends after " +
               std::to_string(remaining()) + "; it is truncated or damaged");
    }
    const auto result = bytes_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
    position_ += count;
    return result;
  }

  /// The next number, little-endian.
  template <typename T>
  requires std::is_arithmetic_v<T> T read(std::string_view field) {
    T value;
    std::memcpy(&value, read_bytes(sizeof(T), field).data(), sizeof(T));
    return value;
  }

  /// A 64-bit length and that many characters, in place.
  std::string_view read_string(std::string_view field) {
    const auto start = position_;
    const auto length = read<std::uint64_t>(field);
    if (length > remaining()) {
      fail(field, start,
           "claims " + std::to_string(length) + " bytes of text, but only " + std::to_string(remaining()) +
               " follow; the file is truncated or damaged");
    }
    const auto text = read_bytes(length, field);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  /// A 64-bit count of things that take at least `least_bytes` each, so that more than the file can hold is
  /// refused.
  std::uint64_t read_count(std::uint64_t least_bytes, std::string_view field) {
    const auto start = position_;
    const auto count = read<std::uint64_t>(field);
    if (count > remaining() / least_bytes) {
      fail(field, start,
           "is " + std::to_string(count) + ", more than the remaining " + std::to_string(remaining()) +
               " bytes of the file can hold");
    }
    return count;
  }

  [[noreturn]] void fail(std::string_view field, std::uint64_t byte, const std::string& problem) const {
    throw file_error(path_, std::string(field), byte, problem);
  }

 private:
  const std::string& path_;
  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;
};

}  // namespace iclmech::detail

#endif  // ICLMECH_IO_BYTE_READER_HPP
