#include "iclmech/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random_matrix.hpp"

namespace {

using iclmech::argument_error;
using iclmech::bootstrap;
using iclmech::bootstrap_mean;
using iclmech::bootstrap_options;
using iclmech::gini;
using iclmech::index;
using iclmech::interval;
using iclmech::row_matrix;
using iclmech::running_mean;
using iclmech::top_share;
using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(running_mean, has_the_mean_and_variance_of_all_observations) {
  const row_matrix data = random_matrix(20, 3, 1);
  running_mean means(3);
  for (index i = 0; i < 20; ++i) means.add(data.row(i));
  const Eigen::ArrayXXd wide = data.cast<double>().array();
  const Eigen::ArrayXd mean = wide.colwise().mean().transpose();
  const Eigen::ArrayXd variance =
      (wide.rowwise() - mean.transpose()).square().colwise().sum().transpose() / 19;
  EXPECT_EQ(means.count(), 20);
  EXPECT_TRUE(means.mean().isApprox(mean, 1e-14));
  EXPECT_TRUE(means.variance().isApprox(variance, 1e-13));
}

TEST(running_mean, keeps_small_differences_on_a_large_offset) {
  running_mean means(1);
  for (const double x : {1e9 + 1, 1e9 + 2, 1e9 + 3}) means.add(Eigen::Array<double, 1, 1>(x));
  EXPECT_NEAR(means.variance()(0), 1,
              1e-6);  // the textbook formula, mean of squares less square, gives 0 here
}

TEST(running_mean, merges_parts_of_any_size_in_any_order) {
  const row_matrix data = random_matrix(30, 4, 2);
  running_mean whole(4);
  for (index i = 0; i < 30; ++i) whole.add(data.row(i));
  for (const index cut : {0, 1, 7, 29, 30}) {
    running_mean head(4);
    running_mean tail(4);
    for (index i = 0; i < 30; ++i) (i < cut ? head : tail).add(data.row(i));
    tail.merge(head);
    EXPECT_EQ(tail.count(), 30);
    EXPECT_TRUE(tail.mean().isApprox(whole.mean(), 1e-13));
    EXPECT_TRUE(tail.variance().isApprox(whole.variance(), 1e-13));
  }
}

TEST(running_mean, carries_on_from_a_stored_state) {
  const row_matrix data = random_matrix(6, 2, 3);
  running_mean whole(2);
  for (index i = 0; i < 3; ++i) whole.add(data.row(i));
  running_mean resumed(whole.count(), whole.mean(), whole.squared_deviations());
  for (index i = 3; i < 6; ++i) {
    whole.add(data.row(i));
    resumed.add(std::span(data.data() + 2 * i, 2));
  }
  EXPECT_TRUE((resumed.mean() == whole.mean()).all());
  EXPECT_TRUE((resumed.variance() == whole.variance()).all());
}

TEST(running_mean, has_no_variance_of_one_observation) {
  running_mean means(1);
  EXPECT_EQ(means.mean()(0), 0);
  means.add(Eigen::Array<double, 1, 1>(4.0));
  EXPECT_EQ(means.mean()(0), 4);
  EXPECT_TRUE(std::isnan(means.variance()(0)));
}

TEST(running_mean, refuses_other_sizes) {
  running_mean means(2);
  EXPECT_THAT([&] { means.add(Eigen::Array3d(1, 2, 3)); },
              ThrowsMessage<argument_error>(HasSubstr("3 values for a mean of 2")));
  EXPECT_THAT([&] { means.merge(running_mean(3)); },
              ThrowsMessage<argument_error>(HasSubstr("3 values for a mean of 2")));
  EXPECT_THAT([] { running_mean(4, Eigen::Array2d(0, 0), Eigen::Array3d(0, 0, 0)); },
              ThrowsMessage<argument_error>(HasSubstr("2 means and 3 squared deviations")));
}

TEST(bootstrap, interval_of_a_mean_is_as_wide_as_theory_says) {
  const row_matrix data = random_matrix(200, 1, 4);
  const std::vector<double> values(data.data(), data.data() + 200);
  const interval mean = bootstrap_mean(values, {.resamples = 4000, .level = 0.9});
  EXPECT_NEAR(mean.estimate, data.cast<double>().mean(), 1e-12);
  const double deviation = std::sqrt((data.cast<double>().array() - mean.estimate).square().mean() / 200);
  // 1.645 standard errors on both sides for 90 %. The 5 % quantile of 4000 replicates has a standard error of
  // about 0.033 deviations; 0.15 is more than four of them.
  EXPECT_NEAR((mean.low - mean.estimate) / deviation, -1.645, 0.15);
  EXPECT_NEAR((mean.high - mean.estimate) / deviation, 1.645, 0.15);
}

TEST(bootstrap, depends_on_the_seed_alone) {
  const row_matrix data = random_matrix(40, 1, 6);
  const std::vector<double> values(data.data(), data.data() + 40);
  const interval first = bootstrap_mean(values, {.seed = 1});
  const interval again = bootstrap_mean(values, {.seed = 1});
  const interval other = bootstrap_mean(values, {.seed = 2});
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_NE(first.low, other.low);
}

TEST(bootstrap, gives_the_statistic_positions_in_order_first_and_then_draws) {
  std::vector<std::vector<index>> seen;
  const auto record = [&](std::span<const index> positions) {
    seen.emplace_back(positions.begin(), positions.end());
    return static_cast<double>(positions.front());
  };
  const interval result = bootstrap(3, record, {.resamples = 50});
  EXPECT_THAT(seen.front(), testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(result.estimate, 0);
  EXPECT_EQ(seen.size(), 51U);
  for (const auto& positions : seen)
    EXPECT_THAT(positions, testing::Each(testing::AllOf(testing::Ge(0), testing::Le(2))));
  EXPECT_EQ(result.low, 0);
  EXPECT_EQ(result.high, 2);
}

TEST(bootstrap, of_identical_values_has_no_width) {
  const interval mean = bootstrap_mean(std::vector<double>(10, 0.5));
  EXPECT_EQ(mean.low, 0.5);
  EXPECT_EQ(mean.high, 0.5);
}

TEST(bootstrap, passes_on_a_statistic_that_is_undefined_somewhere) {
  const interval result = bootstrap(2, [](std::span<const index> p) { return p[0] == p[1] ? nan : 1.0; });
  EXPECT_EQ(result.estimate, 1);
  EXPECT_TRUE(std::isnan(result.low));
  EXPECT_TRUE(std::isnan(result.high));
}

TEST(bootstrap, refuses_nonsense) {
  EXPECT_THAT([] { (void)bootstrap_mean({}); },
              ThrowsMessage<argument_error>(HasSubstr("no observations to draw from")));
  const std::vector<double> values{1, 2};
  EXPECT_THAT([&] { (void)bootstrap_mean(values, {.resamples = 0}); },
              ThrowsMessage<argument_error>(HasSubstr("0 resamples at level 0.95")));
  EXPECT_THAT([&] { (void)bootstrap_mean(values, {.level = 1}); },
              ThrowsMessage<argument_error>(HasSubstr("a level between 0 and 1")));
}

TEST(sorted_quantile, interpolates_between_neighbours) {
  const std::vector<double> sorted{0, 10, 20, 40};
  EXPECT_DOUBLE_EQ(iclmech::detail::sorted_quantile(sorted, 0), 0);
  EXPECT_DOUBLE_EQ(iclmech::detail::sorted_quantile(sorted, 0.5), 15);
  EXPECT_DOUBLE_EQ(iclmech::detail::sorted_quantile(sorted, 5.0 / 6), 30);
  EXPECT_DOUBLE_EQ(iclmech::detail::sorted_quantile(sorted, 1), 40);
}

TEST(concentration, gini_of_textbook_cases) {
  EXPECT_NEAR(gini(std::vector<double>{3, 3, 3, 3}), 0, 1e-15);
  EXPECT_DOUBLE_EQ(gini(std::vector<double>{0, 0, 5, 0}), 0.75);
  EXPECT_DOUBLE_EQ(gini(std::vector<double>{1, 2, 3, 4}), 0.25);
  EXPECT_NEAR(gini(std::vector<double>{0, 0}), 0, 1e-15);
}

TEST(concentration, gini_is_half_the_relative_mean_difference) {
  const row_matrix data = random_matrix(25, 1, 5).cwiseAbs();
  const std::vector<double> values(data.data(), data.data() + 25);
  double differences = 0;
  double total = 0;
  for (const double x : values) {
    total += x;
    for (const double y : values) differences += std::abs(x - y);
  }
  EXPECT_NEAR(gini(values), differences / (2 * 25 * total), 1e-12);
}

TEST(concentration, top_share_adds_the_largest) {
  const std::vector<double> values{1, 5, 0, 4};
  EXPECT_DOUBLE_EQ(top_share(values, 1), 0.5);
  EXPECT_DOUBLE_EQ(top_share(values, 2), 0.9);
  EXPECT_DOUBLE_EQ(top_share(values, 4), 1);
  EXPECT_DOUBLE_EQ(top_share(std::vector<double>{0, 0, 0, 0}, 1), 0.25);
}

TEST(concentration, refuses_what_has_no_shares) {
  EXPECT_THAT([] { (void)gini({}); }, ThrowsMessage<argument_error>(HasSubstr("gini: there are no values")));
  EXPECT_THAT(
      [] {
        (void)gini(std::vector<double>{1, -0.5});
      },
      ThrowsMessage<argument_error>(HasSubstr("value 1 is -0.5")));
  EXPECT_THAT([] { (void)top_share(std::vector<double>{nan}, 1); },
              ThrowsMessage<argument_error>(HasSubstr("top_share: value 0 is nan")));
  EXPECT_THAT([] { (void)top_share(std::vector<double>{1}, 2); },
              ThrowsMessage<argument_error>(HasSubstr("the top 2 of 1 values")));
}

}  // namespace
