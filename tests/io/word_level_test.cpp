#include "iclmech/io/word_level.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::token_id;
using iclmech::vocabulary;
using iclmech::word_level_model;
using ::testing::ElementsAre;

TEST(word_level, one_token_for_each_word) {
  const word_level_model model(vocabulary({{"<unk>", 0}, {"red", 1}, {"blue", 2}}), 0);
  std::vector<token_id> ids;
  for (const char* const word : {"blue", "green", "red"}) model.encode(word, ids);
  EXPECT_THAT(ids, ElementsAre(2, 0, 1));
}

TEST(word_level, names_a_word_that_it_cannot_encode) {
  const word_level_model model(vocabulary({{"red", 0}}), std::nullopt);
  std::vector<token_id> ids;
  try {
    model.encode("green", ids);
    FAIL() << "nothing was thrown";
  } catch (const argument_error& problem) {
    EXPECT_STREQ(
        problem.what(),
        "the word 'green' is not in the model's vocabulary, which has no unknown token; use its own words");
  }
}

}  // namespace
