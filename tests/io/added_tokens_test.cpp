#include "iclmech/io/added_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using iclmech::added_token;
using iclmech::added_token_matcher;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Text between tokens in quotes, tokens by id.
std::vector<std::string> parts(const std::vector<added_token>& tokens, std::string_view text) {
  std::vector<std::string> all;
  added_token_matcher(tokens).split(text, [&](std::string_view part, const added_token* token) {
    all.push_back(token ? std::to_string(token->id) : "'" + std::string(part) + "'");
  });
  return all;
}

added_token plain(iclmech::token_id id, const std::string& content) {
  return {id, content, false, false, false, false};
}

TEST(added_tokens, cut_the_text) {
  const std::vector<added_token> tokens = {plain(1, "<s>"), plain(2, "</s>")};
  EXPECT_THAT(parts(tokens, "<s>a b</s>"), ElementsAre("1", "'a b'", "2"));
  EXPECT_THAT(parts(tokens, "a<s><s>b"), ElementsAre("'a'", "1", "1", "'b'"));
  EXPECT_THAT(parts(tokens, "<s"), ElementsAre("'<s'"));
  EXPECT_THAT(parts(tokens, ""), IsEmpty());
  EXPECT_THAT(parts({}, "a"), ElementsAre("'a'"));
  EXPECT_THAT(parts({plain(1, "")}, "a"), ElementsAre("'a'"));
}

TEST(added_tokens, leftmost_wins_then_longest) {
  const std::vector<added_token> tokens = {plain(1, "ab"), plain(2, "abcd"), plain(3, "bcde"), plain(4, "b")};
  EXPECT_THAT(parts(tokens, "abcde"), ElementsAre("2", "'e'"));
  EXPECT_THAT(parts(tokens, "abce"), ElementsAre("1", "'ce'"));
  EXPECT_THAT(parts(tokens, "xbcde"), ElementsAre("'x'", "3"));
  EXPECT_THAT(parts(tokens, "bc"), ElementsAre("4", "'c'"));
}

TEST(added_tokens, strip_white_space_of_any_kind) {
  const added_token left{1, "<l>", false, true, false, false}, right{2, "<r>", false, false, true, false};
  EXPECT_THAT(parts({left}, "a \t\n<l> b"), ElementsAre("'a'", "1", "' b'"));
  EXPECT_THAT(parts({right},
                    "a <r> \xE3\x80\x80"
                    "b"),
              ElementsAre("'a '", "2", "'b'"));
  EXPECT_THAT(parts({left}, "  <l>"), ElementsAre("1"));
  // What one token took the next one cannot take again.
  EXPECT_THAT(parts({left, right}, "<r>  <l>x"), ElementsAre("2", "1", "'x'"));
}

TEST(added_tokens, single_words_have_no_letters_beside_them) {
  const added_token word{1, "word", true, false, false, false};
  EXPECT_THAT(parts({word}, "word"), ElementsAre("1"));
  EXPECT_THAT(parts({word}, "a word, swords word2"), ElementsAre("'a '", "1", "', swords word2'"));
  EXPECT_THAT(parts({word}, "\xC3\xA9word"), ElementsAre("'\xC3\xA9word'"));
  EXPECT_THAT(parts({word}, "word\xCC\x81"), ElementsAre("'word\xCC\x81'"));
}

// A token that strips what it is made of: each match looking for spaces on its own would cost the square.
TEST(added_tokens, long_runs_of_a_stripping_token) {
  const added_token newline{1, "\n", false, true, true, false};
  EXPECT_EQ(parts({newline}, std::string(300000, '\n')).size(), 300000u);
}

}  // namespace
