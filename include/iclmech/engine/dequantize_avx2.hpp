#ifndef ICLMECH_ENGINE_DEQUANTIZE_AVX2_HPP
#define ICLMECH_ENGINE_DEQUANTIZE_AVX2_HPP
// `dequantize` of io/dequantize.hpp with AVX2 instructions: the same values, several times as fast.
//
// The functions are compiled for AVX2 whatever the flags of the program are; whoever calls them asks
// `has_avx2()` first.

#if defined(__x86_64__) && defined(__GNUC__)
#define ICLMECH_HAS_AVX2_KERNELS 1

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/io/dequantize.hpp"
#include "iclmech/io/dtype.hpp"

#define ICLMECH_AVX2 [[gnu::target("avx2,fma,f16c")]] inline
#define ICLMECH_AVX2_INLINE [[gnu::target("avx2,fma,f16c"), gnu::always_inline]] inline

namespace iclmech::detail::avx2 {

/// Whether the processor that runs this has the instructions.
inline bool has_avx2() noexcept {
  static const bool available = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return available;
}

ICLMECH_AVX2_INLINE __m128i load16(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
ICLMECH_AVX2_INLINE __m256i load32(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
ICLMECH_AVX2_INLINE __m256 broadcast_half(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_set1_epi16(load<std::int16_t>(p)));
}

ICLMECH_AVX2_INLINE __m128i low_nibbles(__m128i q) { return _mm_and_si128(q, _mm_set1_epi8(15)); }
ICLMECH_AVX2_INLINE __m128i high_nibbles(__m128i q) { return low_nibbles(_mm_srli_epi16(q, 4)); }
ICLMECH_AVX2_INLINE __m256i low_nibbles(__m256i q) { return _mm256_and_si256(q, _mm256_set1_epi8(15)); }
ICLMECH_AVX2_INLINE __m256i high_nibbles(__m256i q) { return low_nibbles(_mm256_srli_epi16(q, 4)); }

/// target[0..16) = scale * q for 16 signed bytes.
ICLMECH_AVX2_INLINE void store_scaled(__m128i q, __m256 scale, float* target) {
  const __m256 first = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
  const __m256 second = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(q, 8)));
  _mm256_storeu_ps(target, _mm256_mul_ps(scale, first));
  _mm256_storeu_ps(target + 8, _mm256_mul_ps(scale, second));
}

/// target[0..16) = scale * q + offset for 16 unsigned bytes.
ICLMECH_AVX2_INLINE void store_scaled(__m128i q, __m256 scale, __m256 offset, float* target) {
  const __m256 first = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(q));
  const __m256 second = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(q, 8)));
  _mm256_storeu_ps(target, _mm256_fmadd_ps(scale, first, offset));
  _mm256_storeu_ps(target + 8, _mm256_fmadd_ps(scale, second, offset));
}

ICLMECH_AVX2_INLINE void store_scaled(__m256i q, __m256 scale, __m256 offset, float* target) {
  store_scaled(_mm256_castsi256_si128(q), scale, offset, target);
  store_scaled(_mm256_extracti128_si256(q, 1), scale, offset, target + 16);
}

/// 16 in byte i where bit i of the 32 at `p` is set, 0 elsewhere.
ICLMECH_AVX2_INLINE __m256i fifth_bits(const std::byte* p) {
  const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,  //
                                          2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(load<std::int32_t>(p)), spread);
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
  return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

ICLMECH_AVX2 void dequantize_q4_0(const std::byte* block, float* target) {
  const __m256 scale = broadcast_half(block);
  const __m128i q = load16(block + 2);
  store_scaled(_mm_sub_epi8(low_nibbles(q), _mm_set1_epi8(8)), scale, target);
  store_scaled(_mm_sub_epi8(high_nibbles(q), _mm_set1_epi8(8)), scale, target + 16);
}

