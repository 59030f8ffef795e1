#include "iclmech/engine/gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/product_reference.hpp"
#include "support/random_matrix.hpp"

namespace iclmech {
namespace {

using iclmech::test::is_product;
using iclmech::test::random_matrix;
using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_product(index m, index n, index k) {
  const row_matrix x = random_matrix(m, k, 1), w = random_matrix(n, k, 2), before = random_matrix(m, n, 3);
  const row_matrix zero = row_matrix::Zero(m, n);
  row_matrix y = before;
  multiply_transposed(x, w, y);
  EXPECT_TRUE(is_product(y, x, w, zero));
  y = before;
  multiply_transposed(x, w, y, true);
  EXPECT_TRUE(is_product(y, x, w, before));
  if (m * n * k == 0) return;
  y = before;
  detail::multiply_portable(x, detail::stored_matrix::of(w), y, true);
  EXPECT_TRUE(is_product(y, x, w, before)) << "without kernels of our own";
}

TEST(multiply_transposed, is_right_around_the_sizes_of_tiles_and_pieces) {
  for (const index m : {0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 40}) {
    for (const index n : {1, 3, 4, 15, 16, 17, 33, 70}) {
      for (const index k : {0, 1, 7, 8, 9, 64, 255, 256, 257, 384, 385, 640}) expect_product(m, n, k);
    }
  }
}

TEST(multiply_transposed, is_right_for_many_rows_and_long_ones) {
  expect_product(700, 40, 300);
  expect_product(2, 9, 5000);
  expect_product(9, 600, 1100);
  expect_product(3, 0, 5);
}

TEST(multiply_transposed, works_on_parts_of_matrices_and_leaves_the_rest) {
  const row_matrix x = random_matrix(20, 100, 1), w = random_matrix(30, 100, 2),
                   before = random_matrix(20, 60, 3);
  for (const index rows : {1, 2, 17}) {
    row_matrix y = before;
    multiply_transposed(x.block(2, 3, rows, 70), w.block(1, 11, 27, 70), y.block(1, 5, rows, 27));
    EXPECT_TRUE(is_product(y.block(1, 5, rows, 27), x.block(2, 3, rows, 70), w.block(1, 11, 27, 70),
                           row_matrix::Zero(rows, 27)));
    y.block(1, 5, rows, 27) = before.block(1, 5, rows, 27);
    EXPECT_EQ(y, before);
  }
}

TEST(multiply_transposed, gives_the_same_bits_on_any_number_of_threads) {
  for (const index rows : {1, 100}) {
    const row_matrix x = random_matrix(rows, 300, 1), w = random_matrix(200, 300, 2);
    row_matrix alone(rows, 200), together(rows, 200);
    set_thread_count(1);
    multiply_transposed(x, w, alone);
    set_thread_count(7);
    multiply_transposed(x, w, together);
    set_thread_count(0);
    EXPECT_EQ(alone, together);
  }
}

TEST(multiply_transposed, keeps_infinities_and_nan_in_their_row_and_column) {
  row_matrix x = random_matrix(8, 20, 1), w = random_matrix(18, 20, 2), y(8, 18);
  x(3, 4) = std::numeric_limits<float>::infinity();
  w(17, 5) = std::numeric_limits<float>::quiet_NaN();
  multiply_transposed(x, w, y);
  for (index i = 0; i < 8; ++i) {
    for (index j = 0; j < 18; ++j) EXPECT_EQ(std::isfinite(y(i, j)), i != 3 && j != 17) << i << ", " << j;
  }
}

TEST(multiply_transposed, names_the_shapes_that_do_not_fit) {
  const row_matrix x(2, 5), w(3, 4);
  row_matrix y(2, 3);
  EXPECT_THAT([&] { multiply_transposed(x, w, y); },
              ThrowsMessage<argument_error>(
                  HasSubstr("X 2x5 times W^T with W 3x4 needs W with as many columns as X")));
  EXPECT_THAT([&] { multiply_transposed(x, row_matrix(4, 5), y); },
              ThrowsMessage<argument_error>(HasSubstr("Y 2x4, but Y is 2x3")));
}

}  // namespace
}  // namespace iclmech
