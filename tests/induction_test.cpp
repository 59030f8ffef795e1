#include "iclmech/induction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<token_id> alphabet(int size) {
  std::vector<token_id> tokens(static_cast<std::size_t>(size));
  std::iota(tokens.begin(), tokens.end(), 1000);
  return tokens;
}

TEST(repeat_random_tokens, repeats_a_block_of_different_tokens) {
  const repeated_tokens made = repeat_random_tokens(alphabet(50), 20, 3, 7);
  ASSERT_EQ(made.ids.size(), 60U);
  EXPECT_EQ(made.start, 0);
  EXPECT_EQ(made.period, 20);
  for (std::size_t i = 20; i < 60; ++i) EXPECT_EQ(made.ids[i], made.ids[i - 20]);
  const std::set<token_id> block(made.ids.begin(), made.ids.begin() + 20);
  EXPECT_EQ(block.size(), 20U);
  EXPECT_GE(*block.begin(), 1000);
  EXPECT_LT(*block.rbegin(), 1050);
}

TEST(repeat_random_tokens, is_a_function_of_the_seed) {
  EXPECT_EQ(repeat_random_tokens(alphabet(50), 20, 2, 7).ids,
            repeat_random_tokens(alphabet(50), 20, 2, 7).ids);
  EXPECT_NE(repeat_random_tokens(alphabet(50), 20, 2, 7).ids,
            repeat_random_tokens(alphabet(50), 20, 2, 8).ids);
}

TEST(repeat_random_tokens, puts_the_first_token_in_front) {
  const repeated_tokens made = repeat_random_tokens(alphabet(4), 4, 2, 7, token_id{1});
  EXPECT_EQ(made.start, 1);
  EXPECT_EQ(made.ids.size(), 9U);
  EXPECT_EQ(made.ids.front(), 1);
  EXPECT_EQ(made.ids[1], made.ids[5]);
}

TEST(repeat_random_tokens, refuses_what_has_no_induction_in_it) {
  EXPECT_THAT([] { (void)repeat_random_tokens(alphabet(9), 1, 2, 0); },
              ThrowsMessage<argument_error>(HasSubstr("a block of 1 tokens, 2 times")));
  EXPECT_THAT([] { (void)repeat_random_tokens(alphabet(9), 4, 1, 0); },
              ThrowsMessage<argument_error>(HasSubstr("two repeats at least")));
  EXPECT_THAT([] { (void)repeat_random_tokens(alphabet(3), 4, 2, 0); },
              ThrowsMessage<argument_error>(HasSubstr("3 tokens to draw from are too few for a block of 4")));
}

// The pattern of a head that puts `weight` on position t - back, and the rest on position 0.
row_matrix looking_back(index size, index back, float weight) {
  row_matrix pattern = row_matrix::Zero(size, size);
  for (index t = 0; t < size; ++t) {
    pattern(t, 0) = 1;
    if (t > back) {
      pattern(t, t - back) = weight;
      pattern(t, 0) = 1 - weight;
    }
  }
  return pattern;
}

TEST(induction_score, is_one_for_a_perfect_induction_head_and_zero_for_a_previous_token_head) {
  const row_matrix induction = looking_back(31, 9, 1);
  const row_matrix previous = looking_back(31, 1, 1);
  EXPECT_DOUBLE_EQ(induction_score(induction, 10, 1), 1);
  EXPECT_DOUBLE_EQ(induction_score(previous, 10, 1), 0);
  EXPECT_DOUBLE_EQ(previous_token_score(previous, 1), 1);
  EXPECT_DOUBLE_EQ(previous_token_score(induction, 1), 0);
}

TEST(induction_score, averages_over_the_repeats_alone) {
  row_matrix pattern = row_matrix::Zero(6, 6);
  for (index t = 2; t < 6; ++t) pattern(t, t - 2) = 0.125F * static_cast<float>(t);
  // Period 3: positions 3, 4, 5 are repeats; position 2 looks two back as well and does not count.
  EXPECT_DOUBLE_EQ(induction_score(pattern, 3), 0.5);
}

TEST(induction_score, does_not_ask_for_probabilities) {
  EXPECT_DOUBLE_EQ(induction_score(-3 * looking_back(20, 4, 1), 5), -3);
}

TEST(induction_score, of_even_attention_is_the_mean_of_one_over_the_context) {
  row_matrix even = row_matrix::Zero(6, 6);
  for (index t = 0; t < 6; ++t) even.row(t).head(t + 1).setConstant(1 / static_cast<float>(t + 1));
  EXPECT_NEAR(induction_score(even, 4), (1.0 / 5 + 1.0 / 6) / 2, 1e-7);
  EXPECT_NEAR(previous_token_score(even, 3), (1.0 / 5 + 1.0 / 6) / 2, 1e-7);
}

TEST(induction_score, refuses_patterns_without_a_repeat) {
  EXPECT_THAT([] { (void)induction_score(row_matrix::Zero(4, 5), 2); },
              ThrowsMessage<argument_error>(HasSubstr("the pattern is 4x5, not square")));
  EXPECT_THAT(
      [] { (void)induction_score(row_matrix::Zero(5, 5), 4, 1); },
      ThrowsMessage<argument_error>(HasSubstr("ends at position 4, before the first scored position 5")));
  EXPECT_THAT([] { (void)induction_score(row_matrix::Zero(5, 5), 1); },
              ThrowsMessage<argument_error>(HasSubstr("the period must be 2 or more")));
  EXPECT_THAT([] { (void)previous_token_score(row_matrix::Zero(5, 5), -1); },
              ThrowsMessage<argument_error>(HasSubstr("start -1 is before the first position")));
}

TEST(continuation_positions, are_the_labels_of_a_few_shot_prompt) {
  //                                  0   1  2  3    4   5  6  7    8   9 10
  const std::vector<token_id> prompt{50, 9, 8, 701, 51, 9, 8, 702, 52, 9, 8};
  EXPECT_THAT(continuation_positions(prompt), ElementsAre(3, 7));
  EXPECT_THAT(continuation_positions(prompt, 2), ElementsAre(3, 7));
  EXPECT_THAT(continuation_positions(prompt, 3), IsEmpty());
  EXPECT_THAT(continuation_positions(std::vector<token_id>{4, 4, 4}, 1), ElementsAre(1, 2));
  EXPECT_THAT(continuation_positions(std::vector<token_id>{4}, 1), IsEmpty());
  EXPECT_THAT([&] { (void)continuation_positions(prompt, 12); },
              ThrowsMessage<argument_error>(HasSubstr("the last 12 tokens of a prompt of 11")));
}

TEST(attention_on, adds_up_the_weights) {
  row_matrix pattern(2, 4);
  pattern << 9, 9, 9, 9, 0.5F, 0.25F, 0.125F, 0.125F;
  EXPECT_DOUBLE_EQ(attention_on(pattern.row(1), std::vector<index>{1, 3}), 0.375);
  EXPECT_DOUBLE_EQ(attention_on(pattern.row(1), {}), 0);
  EXPECT_THAT([&] { (void)attention_on(pattern.row(1), std::vector<index>{4}); },
              ThrowsMessage<argument_error>(HasSubstr("position 4 is outside a row of 4")));
}

}  // namespace
