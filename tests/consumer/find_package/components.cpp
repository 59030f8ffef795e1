// One header of each component, as an installed package gives them.

#include "iclmech/engine/gemm.hpp"
#include "iclmech/io/dtype.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

TEST(installed_package, multiplies) {
  const iclmech::row_matrix x = iclmech::row_matrix::Constant(2, 3, 2.0F);
  const iclmech::row_matrix w = iclmech::row_matrix::Identity(3, 3);
  iclmech::row_matrix y(2, 3);
  iclmech::multiply_transposed(x, w, y);
  EXPECT_EQ(y, x);
}
