#ifndef ICLMECH_TEST_SUPPORT_RANDOM_MATRIX_HPP
#define ICLMECH_TEST_SUPPORT_RANDOM_MATRIX_HPP
// Matrices of normally distributed numbers that are the same on every platform.

#include <cmath>
#include <cstdint>
#include <numbers>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/random.hpp"

namespace iclmech::test {

inline iclmech::row_matrix random_matrix(iclmech::index rows, iclmech::index cols, std::uint64_t seed) {
  iclmech::detail::random_stream random{seed, iclmech::detail::stream_key("test matrix")};
  return iclmech::row_matrix::NullaryExpr(rows, cols, [&](iclmech::index, iclmech::index) {
    const double length = std::sqrt(-2 * std::log(1 - random.uniform()));
    return static_cast<float>(length * std::cos(2 * std::numbers::pi * random.uniform()));
  });
}

}  // namespace iclmech::test

#endif  // ICLMECH_TEST_SUPPORT_RANDOM_MATRIX_HPP
