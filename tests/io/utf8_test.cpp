#include "iclmech/io/utf8.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using iclmech::append_utf8;
using iclmech::excerpt;
using iclmech::is_utf8;
using iclmech::read_utf8;
using iclmech::repair_utf8;

TEST(utf8, every_scalar_value_is_read_back_as_written) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const auto unit = read_utf8(text, 0);
    ASSERT_EQ(unit.code_point, c);
    ASSERT_EQ(unit.size, text.size());
    ASSERT_TRUE(unit.valid);
    ASSERT_TRUE(is_utf8(text));
  }
}

// Every pair of lead and second byte against the definition in Unicode's table 3-7, by decoding the hard way.
TEST(utf8, second_bytes_are_held_to_their_ranges) {
  for (unsigned lead = 0; lead < 256; ++lead) {
    for (unsigned second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(lead), static_cast<char>(second), '\x80', '\x80'};
      const std::size_t size = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      bool valid = size == 1;
      if (size > 1 && lead < 0xF8 && second >= 0x80 && second < 0xC0) {
        unsigned value = lead & (0xFFu >> (size + 1));
        for (std::size_t i = 1; i < size; ++i)
          value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3Fu);
        const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
        valid = value >= least[size] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
      }
      ASSERT_EQ(read_utf8(text, 0).valid, valid) << lead << " " << second;
      if (valid) {
        ASSERT_EQ(read_utf8(text, 0).size, size);
      }
    }
  }
}

// What Python prints for bytes(...).decode(errors="replace"), one U+FFFD for each maximal subpart.
TEST(utf8, repair_puts_one_replacement_for_each_maximal_subpart) {
  const std::string r = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"plain", "plain"},
      {"\xC3\xA9", "\xC3\xA9"},
      {"\x80", r},
      {"\xFF\xFE", r + r},
      {"\xC3", r},
      {"\xC3(", r + "("},
      {"\xC0\xAF", r + r},
      {"\xE2\x82", r},
      {"\xE2\x82(", r + "("},
      {"\xE2(\xA1", r + "(" + r},
      {"\xE0\x80\x80", r + r + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xF0\x9F\x98", r},
      {"\xF0\x9F\x98z", r + "z"},
      {"\xF0\x9F", r},
      {"\xF0\x80\x80\x80", r + r + r + r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xF5\x80", r + r},
      {"a\xE2\x82z\xF0\x9F\x98\x80\x80", "a" + r + "z\xF0\x9F\x98\x80" + r},
  };
  for (const auto& [broken, repaired] : cases) {
    EXPECT_EQ(repair_utf8(broken), repaired) << testing::PrintToString(broken);
    EXPECT_EQ(is_utf8(broken), broken == repaired) << testing::PrintToString(broken);
    EXPECT_TRUE(is_utf8(repaired));
  }
}

TEST(utf8, excerpt_cuts_between_characters_and_says_so) {
  EXPECT_EQ(excerpt("short"), "short");
  EXPECT_EQ(excerpt("12345678", 8), "12345678");
  EXPECT_EQ(excerpt("123456789", 8), "12345678...");
  EXPECT_EQ(excerpt("1234567\xC3\xA9", 8), "1234567...");
  EXPECT_EQ(excerpt("\xFF", 8), "\xEF\xBF\xBD");
}

}  // namespace
