#ifndef ICLMECH_DETAIL_MATRIX_HPP
#define ICLMECH_DETAIL_MATRIX_HPP
// The matrix types every part speaks: row-major float32, one row per position, prompt or token.

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

namespace iclmech {

using index = Eigen::Index;
using token_id = std::int32_t;
using token_sequence = std::vector<token_id>;

using row_matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using row_vector = Eigen::Matrix<float, 1, Eigen::Dynamic>;
using vector = Eigen::VectorXf;

/// A read-only or mutable row-major matrix over somebody else's memory, rows `outerStride()` floats apart.
using const_matrix_view = Eigen::Map<const row_matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using matrix_view = Eigen::Map<row_matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

/// What functions take when any row-major matrix, block or map will do without a copy.
using const_matrix_ref = Eigen::Ref<const row_matrix, 0, Eigen::OuterStride<>>;
using matrix_ref = Eigen::Ref<row_matrix, 0, Eigen::OuterStride<>>;

/// Memory whose alignment does not depend on chance: Eigen sums from the first aligned number on, so that
/// results would otherwise differ in the last bit from one allocation to the next.
using aligned_floats = std::vector<float, Eigen::aligned_allocator<float>>;

}  // namespace iclmech

#endif  // ICLMECH_DETAIL_MATRIX_HPP
