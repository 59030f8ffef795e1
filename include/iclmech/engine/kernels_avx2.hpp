#ifndef ICLMECH_ENGINE_KERNELS_AVX2_HPP
#define ICLMECH_ENGINE_KERNELS_AVX2_HPP
// The innermost loops of the matrix product with AVX2 and FMA instructions.
//
// Many rows of X: tiles of 6 rows by 16 outputs in registers. X is interleaved in blocks of 6 rows, [k][6],
// and a panel of 16 rows of W in [k][16], so that both are read in one stream. Few rows of X: scalar products
// of the rows as they are.

#include "iclmech/engine/dequantize_avx2.hpp"

#ifdef ICLMECH_HAS_AVX2_KERNELS

#include <cstddef>
#include <utility>

namespace iclmech::detail::avx2 {

inline constexpr index tile_rows = 6;
inline constexpr index panel_width = 16;

/// Floats i to i + 3 of two rows, side by side.
ICLMECH_AVX2_INLINE __m256 load_pair(const float* low, const float* high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}

/// The 4x4 blocks in the lower and upper halves of four vectors, each transposed.
ICLMECH_AVX2_INLINE void transpose_halves(__m256& a, __m256& b, __m256& c, __m256& d) {
  const __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b);
  const __m256 cd_low = _mm256_unpacklo_ps(c, d), cd_high = _mm256_unpackhi_ps(c, d);
  a = _mm256_shuffle_ps(ab_low, cd_low, 0x44);
  b = _mm256_shuffle_ps(ab_low, cd_low, 0xee);
  c = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
  d = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
}

/// Interleaves up to 6 rows, `stride` floats apart, of `k` floats each: target[i * 6 + r] = x[r][i], and 0
/// for rows that are not there.
ICLMECH_AVX2 void interleave_rows(const float* x, index stride, index rows, index k, float* target) {
  index i = 0;
  if (rows == tile_rows) {
    // Every store writes two floats too many, which the next one overwrites; the last columns go one by one.
    for (; i + 4 < k; i += 4) {
      const float* const at = x + i;
      __m256 a = load_pair(at, at + 4 * stride), b = load_pair(at + stride, at + 5 * stride);
      __m256 c = _mm256_castps128_ps256(_mm_loadu_ps(at + 2 * stride));
      __m256 d = _mm256_castps128_ps256(_mm_loadu_ps(at + 3 * stride));
      transpose_halves(a, b, c, d);
      float* const to = target + i * tile_rows;
      _mm256_storeu_ps(to, a);
      _mm256_storeu_ps(to + tile_rows, b);
      _mm256_storeu_ps(to + 2 * tile_rows, c);
      _mm256_storeu_ps(to + 3 * tile_rows, d);
    }
  }
  for (; i < k; ++i) {
    for (index j = 0; j < tile_rows; ++j) target[i * tile_rows + j] = j < rows ? x[j * stride + i] : 0.0F;
  }
}

/// Interleaves eight rows of `k` floats each into one half of a panel: target[i * 16 + r] = rows[r][i].
ICLMECH_AVX2 void interleave_panel(const float* const* rows, index k, float* target) {
  index i = 0;
  for (; i + 4 <= k; i += 4) {
    __m256 a = load_pair(rows[0] + i, rows[4] + i), b = load_pair(rows[1] + i, rows[5] + i);
    __m256 c = load_pair(rows[2] + i, rows[6] + i), d = load_pair(rows[3] + i, rows[7] + i);
    transpose_halves(a, b, c, d);
    float* const to = target + i * panel_width;
    _mm256_store_ps(to, a);
    _mm256_store_ps(to + panel_width, b);
    _mm256_store_ps(to + 2 * panel_width, c);
    _mm256_store_ps(to + 3 * panel_width, d);
  }
  for (; i < k; ++i) {
    for (int j = 0; j < 8; ++j) target[i * panel_width + j] = rows[j][i];
  }
}

