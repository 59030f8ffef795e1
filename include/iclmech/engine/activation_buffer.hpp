#ifndef ICLMECH_ENGINE_ACTIVATION_BUFFER_HPP
#define ICLMECH_ENGINE_ACTIVATION_BUFFER_HPP
// Memory for activations that is kept between runs, so that a warm engine allocates nothing in its layers.

#include <algorithm>
#include <array>
#include <vector>

#include "iclmech/detail/matrix.hpp"

namespace iclmech {

/// A growing row-major matrix: `shape` fixes width and capacity for a run, `rows` and `block` view its rows.
class activation_buffer {
 public:
  /// Sets the width and makes room for `capacity` rows. Old contents are lost; memory only grows.
  void shape(index capacity, index width) {
    width_ = width;
    capacity_ = capacity;
    const auto needed = static_cast<std::size_t>(capacity * width);
    if (storage_.size() < needed) storage_.resize(needed);
  }

  index width() const { return width_; }
  index capacity() const { return capacity_; }
  matrix_view rows(index count) { return block(0, count); }
  matrix_view block(index first, index count) {
    return {storage_.data() + first * width_, count, width_, Eigen::OuterStride<>(width_)};
  }
  matrix_view columns(index count, index first_column, index columns) {
    return {storage_.data() + first_column, count, columns, Eigen::OuterStride<>(width_)};
  }
  float* row(index r) { return storage_.data() + r * width_; }

 private:
  aligned_floats storage_;
  index width_ = 0;
  index capacity_ = 0;
};

/// What attention does with the sequences in flight: most are taken one by one, forks of one row together
/// with those that share all their earlier positions. Emptied for each layer, its memory kept.
struct attention_plan {
  struct fork_group {
    int parent;
    index position;
    std::vector<index> rows;
  };
  std::vector<index> single;       ///< indices of segments
  std::vector<fork_group> groups;  ///< the first `group_count` are in use
  index group_count = 0;

  void clear() {
    single.clear();
    group_count = 0;
  }

  void add_fork(int parent, index position, index row) {
    const auto end = groups.begin() + group_count;
    auto group = std::find_if(groups.begin(), end, [parent, position](const fork_group& g) {
      return g.parent == parent && g.position == position;
    });
    if (group == end) {
      if (group == groups.end()) group = groups.insert(end, fork_group{});
      group->parent = parent;
      group->position = position;
      group->rows.clear();
      ++group_count;
    }
    group->rows.push_back(row);
  }
};

/// The values that a forward pass keeps for its rows, by purpose. One exists per engine.
struct workspace {
  activation_buffer stream;     ///< the residual stream
  activation_buffer embedded;   ///< the embeddings, where a block reads them again (Zamba2)
  activation_buffer side;       ///< what a shared block hands to its layer's mamba input (Zamba2)
  activation_buffer normed;     ///< input of a block, after its norm
  activation_buffer projected;  ///< output of a block's input projection(s)
  activation_buffer mixed;      ///< hook_z of the first mixer
  activation_buffer mixed_ssm;  ///< hook_z of a state-space mixer
  activation_buffer block_out;  ///< output of a block's output projection
  activation_buffer hidden;     ///< inside of the MLP
  activation_buffer conv;       ///< after the convolution
  activation_buffer step_low;   ///< dt, B and C before their projections (Mamba-1)
  activation_buffer step;       ///< dt
  activation_buffer merged;     ///< the average of two mixers (Hymba)
  std::vector<activation_buffer> keys,
      values;  ///< by layer, where another layer may read them (Hymba); else one
  attention_plan attention;
  activation_buffer logits, last;                                   ///< output rows, a piece at a time
  aligned_floats scale;                                             ///< reciprocal norms of the rows
  aligned_floats scratch;                                           ///< adapters' middles
  aligned_floats explicit_pattern, explicit_decay, explicit_write;  ///< made only when a hook asks
  std::array<activation_buffer, 5> gathered;                        ///< rows of forks that step together
  aligned_floats states;  ///< running states, one per sequence in flight
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_ACTIVATION_BUFFER_HPP
