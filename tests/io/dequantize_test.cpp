#include "iclmech/io/dequantize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "iclmech/io/safetensors.hpp"

namespace iclmech {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// IEEE half precision by its definition.
float half_by_definition(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude =
        mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  }
  return half & 0x8000 ? -magnitude : magnitude;
}

/// Equal bits, or both not a number: NaNs carry no meaning beyond that.
testing::AssertionResult same(float actual, float expected) {
  if (std::isnan(actual) && std::isnan(expected)) return testing::AssertionSuccess();
  if (std::bit_cast<std::uint32_t>(actual) == std::bit_cast<std::uint32_t>(expected)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << actual << " instead of " << expected;
}

class dequantize_golden : public testing::TestWithParam<dtype> {};

TEST_P(dequantize_golden, equals_the_gguf_package_bit_for_bit) {
  const dtype type = GetParam();
  const tensor_file golden = read_safetensors(ICLMECH_TEST_DATA "/dequantize.safetensors");
  const std::string prefix(name(type));
  const tensor_entry& blocks = golden.require(prefix + ".blocks");
  const std::vector<float> expected = golden.read(golden.require(prefix + ".values"));
  ASSERT_EQ(blocks.shape.back(), block_bytes(type));
  ASSERT_EQ(blocks.shape.front() * block_elements(type), static_cast<index>(expected.size()));
  ASSERT_GE(blocks.shape.front(), 25);

  std::vector<float> actual(expected.size());
  dequantize(type, blocks.data.data(), static_cast<index>(actual.size()), actual.data());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(same(actual[i], expected[i])) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(every_type, dequantize_golden,
                         testing::Values(dtype::f16, dtype::bf16, dtype::q4_0, dtype::q4_1, dtype::q5_0,
                                         dtype::q5_1, dtype::q8_0, dtype::q4_k, dtype::q5_k, dtype::q6_k),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST(dequantize, reads_every_half_precision_number) {
  for (std::uint32_t half = 0; half <= 0xffff; ++half) {
    const auto bits = static_cast<std::uint16_t>(half);
    ASSERT_TRUE(same(half_to_float(bits), half_by_definition(bits))) << "half " << half;
  }
}

TEST(dequantize, reads_every_bfloat16_number) {
  for (std::uint32_t half = 0; half <= 0xffff; ++half) {
    const float expected = std::bit_cast<float>(half << 16);
    ASSERT_TRUE(same(bfloat16_to_float(static_cast<std::uint16_t>(half)), expected)) << "bfloat16 " << half;
  }
}

TEST(dequantize, reads_plain_floats_and_doubles_from_any_address) {
  const double doubles[] = {1.0 / 3, -2.5, 1e-50};
  const float floats[] = {0.1f, -3.0f, 1e-42f};
  std::vector<std::byte> shifted(1 + sizeof(doubles));
  float values[3];
  std::memcpy(shifted.data() + 1, doubles, sizeof(doubles));
  dequantize(dtype::f64, shifted.data() + 1, 3, values);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values[i], static_cast<float>(doubles[i]));
  std::memcpy(shifted.data() + 1, floats, sizeof(floats));
  dequantize(dtype::f32, shifted.data() + 1, 3, values);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values[i], floats[i]);
}

TEST(dequantize, does_not_write_past_the_asked_blocks) {
  const std::vector<std::byte> zeros(1024);
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::q4_0, dtype::q4_1, dtype::q5_0, dtype::q5_1,
                           dtype::q8_0, dtype::q4_k, dtype::q5_k, dtype::q6_k}) {
    const auto count = static_cast<std::size_t>(2 * block_elements(type));
    std::vector<float> values(count + 1, 7.0f);
    dequantize(type, zeros.data(), static_cast<index>(count), values.data());
    EXPECT_EQ(values[count - 1], 0.0f) << name(type);
    EXPECT_EQ(values[count], 7.0f) << name(type);
    dequantize(type, zeros.data(), 0, values.data() + count);
    EXPECT_EQ(values[count], 7.0f) << name(type);
  }
}

TEST(dequantize, refuses_parts_of_blocks_and_integers) {
  const std::vector<std::byte> zeros(256);
  float values[64];
  EXPECT_THAT([&] { dequantize(dtype::q4_0, zeros.data(), 33, values); },
              ThrowsMessage<argument_error>(
                  "dequantize: 33 elements are not whole blocks of q4_0, which hold 32 each"));
  EXPECT_THAT([&] { dequantize(dtype::f32, zeros.data(), -1, values); },
              ThrowsMessage<argument_error>(HasSubstr("-1 elements are not whole blocks")));
  EXPECT_THAT([&] { dequantize(dtype::i64, zeros.data(), 1, values); },
              ThrowsMessage<argument_error>("dequantize: i64 elements are not real numbers"));
}

}  // namespace
}  // namespace iclmech
