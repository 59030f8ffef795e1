#include "iclmech/io/dtype.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace iclmech {
namespace {

// Sizes as ggml's block structures have them.
static_assert(block_bytes(dtype::q4_0) == 18 && block_elements(dtype::q4_0) == 32);
static_assert(block_bytes(dtype::q4_1) == 20 && block_elements(dtype::q4_1) == 32);
static_assert(block_bytes(dtype::q5_0) == 22 && block_elements(dtype::q5_0) == 32);
static_assert(block_bytes(dtype::q5_1) == 24 && block_elements(dtype::q5_1) == 32);
static_assert(block_bytes(dtype::q8_0) == 34 && block_elements(dtype::q8_0) == 32);
static_assert(block_bytes(dtype::q4_k) == 144 && block_elements(dtype::q4_k) == 256);
static_assert(block_bytes(dtype::q5_k) == 176 && block_elements(dtype::q5_k) == 256);
static_assert(block_bytes(dtype::q6_k) == 210 && block_elements(dtype::q6_k) == 256);

TEST(dtype, every_type_has_its_own_name_and_one_kind) {
  std::set<std::string> names;
  for (auto i = 0; i <= static_cast<int>(dtype::boolean); ++i) {
    const auto type = static_cast<dtype>(i);
    EXPECT_TRUE(names.insert(std::string(name(type))).second) << name(type);
    EXPECT_NE(holds_reals(type), holds_integers(type)) << name(type);
    EXPECT_GT(block_bytes(type), 0) << name(type);
  }
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(name(dtype::q6_k), "q6_k");
  EXPECT_TRUE(holds_reals(dtype::q6_k));
  EXPECT_TRUE(holds_integers(dtype::boolean));
}

}  // namespace
}  // namespace iclmech
