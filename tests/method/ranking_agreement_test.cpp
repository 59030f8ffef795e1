#include "iclmech/method/ranking_agreement.hpp"

#include <gtest/gtest.h>

#include <set>

namespace iclmech {
namespace {

TEST(ranking_agreement, of_a_ranking_with_itself_and_with_its_reverse) {
  const std::vector<double> up{1, 2, 3, 4, 5}, down{5, 4, 3, 2, 1};
  const ranking_agreement same = compare_rankings(up, up, 0.4), opposite = compare_rankings(up, down, 0.4);
  EXPECT_DOUBLE_EQ(same.jaccard, 1.0);
  EXPECT_DOUBLE_EQ(same.kendall, 1.0);
  EXPECT_DOUBLE_EQ(same.first_in_second, 87.5);  // the best outranks all four others, the next three of them
  EXPECT_DOUBLE_EQ(opposite.jaccard, 0.0);
  EXPECT_DOUBLE_EQ(opposite.spearman, -1.0);
  EXPECT_DOUBLE_EQ(opposite.second_in_first, 12.5);
}

/// Two prompts that rank three heads in opposite ways, and unequally strongly.
Eigen::MatrixXd two_prompts() {
  Eigen::MatrixXd each(2, 3);
  each << 1, 2, 3,  //
      6, 4, 2;
  return each;
}

TEST(resample_scores, draws_prompts_with_replacement) {
  const resampled_scores s = resample_scores(two_prompts(), {.resamples = 200});
  EXPECT_EQ(s.means, (std::vector<double>{3.5, 3.0, 2.5}));
  ASSERT_EQ(s.resamples.size(), 200U);
  // Of two prompts there are three draws: the first twice, each once, the second twice.
  EXPECT_EQ(std::set(s.resamples.begin(), s.resamples.end()),
            (std::set<std::vector<double>>{{1, 2, 3}, {3.5, 3.0, 2.5}, {6, 4, 2}}));
}

TEST(resample_scores, draws_the_same_for_the_same_seed) {
  const Eigen::MatrixXd each = two_prompts();
  EXPECT_EQ(resample_scores(each, {.seed = 4}).resamples, resample_scores(each, {.seed = 4}).resamples);
  EXPECT_NE(resample_scores(each, {.seed = 4}).resamples, resample_scores(each, {.seed = 5}).resamples);
}

TEST(resample_scores, needs_prompts) { EXPECT_THROW(resample_scores(Eigen::MatrixXd(0, 3)), argument_error); }

TEST(bootstrap_agreement, of_scores_that_move_together_is_certain) {
  const resampled_scores s = resample_scores(two_prompts());
  const agreement_intervals r = bootstrap_agreement(s, s, 0.34);
  for (const interval& i : {r.jaccard, r.kendall, r.spearman}) {
    EXPECT_DOUBLE_EQ(i.estimate, 1.0);
    EXPECT_DOUBLE_EQ(i.low, 1.0);
    EXPECT_DOUBLE_EQ(i.high, 1.0);
  }
}

// Against a certain ranking 1 < 2 < 3 the draws have a tau of 1 (the first prompt twice, a quarter of them)
// or -1, and their top head is the third or the first.
TEST(bootstrap_agreement, with_certain_scores_is_that_of_the_draws) {
  const resampled_scores certain{{1, 2, 3}, {}};
  const agreement_intervals r = bootstrap_agreement(resample_scores(two_prompts()), certain, 0.34);
  EXPECT_DOUBLE_EQ(r.kendall.estimate, -1.0);
  EXPECT_DOUBLE_EQ(r.kendall.low, -1.0);
  EXPECT_DOUBLE_EQ(r.kendall.high, 1.0);
  EXPECT_DOUBLE_EQ(r.jaccard.estimate, 0.0);
  EXPECT_DOUBLE_EQ(r.jaccard.low, 0.0);
  EXPECT_DOUBLE_EQ(r.jaccard.high, 1.0);
  EXPECT_DOUBLE_EQ(r.first_in_second.low, 0.0);
  EXPECT_DOUBLE_EQ(r.first_in_second.high, 100.0);
  // A quarter of the draws is more than the 2.5 % that an interval of 95 % leaves out, less than 50 %.
  EXPECT_DOUBLE_EQ(bootstrap_agreement(resample_scores(two_prompts()), certain, 0.34, 0.4).kendall.high,
                   -1.0);
}

TEST(bootstrap_agreement, of_different_prompts_is_less_certain_than_of_the_same) {
  const resampled_scores a = resample_scores(two_prompts(), {.seed = 1}),
                         b = resample_scores(two_prompts(), {.seed = 2});
  const agreement_intervals r = bootstrap_agreement(a, b, 0.34);
  EXPECT_DOUBLE_EQ(r.spearman.estimate, 1.0);
  EXPECT_DOUBLE_EQ(r.spearman.low, -1.0);
}

TEST(bootstrap_agreement, without_resamples_has_no_interval) {
  const resampled_scores certain{{1, 2, 3}, {}};
  const interval i = bootstrap_agreement(certain, certain, 0.34).spearman;
  EXPECT_DOUBLE_EQ(i.estimate, 1.0);
  EXPECT_TRUE(std::isnan(i.low) && std::isnan(i.high));
}

TEST(bootstrap_agreement, needs_as_many_resamples_of_both) {
  const resampled_scores a = resample_scores(two_prompts(), {.resamples = 10}),
                         b = resample_scores(two_prompts(), {.resamples = 20});
  EXPECT_THROW(bootstrap_agreement(a, b), argument_error);
}

}  // namespace
}  // namespace iclmech
