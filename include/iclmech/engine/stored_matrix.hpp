#ifndef ICLMECH_ENGINE_STORED_MATRIX_HPP
#define ICLMECH_ENGINE_STORED_MATRIX_HPP
// A matrix in whatever encoding it is stored in, and the reading of its rows as float32.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/engine/dequantize_avx2.hpp"
#include "iclmech/io/dequantize.hpp"
#include "iclmech/io/dtype.hpp"

namespace iclmech::detail {

/// Views `rows` rows of `cols` elements, which begin at element `first_column` of the stored rows. Owns
/// nothing.
struct stored_matrix {
  dtype type = dtype::f32;
  const std::byte* data = nullptr;
  index row_bytes = 0;
  index rows = 0;
  index cols = 0;
  index first_column = 0;
  const std::int32_t* row_order = nullptr;  ///< row r is stored in place `row_order[r]`; null: in place r

  const std::byte* row(index r) const noexcept {
    return data + (row_order != nullptr ? row_order[r] : r) * row_bytes;
  }

  /// Whether the rows can be read in place: float32, aligned.
  bool is_dense() const noexcept {
    return type == dtype::f32 && reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0 &&
           row_bytes % static_cast<index>(sizeof(float)) == 0;
  }

  /// Elements `begin` to `begin + count` of row r as floats: in place, or decoded into `buffer`, which has
  /// room for `decoded_size(count)`.
  const float* read(index r, index begin, index count, float* buffer) const {
    begin += first_column;
    if (is_dense()) return reinterpret_cast<const float*>(row(r)) + begin;
    const index block = block_elements(type);
    const index first = begin / block * block;
    const index last = (begin + count + block - 1) / block * block;
    const std::byte* source = row(r) + first / block * block_bytes(type);
#ifdef ICLMECH_HAS_AVX2_KERNELS
    if (avx2::has_avx2()) {
      avx2::dequantize(type, source, last - first, buffer);
      return buffer + (begin - first);
    }
#endif
    dequantize(type, source, last - first, buffer);
    return buffer + (begin - first);
  }

  /// How many floats `read` may write for `count` elements: whole blocks around them.
  static constexpr index decoded_size(index count) noexcept {
    constexpr index largest_block = 256;
    return (count + 2 * largest_block - 2) / largest_block * largest_block;
  }

  /// A float32 matrix.
  static stored_matrix of(const const_matrix_ref& dense) {
    return {.type = dtype::f32,
            .data = reinterpret_cast<const std::byte*>(dense.data()),
            .row_bytes = dense.outerStride() * static_cast<index>(sizeof(float)),
            .rows = dense.rows(),
            .cols = dense.cols()};
  }
};

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_STORED_MATRIX_HPP
