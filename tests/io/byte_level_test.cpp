#include "iclmech/io/byte_level.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using iclmech::append_byte_level;
using iclmech::bytes_of_byte_level;

std::string spelled(const std::string& bytes) {
  std::string out;
  append_byte_level(out, bytes);
  return out;
}

TEST(byte_level, spells_space_newline_and_tab_as_gpt2_does) {
  EXPECT_EQ(spelled(" "), "\xC4\xA0");   // U+0120
  EXPECT_EQ(spelled("\n"), "\xC4\x8A");  // U+010A
  EXPECT_EQ(spelled("\t"), "\xC4\x89");  // U+0109
  EXPECT_EQ(spelled("a!~"), "a!~");
  EXPECT_EQ(spelled("\xC3\xA9"), "\xC3\x83\xC2\xA9");  // U+00C3 U+00A9
  EXPECT_EQ(spelled("\xAD"), "\xC5\x83");              // U+0143, the last one
}

TEST(byte_level, gives_every_byte_its_own_character_and_takes_it_back) {
  std::set<std::string> characters;
  for (int b = 0; b < 256; ++b) {
    const std::string byte(1, static_cast<char>(b));
    characters.insert(spelled(byte));
    EXPECT_EQ(bytes_of_byte_level(spelled(byte)), byte);
  }
  EXPECT_EQ(characters.size(), 256u);
}

TEST(byte_level, has_no_bytes_for_other_characters) {
  EXPECT_EQ(bytes_of_byte_level("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_byte_level("\xC5\x84"), std::nullopt);      // U+0144
  EXPECT_EQ(bytes_of_byte_level("\xE2\x96\x81"), std::nullopt);  // U+2581
  EXPECT_EQ(bytes_of_byte_level(""), "");
}

}  // namespace
