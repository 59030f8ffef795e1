#include "iclmech/logit_attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iclmech/label_subspace.hpp"
#include "support/random_matrix.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(logit_attribution, of_coordinates_done_by_hand) {
  const Eigen::Vector3f c(1, 4, -2);
  EXPECT_DOUBLE_EQ(dla_sum(c), 3);
  EXPECT_DOUBLE_EQ(dla_answer(c, 1), 4);
  EXPECT_DOUBLE_EQ(logit_difference(c, 1), 4.5);
  EXPECT_DOUBLE_EQ(logit_difference(c, 2), -4.5);
}

TEST(logit_attribution, tl_is_the_logit_difference_over_tr) {
  const label_subspace labels(random_matrix(4, 32, 1), label_set({1, 2, 3, 4}));
  const vector write = random_matrix(32, 1, 2);
  const tsla_score score = labels.score(write, 3);
  // float32 dot products of length 32 on both sides
  EXPECT_NEAR(score.tl * score.tr, logit_difference(labels.coordinates(write), 3), 1e-4);
}

TEST(logit_attribution, rms_scale_is_the_denominator_of_the_norm) {
  EXPECT_DOUBLE_EQ(rms_scale(Eigen::Vector4f(1, 1, 3, 5), 0), 3);
  EXPECT_DOUBLE_EQ(rms_scale(Eigen::RowVector2f(0, 0), 0.25), 0.5);
  EXPECT_THAT([] { (void)rms_scale(vector(), 1e-5); },
              ThrowsMessage<argument_error>(HasSubstr("the residual stream is empty")));
}

TEST(logit_attribution, with_the_norm_frozen_all_writes_add_up_to_the_models_logits) {
  constexpr double epsilon = 1e-5;
  const row_matrix writes = random_matrix(20, 48, 3);
  const vector gain = random_matrix(48, 1, 4);
  const row_matrix unembedding = random_matrix(5, 48, 5);
  const vector stream = writes.colwise().sum().transpose();
  const double scale = rms_scale(stream, epsilon);
  const vector normed = gain.cwiseProduct(stream) / static_cast<float>(scale);
  const vector logits = unembedding * normed;

  const label_subspace labels(unembedding * gain.asDiagonal(), label_set({1, 2, 3, 4, 5}));
  double sum = 0;
  double answer = 0;
  double difference = 0;
  for (index i = 0; i < writes.rows(); ++i) {
    const vector c = labels.coordinates(writes.row(i));
    sum += dla_sum(c) / scale;
    answer += dla_answer(c, 2) / scale;
    difference += logit_difference(c, 2) / scale;
  }
  // Twenty float32 sums of 48 numbers of order one.
  EXPECT_NEAR(sum, dla_sum(logits), 1e-4);
  EXPECT_NEAR(answer, logits(2), 1e-4);
  EXPECT_NEAR(difference, logit_difference(logits, 2), 1e-4);
}

TEST(logit_attribution, refuses_answers_that_do_not_fit) {
  const Eigen::Vector2f c(1, 2);
  EXPECT_THAT(
      [&] { (void)dla_answer(c, 2); },
      ThrowsMessage<argument_error>(HasSubstr("dla_answer: answer 2 is not a position in a set of 2")));
  EXPECT_THAT([&] { (void)logit_difference(c, -1); },
              ThrowsMessage<argument_error>(HasSubstr("logit_difference: answer -1 is not a position")));
  EXPECT_THAT([&] { (void)logit_difference(c.head(1), 0); },
              ThrowsMessage<argument_error>(HasSubstr("one label has no others to differ from")));
}

}  // namespace
