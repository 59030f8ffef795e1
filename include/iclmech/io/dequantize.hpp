#ifndef ICLMECH_IO_DEQUANTIZE_HPP
#define ICLMECH_IO_DEQUANTIZE_HPP
// Stored weights to float32, block by block, with the same bits as the reference implementation (the Python
// package `gguf`).
//
// The results do not depend on whether the compiler fuses a multiplication with an addition: a scale has 11
// significant bits, an integer scale at most 8 and an element at most 6, so that every product that is
// followed by an addition is exact in float32.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/dtype.hpp"

namespace iclmech {

static_assert(std::endian::native == std::endian::little,
              "Model files are read in place: little-endian only.");

/// IEEE half precision to float32, exactly; also with denormals switched off in the processor.
inline float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t shifted = static_cast<std::uint32_t>(half) << 16;
  const std::uint32_t sign = shifted & 0x80000000u;
  const std::uint32_t magnitude = shifted & 0x7fff0000u;
  // Normal numbers, infinities and NaNs: the exponent moves up by 224 so that 31 becomes 255, and the product
  // with 2^-112 brings the finite ones to where they belong.
  const float normal = std::bit_cast<float>((magnitude >> 3) + 0x70000000u) * 0x1p-112f;
  // Denormals: the mantissa becomes the low bits of 0.5, which is then taken away.
  const float denormal = std::bit_cast<float>((magnitude >> 16) | 0x3f000000u) - 0.5f;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude < 0x04000000u ? denormal : normal);
  return std::bit_cast<float>(bits | sign);
}

/// bfloat16 to float32, exactly.
inline float bfloat16_to_float(std::uint16_t half) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

