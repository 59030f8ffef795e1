#include "iclmech/io/unicode_regex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::unicode_regex;
using iclmech::unsupported_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  std::vector<std::string> found;
  unicode_regex(pattern).for_each_match(
      text, [&](std::size_t begin, std::size_t end) { found.emplace_back(text.substr(begin, end - begin)); });
  return found;
}

template <class Error>
std::string message_of(std::string_view pattern, std::string_view text = "x") {
  try {
    matches(pattern, text);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}

TEST(unicode_regex, matches_whole_code_points) {
  EXPECT_THAT(matches(".", "a\xC3\xA9\xF0\x9F\x98\x80"), ElementsAre("a", "\xC3\xA9", "\xF0\x9F\x98\x80"));
  EXPECT_THAT(matches(R"(\p{L}+)", "\xD0\x9F\xD1\x80! \xE6\x97\xA5"),
              ElementsAre("\xD0\x9F\xD1\x80", "\xE6\x97\xA5"));
  EXPECT_THAT(matches("x", ""), IsEmpty());
}

TEST(unicode_regex, spaces_are_white_space_and_not_the_mongolian_vowel_separator) {
  EXPECT_THAT(matches(R"(\s)",
                      "a\xE1\xA0\x8E"
                      "b"),
              IsEmpty());  // U+180E
  EXPECT_THAT(matches(R"(\s)",
                      "a\xC2\x85"
                      "b\xE3\x80\x80"),
              ElementsAre("\xC2\x85", "\xE3\x80\x80"));
  EXPECT_THAT(matches(R"(\S+)",
                      "a\xE1\xA0\x8E"
                      "b c"),
              ElementsAre("a\xE1\xA0\x8E"
                          "b",
                          "c"));
  EXPECT_THAT(matches(R"([^\s]+)",
                      "ab\xC2\xA0"
                      "c"),
              ElementsAre("ab", "c"));
}

TEST(unicode_regex, words_include_marks) {
  EXPECT_THAT(matches(R"(\w+)",
                      "e\xCC\x81"
                      "a-b_1"),
              ElementsAre("e\xCC\x81"
                          "a",
                          "b_1"));
  EXPECT_THAT(matches(R"(\W+)", "a - b"), ElementsAre(" - "));
}

TEST(unicode_regex, ignores_case_by_unicode) {
  EXPECT_THAT(matches("(?i:'s)", "'s'S'\xC5\xBF"), ElementsAre("'s", "'S", "'\xC5\xBF"));  // U+017F, long s
}

TEST(unicode_regex, reports_empty_matches_once) {
  EXPECT_EQ(matches("(?=b)", "abab").size(), 2u);
  EXPECT_THAT(matches("a*", "aab\xC3\xA9"), ElementsAre("aa", "", ""));
}

TEST(unicode_regex, reads_classes_as_written) {
  EXPECT_THAT(matches(R"([]a]+)", "a]b"), ElementsAre("a]"));
  EXPECT_THAT(matches(R"([^]a]+)", "a]bc"), ElementsAre("bc"));
  EXPECT_THAT(matches(R"([[:digit:]x]+)", "a1x2 "), ElementsAre("1x2"));
  EXPECT_THAT(matches(R"([\[\]]+)", "a[]b"), ElementsAre("[]"));
}

TEST(unicode_regex, refuses_what_pcre2_would_read_differently) {
  EXPECT_THAT(message_of<unsupported_error>(R"([a[b]])"),
              HasSubstr("'[a[b]]' uses a character class inside another"));
  EXPECT_THAT(message_of<unsupported_error>(R"([a-z&&b])"),
              HasSubstr("an intersection of character classes"));
  EXPECT_THAT(message_of<unsupported_error>(R"([\S])"), HasSubstr("\\S inside a character class"));
  EXPECT_THAT(message_of<unsupported_error>(R"(\h)"), HasSubstr("\\h"));
  EXPECT_THAT(message_of<unsupported_error>("[[:alpha"), HasSubstr("'[:' without ':]'"));
}

TEST(unicode_regex, says_where_a_pattern_does_not_compile) {
  EXPECT_THAT(message_of<argument_error>("ab(c"), HasSubstr("the pattern 'ab(c' does not compile at byte 4"));
  EXPECT_THAT(message_of<argument_error>(R"(\C)"), HasSubstr("does not compile"));
  EXPECT_THAT(message_of<argument_error>("\xFF"), HasSubstr("is not UTF-8"));
}

TEST(unicode_regex, gives_up_on_endless_backtracking) {
  EXPECT_THAT(message_of<iclmech::error>("(a+)+$", std::string(40, 'a') + "b"),
              HasSubstr("the pattern '(a+)+$' fails on the text from its byte 0 on"));
}

}  // namespace
