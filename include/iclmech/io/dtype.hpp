#ifndef ICLMECH_IO_DTYPE_HPP
#define ICLMECH_IO_DTYPE_HPP
// How the elements of a stored tensor are encoded, and how many bytes that takes.

#include <cstdint>
#include <string_view>

#include "iclmech/detail/matrix.hpp"

namespace iclmech {

/// The encodings the readers know: plain numbers, and ggml's block formats (`q*`), in which a block of
/// consecutive elements of one row shares its scales.
enum class dtype : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q4_k,
  q5_k,
  q6_k,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
};

namespace detail {

struct dtype_layout {
  std::string_view name;
  index block_elements;
  index block_bytes;
};

constexpr dtype_layout layout(dtype type) {
  switch (type) {
    case dtype::f64:
      return {"f64", 1, 8};
    case dtype::f32:
      return {"f32", 1, 4};
    case dtype::f16:
      return {"f16", 1, 2};
    case dtype::bf16:
      return {"bf16", 1, 2};
    // Scale (and minimum) as f16, then 32 elements of 4, 5 or 8 bits.
    case dtype::q4_0:
      return {"q4_0", 32, 2 + 16};
    case dtype::q4_1:
      return {"q4_1", 32, 2 + 2 + 16};
    case dtype::q5_0:
      return {"q5_0", 32, 2 + 4 + 16};
    case dtype::q5_1:
      return {"q5_1", 32, 2 + 2 + 4 + 16};
    case dtype::q8_0:
      return {"q8_0", 32, 2 + 32};
    // One or two f16 scales for 256 elements, and small integer scales for 32 or 16 of them each.
    case dtype::q4_k:
      return {"q4_k", 256, 2 + 2 + 12 + 128};
    case dtype::q5_k:
      return {"q5_k", 256, 2 + 2 + 12 + 32 + 128};
    case dtype::q6_k:
      return {"q6_k", 256, 128 + 64 + 16 + 2};
    case dtype::i64:
      return {"i64", 1, 8};
    case dtype::i32:
      return {"i32", 1, 4};
    case dtype::i16:
      return {"i16", 1, 2};
    case dtype::i8:
      return {"i8", 1, 1};
    case dtype::u64:
      return {"u64", 1, 8};
    case dtype::u32:
      return {"u32", 1, 4};
    case dtype::u16:
      return {"u16", 1, 2};
    case dtype::u8:
      return {"u8", 1, 1};
    case dtype::boolean:
      return {"bool", 1, 1};
  }
  return {"unknown", 1, 1};
}

}  // namespace detail

/// How many consecutive elements of a row are stored together: 1 for plain numbers.
constexpr index block_elements(dtype type) { return detail::layout(type).block_elements; }

/// How many bytes one such block takes.
constexpr index block_bytes(dtype type) { return detail::layout(type).block_bytes; }

/// The lower-case name, as in "q4_k".
constexpr std::string_view name(dtype type) { return detail::layout(type).name; }

/// Whether the elements stand for real numbers, so that `dequantize` can read them.
constexpr bool holds_reals(dtype type) { return type <= dtype::q6_k; }

/// Whether the elements are whole numbers (or truth values).
constexpr bool holds_integers(dtype type) { return !holds_reals(type); }

}  // namespace iclmech

#endif  // ICLMECH_IO_DTYPE_HPP