namespace detail {

template <typename T>
T load(const std::byte* source) noexcept {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

inline float load_half(const std::byte* source) noexcept {
  return half_to_float(load<std::uint16_t>(source));
}

inline std::int32_t low_nibble(std::byte b) noexcept {
  return std::to_integer<std::int32_t>(b & std::byte{15});
}
inline std::int32_t high_nibble(std::byte b) noexcept { return std::to_integer<std::int32_t>(b >> 4); }

inline void dequantize_q4_0(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const std::byte* quants = block + 2;
  for (int i = 0; i < 16; ++i) {
    target[i] = scale * static_cast<float>(low_nibble(quants[i]) - 8);
    target[i + 16] = scale * static_cast<float>(high_nibble(quants[i]) - 8);
  }
}

inline void dequantize_q4_1(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const float minimum = load_half(block + 2);
  const std::byte* quants = block + 4;
  for (int i = 0; i < 16; ++i) {
    target[i] = scale * static_cast<float>(low_nibble(quants[i])) + minimum;
    target[i + 16] = scale * static_cast<float>(high_nibble(quants[i])) + minimum;
  }
}

inline void dequantize_q5_0(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const auto fifth_bits = load<std::uint32_t>(block + 2);
  const std::byte* quants = block + 6;
  for (int i = 0; i < 16; ++i) {
    const auto low = static_cast<std::int32_t>((fifth_bits >> i & 1u) << 4);
    const auto high = static_cast<std::int32_t>((fifth_bits >> (i + 16) & 1u) << 4);
    target[i] = scale * static_cast<float>((low_nibble(quants[i]) | low) - 16);
    target[i + 16] = scale * static_cast<float>((high_nibble(quants[i]) | high) - 16);
  }
}

inline void dequantize_q5_1(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const float minimum = load_half(block + 2);
  const auto fifth_bits = load<std::uint32_t>(block + 4);
  const std::byte* quants = block + 8;
  for (int i = 0; i < 16; ++i) {
    const auto low = static_cast<std::int32_t>((fifth_bits >> i & 1u) << 4);
    const auto high = static_cast<std::int32_t>((fifth_bits >> (i + 16) & 1u) << 4);
    target[i] = scale * static_cast<float>(low_nibble(quants[i]) | low) + minimum;
    target[i + 16] = scale * static_cast<float>(high_nibble(quants[i]) | high) + minimum;
  }
}

inline void dequantize_q8_0(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  for (int i = 0; i < 32; ++i) target[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

/// The eight 6-bit scales and minima of a q4_k or q5_k block, packed into 12 bytes: the first four lie in the
/// low six bits of bytes 0-3 (minima: 4-7); the others have their low nibble in bytes 8-11 (minima: high
/// nibble) and their upper two bits on top of bytes 0-3 (minima: 4-7).
struct k_scales {
  float scale[8];
  float minimum[8];

  k_scales(float super_scale, float super_minimum, const std::byte* packed) noexcept {
    for (int j = 0; j < 4; ++j) {
      const auto a = std::to_integer<std::uint32_t>(packed[j]);
      const auto b = std::to_integer<std::uint32_t>(packed[j + 4]);
      const auto c = std::to_integer<std::uint32_t>(packed[j + 8]);
      scale[j] = super_scale * static_cast<float>(a & 63u);
      minimum[j] = super_minimum * static_cast<float>(b & 63u);
      scale[j + 4] = super_scale * static_cast<float>((c & 15u) | (a >> 2 & 48u));
      minimum[j + 4] = super_minimum * static_cast<float>(c >> 4 | (b >> 2 & 48u));
    }
  }
};

inline void dequantize_q4_k(const std::byte* block, float* target) noexcept {
  const k_scales scales(load_half(block), load_half(block + 2), block + 4);
  const std::byte* quants = block + 16;
  for (int pair = 0; pair < 4; ++pair, quants += 32, target += 64) {
    const float s0 = scales.scale[2 * pair], m0 = scales.minimum[2 * pair];
    const float s1 = scales.scale[2 * pair + 1], m1 = scales.minimum[2 * pair + 1];
    for (int i = 0; i < 32; ++i) target[i] = s0 * static_cast<float>(low_nibble(quants[i])) - m0;
    for (int i = 0; i < 32; ++i) target[i + 32] = s1 * static_cast<float>(high_nibble(quants[i])) - m1;
  }
}

inline void dequantize_q5_k(const std::byte* block, float* target) noexcept {
  const k_scales scales(load_half(block), load_half(block + 2), block + 4);
  const std::byte* fifth_bits = block + 16;
  const std::byte* quants = block + 48;
  for (int pair = 0; pair < 4; ++pair, quants += 32, target += 64) {
    const float s0 = scales.scale[2 * pair], m0 = scales.minimum[2 * pair];
    const float s1 = scales.scale[2 * pair + 1], m1 = scales.minimum[2 * pair + 1];
    for (int i = 0; i < 32; ++i) {
      const auto bits = std::to_integer<std::int32_t>(fifth_bits[i]) >> (2 * pair);
      target[i] = s0 * static_cast<float>(low_nibble(quants[i]) | (bits & 1) << 4) - m0;
      target[i + 32] = s1 * static_cast<float>(high_nibble(quants[i]) | (bits & 2) << 3) - m1;
    }
  }
}

inline void dequantize_q6_k(const std::byte* block, float* target) noexcept {
  const std::byte* low_bits = block;
  const std::byte* high_bits = block + 128;
  const std::byte* scales = block + 192;
  const float super_scale = load_half(block + 208);
  float scale[16];
  for (int j = 0; j < 16; ++j) scale[j] = super_scale * static_cast<float>(load<std::int8_t>(scales + j));
  for (int half = 0; half < 2; ++half, low_bits += 64, high_bits += 32, target += 128) {
    for (int side = 0; side < 2; ++side) {
      const float* const s = scale + 8 * half + side;
      for (int i = 16 * side; i < 16 * side + 16; ++i) {
        const auto high = std::to_integer<std::int32_t>(high_bits[i]);
        target[i] = s[0] * static_cast<float>((low_nibble(low_bits[i]) | (high & 3) << 4) - 32);
        target[i + 32] = s[2] * static_cast<float>((low_nibble(low_bits[i + 32]) | (high & 12) << 2) - 32);
        target[i + 64] = s[4] * static_cast<float>((high_nibble(low_bits[i]) | (high & 48)) - 32);
        target[i + 96] = s[6] * static_cast<float>((high_nibble(low_bits[i + 32]) | (high & 192) >> 2) - 32);
      }
    }
  }
}

template <dtype Type, typename Block>
void dequantize_blocks(const std::byte* source, index count, float* target, Block block) noexcept {
  for (index i = 0; i < count; i += block_elements(Type)) {
    block(source, target + i);
    source += block_bytes(Type);
  }
}

}  // namespace detail

/// Decodes `count` elements, whole blocks, from `source` (any alignment) into `target`.
/// Throws argument_error if `type` does not hold reals or `count` is not a number of whole blocks.
inline void dequantize(dtype type, const std::byte* source, index count, float* target) {
  using namespace detail;
  if (count < 0 || count % block_elements(type) != 0) {
    throw argument_error("dequantize: " + std::to_string(count) + " elements are not whole blocks of " +
                         std::string(name(type)) + ", which hold " + std::to_string(block_elements(type)) +
                         " each");
  }
  switch (type) {
    case dtype::f64:
      for (index i = 0; i < count; ++i) target[i] = static_cast<float>(load<double>(source + 8 * i));
      return;
    case dtype::f32:
      if (count > 0) std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case dtype::f16:
      for (index i = 0; i < count; ++i) target[i] = load_half(source + 2 * i);
      return;
    case dtype::bf16:
      for (index i = 0; i < count; ++i) target[i] = bfloat16_to_float(load<std::uint16_t>(source + 2 * i));
      return;
    case dtype::q4_0:
      return dequantize_blocks<dtype::q4_0>(source, count, target, dequantize_q4_0);
    case dtype::q4_1:
      return dequantize_blocks<dtype::q4_1>(source, count, target, dequantize_q4_1);
    case dtype::q5_0:
      return dequantize_blocks<dtype::q5_0>(source, count, target, dequantize_q5_0);
    case dtype::q5_1:
      return dequantize_blocks<dtype::q5_1>(source, count, target, dequantize_q5_1);
    case dtype::q8_0:
      return dequantize_blocks<dtype::q8_0>(source, count, target, dequantize_q8_0);
    case dtype::q4_k:
      return dequantize_blocks<dtype::q4_k>(source, count, target, dequantize_q4_k);
    case dtype::q5_k:
      return dequantize_blocks<dtype::q5_k>(source, count, target, dequantize_q5_k);
    case dtype::q6_k:
      return dequantize_blocks<dtype::q6_k>(source, count, target, dequantize_q6_k);
    default:
      throw argument_error("dequantize: " + std::string(name(type)) + " elements are not real numbers");
  }
}

}  // namespace iclmech

#endif  // ICLMECH_IO_DEQUANTIZE_HPP
