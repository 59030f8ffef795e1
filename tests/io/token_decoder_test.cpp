#include "iclmech/io/token_decoder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using iclmech::byte_fallback_decoder;
using iclmech::byte_level_decoder;
using iclmech::decode_tokens;
using iclmech::decoder_step;
using iclmech::fuse_decoder;
using iclmech::metaspace_decoder;
using iclmech::replace_normalizer;
using iclmech::strip_decoder;

using steps = std::vector<decoder_step>;

const std::string replacement = "\xEF\xBF\xBD";

TEST(token_decoder, without_steps_words_are_joined_by_spaces) {
  EXPECT_EQ(decode_tokens(std::nullopt, {"a", "b"}), "a b");
  EXPECT_EQ(decode_tokens(steps{}, {"a", "b"}), "ab");
  EXPECT_EQ(decode_tokens(std::nullopt, {}), "");
}

TEST(token_decoder, byte_level_joins_characters_across_tokens) {
  const steps s = {byte_level_decoder{}};
  EXPECT_EQ(decode_tokens(s, {"a\xC4\xA0", "\xC3\x83", "\xC2\xA9"}), "a \xC3\xA9");
  EXPECT_EQ(decode_tokens(s, {"\xC3\x83", "a"}), replacement + "a");  // half a character
  EXPECT_EQ(decode_tokens(s, {"  "}), "  ");                          // not in the alphabet: an added token
}

TEST(token_decoder, byte_tokens_are_text_only_together) {
  const steps s = {byte_fallback_decoder{}, fuse_decoder{}};
  EXPECT_EQ(decode_tokens(s, {"a", "<0xC3>", "<0xA9>", "b"}),
            "a\xC3\xA9"
            "b");
  EXPECT_EQ(decode_tokens(s, {"<0xC3>", "b", "<0xA9>"}), replacement + "b" + replacement);
  EXPECT_EQ(decode_tokens(s, {"<0x41>", "<0xff>"}), replacement + replacement);
  EXPECT_EQ(decode_tokens(s, {"<0xG1>", "<0x1>", "<0x001>"}), "<0xG1><0x1><0x001>");
}

TEST(token_decoder, strip_takes_at_most_so_many) {
  EXPECT_EQ(decode_tokens(steps{fuse_decoder{}, strip_decoder{U' ', 1, 0}}, {"  a ", " b"}), " a  b");
  EXPECT_EQ(decode_tokens(steps{strip_decoder{U' ', 1, 0}}, {"  a ", " b"}), " a b");
  EXPECT_EQ(decode_tokens(steps{strip_decoder{U'\x2581', 0, 2}}, {"a\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81"}),
            "a\xE2\x96\x81");
  EXPECT_EQ(decode_tokens(steps{strip_decoder{U' ', 9, 9}}, {" "}), "");
}

TEST(token_decoder, metaspace_drops_the_marks_of_the_first_token) {
  EXPECT_EQ(decode_tokens(steps{metaspace_decoder{"_", true}}, {"_a_b", "_c"}), "ab c");
  EXPECT_EQ(decode_tokens(steps{metaspace_decoder{"_", false}}, {"_a_b", "_c"}), " a b c");
}

TEST(token_decoder, replaces_in_each_token) {
  EXPECT_EQ(decode_tokens(steps{replace_normalizer{"ab", "c"}}, {"a", "b", "ab"}), "abc");
}

}  // namespace
