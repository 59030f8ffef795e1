#include "iclmech/io/unicode_property.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace {

using iclmech::is_numeric;
using iclmech::is_white_space;
using iclmech::is_word_character;

TEST(unicode_property, white_space_is_the_property_of_25_code_points) {
  int count = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) count += is_white_space(c) ? 1 : 0;
  EXPECT_EQ(count, 25);  // the length of White_Space in Unicode's PropList.txt since version 6.3
  for (const char32_t c :
       {U' ', U'\t', U'\n', U'\r', U'\x0B', U'\x85', U'\xA0', U'\x3000', U'\x2028', U'\x200A'})
    EXPECT_TRUE(is_white_space(c)) << static_cast<unsigned>(c);
  for (const char32_t c : {U'\x180E', U'\x200B', U'\xFEFF', U'\x1C'})
    EXPECT_FALSE(is_white_space(c)) << static_cast<unsigned>(c);
}

TEST(unicode_property, numbers_are_more_than_digits) {
  for (const char32_t c :
       {U'0', U'9', U'\xB2', U'\xBD', U'\x0663', U'\x2167', U'\x3007', U'\xFF15', U'\x1D7D8'})
    EXPECT_TRUE(is_numeric(c)) << static_cast<unsigned>(c);
  // Ideographs that mean numbers are letters.
  for (const char32_t c : {U'a', U'.', U'\x4E00', U'-'})
    EXPECT_FALSE(is_numeric(c)) << static_cast<unsigned>(c);
}

TEST(unicode_property, words_hold_letters_marks_digits_and_joiners) {
  for (const char32_t c : {U'a', U'Z', U'0', U'_', U'\xE9', U'\x301', U'\x4E00', U'\x200D', U'\x203F',
                           U'\x2167', U'\x24B6', U'\x1F170'})
    EXPECT_TRUE(is_word_character(c)) << static_cast<unsigned>(c);
  for (const char32_t c : {U' ', U'-', U'.', U'\xBD', U'\xB2', U'\x1F600', U'\x200B', U'\x20AC'})
    EXPECT_FALSE(is_word_character(c)) << static_cast<unsigned>(c);
}

}  // namespace
