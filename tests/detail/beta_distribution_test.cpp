#include "iclmech/detail/beta_distribution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace {

using iclmech::detail::log_beta_upper_tail;
using iclmech::detail::log_gamma;

TEST(log_gamma, agrees_with_values_to_18_digits) {
  // mpmath 1.3, 40 digits: loggamma(x)
  EXPECT_NEAR(log_gamma(0.5), 0.572364942924700087, 1e-14);
  EXPECT_NEAR(log_gamma(1), 0, 1e-14);
  EXPECT_NEAR(log_gamma(1.5), -0.120782237635245222, 1e-14);
  EXPECT_NEAR(log_gamma(2.5), 0.28468287047291916, 1e-14);
  EXPECT_NEAR(log_gamma(10), 12.8018274800814696, 2e-14);
  EXPECT_NEAR(log_gamma(15.999), 27.8965304027601488, 3e-14);
  EXPECT_NEAR(log_gamma(16), 27.8992713838408916, 3e-14);
  EXPECT_NEAR(log_gamma(100.5), 361.435540467777622, 4e-13);
  EXPECT_NEAR(log_gamma(2048), 13564.3263533846767, 1e-11);
  EXPECT_NEAR(log_gamma(1000000.5), 12815511.4769027656, 1e-8);
}

TEST(log_beta_upper_tail, agrees_with_values_to_18_digits) {
  struct tail {
    double k, d, x, log_p;
  };
  // mpmath 1.3, 40 digits: log(betainc((d - k) / 2, k / 2, 0, 1 - x, regularized=True))
  for (const tail& t :
       {tail{1, 2, 0.5, -0.693147180559945309}, tail{3, 576, 0.01, -2.09004529940715946},
        tail{3, 576, 0.002, -0.267271036635189925}, tail{4, 2048, 0.25, -288.463949381109284},
        tail{9, 640, 0.02, -1.76610768587809934}, tail{5, 8, 0.9, -2.32400647175964652},
        tail{5, 8, 0.05, -0.00111890787459586801}, tail{2, 4096, 0.9, -4713.39168535881152},
        tail{33, 4096, 0.008, -0.735913955918796315}, tail{100, 576, 0.3, -14.8524864435313312}}) {
    // Differences of log gammas of order 10^4 leave an absolute error of some 1e-12 in the logarithm.
    EXPECT_NEAR(log_beta_upper_tail(t.k / 2, (t.d - t.k) / 2, t.x), t.log_p, 1e-11 + 1e-13 * -t.log_p)
        << t.k << " of " << t.d << " at " << t.x;
  }
}

TEST(log_beta_upper_tail, has_its_closed_forms) {
  for (const double x : {1e-6, 0.01, 0.3, 0.5, 0.9, 0.999}) {
    EXPECT_NEAR(log_beta_upper_tail(1, 7, x), 7 * std::log1p(-x), 1e-12);
    EXPECT_NEAR(std::exp(log_beta_upper_tail(7, 1, x)), 1 - std::pow(x, 7), 1e-13);
    EXPECT_NEAR(std::exp(log_beta_upper_tail(0.5, 0.5, x)),
                1 - 2 / std::numbers::pi * std::asin(std::sqrt(x)), 1e-13);
    // P(X >= x) + P(X < x) = 1, the latter as the upper tail of 1 - X.
    EXPECT_NEAR(std::exp(log_beta_upper_tail(3.5, 20, x)) + std::exp(log_beta_upper_tail(20, 3.5, 1 - x)), 1,
                1e-13);
  }
  EXPECT_NEAR(std::exp(log_beta_upper_tail(50, 50, 0.5)), 0.5, 1e-12);
}

TEST(log_beta_upper_tail, is_defined_everywhere) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(log_beta_upper_tail(2, 3, 0), 0);
  EXPECT_EQ(log_beta_upper_tail(2, 3, -1), 0);
  EXPECT_EQ(log_beta_upper_tail(2, 3, 1), -infinity);
  EXPECT_EQ(log_beta_upper_tail(2, 3, 1.5), -infinity);
  EXPECT_TRUE(std::isnan(log_beta_upper_tail(2, 3, std::nan(""))));
  EXPECT_NEAR(log_beta_upper_tail(1, 1e5, 0.999), 1e5 * std::log(0.001), 1e-4);
}

TEST(log_beta_upper_tail, falls_without_a_jump_where_the_method_changes) {
  const double a = 4.5;
  const double b = 300;
  const double middle = (a + 1) / (a + b + 2);
  const double below = log_beta_upper_tail(a, b, middle * (1 - 1e-9));
  const double above = log_beta_upper_tail(a, b, middle * (1 + 1e-9));
  EXPECT_GT(below, above);
  EXPECT_NEAR(below, above, 1e-8);
}

}  // namespace
