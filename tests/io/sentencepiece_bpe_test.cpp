#include "iclmech/io/sentencepiece_bpe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::sentencepiece_bpe;
using iclmech::token_id;
using iclmech::vocabulary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct piece {
  std::string text;
  float score;
  bool joinable = true;
};

sentencepiece_bpe make(const std::vector<piece>& pieces, std::optional<token_id> unknown = std::nullopt) {
  std::vector<std::pair<std::string, token_id>> entries;
  std::vector<float> scores;
  std::vector<bool> joinable;
  for (const piece& p : pieces) {
    entries.emplace_back(p.text, static_cast<token_id>(entries.size()));
    scores.push_back(p.score);
    joinable.push_back(p.joinable);
  }
  return {vocabulary(std::move(entries)), scores, joinable, unknown};
}

std::vector<token_id> encode(const sentencepiece_bpe& model, std::string_view text) {
  std::vector<token_id> ids;
  model.encode(text, ids);
  return ids;
}

TEST(sentencepiece_bpe, joins_by_score) {
  const auto model = make({{"a", -9}, {"b", -9}, {"c", -9}, {"ab", -2}, {"bc", -1}, {"abc", -3}});
  EXPECT_THAT(encode(model, "ab"), ElementsAre(3));
  EXPECT_THAT(encode(model, "abc"), ElementsAre(5));  // by way of "bc"
  EXPECT_THAT(encode(model, "abbc"), ElementsAre(3, 4));
}

// The list of merges that Hugging Face's converter makes of scored pieces: each way to cut a piece into two,
// by the piece's score, then by the length of the left part.
TEST(sentencepiece_bpe, equals_the_merges_made_of_the_scores) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::string> texts = {"a", "b"};
    for (int i = 0; i < 30; ++i) {  // longer pieces are made of two shorter ones, as in a trained vocabulary
      const std::string joined = texts[random() % texts.size()] + texts[random() % texts.size()];
      if (joined.size() <= 9 && std::find(texts.begin(), texts.end(), joined) == texts.end())
        texts.push_back(joined);
    }
    std::vector<piece> pieces;
    for (const std::string& text : texts) pieces.push_back({text, -static_cast<float>(random() % 1000000)});
    std::vector<std::tuple<float, int, std::string>> cuts;
    std::vector<std::pair<std::string, token_id>> entries;
    for (const piece& p : pieces) {
      entries.emplace_back(p.text, static_cast<token_id>(entries.size()));
      for (std::size_t cut = 1; cut < p.text.size(); ++cut)
        if (std::count(texts.begin(), texts.end(), p.text.substr(0, cut)) &&
            std::count(texts.begin(), texts.end(), p.text.substr(cut)))
          cuts.emplace_back(-p.score, -static_cast<int>(cut), p.text);
    }
    std::sort(cuts.begin(), cuts.end());
    std::vector<iclmech::bpe_model::merge> merges;
    for (const auto& [score, cut, text] : cuts)
      merges.emplace_back(text.substr(0, static_cast<std::size_t>(-cut)),
                          text.substr(static_cast<std::size_t>(-cut)));
    const iclmech::bpe_model by_merges(vocabulary(std::move(entries)), merges, {});
    const sentencepiece_bpe by_scores = make(pieces);
    for (int i = 0; i < 20; ++i) {
      std::string text(1 + random() % 50, 'a');
      for (char& c : text) c = random() % 2 ? 'a' : 'b';
      std::vector<token_id> expected;
      by_merges.encode(text, expected);
      ASSERT_EQ(encode(by_scores, text), expected) << "trial " << trial << ", text " << text;
    }
  }
}

TEST(sentencepiece_bpe, spells_unknown_characters_in_bytes) {
  const auto model = make({{"a", -1}, {"<0xC3>", 0, false}, {"<0xA9>", 0, false}, {"?", 0, false}}, 3);
  EXPECT_THAT(encode(model,
                     "a\xC3\xA9"
                     "a"),
              ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(encode(model, "bcab"), ElementsAre(3, 0, 3));  // a run of them is one unknown token
}

TEST(sentencepiece_bpe, text_never_becomes_a_token_that_is_not_joinable) {
  const auto model = make({{"a", -1}, {"b", -1}, {"ab", 0, false}, {"?", 0, false}}, 3);
  EXPECT_THAT(encode(model, "ab?"), ElementsAre(0, 1, 3));
}

TEST(sentencepiece_bpe, checks_its_lists) {
  const auto message = [](std::vector<float> scores, std::vector<bool> joinable) -> std::string {
    try {
      sentencepiece_bpe(vocabulary({{"a", 0}, {"b", 1}}), scores, joinable, std::nullopt);
    } catch (const argument_error& problem) {
      return problem.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message({0}, {true, true}), "there are 2 tokens, but 1 scores and 2 token types");
  EXPECT_EQ(message({0, std::numeric_limits<float>::quiet_NaN()}, {true, true}),
            "the score of token 1 is not a number");
}

}  // namespace