ICLMECH_AVX2 void dequantize_q4_1(const std::byte* block, float* target) {
  const __m256 scale = broadcast_half(block);
  const __m256 minimum = broadcast_half(block + 2);
  const __m128i q = load16(block + 4);
  store_scaled(low_nibbles(q), scale, minimum, target);
  store_scaled(high_nibbles(q), scale, minimum, target + 16);
}

ICLMECH_AVX2 void dequantize_q5_0(const std::byte* block, float* target) {
  const __m256 scale = broadcast_half(block);
  const __m256i fifth = fifth_bits(block + 2);
  const __m128i q = load16(block + 6);
  const __m128i low = _mm_or_si128(low_nibbles(q), _mm256_castsi256_si128(fifth));
  const __m128i high = _mm_or_si128(high_nibbles(q), _mm256_extracti128_si256(fifth, 1));
  store_scaled(_mm_sub_epi8(low, _mm_set1_epi8(16)), scale, target);
  store_scaled(_mm_sub_epi8(high, _mm_set1_epi8(16)), scale, target + 16);
}

ICLMECH_AVX2 void dequantize_q5_1(const std::byte* block, float* target) {
  const __m256 scale = broadcast_half(block);
  const __m256 minimum = broadcast_half(block + 2);
  const __m256i fifth = fifth_bits(block + 4);
  const __m128i q = load16(block + 8);
  store_scaled(_mm_or_si128(low_nibbles(q), _mm256_castsi256_si128(fifth)), scale, minimum, target);
  store_scaled(_mm_or_si128(high_nibbles(q), _mm256_extracti128_si256(fifth, 1)), scale, minimum,
               target + 16);
}

ICLMECH_AVX2 void dequantize_q8_0(const std::byte* block, float* target) {
  const __m256 scale = broadcast_half(block);
  store_scaled(load16(block + 2), scale, target);
  store_scaled(load16(block + 18), scale, target + 16);
}

ICLMECH_AVX2 void dequantize_q4_k(const std::byte* block, float* target) {
  const k_scales scales(_mm256_cvtss_f32(broadcast_half(block)), _mm256_cvtss_f32(broadcast_half(block + 2)),
                        block + 4);
  const std::byte* quants = block + 16;
  for (int i = 0; i < 8; i += 2, quants += 32, target += 64) {
    const __m256i q = load32(quants);
    store_scaled(low_nibbles(q), _mm256_set1_ps(scales.scale[i]), _mm256_set1_ps(-scales.minimum[i]), target);
    store_scaled(high_nibbles(q), _mm256_set1_ps(scales.scale[i + 1]), _mm256_set1_ps(-scales.minimum[i + 1]),
                 target + 32);
  }
}

ICLMECH_AVX2 void dequantize_q5_k(const std::byte* block, float* target) {
  const k_scales scales(_mm256_cvtss_f32(broadcast_half(block)), _mm256_cvtss_f32(broadcast_half(block + 2)),
                        block + 4);
  const __m256i sixteen = _mm256_set1_epi8(16);
  __m256i fifth = load32(block + 16);  // the bit of the current 32 elements is bit 0 of each byte
  const std::byte* quants = block + 48;
  for (int i = 0; i < 8; i += 2, quants += 32, target += 64) {
    const __m256i q = load32(quants);
    const __m256i low =
        _mm256_or_si256(low_nibbles(q), _mm256_and_si256(_mm256_slli_epi16(fifth, 4), sixteen));
    const __m256i high =
        _mm256_or_si256(high_nibbles(q), _mm256_and_si256(_mm256_slli_epi16(fifth, 3), sixteen));
    store_scaled(low, _mm256_set1_ps(scales.scale[i]), _mm256_set1_ps(-scales.minimum[i]), target);
    store_scaled(high, _mm256_set1_ps(scales.scale[i + 1]), _mm256_set1_ps(-scales.minimum[i + 1]),
                 target + 32);
    fifth = _mm256_srli_epi16(fifth, 2);
  }
}

