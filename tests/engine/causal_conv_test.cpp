#include "iclmech/engine/causal_conv.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>

#include "support/scan_cases.hpp"

namespace {

using iclmech::index;
using iclmech::row_matrix;
using iclmech::test::random_matrix;
using iclmech::test::relative_error;

// The definition, in double precision; `past` rows precede `x`.
row_matrix reference(const row_matrix& x, const row_matrix& past, const row_matrix& weight,
                     const float* bias) {
  const index taps = weight.cols();
  row_matrix all(taps - 1 + x.rows(), x.cols());
  all << past, x;
  row_matrix out(x.rows(), x.cols());
  for (index t = 0; t < x.rows(); ++t) {
    for (index c = 0; c < x.cols(); ++c) {
      double sum = bias != nullptr ? bias[c] : 0.0;
      for (index k = 0; k < taps; ++k) sum += static_cast<double>(weight(c, k)) * all(t + k, c);
      out(t, c) = static_cast<float>(sum / (1 + std::exp(-sum)));
    }
  }
  return out;
}

TEST(causal_conv_silu, equals_its_definition) {
  for (const index rows : {1, 2, 3, 4, 50}) {
    for (const index channels : {1, 16, 21, 64}) {
      for (const index taps : {1, 2, 4}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << channels << " channels, " << taps << " taps");
        const row_matrix x = random_matrix(rows, channels, 1), past = random_matrix(taps - 1, channels, 2);
        const row_matrix weight = random_matrix(channels, taps, 3), bias = random_matrix(1, channels, 4);
        row_matrix out(rows, channels);
        iclmech::causal_conv_silu(x, past.data(), weight, bias.data(), out);
        EXPECT_LT(relative_error(out, reference(x, past, weight, bias.data())), 1e-6);
        iclmech::causal_conv_silu(x, nullptr, weight, nullptr, out);
        const row_matrix zeros = row_matrix::Zero(taps - 1, channels);
        EXPECT_LT(relative_error(out, reference(x, zeros, weight, nullptr)), 1e-6);
      }
    }
  }
}

TEST(causal_conv_silu, gives_the_same_bits_in_pieces) {
  const row_matrix x = random_matrix(20, 33, 1), weight = random_matrix(33, 4, 2),
                   bias = random_matrix(1, 33, 3);
  row_matrix whole(20, 33), pieces(20, 33), past = row_matrix::Zero(3, 33);
  iclmech::causal_conv_silu(x, nullptr, weight, bias.data(), whole);
  for (index first = 0, count = 1; first < 20;
       first += count, count = std::min<index>(count + 1, 20 - first)) {
    iclmech::causal_conv_silu(x.middleRows(first, count), past.data(), weight, bias.data(),
                              pieces.middleRows(first, count));
    iclmech::advance_conv_past(x.middleRows(first, count), 3, past.data());
  }
  EXPECT_EQ(pieces, whole);
  EXPECT_EQ(past, x.bottomRows(3));
}

TEST(causal_conv_silu, stays_finite_for_large_inputs) {
  row_matrix x(2, 1), weight(1, 1), out(2, 1);
  x << -1e4F, 1e4F;
  weight << 1.0F;
  iclmech::causal_conv_silu(x, nullptr, weight, nullptr, out);
  EXPECT_NEAR(out(0, 0), 0.0F, 1e-30F);
  EXPECT_EQ(out(1, 0), 1e4F);
}

TEST(causal_conv_silu, names_the_matrix_that_does_not_fit) {
  const row_matrix x = random_matrix(4, 6, 1), weight = random_matrix(5, 4, 2);
  row_matrix out(4, 6);
  try {
    iclmech::causal_conv_silu(x, nullptr, weight, nullptr, out);
    FAIL() << "no error";
  } catch (const iclmech::argument_error& e) {
    EXPECT_STREQ(e.what(), "causal_conv_silu: weight is 5x4 but should be 6x4 to fit the other arguments");
  }
}

}  // namespace
