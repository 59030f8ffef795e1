#include "iclmech/folded_labels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random_matrix.hpp"

namespace {

using iclmech::argument_error;
using iclmech::folded_labels;
using iclmech::index;
using iclmech::label_set;
using iclmech::label_subspace;
using iclmech::row_matrix;
using iclmech::tsla_score;
using iclmech::vector;
using iclmech::test::random_matrix;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr index width = 48;
constexpr index heads = 5;
constexpr index head_width = 12;

struct folded_labels_test : testing::Test {
  row_matrix projection = random_matrix(width, heads* head_width, 1);
  row_matrix outputs = random_matrix(3, heads* head_width, 2);
  label_subspace labels{random_matrix(4, width, 3), label_set({5, 6, 7, 8})};
  folded_labels folded{labels, projection, heads};

  [[nodiscard]] vector write_of(index row, index head) const {
    return projection.middleCols(head * head_width, head_width) *
           outputs.row(row).segment(head * head_width, head_width).transpose();
  }
};

TEST_F(folded_labels_test, scores_every_head_as_its_write_scores) {
  EXPECT_EQ(folded.heads(), heads);
  EXPECT_EQ(folded.head_width(), head_width);
  EXPECT_EQ(folded.rank(), 4);
  std::vector<tsla_score> scores(heads);
  for (index row = 0; row < outputs.rows(); ++row) {
    folded.scores(outputs.row(row), row, scores);
    for (index head = 0; head < heads; ++head) {
      const tsla_score expected = labels.score(write_of(row, head), row);
      // Two float32 products in another order: 1e-7 of numbers of order 20, divided by a TR of order 5.
      EXPECT_NEAR(scores[static_cast<std::size_t>(head)].tr, expected.tr, 1e-5 * expected.tr);
      EXPECT_NEAR(scores[static_cast<std::size_t>(head)].tl, expected.tl, 1e-5);
    }
  }
}

TEST_F(folded_labels_test, gives_every_heads_label_coordinates) {
  row_matrix c(heads, 4);
  const std::span<const float> z(outputs.data(), heads * head_width);
  folded.coordinates(z, {c.data(), heads * 4}, 0.5F);
  for (index head = 0; head < heads; ++head)
    EXPECT_TRUE(c.row(head).transpose().isApprox(0.5F * labels.coordinates(write_of(0, head)), 1e-5F));
  // Linear: the heads' coordinates add up to those of the mixer's whole write.
  const vector whole = projection * outputs.row(0).transpose();
  EXPECT_TRUE(c.colwise().sum().transpose().isApprox(0.5F * labels.coordinates(whole), 1e-5F));
}

TEST_F(folded_labels_test, a_frozen_norm_scales_tr_and_leaves_tl) {
  std::vector<tsla_score> plain(heads);
  std::vector<tsla_score> scaled(heads);
  folded.scores(outputs.row(1), 2, plain);
  folded.scores(outputs.row(1), 2, scaled, 0.25F);
  for (std::size_t head = 0; head < plain.size(); ++head) {
    EXPECT_DOUBLE_EQ(scaled[head].tr, 0.25 * plain[head].tr);
    EXPECT_DOUBLE_EQ(scaled[head].tl, plain[head].tl);
  }
}

TEST_F(folded_labels_test, reads_plain_spans) {
  const folded_labels from_span(labels, std::span(projection.data(), width * heads * head_width), heads);
  const std::vector<float> z(outputs.data(), outputs.data() + heads * head_width);
  std::vector<tsla_score> expected(heads);
  std::vector<tsla_score> scores(heads);
  folded.scores(outputs.row(0), 0, expected);
  from_span.scores(z, 0, scores);
  for (std::size_t head = 0; head < scores.size(); ++head) EXPECT_EQ(scores[head].tr, expected[head].tr);
}

TEST_F(folded_labels_test, keeps_near_parallel_labels_exact) {
  row_matrix rows = random_matrix(2, width, 4);
  rows.row(1) = rows.row(0) + 1e-3F * rows.row(1);
  const label_subspace close(rows, label_set({1, 2}));
  std::vector<tsla_score> scores(heads);
  folded_labels(close, projection, heads).scores(outputs.row(0), 0, scores);
  for (index head = 0; head < heads; ++head) {
    const double expected = close.projection_norm(write_of(0, head));
    EXPECT_NEAR(scores[static_cast<std::size_t>(head)].tr, expected, 1e-5 * expected);
  }
}

TEST_F(folded_labels_test, passes_on_nan_to_its_own_head_alone) {
  outputs(0, head_width) = std::numeric_limits<float>::quiet_NaN();
  std::vector<tsla_score> scores(heads);
  folded.scores(outputs.row(0), 0, scores);
  EXPECT_TRUE(std::isnan(scores[1].tr));
  EXPECT_TRUE(std::isnan(scores[1].tl));
  EXPECT_TRUE(std::isfinite(scores[0].tl));
  EXPECT_TRUE(std::isfinite(scores[2].tl));
}

TEST_F(folded_labels_test, refuses_what_does_not_fit) {
  EXPECT_THAT(
      [&] { folded_labels(labels, random_matrix(width + 1, 8, 1), 2); },
      ThrowsMessage<argument_error>(AllOf(HasSubstr("writes 49 values"), HasSubstr("have 48 (d_model)"))));
  EXPECT_THAT(
      [&] { folded_labels(labels, projection, 7); },
      ThrowsMessage<argument_error>(HasSubstr("60 columns of the output projection do not divide into 7")));
  EXPECT_THAT([&] { folded_labels(labels, std::vector<float>(50), 1); },
              ThrowsMessage<argument_error>(HasSubstr("50 floats do not divide into 48 rows")));
  std::vector<tsla_score> scores(heads);
  EXPECT_THAT([&] { folded.scores(std::vector<float>(7), 0, scores); },
              ThrowsMessage<argument_error>(HasSubstr("7 head outputs for 5 heads of width 12")));
  EXPECT_THAT([&] { folded.scores(outputs.row(0), 4, scores); },
              ThrowsMessage<argument_error>(HasSubstr("answer 4 is not a position")));
  scores.resize(3);
  EXPECT_THAT([&] { folded.scores(outputs.row(0), 0, scores); },
              ThrowsMessage<argument_error>(HasSubstr("room for 3 scores, but there are 5 heads")));
  std::vector<float> c(3);
  EXPECT_THAT([&] { folded.coordinates(std::span<const float>(outputs.data(), 60), c); },
              ThrowsMessage<argument_error>(HasSubstr("room for 3 label coordinates, but 5 heads have 20")));
}

}  // namespace
