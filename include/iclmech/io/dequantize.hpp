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
  // Chosen with a mask, because compilers do not vectorise a choice between two floats that might trap.
  const std::uint32_t is_denormal = magnitude < 0x04000000u ? ~0u : 0u;
  return std::bit_cast<float>(sign | (is_denormal & std::bit_cast<std::uint32_t>(denormal)) |
                              (~is_denormal & std::bit_cast<std::uint32_t>(normal)));
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

// 16 elements at a time, in vector types of the 16 bytes that every processor has, because neither GCC nor
// Clang vectorises the loops that would do the same reliably.
using byte_lanes = std::uint8_t __attribute__((vector_size(16)));
using signed_lanes = std::int8_t __attribute__((vector_size(16)));
using short_lanes = std::int16_t __attribute__((vector_size(16)));
using int_lanes = std::int32_t __attribute__((vector_size(16)));
using word_lanes = std::uint64_t __attribute__((vector_size(16)));
using float_lanes = float __attribute__((vector_size(16)));

/// 16 signed quants as floats, four in each element.
struct quants16 {
  float_lanes values[4];

  explicit quants16(byte_lanes quants) noexcept {
    const auto bytes = reinterpret_cast<signed_lanes>(quants);
    const signed_lanes sign = bytes < 0;  // -1 or 0: the upper byte of the wider number
    const auto low = reinterpret_cast<short_lanes>(
        __builtin_shufflevector(bytes, sign, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    const auto high = reinterpret_cast<short_lanes>(
        __builtin_shufflevector(bytes, sign, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
    widen(low, values[0], values[1]);
    widen(high, values[2], values[3]);
  }

  /// target = scale * quants
  void store(float scale, float* target) const noexcept {
    for (int i = 0; i < 4; ++i) {
      const float_lanes scaled = values[i] * scale;
      std::memcpy(target + 4 * i, &scaled, sizeof(scaled));
    }
  }

  /// target = scale * quants + minimum
  void store(float scale, float minimum, float* target) const noexcept {
    for (int i = 0; i < 4; ++i) {
      const float_lanes scaled = values[i] * scale + minimum;
      std::memcpy(target + 4 * i, &scaled, sizeof(scaled));
    }
  }

 private:
  static void widen(short_lanes shorts, float_lanes& low, float_lanes& high) noexcept {
    const short_lanes sign = shorts < 0;
    low = __builtin_convertvector(
        reinterpret_cast<int_lanes>(__builtin_shufflevector(shorts, sign, 0, 8, 1, 9, 2, 10, 3, 11)),
        float_lanes);
    high = __builtin_convertvector(
        reinterpret_cast<int_lanes>(__builtin_shufflevector(shorts, sign, 4, 12, 5, 13, 6, 14, 7, 15)),
        float_lanes);
  }
};

inline void dequantize_q4_0(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const auto quants = load<byte_lanes>(block + 2);
  quants16((quants & 15) - 8).store(scale, target);
  quants16((quants >> 4) - 8).store(scale, target + 16);
}

inline void dequantize_q4_1(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const float minimum = load_half(block + 2);
  const auto quants = load<byte_lanes>(block + 4);
  quants16(quants & 15).store(scale, minimum, target);
  quants16(quants >> 4).store(scale, minimum, target + 16);
}

/// The fifth bits of 16 elements, from two bytes that hold one bit each: 16 or 0.
inline byte_lanes fifth_bits(const std::byte* source) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101u;
  const word_lanes spread = {ones * std::to_integer<std::uint64_t>(source[0]),
                             ones * std::to_integer<std::uint64_t>(source[1])};
  const byte_lanes masks = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<byte_lanes>((reinterpret_cast<byte_lanes>(spread) & masks) != 0) & 16;
}

inline void dequantize_q5_0(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const auto quants = load<byte_lanes>(block + 6);
  quants16(((quants & 15) | fifth_bits(block + 2)) - 16).store(scale, target);
  quants16(((quants >> 4) | fifth_bits(block + 4)) - 16).store(scale, target + 16);
}

inline void dequantize_q5_1(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  const float minimum = load_half(block + 2);
  const auto quants = load<byte_lanes>(block + 8);
  quants16((quants & 15) | fifth_bits(block + 4)).store(scale, minimum, target);
  quants16((quants >> 4) | fifth_bits(block + 6)).store(scale, minimum, target + 16);
}

inline void dequantize_q8_0(const std::byte* block, float* target) noexcept {
  const float scale = load_half(block);
  quants16(load<byte_lanes>(block + 2)).store(scale, target);
  quants16(load<byte_lanes>(block + 18)).store(scale, target + 16);
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
  for (int pair = 0; pair < 4; ++pair, target += 64) {
    const float* const scale = scales.scale + 2 * pair;
    const float* const minimum = scales.minimum + 2 * pair;
    for (int i = 0; i < 32; i += 16) {
      const auto quants = load<byte_lanes>(block + 16 + 32 * pair + i);
      quants16(quants & 15).store(scale[0], -minimum[0], target + i);
      quants16(quants >> 4).store(scale[1], -minimum[1], target + i + 32);
    }
  }
}

inline void dequantize_q5_k(const std::byte* block, float* target) noexcept {
  const k_scales scales(load_half(block), load_half(block + 2), block + 4);
  for (int pair = 0; pair < 4; ++pair, target += 64) {
    const float* const scale = scales.scale + 2 * pair;
    const float* const minimum = scales.minimum + 2 * pair;
    for (int i = 0; i < 32; i += 16) {
      const auto quants = load<byte_lanes>(block + 48 + 32 * pair + i);
      const byte_lanes fifth = load<byte_lanes>(block + 16 + i) >> (2 * pair);
      quants16((quants & 15) | ((fifth & 1) << 4)).store(scale[0], -minimum[0], target + i);
      quants16((quants >> 4) | ((fifth & 2) << 3)).store(scale[1], -minimum[1], target + i + 32);
    }
  }
}

/// Each half of the block holds 128 elements in 64 bytes of low nibbles and 32 bytes with two upper bits for
/// four elements each, and has eight signed scales for 16 elements each.
inline void dequantize_q6_k(const std::byte* block, float* target) noexcept {
  const float super_scale = load_half(block + 208);
  for (int half = 0; half < 2; ++half, target += 128) {
    const auto scale = [&](int group) {
      return super_scale * static_cast<float>(load<std::int8_t>(block + 192 + 8 * half + group));
    };
    for (int i = 0; i < 2; ++i) {
      const auto low_a = load<byte_lanes>(block + 64 * half + 16 * i);
      const auto low_b = load<byte_lanes>(block + 64 * half + 16 * i + 32);
      const auto high = load<byte_lanes>(block + 128 + 32 * half + 16 * i);
      quants16(((low_a & 15) | ((high & 3) << 4)) - 32).store(scale(i), target + 16 * i);
      quants16(((low_b & 15) | ((high & 12) << 2)) - 32).store(scale(i + 2), target + 16 * i + 32);
      quants16(((low_a >> 4) | (high & 48)) - 32).store(scale(i + 4), target + 16 * i + 64);
      quants16(((low_b >> 4) | ((high & 192) >> 2)) - 32).store(scale(i + 6), target + 16 * i + 96);
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
