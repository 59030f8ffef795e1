#ifndef ICLMECH_DETAIL_FAST_EXP_HPP
#define ICLMECH_DETAIL_FAST_EXP_HPP
// An exponential without branches or calls, which compilers turn into vector code inside a loop.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace iclmech::detail {

/// e^x within 1.2e-7 relative for |x| <= 87. From there on it stays where it is: at 0 below, at 1.7e38 above,
/// and at either of them for NaN.
inline float fast_exp(float x) {
  constexpr float log2_e = 1.44269504F;
  // ln 2 in two parts: the first has trailing zeros, so that its products with small integers are exact.
  constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  // Adding 1.5 * 2^23 rounds to an integer and leaves that integer in the low bits of the sum.
  constexpr float rounder = 12582912.0F;
  // At -88 the power of two below is 2^-127, whose bit pattern is that of 0; at 88 it is 2^127, the largest.
  constexpr auto bound = std::bit_cast<std::int32_t>(88.0F);

  // Bounds |x| as an integer: a comparison of floats could trap, which keeps compilers from making vector
  // code of it.
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t sign = bits & std::int32_t{-0x7fffffff - 1};
  const auto bounded = std::bit_cast<float>(std::min(bits & 0x7fffffff, bound) | sign);

  const float shifted = bounded * log2_e + rounder;
  const float whole = shifted - rounder;
  float r = bounded - whole * ln2_high;
  r = r - whole * ln2_low;
  // (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2]: a minimax fit, in error by 3e-9 of e^r. Evaluated in pairs,
  // which takes fewer steps in a row than one coefficient after the other.
  const float square = r * r;
  const float low = 0.166665211F * r + 0.499999940F;
  const float high = (1.38145988e-3F * square + 8.36871658e-3F * r) + 4.16683890e-2F;
  const float fraction = (high * square + low) * square + (r + 1.0F);
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;
  return fraction * std::bit_cast<float>(power);
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_FAST_EXP_HPP
