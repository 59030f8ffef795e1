#include "iclmech/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "iclmech/detail/random.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Scores with many ties: whole numbers under `levels`.
std::vector<double> tied_scores(std::size_t count, std::uint64_t levels, std::uint64_t seed) {
  detail::random_stream random{seed};
  std::vector<double> scores(count);
  for (double& score : scores) score = static_cast<double>(random.below(levels));
  return scores;
}

// Kendall's tau-b by its definition: every pair once.
double tau_b_by_pairs(const std::vector<double>& a, const std::vector<double>& b) {
  double balance = 0;
  double untied_a = 0;
  double untied_b = 0;
  const auto sign = [](double x) { return static_cast<double>((x > 0) - (x < 0)); };
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double in_a = sign(a[i] - a[j]);
      const double in_b = sign(b[i] - b[j]);
      balance += in_a * in_b;
      untied_a += in_a * in_a;
      untied_b += in_b * in_b;
    }
  return balance / std::sqrt(untied_a * untied_b);
}

TEST(top_positions, are_sorted_by_score_and_then_position) {
  const std::vector<double> scores{1, 7, 3, 7, -2, 3};
  EXPECT_THAT(top_positions(scores, 4), ElementsAre(1, 3, 2, 5));
  EXPECT_THAT(top_positions(scores, 3), ElementsAre(1, 3, 2));
  EXPECT_THAT(top_positions(std::vector<double>{2, 2, 2}, 2), ElementsAre(0, 1));
  EXPECT_THAT([&] { (void)top_positions(scores, 7); },
              ThrowsMessage<argument_error>(HasSubstr("the top 7 of 6 heads")));
}

TEST(top_count, rounds_down_and_is_at_least_one) {
  EXPECT_EQ(top_count(270, 0.03), 8);  // 8.1
  EXPECT_EQ(top_count(100, 0.03), 3);  // 0.03 is no binary fraction
  EXPECT_EQ(top_count(299, 0.03), 8);  // 8.97
  EXPECT_EQ(top_count(12, 0.03), 1);
  EXPECT_EQ(top_count(5, 1), 5);
  for (index heads = 1; heads <= 2000; ++heads)
    ASSERT_EQ(top_count(heads, 0.03), std::max<index>(1, 3 * heads / 100)) << heads;
  EXPECT_THAT([] { (void)top_count(10, 0); }, ThrowsMessage<argument_error>(HasSubstr("must be in (0, 1]")));
  EXPECT_THAT([] { (void)top_count(0, 0.5); }, ThrowsMessage<argument_error>(HasSubstr("of 0 heads")));
}

TEST(top_fraction, takes_the_share_from_the_number_of_heads) {
  std::vector<double> scores(100, 0.0);
  scores[40] = 3;
  scores[7] = 5;
  EXPECT_THAT(top_fraction(scores), ElementsAre(7, 40, 0));
}

TEST(jaccard, compares_sets) {
  using heads = std::vector<int>;
  EXPECT_DOUBLE_EQ(jaccard(heads{3, 1, 2}, heads{2, 3, 4}), 0.5);
  EXPECT_DOUBLE_EQ(jaccard(heads{1, 2}, heads{2, 1}), 1);
  EXPECT_DOUBLE_EQ(jaccard(heads{1}, heads{2}), 0);
  EXPECT_DOUBLE_EQ(jaccard(heads{1, 1, 2}, heads{2, 2}), 0.5);
  EXPECT_DOUBLE_EQ(jaccard(heads{}, heads{}), 1);
  EXPECT_DOUBLE_EQ(jaccard(heads{}, heads{1}), 0);
  EXPECT_DOUBLE_EQ(jaccard(std::vector<std::string>{"L1H2"}, std::vector<std::string>{"L1H2", "L3H4"}), 0.5);
}

TEST(average_ranks, share_the_ranks_of_ties) {
  EXPECT_THAT(average_ranks(std::vector<double>{10, 30, 20, 10, 10}), ElementsAre(2, 5, 4, 2, 2));
}

