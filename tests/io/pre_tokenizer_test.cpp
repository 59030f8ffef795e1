#include "iclmech/io/pre_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/tokenizer_goldens.hpp"

namespace {

using iclmech::byte_level_split;
using iclmech::digit_split;
using iclmech::metaspace_split;
using iclmech::pattern_split;
using iclmech::pre_tokenize;
using iclmech::pre_tokenizer_step;
using iclmech::split_behavior;
using iclmech::split_text;
using iclmech::unicode_regex;
using iclmech::white_space_split;
using iclmech::word_split;
using ::testing::ElementsAre;

using steps = std::vector<pre_tokenizer_step>;

std::vector<std::string> pieces(const steps& s, const std::string& text, bool starts_input = true) {
  const split_text split = pre_tokenize(s, text, starts_input);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < split.pieces.size(); ++i) all.emplace_back(split.piece(i));
  return all;
}

std::map<std::string, steps> named_steps() {
  using scheme = metaspace_split::prepend_scheme;
  const std::string mark = "\xE2\x96\x81";
  const std::string llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  std::string qwen2 = llama3;
  qwen2.replace(qwen2.find("{1,3}"), 5, "");
  std::map<std::string, steps> all = {
      {"lookahead", {pattern_split{unicode_regex(R"((?=\d)|(?<=\.))")}}},
      {"gpt2", {byte_level_split{false, true}}},
      {"gpt2 prefixed", {byte_level_split{true, true}}},
      {"llama3", {pattern_split{unicode_regex(llama3)}}},
      {"qwen2", {pattern_split{unicode_regex(qwen2)}}},
      {"word escape", {pattern_split{unicode_regex(R"(\w+|[^\w\s])")}}},
      {"digits", {digit_split{true}}},
      {"numbers", {digit_split{false}}},
      {"metaspace always", {metaspace_split{mark, scheme::always, true}}},
      {"metaspace first", {metaspace_split{mark, scheme::first, true}}},
      {"metaspace never", {metaspace_split{mark, scheme::never, true}}},
      {"metaspace whole", {metaspace_split{mark, scheme::always, false}}},
      {"words", {word_split{}}},
      {"blanks", {white_space_split{}}},
  };
  const std::map<std::string, split_behavior> behaviors = {
      {"removed", split_behavior::removed},
      {"isolated", split_behavior::isolated},
      {"merged_with_previous", split_behavior::merged_with_previous},
      {"merged_with_next", split_behavior::merged_with_next},
      {"contiguous", split_behavior::contiguous},
  };
  for (const auto& [name, behavior] : behaviors) {
    all["split " + name] = {pattern_split{unicode_regex(R"([\s.]|\d)"), behavior, false}};
    all["inverted " + name] = {pattern_split{unicode_regex("[a-z]+"), behavior, true}};
    all["literal " + name] = {pattern_split{std::string(" "), behavior, false}};
  }
  return all;
}

TEST(pre_tokenizer, splits_where_hugging_face_does) {
  const nlohmann::json golden = iclmech::test::read_json(iclmech::test::tokenizer_data() / "stages.json");
  const auto texts = golden.at("texts").get<std::vector<std::string>>();
  const auto known = named_steps();
  ASSERT_EQ(golden.at("pre_tokenizers").size(), known.size());
  for (const auto& [name, expected] : golden.at("pre_tokenizers").items())
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(pieces(known.at(name), texts[i]), expected.at(i).get<std::vector<std::string>>())
          << name << " on " << nlohmann::json(texts[i]);
}

TEST(pre_tokenizer, without_steps_text_stays_whole) { EXPECT_THAT(pieces({}, "a b"), ElementsAre("a b")); }

TEST(pre_tokenizer, later_steps_split_the_pieces_of_earlier_ones) {
  EXPECT_THAT(pieces({white_space_split{}, digit_split{true}}, "a12 b"), ElementsAre("a", "1", "2", "b"));
  // No lookahead sees past its piece: the last piece of "a " has no more text behind it.
  const unicode_regex trailing(R"(\s+(?!\S))");
  EXPECT_THAT(pieces({pattern_split{unicode_regex("b")}, pattern_split{trailing}}, "a  b"),
              ElementsAre("a", "  ", "b"));
  EXPECT_THAT(pieces({pattern_split{trailing}}, "a  b"), ElementsAre("a", " ", " b"));
}

TEST(pre_tokenizer, metaspace_first_marks_only_the_start_of_the_input) {
  const metaspace_split first{"_", metaspace_split::prepend_scheme::first, true};
  EXPECT_THAT(pieces({first}, "a b"), ElementsAre("_a", "_b"));
  EXPECT_THAT(pieces({first}, "a b", false), ElementsAre("a", "_b"));
  EXPECT_THAT(pieces({white_space_split{}, first}, "a b"), ElementsAre("_a", "b"));
}

// 300000 one-character pieces go through two more steps: quadratic handling of pieces would take minutes.
TEST(pre_tokenizer, takes_many_pieces) {
  const std::string digits(300000, '1');
  EXPECT_EQ(pieces({digit_split{true}, byte_level_split{false, true}}, digits).size(), digits.size());
}

}  // namespace
