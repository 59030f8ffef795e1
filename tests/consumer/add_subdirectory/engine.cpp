// A part of the library that needs more than Eigen, used from a project that has it as a subdirectory.

#include "iclmech/engine/gemm.hpp"

#include <nlohmann/json.hpp>

int main() {
  const iclmech::row_matrix x = iclmech::row_matrix::Constant(2, 3, 2.0F);
  const iclmech::row_matrix w = iclmech::row_matrix::Identity(3, 3);
  iclmech::row_matrix y(2, 3);
  iclmech::multiply_transposed(x, w, y);
  return y == x ? 0 : 1;
}