TEST(kendall_tau_b, of_cases_done_by_hand) {
  const std::vector<double> up{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, up), 1);
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, std::vector<double>{4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, std::vector<double>{1, 3, 2, 4}), 4.0 / 6);
  // Five untied pairs in a, five in b, four pairs agree in order, one is tied in each.
  EXPECT_DOUBLE_EQ(kendall_tau_b(std::vector<double>{1, 1, 2, 3}, std::vector<double>{1, 2, 2, 3}), 4.0 / 5);
}

TEST(kendall_tau_b, equals_the_sum_over_pairs_on_data_with_ties) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t count = 2 + seed * 2;
    const auto a = tied_scores(count, 2 + seed % 9, 2 * seed);
    const auto b = tied_scores(count, 2 + seed % 13, 2 * seed + 1);
    const double expected = tau_b_by_pairs(a, b);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(kendall_tau_b(a, b)));
    else
      EXPECT_NEAR(kendall_tau_b(a, b), expected, 1e-12) << "seed " << seed;
  }
}

TEST(kendall_tau_b, does_not_overflow_on_long_rankings) {
  std::vector<double> up(200000);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = static_cast<double>(i);
  const std::vector<double> down(up.rbegin(), up.rend());
  EXPECT_DOUBLE_EQ(kendall_tau_b(up, down), -1);
}

TEST(spearman, of_cases_done_by_hand) {
  const std::vector<double> up{1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(spearman(up, std::vector<double>{1, 4, 9, 16, 25}), 1);
  EXPECT_DOUBLE_EQ(spearman(up, std::vector<double>{5, 4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(spearman(up, std::vector<double>{2, 1, 4, 3, 5}), 0.8);  // 1 - 6 * 4 / (5 * 24)
  // Ranks 1.5 1.5 3 and 1 2.5 2.5: covariance 0.75, both variances 1.5.
  EXPECT_DOUBLE_EQ(spearman(std::vector<double>{1, 1, 2}, std::vector<double>{1, 2, 2}), 0.5);
}

TEST(rank_correlations, are_undefined_where_one_ranking_is_all_ties) {
  const std::vector<double> flat(5, 1.0);
  const std::vector<double> up{1, 2, 3, 4, 5};
  EXPECT_TRUE(std::isnan(kendall_tau_b(flat, up)));
  EXPECT_TRUE(std::isnan(spearman(up, flat)));
}

TEST(conditional_mean_percentage, is_the_mean_percentile_of_the_top_heads) {
  const std::vector<double> a{9, 8, 1, 2, 3, 4, 5, 6, 7, 0, 0};
  std::vector<double> b{10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_DOUBLE_EQ(conditional_mean_percentage(a, a, 0.1), 100);
  EXPECT_DOUBLE_EQ(conditional_mean_percentage(a, b, 0.1), 100);  // head 0 is first in both
  EXPECT_DOUBLE_EQ(conditional_mean_percentage(a, b, 0.2), 50);   // heads 0 and 1: 100 and 0
  EXPECT_DOUBLE_EQ(conditional_mean_percentage(a, b, 1), 50);     // all heads: 50, whatever b
  b[0] = 5;                                                       // tied with head 6: above 5, below 4
  EXPECT_DOUBLE_EQ(conditional_mean_percentage(a, b, 0.1), 55);
}

TEST(rankings, refuse_what_cannot_be_compared) {
  const std::vector<double> two{1, 2};
  const std::vector<double> three{1, 2, 3};
  EXPECT_THAT([&] { (void)kendall_tau_b(two, three); },
              ThrowsMessage<argument_error>(HasSubstr("kendall_tau_b: rankings of 2 and 3 heads")));
  EXPECT_THAT(
      [&] {
        (void)spearman(two, std::vector<double>{1, nan});
      },
      ThrowsMessage<argument_error>(HasSubstr("spearman: score 1 is NaN")));
  EXPECT_THAT([] { (void)top_fraction({}); },
              ThrowsMessage<argument_error>(HasSubstr("top_fraction: the ranking is empty")));
  const std::vector<double> one{1};
  EXPECT_THAT([&] { (void)conditional_mean_percentage(one, one); },
              ThrowsMessage<argument_error>(HasSubstr("one head alone has no percentile")));
}

}  // namespace
