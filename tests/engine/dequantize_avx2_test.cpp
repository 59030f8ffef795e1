#include "iclmech/engine/dequantize_avx2.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "iclmech/detail/random.hpp"

#ifdef ICLMECH_HAS_AVX2_KERNELS

namespace iclmech {
namespace {

class dequantize_avx2 : public testing::TestWithParam<dtype> {};

TEST_P(dequantize_avx2, gives_the_bits_of_the_plain_code) {
  if (!detail::avx2::has_avx2()) GTEST_SKIP() << "the processor has no AVX2";
  const dtype type = GetParam();
  // Odd numbers of plain elements leave a tail behind the vectors; blocks start at every alignment.
  const index elements = block_elements(type) == 1 ? 1003 : 40 * block_elements(type);
  const auto bytes = static_cast<std::size_t>(elements / block_elements(type) * block_bytes(type));
  detail::random_stream random{7, detail::stream_key(name(type))};
  for (std::size_t offset = 0; offset < 5; ++offset) {
    std::vector<std::byte> source(bytes + offset);
    for (std::byte& b : source) b = static_cast<std::byte>(random.below(256));
    std::vector<float> plain(static_cast<std::size_t>(elements)), fast(plain.size());
    dequantize(type, source.data() + offset, elements, plain.data());
    detail::avx2::dequantize(type, source.data() + offset, elements, fast.data());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (std::isnan(plain[i])) {
        ASSERT_TRUE(std::isnan(fast[i])) << "element " << i;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(plain[i]), std::bit_cast<std::uint32_t>(fast[i]))
            << "element " << i << ": " << fast[i] << " instead of " << plain[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(every_type, dequantize_avx2,
                         testing::Values(dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::q4_0,
                                         dtype::q4_1, dtype::q5_0, dtype::q5_1, dtype::q8_0, dtype::q4_k,
                                         dtype::q5_k, dtype::q6_k),
                         [](const auto& type) { return std::string(name(type.param)); });

}  // namespace
}  // namespace iclmech

#endif
