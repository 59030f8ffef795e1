#include "iclmech/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>
#include <limits>

#include "support/random_matrix.hpp"

namespace {

using namespace iclmech;
using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

const label_subspace& plane() {
  static const label_subspace labels(
      [] {
        row_matrix rows(2, 3);
        rows << 1, 0, 0, 0, 2, 0;
        return rows;
      }(),
      label_set({1, 2}));
  return labels;
}

TEST(geometry_of, a_case_done_by_hand) {
  const stream_geometry g = geometry_of(plane(), Eigen::Vector3f(3, 4, 12), 1);
  EXPECT_NEAR(g.alignment, 5.0 / 13, 1e-6);
  EXPECT_NEAR(g.logit_difference, 8 - 3, 1e-6);
  EXPECT_NEAR(g.rotation, 4.0 / 5, 1e-6);
}

TEST(geometry_of, agrees_with_an_explicit_projector) {
  const row_matrix rows = random_matrix(3, 24, 1);
  const label_subspace labels(rows, label_set({1, 2, 3}));
  const Eigen::MatrixXd q =
      rows.cast<double>().transpose().householderQr().householderQ() * Eigen::MatrixXd::Identity(24, 3);
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    const vector x = random_matrix(24, 1, seed);
    const Eigen::VectorXd projected = q * (q.transpose() * x.cast<double>());
    const stream_geometry g = geometry_of(labels, x, 0);
    EXPECT_NEAR(g.alignment, x.cast<double>().dot(projected) / (x.cast<double>().norm() * projected.norm()),
                1e-6);
    const Eigen::VectorXd answer = rows.row(0).transpose().cast<double>();
    EXPECT_NEAR(g.rotation, projected.dot(answer) / (projected.norm() * answer.norm()), 1e-5);
  }
}

TEST(geometry_of, a_stream_outside_the_subspace_is_all_zero) {
  const stream_geometry g = geometry_of(plane(), Eigen::Vector3f(0, 0, 7), 0);
  EXPECT_EQ(g.alignment, 0);
  EXPECT_EQ(g.logit_difference, 0);
  EXPECT_EQ(g.rotation, 0);
  EXPECT_EQ(geometry_of(plane(), Eigen::Vector3f(0, 0, 0), 0).alignment, 0);
}

TEST(geometry_of, refuses_what_scoring_refuses) {
  EXPECT_THAT([] { (void)geometry_of(plane(), Eigen::Vector3f(1, 2, 3), 2); },
              ThrowsMessage<argument_error>(HasSubstr("answer 2 is not a position")));
  EXPECT_THAT([] { (void)geometry_of(plane(), Eigen::Vector2f(1, 2), 0); },
              ThrowsMessage<argument_error>(HasSubstr("write has 2 values")));
}

TEST(effect_of_adding, aligns_or_rotates) {
  // A write along the present projection aligns and does not rotate; one across it rotates.
  const Eigen::Vector3f stream(1, 1, 5);
  const geometry_change aligned = effect_of_adding(plane(), stream, Eigen::Vector3f(3, 3, 0), 0);
  EXPECT_GT(aligned.after.alignment, 2 * aligned.before.alignment);
  EXPECT_NEAR(aligned.after.rotation, aligned.before.rotation, 1e-6);
  const row_matrix writes = (row_matrix(1, 3) << 1, -1, 0).finished();
  const geometry_change rotated = effect_of_adding(plane(), stream, writes.row(0), 0);
  EXPECT_NEAR(rotated.after.rotation, 1, 1e-6);
  EXPECT_NEAR(rotated.after.logit_difference - rotated.before.logit_difference, 3, 1e-6);
  EXPECT_THAT([&] { (void)effect_of_adding(plane(), stream, Eigen::Vector2f(1, 2), 0); },
              ThrowsMessage<argument_error>(HasSubstr("a write of 2 values to a stream of 3")));
}

TEST(concentration_null, is_what_random_label_rows_show) {
  // E || P a ||^2 = k / d || a ||^2 over subspaces spanned by random rows, and the closed form's tail.
  const vector write = random_matrix(20, 1, 7);
  const concentration_null null(4, 20);
  constexpr int draws = 2000;
  const double threshold = 0.3;
  double sum = 0;
  int above = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const label_subspace labels(random_matrix(4, 20, 1000 + static_cast<std::uint64_t>(draw)),
                                label_set({1, 2, 3, 4}));
    const double fraction = std::pow(labels.projection_norm(write), 2) / write.cast<double>().squaredNorm();
    sum += fraction;
    above += fraction >= threshold;
  }
  // The share has a standard deviation of 0.087, so its mean has one of 0.002; the tail count's is under
  // 0.0085.
  EXPECT_NEAR(sum / draws, null.mean(), 0.01);
  EXPECT_NEAR(static_cast<double>(above) / draws, null.p_value(threshold), 0.04);
}

TEST(concentration_null, closed_form_and_simulation_agree) {
  constexpr std::int64_t draws = 20000;
  for (const auto& [k, d] : {std::pair{1, 8}, std::pair{4, 32}, std::pair{3, 64}, std::pair{5, 6}}) {
    const concentration_null null(k, d);
    for (const double factor : {0.5, 1.0, 1.5}) {
      const double fraction = std::min(factor * null.mean(), 0.95);
      // Five standard errors of a share of 20000 draws are at most 0.018.
      EXPECT_NEAR(null.monte_carlo_p_value(fraction, draws, 3), null.p_value(fraction), 0.018)
          << k << " of " << d;
    }
  }
}

TEST(concentration_null, bound_is_above_the_exact_tail_and_close_to_it_far_out) {
  for (const auto& [k, d] : {std::pair{1, 16}, std::pair{4, 576}, std::pair{9, 2048}, std::pair{100, 576}}) {
    const concentration_null null(k, d);
    for (double fraction = 0.001; fraction < 1; fraction += 0.037)
      EXPECT_LE(null.log_p_value(fraction), null.log_tail_bound(fraction))
          << k << " of " << d << " at " << fraction;
    EXPECT_LT(null.log_tail_bound(0.9) / null.log_p_value(0.9), 1);
    EXPECT_GT(null.log_tail_bound(0.9) / null.log_p_value(0.9), 0.8);
  }
}

TEST(concentration_null, has_its_ends) {
  const concentration_null null(3, 300);
  EXPECT_DOUBLE_EQ(null.mean(), 0.01);
  EXPECT_EQ(null.p_value(0), 1);
  EXPECT_EQ(null.p_value(1), 0);
  EXPECT_EQ(null.tail_bound(0.01), 1);
  EXPECT_EQ(null.tail_bound(1), 0);
  EXPECT_LT(concentration_null(3, 4096).log_p_value(0.9), -4000);  // far below the smallest double
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(null.p_value(nan)));
  EXPECT_TRUE(std::isnan(null.tail_bound(nan)));
  EXPECT_DOUBLE_EQ(null.monte_carlo_p_value(1, 99, 0), 0.01);  // no hit in 99 draws
}

TEST(concentration_null, refuses_what_is_no_proper_subspace) {
  EXPECT_THAT([] { concentration_null(0, 5); },
              ThrowsMessage<argument_error>(HasSubstr("a subspace of dimension 0 in R^5")));
  EXPECT_THAT([] { concentration_null(5, 5); },
              ThrowsMessage<argument_error>(HasSubstr("below that of the space")));
  EXPECT_THAT([] { (void)concentration_null(1, 5).monte_carlo_p_value(0.5, 0, 1); },
              ThrowsMessage<argument_error>(HasSubstr("0 draws")));
}

}  // namespace
