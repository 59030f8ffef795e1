#include "iclmech/detail/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace {

using iclmech::detail::random_stream;

TEST(random_stream, gives_the_published_splitmix64_sequence) {
  // The widely reproduced reference output of SplitMix64 for the seed 1234567.
  const std::array<std::uint64_t, 5> expected{6457827717110365317U, 3203168211198807973U,
                                              9817491932198370423U, 4593380528125082431U,
                                              16408922859458223821U};
  random_stream random(1234567);
  for (const std::uint64_t number : expected) EXPECT_EQ(random.next(), number);
}

TEST(random_stream, is_a_function_of_its_key_and_of_the_order_of_its_parts) {
  EXPECT_EQ((random_stream{1, 2}.next()), (random_stream{1, 2}.next()));
  EXPECT_NE((random_stream{1, 2}.next()), (random_stream{2, 1}.next()));
  EXPECT_NE((random_stream{1, 2}.next()), (random_stream{1, 2, 0}.next()));
  EXPECT_NE((random_stream{0, 0}.next()), (random_stream{0, 1}.next()));
}

TEST(random_stream, below_is_uniform_for_a_bound_that_is_no_power_of_two) {
  random_stream random(7);
  std::array<int, 6> count{};
  constexpr int draws = 60000;
  for (int draw = 0; draw < draws; ++draw) ++count.at(random.below(6));
  // Each count is binomial(60000, 1/6): standard deviation 91. Five of them is a one in a million chance.
  for (const int seen : count) EXPECT_NEAR(seen, draws / 6, 456);
}

TEST(random_stream, below_rejects_what_would_bias_a_bound_close_to_two_to_the_64) {
  // With a bound of 3 * 2^62 a plain remainder would land in the first third half of the time instead of a
  // third.
  constexpr std::uint64_t third = std::uint64_t{1} << 62U;
  random_stream random(11);
  int first_third = 0;
  constexpr int draws = 30000;
  for (int draw = 0; draw < draws; ++draw) first_third += random.below(3 * third) < third ? 1 : 0;
  // Binomial(30000, 1/3): standard deviation 82.
  EXPECT_NEAR(first_third, draws / 3, 410);
}

TEST(random_stream, uniform_stays_in_the_half_open_unit_interval) {
  random_stream random(3);
  double sum = 0;
  for (int draw = 0; draw < 10000; ++draw) {
    const double number = random.uniform();
    ASSERT_GE(number, 0.0);
    ASSERT_LT(number, 1.0);
    sum += number;
  }
  // The mean of 10000 has a standard deviation of 0.0029.
  EXPECT_NEAR(sum / 10000, 0.5, 0.0145);
}

TEST(random_stream, every_permutation_of_three_is_equally_likely) {
  random_stream random(5);
  std::map<std::vector<std::size_t>, int> count;
  constexpr int draws = 12000;
  for (int draw = 0; draw < draws; ++draw) ++count[random.permutation(3)];
  ASSERT_EQ(count.size(), 6U);
  // Binomial(12000, 1/6): standard deviation 41.
  for (const auto& [order, seen] : count) EXPECT_NEAR(seen, draws / 6, 205);
}

TEST(random_stream, works_at_compile_time) {
  constexpr std::uint64_t first = random_stream(1234567).next();
  static_assert(first == 6457827717110365317U);
  EXPECT_EQ(first, 6457827717110365317U);
}

}  // namespace