template <std::size_t... R>
ICLMECH_AVX2_INLINE void tile(const float* x, const float* w, index k, float* y, index stride,
                              bool accumulate, std::index_sequence<R...>) {
  __m256 left[sizeof...(R)], right[sizeof...(R)];
  ((left[R] = right[R] = _mm256_setzero_ps()), ...);
  // By the time the sums are done, what they are added to has arrived.
  (_mm_prefetch(reinterpret_cast<const char*>(y + static_cast<index>(R) * stride), _MM_HINT_T0), ...);
  for (index i = 0; i < k; ++i, x += tile_rows, w += panel_width) {
    __m256 w0 = _mm256_load_ps(w), w1 = _mm256_load_ps(w + 8);
    // Keeps GCC from reading the two again from memory for each of the six rows.
    __asm__("" : "+x"(w0), "+x"(w1));
    ((left[R] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + R), w0, left[R]),
      right[R] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + R), w1, right[R])),
     ...);
  }
  if (accumulate) {
    ((left[R] = _mm256_add_ps(left[R], _mm256_loadu_ps(y + static_cast<index>(R) * stride)),
      right[R] = _mm256_add_ps(right[R], _mm256_loadu_ps(y + static_cast<index>(R) * stride + 8))),
     ...);
  }
  ((_mm256_storeu_ps(y + static_cast<index>(R) * stride, left[R]),
    _mm256_storeu_ps(y + static_cast<index>(R) * stride + 8, right[R])),
   ...);
}

/// y[r][0..16) (+)= sum over k of x[k][r] * w[k][0..16), for `rows` <= 6 rows of y, `stride` floats apart.
ICLMECH_AVX2 void multiply_tile(const float* x, const float* w, index k, float* y, index stride, index rows,
                                bool accumulate) {
  switch (rows) {
    case 6:
      return tile(x, w, k, y, stride, accumulate, std::make_index_sequence<6>{});
    case 5:
      return tile(x, w, k, y, stride, accumulate, std::make_index_sequence<5>{});
    case 4:
      return tile(x, w, k, y, stride, accumulate, std::make_index_sequence<4>{});
    case 3:
      return tile(x, w, k, y, stride, accumulate, std::make_index_sequence<3>{});
    case 2:
      return tile(x, w, k, y, stride, accumulate, std::make_index_sequence<2>{});
    case 1:
      return tile(x, w, k, y, stride, accumulate, std::make_index_sequence<1>{});
    default:
      return;
  }
}

/// The four sums of the elements of a, b, c and d.
ICLMECH_AVX2_INLINE __m128 sums(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
  const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
  const __m256 abcd = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
  return _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
}

/// y[0..4) (+)= the scalar products of one row x with four rows of W, over `k` columns.
ICLMECH_AVX2 void multiply_row(const float* x, const float* const* w, index k, float* y, bool accumulate) {
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  index i = 0;
  for (; i + 16 <= k; i += 16) {
    const __m256 x0 = _mm256_loadu_ps(x + i), x1 = _mm256_loadu_ps(x + i + 8);
    a = _mm256_fmadd_ps(x0, _mm256_loadu_ps(w[0] + i), a);
    b = _mm256_fmadd_ps(x0, _mm256_loadu_ps(w[1] + i), b);
    c = _mm256_fmadd_ps(x0, _mm256_loadu_ps(w[2] + i), c);
    d = _mm256_fmadd_ps(x0, _mm256_loadu_ps(w[3] + i), d);
    e = _mm256_fmadd_ps(x1, _mm256_loadu_ps(w[0] + i + 8), e);
    f = _mm256_fmadd_ps(x1, _mm256_loadu_ps(w[1] + i + 8), f);
    g = _mm256_fmadd_ps(x1, _mm256_loadu_ps(w[2] + i + 8), g);
    h = _mm256_fmadd_ps(x1, _mm256_loadu_ps(w[3] + i + 8), h);
  }
  __m128 total = sums(_mm256_add_ps(a, e), _mm256_add_ps(b, f), _mm256_add_ps(c, g), _mm256_add_ps(d, h));
  for (; i < k; ++i) {
    total = _mm_fmadd_ps(_mm_set1_ps(x[i]), _mm_setr_ps(w[0][i], w[1][i], w[2][i], w[3][i]), total);
  }
  if (accumulate) total = _mm_add_ps(total, _mm_loadu_ps(y));
  _mm_storeu_ps(y, total);
}

}  // namespace iclmech::detail::avx2

#endif  // ICLMECH_HAS_AVX2_KERNELS

#endif  // ICLMECH_ENGINE_KERNELS_AVX2_HPP
