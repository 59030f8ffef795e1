#include "iclmech/detail/fast_exp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using iclmech::detail::fast_exp;

double worst_error(float first, float last) {
  double worst = 0;
  for (float x = first; x < last; x = std::nextafter(x + std::abs(x) * 2e-6F, last)) {
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(fast_exp(x) - exact) / exact);
  }
  return worst;
}

TEST(fast_exp, is_within_two_roundings_where_float_is_normal) {
  EXPECT_LT(worst_error(-87.0F, -1e-6F), 1.2e-7);
  EXPECT_LT(worst_error(1e-6F, 87.0F), 1.2e-7);
  EXPECT_EQ(fast_exp(0.0F), 1.0F);
  EXPECT_EQ(fast_exp(-0.0F), 1.0F);
  EXPECT_EQ(fast_exp(std::numeric_limits<float>::denorm_min()), 1.0F);
}

TEST(fast_exp, ends_in_zero_below_and_in_a_finite_number_above) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {-88.0F, -100.0F, -1e30F, -infinity}) EXPECT_EQ(fast_exp(x), 0.0F) << x;
  for (const float x : {88.0F, 100.0F, 1e30F, infinity})
    EXPECT_NEAR(fast_exp(x) / 1.6516363e38F, 1.0F, 1e-6F) << x;
}

}  // namespace
