#include "iclmech/function_vector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random_matrix.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using iclmech::test::random_matrix;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(add_head_write, sums_up_a_function_vector) {
  const row_matrix projection = random_matrix(10, 12, 1);
  const row_matrix mean_outputs = random_matrix(1, 12, 2);
  vector all = vector::Zero(10);
  for (index head = 0; head < 3; ++head)
    add_head_write(projection, head, mean_outputs.row(0).segment(4 * head, 4), all);
  EXPECT_TRUE(all.isApprox(projection * mean_outputs.transpose(), 1e-5F));

  vector one = vector::Constant(10, 1);
  add_head_write(projection, 1, vector(mean_outputs.row(0).segment(4, 4)), one);
  EXPECT_TRUE(
      (one - vector::Constant(10, 1))
          .isApprox(projection.middleCols(4, 4) * mean_outputs.row(0).segment(4, 4).transpose(), 1e-5F));
}

TEST(add_head_write, refuses_shapes_that_do_not_fit) {
  const row_matrix projection = random_matrix(10, 12, 1);
  vector stream = vector::Zero(10);
  EXPECT_THAT(
      [&] { add_head_write(projection, 3, vector(vector::Ones(4)), stream); },
      ThrowsMessage<argument_error>(HasSubstr("head 3 of width 4 is not in an output projection of 12")));
  EXPECT_THAT([&] { add_head_write(projection, 0, vector(vector::Ones(5)), stream); },
              ThrowsMessage<argument_error>(HasSubstr("head 0 of width 5")));
  vector short_stream = vector::Zero(9);
  EXPECT_THAT([&] { add_head_write(projection, 0, vector(vector::Ones(4)), short_stream); },
              ThrowsMessage<argument_error>(AllOf(HasSubstr("stream of 9 values"), HasSubstr("writes 10"))));
}

TEST(probability_of, agrees_with_double_over_a_large_vocabulary) {
  const row_matrix logits = 5 * iclmech::test::random_matrix(1, 50001, 1);
  const Eigen::ArrayXXd e = logits.cast<double>().array().exp();
  // Exponentials in float err by about 1e-7 for each unit between a logit and the largest, where it matters.
  for (const token_id token : {0, 7, 50000})
    EXPECT_NEAR(probability_of(logits.row(0), token) / (e(0, token) / e.sum()), 1, 1e-6);
}

TEST(probability_of, is_nan_where_a_logit_is) {
  row_vector logits = row_vector::Zero(40);
  logits(33) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(probability_of(logits, 2)));
}

TEST(probability_of, is_the_softmax) {
  const Eigen::Vector3f logits(0, std::log(2.0F), std::log(5.0F));
  EXPECT_NEAR(probability_of(logits, 0), 1.0 / 8, 1e-7);
  EXPECT_NEAR(probability_of(logits, 2), 5.0 / 8, 1e-7);
  EXPECT_NEAR(probability_of((logits.array() + 1000).matrix(), 1), 2.0 / 8,
              1e-4);  // float32 keeps 1000 + x to 6e-5
  EXPECT_EQ(probability_of(Eigen::Vector2f(-1e30F, 0), 0), 0);
  EXPECT_EQ(probability_of(Eigen::Vector2f(-std::numeric_limits<float>::infinity(), 0), 1), 1);
  EXPECT_THAT([&] { (void)probability_of(logits, 3); },
              ThrowsMessage<argument_error>(HasSubstr("token 3 is outside a vocabulary of 3")));
}

indirect_effects gathered(const row_matrix& effects, std::span<const std::int64_t> prompts) {
  indirect_effects all(effects.cols());
  for (const std::int64_t p : prompts)
    all.add(p, {effects.data() + p * effects.cols(), static_cast<std::size_t>(effects.cols())});
  return all;
}

TEST(indirect_effects, average_over_prompts) {
  indirect_effects effects(2);
  effects.add(8, std::vector<float>{0.25F, -0.5F});
  effects.add(3, std::vector<float>{0.75F, 0});
  EXPECT_THAT(effects.mean(), ElementsAre(0.5, -0.25));
  EXPECT_EQ(effects.count(), 2);
  EXPECT_THAT(effects.prompts(), ElementsAre(3, 8));
  EXPECT_EQ(effects.effects()(0, 0), 0.75F);
  EXPECT_EQ(effects.effects()(1, 1), -0.5F);
}

TEST(indirect_effects, merge_to_the_same_bits_however_they_were_split) {
  const row_matrix data = random_matrix(9, 4, 3);
  const indirect_effects whole = gathered(data, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  indirect_effects odd = gathered(data, std::vector<std::int64_t>{7, 5, 3, 1});
  odd.merge(gathered(data, std::vector<std::int64_t>{8, 0, 6, 2, 4}));
  odd.merge(indirect_effects(4));
  EXPECT_EQ(odd.effects(), whole.effects());
  EXPECT_EQ(odd.mean(), whole.mean());
  const auto a = odd.intervals({.seed = 5});
  const auto b = whole.intervals({.seed = 5});
  for (std::size_t head = 0; head < 4; ++head) {
    EXPECT_EQ(a[head].low, b[head].low);
    EXPECT_EQ(a[head].high, b[head].high);
  }
}

TEST(indirect_effects, intervals_are_those_of_each_heads_mean) {
  const row_matrix data = random_matrix(12, 3, 4);
  const auto intervals =
      gathered(data, std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).intervals({.seed = 9});
  for (index head = 0; head < 3; ++head) {
    const Eigen::VectorXd column = data.col(head).cast<double>();
    const interval expected = bootstrap_mean(std::span(column.data(), 12), {.seed = 9});
    const interval& got = intervals[static_cast<std::size_t>(head)];
    EXPECT_NEAR(got.estimate, expected.estimate, 1e-14);
    EXPECT_NEAR(got.low, expected.low, 1e-14);
    EXPECT_NEAR(got.high, expected.high, 1e-14);
    EXPECT_LT(got.low, got.estimate);
    EXPECT_GT(got.high, got.estimate);
  }
}

TEST(indirect_effects, refuse_what_would_corrupt_them) {
  indirect_effects effects(2);
  effects.add(1, std::vector<float>{1, 2});
  EXPECT_THAT(
      [&] {
        effects.add(1, std::vector<float>{1, 2});
      },
      ThrowsMessage<argument_error>(HasSubstr("prompt 1 was added before")));
  EXPECT_THAT([&] { effects.add(2, std::vector<float>{1}); },
              ThrowsMessage<argument_error>(HasSubstr("1 effects for 2 heads")));
  EXPECT_THAT(
      [&] {
        effects.add(2, std::vector<float>{1, std::nanf("")});
      },
      ThrowsMessage<argument_error>(HasSubstr("the effect of head 1 on prompt 2 is not finite")));
  EXPECT_THAT([&] { effects.merge(effects); },
              ThrowsMessage<argument_error>(HasSubstr("both parts have prompt 1")));
  EXPECT_THAT([&] { effects.merge(indirect_effects(3)); },
              ThrowsMessage<argument_error>(HasSubstr("effects of 3 heads do not merge with 2")));
  EXPECT_EQ(effects.count(), 1);
  EXPECT_THAT([] { (void)indirect_effects(2).mean(); },
              ThrowsMessage<argument_error>(HasSubstr("no prompts were added")));
  EXPECT_THAT([] { indirect_effects(0); }, ThrowsMessage<argument_error>(HasSubstr("0 heads")));
}

}  // namespace
