#include "iclmech/engine/rope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "support/random_matrix.hpp"

namespace iclmech {
namespace {

using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(rope, turns_channel_i_with_channel_i_plus_half) {
  const rope_table table({.head_dim = 8, .theta = 100}, 50);
  const row_matrix before = random_matrix(3, 16, 1);
  row_matrix x = before;
  const std::vector<std::int32_t> positions{0, 7, 49};
  table.apply(x, positions);
  for (index r = 0; r < 3; ++r) {
    for (index head = 0; head < 16; head += 8) {
      for (index i = 0; i < 4; ++i) {
        const double angle =
            positions[static_cast<std::size_t>(r)] * std::pow(100.0, -2.0 * static_cast<double>(i) / 8);
        const double a = before(r, head + i), b = before(r, head + i + 4);
        // Two products and a sum in float32.
        EXPECT_NEAR(x(r, head + i), a * std::cos(angle) - b * std::sin(angle), 1e-6);
        EXPECT_NEAR(x(r, head + i + 4), b * std::cos(angle) + a * std::sin(angle), 1e-6);
      }
    }
  }
  EXPECT_EQ(x.row(0), before.row(0));
}

TEST(rope, makes_scalar_products_depend_on_the_distance_alone) {
  const rope_table table({.head_dim = 16}, 1000);
  const row_matrix q = random_matrix(1, 16, 1), k = random_matrix(1, 16, 2);
  const auto product = [&](std::int32_t at_q, std::int32_t at_k) {
    row_matrix rotated_q = q, rotated_k = k;
    table.apply(rotated_q, std::vector{at_q});
    table.apply(rotated_k, std::vector{at_k});
    return rotated_q.row(0).dot(rotated_k.row(0));
  };
  EXPECT_NEAR(product(20, 3), product(917, 900), 1e-5);
  EXPECT_GT(std::abs(product(20, 3) - product(20, 4)), 1e-2);
}

TEST(rope_frequencies, fall_from_one_by_powers_of_theta) {
  const std::vector<double> f = rope_frequencies({.head_dim = 4, .theta = 10000});
  ASSERT_EQ(f.size(), 2u);
  EXPECT_DOUBLE_EQ(f[0], 1);
  EXPECT_DOUBLE_EQ(f[1], 0.01);
}

TEST(rope_frequencies, are_divided_by_the_factor_or_by_what_the_file_lists) {
  const std::vector<double> plain = rope_frequencies({.head_dim = 6});
  const std::vector<double> linear =
      rope_frequencies({.head_dim = 6, .scaling = rope_scaling::linear, .factor = 8});
  const std::vector<double> listed = rope_frequencies({.head_dim = 6, .divisors = {1, 2, 32}});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(linear[i], plain[i] / 8);
  EXPECT_DOUBLE_EQ(listed[0], plain[0]);
  EXPECT_DOUBLE_EQ(listed[1], plain[1] / 2);
  EXPECT_DOUBLE_EQ(listed[2], plain[2] / 32);
}

TEST(rope_frequencies, of_llama3_keep_short_waves_and_stretch_long_ones) {
  const rope_config config{.head_dim = 64,
                           .theta = 500000,
                           .scaling = rope_scaling::llama3,
                           .factor = 8,
                           .low_freq_factor = 1,
                           .high_freq_factor = 4,
                           .original_max_positions = 8192};
  const std::vector<double> scaled = rope_frequencies(config);
  const std::vector<double> plain = rope_frequencies({.head_dim = 64, .theta = 500000});
  int kept = 0, stretched = 0, between = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const double wavelength = 2 * std::numbers::pi / plain[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_DOUBLE_EQ(scaled[i], plain[i]);
      ++kept;
    } else if (wavelength > 8192.0) {
      EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 8);
      ++stretched;
    } else {
      const double s = (8192 / wavelength - 1) / (4 - 1);
      EXPECT_NEAR(scaled[i], (1 - s) * plain[i] / 8 + s * plain[i], 1e-15);
      ++between;
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(stretched, 0);
  EXPECT_GT(between, 0);
}

TEST(rope_frequencies, of_ntk_have_a_larger_base) {
  const std::vector<double> f = rope_frequencies({.head_dim = 64,
                                                  .theta = 10000,
                                                  .scaling = rope_scaling::ntk,
                                                  .original_max_positions = 2048,
                                                  .max_positions = 8192});
  const double base = 10000 * std::pow(2.0 * 8192 / 2048 - 1, 64.0 / 62);
  EXPECT_DOUBLE_EQ(f[1], std::pow(base, -2.0 / 64));
  EXPECT_DOUBLE_EQ(f[31], std::pow(base, -62.0 / 64));
}

TEST(rope_table, grows_without_changing_what_it_held) {
  rope_table grown({.head_dim = 8}, 3);
  grown.reserve(10);
  grown.reserve(5);
  EXPECT_EQ(grown.positions(), 10);
  EXPECT_EQ(grown.head_dim(), 8);
  const rope_table whole({.head_dim = 8}, 10);
  row_matrix a = random_matrix(10, 8, 1), b = a;
  const std::vector<std::int32_t> positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  grown.apply(a, positions);
  whole.apply(b, positions);
  EXPECT_EQ(a, b);
}

TEST(rope_table, says_what_does_not_fit) {
  const auto frequencies = [](rope_config config) { return [config] { return rope_frequencies(config); }; };
  EXPECT_THAT(frequencies({.head_dim = 5}), ThrowsMessage<argument_error>(HasSubstr("head_dim is 5")));
  EXPECT_THAT(frequencies({}), ThrowsMessage<argument_error>(HasSubstr("head_dim is 0")));
  EXPECT_THAT(
      frequencies({.head_dim = 8, .divisors = {1, 2}}),
      ThrowsMessage<argument_error>(HasSubstr("2 frequency divisors for head_dim 8, there must be 4")));
  EXPECT_THAT(frequencies({.head_dim = 2, .scaling = rope_scaling::ntk}),
              ThrowsMessage<argument_error>(HasSubstr("ntk scaling needs a head_dim above 2")));
  EXPECT_THAT(frequencies({.head_dim = 8, .theta = 0}),
              ThrowsMessage<argument_error>(HasSubstr("theta is 0")));
  EXPECT_THAT(frequencies({.head_dim = 8, .scaling = rope_scaling::linear, .factor = 0}),
              ThrowsMessage<argument_error>(HasSubstr("factor is 0")));
  EXPECT_THAT(frequencies({.head_dim = 8, .scaling = rope_scaling::llama3, .high_freq_factor = 1}),
              ThrowsMessage<argument_error>(HasSubstr("low_freq_factor below the high_freq_factor")));

  const rope_table table({.head_dim = 8}, 4);
  row_matrix x = row_matrix::Zero(2, 16), odd = row_matrix::Zero(2, 12);
  EXPECT_THAT(
      [&] {
        table.apply(x, std::vector<std::int32_t>{1, 4});
      },
      ThrowsMessage<argument_error>(HasSubstr("position 4 of row 1 is outside the table of 4")));
  EXPECT_THAT(
      [&] { table.apply(x, std::vector<std::int32_t>{1}); },
      ThrowsMessage<argument_error>(HasSubstr("1 positions and heads of 8 do not fit a 2x16 matrix")));
  EXPECT_THROW(table.apply(odd, std::vector<std::int32_t>{1, 2}), argument_error);
}

}  // namespace
}  // namespace iclmech
