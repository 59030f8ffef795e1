// A product of a kind and size seen before must not allocate.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "allocation/allocations.hpp"
#include "iclmech/engine/elementwise.hpp"
#include "iclmech/engine/rope.hpp"
#include "iclmech/engine/weight_matrix.hpp"
#include "support/random_matrix.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using iclmech::test::allocations_of;
using iclmech::test::random_matrix;

TEST(allocation, a_warm_product_does_not_allocate) {
#ifdef ICLMECH_HAS_AVX2_KERNELS
  if (!detail::avx2::has_avx2()) GTEST_SKIP() << "without kernels of our own the library decides";
#else
  GTEST_SKIP() << "without kernels of our own the library decides";
#endif
  const auto bytes = std::make_shared<const std::vector<std::byte>>(100 * 320 / 32 * 34);
  const weight_matrix dense(random_matrix(100, 320, 1)), stored(dtype::q8_0, *bytes, 100, 320, bytes);
  for (const index rows : {1, 50}) {
    const row_matrix x = random_matrix(rows, 320, 2);
    row_matrix y(rows, 100);
    const auto work = [&] {
      dense.multiply(x, y);
      stored.multiply(x, y, true);
      stored.multiply_columns(64, x.middleCols(64, 64), y, true);
      multiply_transposed(x, dense.dense(), y);
    };
    work();
    EXPECT_EQ(allocations_of(work), 0) << rows << " rows";
  }
}

TEST(allocation, elementwise_functions_do_not_allocate) {
  row_matrix x = random_matrix(100, 320, 2), y = x;
  const rope_table ropes({.head_dim = 64}, 100);
  std::vector<std::int32_t> positions(100, 3);
  const std::vector<float> weight(320, 1.0F);
  std::vector<float> scales(100);
  const auto work = [&] {
    rms_norm(x, weight, 1e-5F, y, norm_weight::plain, 0, scales);
    gated_product(activation::silu, x, y, y);
    activate(activation::gelu_erf, x, y);
    softplus({y.data(), 320});
    softmax({y.data(), 320});
    ropes.apply(y, positions);
  };
  work();  // the first one starts threads
  EXPECT_EQ(allocations_of(work), 0);
}

}  // namespace
