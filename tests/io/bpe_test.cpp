#include "iclmech/io/bpe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::bpe_model;
using iclmech::bpe_options;
using iclmech::token_id;
using iclmech::vocabulary;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

vocabulary letters() {
  return vocabulary({{"a", 0},
                     {"b", 1},
                     {"c", 2},
                     {"ab", 3},
                     {"bc", 4},
                     {"abc", 5},
                     {"?", 6},
                     {"<0xC3>", 7},
                     {"<0xA9>", 8}});
}

std::vector<token_id> encode(const bpe_model& model, std::string_view piece) {
  std::vector<token_id> ids;
  model.encode(piece, ids);
  return ids;
}

const std::vector<bpe_model::merge> merges = {{"b", "c"}, {"a", "b"}};

TEST(bpe, merges_by_rank) {
  const bpe_model model(letters(), merges, {});
  EXPECT_THAT(encode(model, "abc"), ElementsAre(0, 4));
  EXPECT_THAT(encode(model, "abab"), ElementsAre(3, 3));
  EXPECT_THAT(encode(model, ""), IsEmpty());
}

TEST(bpe, ignores_merges_for_whole_tokens) {
  bpe_options options;
  options.ignore_merges = true;
  const bpe_model model(letters(), merges, options);
  EXPECT_THAT(encode(model, "abc"), ElementsAre(5));
  EXPECT_THAT(encode(model, "abcabc"), ElementsAre(0, 4, 0, 4));
}

TEST(bpe, unknown_characters_vanish_or_become_the_unknown_token) {
  EXPECT_THAT(encode(bpe_model(letters(), merges, {}), "axyb"), ElementsAre(3));
  bpe_options options;
  options.unknown = 6;
  EXPECT_THAT(encode(bpe_model(letters(), merges, options), "axyb"), ElementsAre(0, 6, 6, 1));
  options.fuse_unknown = true;
  EXPECT_THAT(encode(bpe_model(letters(), merges, options), "axybz"), ElementsAre(0, 6, 1, 6));
}

TEST(bpe, spells_unknown_characters_in_bytes_if_it_has_them_all) {
  bpe_options options;
  options.byte_fallback = true;
  options.unknown = 6;
  const bpe_model model(letters(), merges, options);
  EXPECT_THAT(encode(model, "a\xC3\xA9"), ElementsAre(0, 7, 8));
  EXPECT_THAT(encode(model, "a\xC3\xA8"), ElementsAre(0, 6));
}

TEST(bpe, names_merges_of_or_into_unknown_tokens) {
  const auto message = [](const bpe_model::merge& merge) -> std::string {
    try {
      bpe_model(letters(), {{"a", "b"}, merge}, {});
    } catch (const argument_error& problem) {
      return problem.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message({"a", "x"}), "merge 1 joins 'a' and 'x', but 'x' is not in the vocabulary");
  EXPECT_EQ(message({"a", "c"}), "merge 1 joins 'a' and 'c', but 'ac' is not in the vocabulary");
}

TEST(bpe, finds_byte_tokens) {
  const auto ids = iclmech::byte_tokens(letters());
  EXPECT_EQ(ids[0xC3], 7);
  EXPECT_EQ(ids[0xA9], 8);
  EXPECT_EQ(ids[0x00], -1);
}

}  // namespace
