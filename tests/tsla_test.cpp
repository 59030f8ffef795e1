#include "iclmech/tsla.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::running_mean;
using iclmech::tsla_means;
using iclmech::tsla_score;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(tsla_means, averages_over_prompts) {
  tsla_means means(2);
  means.add(std::vector<tsla_score>{{1, -1}, {10, 0.5}});
  means.add(std::vector<tsla_score>{{3, 2}, {20, 0.25}});
  EXPECT_EQ(means.count(), 2);
  EXPECT_DOUBLE_EQ(means.tr().mean()(0), 2);
  EXPECT_DOUBLE_EQ(means.tr().mean()(1), 15);
  EXPECT_DOUBLE_EQ(means.tl().mean()(0), 0.5);
  EXPECT_DOUBLE_EQ(means.tl().mean()(1), 0.375);
}

TEST(tsla_means, merges_and_carries_on_from_a_stored_state) {
  const std::vector<tsla_score> first{{1, -1}};
  const std::vector<tsla_score> second{{4, 5}};
  tsla_means all(1);
  all.add(first);
  all.add(second);
  tsla_means one(1);
  one.add(first);
  tsla_means two(1);
  two.add(second);
  tsla_means resumed(one.tr(), one.tl());
  resumed.merge(two);
  EXPECT_EQ(resumed.count(), 2);
  EXPECT_DOUBLE_EQ(resumed.tr().mean()(0), all.tr().mean()(0));
  EXPECT_DOUBLE_EQ(resumed.tl().variance()(0), all.tl().variance()(0));
}

TEST(tsla_means, refuses_parts_that_do_not_belong_together) {
  EXPECT_THAT([] { tsla_means(running_mean(2), running_mean(3)); },
              ThrowsMessage<argument_error>(HasSubstr("TR of 2 heads over 0 prompts and TL of 3 heads")));
  tsla_means means(2);
  EXPECT_THAT([&] { means.add(std::vector<tsla_score>(3)); },
              ThrowsMessage<argument_error>(HasSubstr("3 values for a mean of 2")));
}

}  // namespace