/// target[0..32) from the low nibbles and the upper two bits (already at bits 4 and 5) of 32 elements; 16
/// share a scale.
ICLMECH_AVX2_INLINE void store_q6(__m256i low, __m256i high, const float* scale, float* target) {
  const __m256i q = _mm256_sub_epi8(_mm256_or_si256(low, _mm256_and_si256(high, _mm256_set1_epi8(48))),
                                    _mm256_set1_epi8(32));
  store_scaled(_mm256_castsi256_si128(q), _mm256_set1_ps(scale[0]), target);
  store_scaled(_mm256_extracti128_si256(q, 1), _mm256_set1_ps(scale[1]), target + 16);
}

ICLMECH_AVX2 void dequantize_q6_k(const std::byte* block, float* target) {
  const std::byte* low_bits = block;
  const std::byte* high_bits = block + 128;
  float scale[16];
  store_scaled(load16(block + 192), broadcast_half(block + 208), scale);
  for (int half = 0; half < 2; ++half, low_bits += 64, high_bits += 32, target += 128) {
    const __m256i first = load32(low_bits);
    const __m256i second = load32(low_bits + 32);
    const __m256i high = load32(high_bits);
    const float* const s = scale + 8 * half;
    store_q6(low_nibbles(first), _mm256_slli_epi16(high, 4), s, target);
    store_q6(low_nibbles(second), _mm256_slli_epi16(high, 2), s + 2, target + 32);
    store_q6(high_nibbles(first), high, s + 4, target + 64);
    store_q6(high_nibbles(second), _mm256_srli_epi16(high, 2), s + 6, target + 96);
  }
}

ICLMECH_AVX2 void dequantize_f16(const std::byte* source, index count, float* target) {
  index i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(target + i, _mm256_cvtph_ps(load16(source + 2 * i)));
  for (; i < count; ++i) target[i] = load_half(source + 2 * i);
}

ICLMECH_AVX2 void dequantize_bf16(const std::byte* source, index count, float* target) {
  index i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(source + 2 * i)), 16);
    _mm256_storeu_ps(target + i, _mm256_castsi256_ps(bits));
  }
  for (; i < count; ++i) target[i] = bfloat16_to_float(load<std::uint16_t>(source + 2 * i));
}

template <dtype Type, void (*Block)(const std::byte*, float*)>
ICLMECH_AVX2 void dequantize_blocks(const std::byte* source, index count, float* target) {
  for (index i = 0; i < count; i += block_elements(Type), source += block_bytes(Type))
    Block(source, target + i);
}

/// As `iclmech::dequantize`.
inline void dequantize(dtype type, const std::byte* source, index count, float* target) {
  switch (type) {
    case dtype::f16:
      return dequantize_f16(source, count, target);
    case dtype::bf16:
      return dequantize_bf16(source, count, target);
    case dtype::q4_0:
      return dequantize_blocks<dtype::q4_0, dequantize_q4_0>(source, count, target);
    case dtype::q4_1:
      return dequantize_blocks<dtype::q4_1, dequantize_q4_1>(source, count, target);
    case dtype::q5_0:
      return dequantize_blocks<dtype::q5_0, dequantize_q5_0>(source, count, target);
    case dtype::q5_1:
      return dequantize_blocks<dtype::q5_1, dequantize_q5_1>(source, count, target);
    case dtype::q8_0:
      return dequantize_blocks<dtype::q8_0, dequantize_q8_0>(source, count, target);
    case dtype::q4_k:
      return dequantize_blocks<dtype::q4_k, dequantize_q4_k>(source, count, target);
    case dtype::q5_k:
      return dequantize_blocks<dtype::q5_k, dequantize_q5_k>(source, count, target);
    case dtype::q6_k:
      return dequantize_blocks<dtype::q6_k, dequantize_q6_k>(source, count, target);
    default:
      return iclmech::dequantize(type, source, count, target);
  }
}

}  // namespace iclmech::detail::avx2

#endif  // __x86_64__

#endif  // ICLMECH_ENGINE_DEQUANTIZE_AVX2_HPP
