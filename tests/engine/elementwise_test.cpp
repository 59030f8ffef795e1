#include "iclmech/engine/elementwise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/random_matrix.hpp"

namespace iclmech {
namespace {

using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float infinity = std::numeric_limits<float>::infinity();

double exact(activation kind, double x) {
  switch (kind) {
    case activation::silu:
      return x / (1 + std::exp(-x));
    case activation::gelu_erf:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

/// Numbers from -20 to 20, dense around 0, in a matrix whose rows are no whole number of vectors.
row_matrix arguments() {
  row_matrix x(41, 51);
  for (index i = 0; i < x.size(); ++i) {
    const double t = 2.0 * static_cast<double>(i) / static_cast<double>(x.size() - 1) - 1;
    x.data()[i] = static_cast<float>(20 * t * t * t);
  }
  return x;
}

class every_activation : public testing::TestWithParam<activation> {};

// The exponential is good to 2 units in the last place; the error function of Eigen to 3e-7 absolute, which
// the factor x/2 scales. 1e-6 of max(1, |x|) is 50 times below the limit that whole models are held to.
TEST_P(every_activation, is_within_a_millionth_of_the_exact_function) {
  const row_matrix x = arguments();
  row_matrix y(x.rows(), x.cols());
  activate(GetParam(), x, y);
  for (index i = 0; i < x.size(); ++i) {
    const double argument = x.data()[i];
    EXPECT_NEAR(y.data()[i], exact(GetParam(), argument), 1e-6 * std::max(1.0, std::abs(argument)))
        << argument;
  }
}

TEST_P(every_activation, multiplies_the_other_half_of_a_gated_mlp) {
  const row_matrix gate = arguments(), up = random_matrix(gate.rows(), gate.cols(), 1);
  row_matrix activated(gate.rows(), gate.cols()), y(gate.rows(), gate.cols());
  activate(GetParam(), gate, activated);
  gated_product(GetParam(), gate, up, y);
  // One may use vectors where the other has single numbers at the end of a row: a few roundings apart.
  EXPECT_LE((y - activated.cwiseProduct(up)).cwiseAbs().maxCoeff(), 1e-5F);
  row_matrix in_place = gate;
  gated_product(GetParam(), in_place, up, in_place);
  EXPECT_EQ(in_place, y);
}

TEST_P(every_activation, is_the_identity_far_above_and_zero_far_below) {
  row_matrix x(1, 2), y(1, 2);
  x << 1e4F, -1e4F;
  activate(GetParam(), x, y);
  EXPECT_EQ(y(0), 1e4F);
  EXPECT_NEAR(y(1), 0.0F, 1e-30F);
}

INSTANTIATE_TEST_SUITE_P(elementwise, every_activation,
                         testing::Values(activation::silu, activation::gelu_erf, activation::gelu_tanh),
                         [](const auto& kind) {
                           return std::string(kind.param == activation::silu       ? "silu"
                                              : kind.param == activation::gelu_erf ? "gelu_erf"
                                                                                   : "gelu_tanh");
                         });

TEST(softplus, is_the_logarithm_of_one_plus_the_exponential) {
  row_matrix x = arguments() * 2;
  const row_matrix before = x;
  softplus({x.data(), static_cast<std::size_t>(x.size())});
  for (index i = 0; i < x.size(); ++i) {
    const double argument = before.data()[i];
    // Up to 20 by the definition, then the identity as in PyTorch.
    const double expected = argument > 20 ? argument : std::log1p(std::exp(argument));
    EXPECT_NEAR(x.data()[i], expected, 4e-7 * std::max(expected, 1e-3)) << argument;
  }
}

TEST(softmax, is_positive_and_sums_to_one) {
  for (const index n : {1, 2, 7, 8, 9, 64, 1000}) {
    const row_matrix x = 5 * random_matrix(1, n, 1);
    row_matrix y = x;
    softmax({y.data(), static_cast<std::size_t>(n)});
    const Eigen::ArrayXd e = (x.cast<double>().array() - static_cast<double>(x.maxCoeff())).exp().transpose();
    // x - max(x) is rounded to 2^-24 of itself, up to 40 here, which the exponential makes a relative error.
    for (index i = 0; i < n; ++i) EXPECT_NEAR(y(i), e(i) / e.sum(), 3e-6 * e(i) / e.sum());
    EXPECT_NEAR(y.sum(), 1.0F, 1e-6F);
  }
}

TEST(softmax, gives_exactly_nothing_to_what_is_masked) {
  std::vector<float> row{1, -infinity, 2, -infinity};
  softmax(row);
  EXPECT_EQ(row[1], 0.0F);
  EXPECT_EQ(row[3], 0.0F);
  EXPECT_NEAR(row[0] + row[2], 1.0F, 1e-6F);
  std::vector<float> masked(3, -infinity);
  softmax(masked);
  EXPECT_EQ(masked, std::vector<float>(3, 0.0F));
  softmax({});
}

TEST(softmax, survives_large_numbers) {
  std::vector<float> row{3e38F, 3e38F, -3e38F};
  softmax(row);
  EXPECT_EQ(row, (std::vector<float>{0.5F, 0.5F, 0.0F}));
}

TEST(rms_norm, divides_by_the_root_of_the_mean_square) {
  const row_matrix x = random_matrix(5, 24, 1), w = random_matrix(1, 24, 2);
  const std::span<const float> weight(w.data(), 24);
  row_matrix plain(5, 24), plus(5, 24);
  std::vector<float> scales(5);
  rms_norm(x, weight, 1e-5F, plain, norm_weight::plain, 0, scales);
  rms_norm(x, weight, 1e-5F, plus, norm_weight::one_plus);
  for (index i = 0; i < 5; ++i) {
    const double scale = 1 / std::sqrt(x.row(i).cast<double>().squaredNorm() / 24 + 1e-5);
    EXPECT_NEAR(scales[static_cast<std::size_t>(i)], scale, 1e-6 * scale);
    for (index c = 0; c < 24; ++c) {
      EXPECT_NEAR(plain(i, c), w(c) * x(i, c) * scale, 2e-6);
      EXPECT_NEAR(plus(i, c), (1 + w(c)) * x(i, c) * scale, 4e-6);
    }
  }
}

TEST(rms_norm, norms_groups_with_shared_and_with_own_weights) {
  const row_matrix x = random_matrix(3, 24, 1), w = random_matrix(1, 24, 2);
  row_matrix shared(3, 24), own(3, 24);
  std::vector<float> scales(3 * 4);
  rms_norm(x, {w.data(), 6}, 1e-6F, shared, norm_weight::plain, 6, scales);
  rms_norm(x, {w.data(), 24}, 1e-6F, own, norm_weight::plain, 6);
  for (index g = 0; g < 4; ++g) {
    row_matrix expected(3, 6);
    std::vector<float> one(3);
    rms_norm(x.middleCols(6 * g, 6), {w.data(), 6}, 1e-6F, expected, norm_weight::plain, 0, one);
    EXPECT_EQ(shared.middleCols(6 * g, 6), expected);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(scales[i * 4 + static_cast<std::size_t>(g)], one[i]);
    rms_norm(x.middleCols(6 * g, 6), {w.data() + 6 * g, 6}, 1e-6F, expected);
    EXPECT_EQ(own.middleCols(6 * g, 6), expected);
  }
}

TEST(rms_norm, works_in_place_and_on_zeros) {
  row_matrix x = random_matrix(4, 10, 1), expected(4, 10);
  x.row(2).setZero();
  const std::vector<float> weight(10, 2.0F);
  rms_norm(x, weight, 1e-6F, expected);
  rms_norm(x, weight, 1e-6F, x);
  EXPECT_EQ(x, expected);
  EXPECT_EQ(x.row(2), row_matrix::Zero(1, 10));
}

TEST(rms_norm, refuses_sizes_that_do_not_fit) {
  const row_matrix x = random_matrix(2, 10, 1);
  row_matrix y(2, 10);
  const std::vector<float> weight(10);
  std::vector<float> scales(3);
  EXPECT_THAT(
      [&] { rms_norm(x, std::span(weight).first(9), 0, y); },
      ThrowsMessage<argument_error>(HasSubstr("9 weights in groups of 10 do not fit rows of 10 values")));
  EXPECT_THROW(rms_norm(x, weight, 0, y, norm_weight::plain, 3), argument_error);
  EXPECT_THROW(rms_norm(x, weight, 0, y, norm_weight::plain, 0, scales), argument_error);
  EXPECT_THROW(rms_norm(x, weight, 0, y.topRows(1)), argument_error);
}

}  // namespace
}  // namespace iclmech
