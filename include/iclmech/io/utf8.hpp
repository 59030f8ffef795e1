#ifndef ICLMECH_IO_UTF8_HPP
#define ICLMECH_IO_UTF8_HPP
// UTF-8 read and written one code point at a time, bytes that are not UTF-8 included.

#include <cstddef>
#include <string>
#include <string_view>

namespace iclmech {

/// What stands at one place of a byte string: a code point, or bytes that cannot be one.
struct utf8_unit {
  char32_t code_point;  ///< U+FFFD where the bytes are not UTF-8.
  std::size_t size;     ///< Bytes taken, at least 1.
  bool valid;
};

/// Reads the code point that starts at byte `at` (which must be inside `text`). Where there is none, the unit
/// spans the longest beginning of one (Unicode's "maximal subpart"), so that every decoder that follows
/// Unicode's recommendation, Python's and Rust's among them, puts one U+FFFD where this reports one invalid
/// unit.
inline utf8_unit read_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  // The first continuation byte is where overlong forms, surrogates and values past U+10FFFF are kept out.
  unsigned low = 0x80, high = 0xBF;
  std::size_t size = 0;
  char32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
    value = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    value = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    value = lead & 0x07;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {0xFFFD, 1, false};
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (at + i >= text.size() || byte(at + i) < low || byte(at + i) > high) return {0xFFFD, i, false};
    value = (value << 6) | (byte(at + i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {value, size, true};
}

/// Whether every byte of `text` belongs to a code point.
inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const utf8_unit unit = read_utf8(text, at);
    if (!unit.valid) return false;
    at += unit.size;
  }
  return true;
}

/// `text` with U+FFFD in place of every invalid unit; valid text comes back unchanged.
inline std::string repair_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const utf8_unit unit = read_utf8(text, at);
    repaired += unit.valid ? text.substr(at, unit.size) : std::string_view("\xEF\xBF\xBD");
    at += unit.size;
  }
  return repaired;
}

/// Appends the UTF-8 form of `code_point`, which must be a Unicode scalar value.
inline void append_utf8(std::string& text, char32_t code_point) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

/// At most `limit` bytes of `text`, cut between code points and marked "..." where cut: for error messages.
inline std::string excerpt(std::string_view text, std::size_t limit = 60) {
  if (text.size() <= limit) return repair_utf8(text);
  std::size_t end = 0;
  while (true) {
    const std::size_t next = end + read_utf8(text, end).size;
    if (next > limit) break;
    end = next;
  }
  return repair_utf8(text.substr(0, end)) + "...";
}

}  // namespace iclmech

#endif  // ICLMECH_IO_UTF8_HPP
