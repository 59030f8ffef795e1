#ifndef ICLMECH_ENGINE_SEQUENCE_CACHE_HPP
#define ICLMECH_ENGINE_SEQUENCE_CACHE_HPP
// What a sequence keeps between runs so that it can go on token by token: keys, values, scan and convolution
// state.

#include <span>
#include <vector>

#include "iclmech/detail/matrix.hpp"

namespace iclmech {

/// The memory of one layer. Rows of keys and values are appended; states are overwritten.
struct layer_cache {
  aligned_floats keys;    ///< [rows x kv_heads*d_key], after the rotary embedding
  aligned_floats values;  ///< [rows x kv_heads*d_value]
  aligned_floats conv;    ///< [d_conv-1 x channels], the convolution's last inputs
  aligned_floats state;   ///< the scan's state
};

/// The memory of one sequence. An empty one stands for a sequence that has not begun.
struct sequence_cache {
  index length = 0;  ///< rows seen so far, memory tokens included
  std::vector<layer_cache> layers;
};

namespace detail {

/// Appends the rows of a matrix to a cache.
inline void append_rows(aligned_floats& cache, const const_matrix_ref& rows) {
  const std::size_t old = cache.size();
  cache.resize(old + static_cast<std::size_t>(rows.size()));
  matrix_view(cache.data() + old, rows.rows(), rows.cols(), Eigen::OuterStride<>(rows.cols())) = rows;
}

}  // namespace detail
}  // namespace iclmech

#endif  // ICLMECH_ENGINE_SEQUENCE_CACHE_HPP
