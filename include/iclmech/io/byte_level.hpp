#ifndef ICLMECH_IO_BYTE_LEVEL_HPP
#define ICLMECH_IO_BYTE_LEVEL_HPP
// The alphabet of byte-level vocabularies: every byte spelled as one printable character, GPT-2's way.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "iclmech/io/utf8.hpp"

namespace iclmech {

namespace detail {

/// Code point for each byte: printable Latin-1 stands for itself, the others take U+0100, U+0101, ... in
/// order.
inline constexpr std::array<char32_t, 256> byte_level_alphabet = [] {
  std::array<char32_t, 256> points{};
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    points[b] = printable ? b : next++;
  }
  return points;
}();

/// The inverse, -1 where a code point stands for no byte.
inline constexpr std::array<int, 0x144> byte_of_byte_level = [] {
  std::array<int, 0x144> bytes{};
  bytes.fill(-1);
  for (int b = 0; b < 256; ++b) bytes[byte_level_alphabet[static_cast<std::size_t>(b)]] = b;
  return bytes;
}();

}  // namespace detail

/// Appends `bytes` to `out`, spelled in the byte-level alphabet.
inline void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char byte : bytes)
    append_utf8(out, detail::byte_level_alphabet[static_cast<unsigned char>(byte)]);
}

/// The bytes that `text` spells, or nothing if one of its characters is outside the alphabet.
inline std::optional<std::string> bytes_of_byte_level(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const utf8_unit unit = read_utf8(text, at);
    at += unit.size;
    if (unit.code_point >= detail::byte_of_byte_level.size()) return std::nullopt;
    const int byte = detail::byte_of_byte_level[unit.code_point];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
  }
  return bytes;
}

}  // namespace iclmech

#endif  // ICLMECH_IO_BYTE_LEVEL_HPP
