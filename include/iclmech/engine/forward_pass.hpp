#ifndef ICLMECH_ENGINE_FORWARD_PASS_HPP
#define ICLMECH_ENGINE_FORWARD_PASS_HPP
// The rows in flight during one run: which sequence and position each is, how forks join, how hooks fire on
// them.

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

#include "iclmech/engine/activation_buffer.hpp"
#include "iclmech/engine/model_config.hpp"
#include "iclmech/engine/sequence_cache.hpp"
#include "iclmech/hook/hook_set.hpp"
#include "iclmech/host/fork.hpp"

namespace iclmech {

/// Consecutive rows of one sequence. Positions count memory tokens, so the first row of a prompt is position
/// 0.
struct segment {
  int sequence = 0;
  index first_row = 0;
  index rows = 0;
  index first_position = 0;
  int parent = -1;  ///< index of the segment that holds the earlier positions; -1: none or the cache
  sequence_cache* cache = nullptr;  ///< earlier positions of a sequence that goes on, and where to keep these

  index end_row() const { return first_row + rows; }
};

/// One run through the layers. Rows only ever join, at the end: prompts first, forks as their stage comes.
template <hooks H>
class forward_pass {
 public:
  /// `capacity`: the rows there will be once every fork has joined.
  forward_pass(workspace& memory, H& hook_functions, const model_config& model,
               std::span<const rope_table> tables, index capacity)
      : work(memory), config(model), ropes(tables), hooks_(hook_functions), capacity_(capacity) {
    kept_.reserve(2 + 2 * model.layers.size());  // streams, and keys and values that later layers read
  }

  workspace& work;
  const model_config& config;
  std::span<const rope_table> ropes;  ///< tables that reach the last position, by `attention_weights::rope`

  /// Adds a sequence's rows. To be called for all prompts before the first layer.
  void add(int sequence, index rows, sequence_cache* cache) {
    const index first_position = cache ? cache->length : 0;
    segments_.push_back({sequence, row_count(), rows, first_position, -1, cache});
    for (index r = 0; r < rows; ++r) positions_.push_back(static_cast<std::int32_t>(first_position + r));
  }

  /// Plans forks; `fork::parent` names a sequence added before, whose index is that of its segment.
  void plan(std::span<const fork> forks, int first_sequence) {
    for (std::size_t f = 0; f < forks.size(); ++f)
      pending_.push_back({forks[f], first_sequence + static_cast<int>(f)});
    std::stable_sort(pending_.begin(), pending_.end(), [](const planned& a, const planned& b) {
      return key(a.what.layer, a.what.stage, a.what.mixer) < key(b.what.layer, b.what.stage, b.what.mixer);
    });
  }

  std::span<const segment> segments() const { return segments_; }
  index row_count() const { return static_cast<index>(positions_.size()); }
  index capacity() const { return capacity_; }
  std::span<const std::int32_t> positions() const { return positions_; }

  /// A buffer whose rows new forks copy from their prompts, until `forget` or the end of the pass.
  void keep(activation_buffer& buffer) { kept_.push_back(&buffer); }

  /// Lets the forks of a stage (and all earlier ones) join: their rows are copied from their prompts', in the
  /// kept buffers and in `also`. Returns the number of rows that stood there before.
  index join(int layer, fork_stage stage, mixer_kind mixer,
             std::initializer_list<activation_buffer*> also = {}) {
    const index before = row_count();
    const int now = key(layer, stage, mixer);
    while (next_ < pending_.size() &&
           key(pending_[next_].what.layer, pending_[next_].what.stage, pending_[next_].what.mixer) <= now) {
      const planned& p = pending_[next_++];
      const segment parent = segments_[static_cast<std::size_t>(p.what.parent)];
      const index first = p.what.first_position + config.memory_tokens;
      const segment joined{p.sequence, row_count(), parent.rows - first, first, p.what.parent, nullptr};
      const auto copy = [&](activation_buffer* buffer) {
        buffer->block(joined.first_row, joined.rows) = buffer->block(parent.first_row + first, joined.rows);
      };
      std::for_each(kept_.begin(), kept_.end(), copy);
      std::for_each(also.begin(), also.end(), copy);
      segments_.push_back(joined);
      for (index r = 0; r < joined.rows; ++r) positions_.push_back(static_cast<std::int32_t>(first + r));
    }
    return before;
  }

  /// Fires point P on every segment. `values` is row-aligned, [row_count() x width]; with `heads` > 0 a row
  /// is seen as [heads x width/heads].
  template <hook P>
  void fire(int layer, mixer_kind mixer, matrix_view values, index heads = 0) {
    if constexpr (can_fire<H, P>) {
      for (const segment& s : segments_) {
        const site where = site_of(P, layer, mixer, s);
        if (!hooks_.wants(where)) continue;
        const index width = values.cols();
        float* first = values.data() + s.first_row * values.outerStride();
        if (heads > 0)
          hooks_.fire(where, {first, 3, {s.rows, heads, width / heads}, values.outerStride()});
        else
          hooks_.fire(where, {first, 2, {s.rows, width}, values.outerStride()});
      }
    }
  }

  /// Fires a point that has one value per row, computed by `value(row)`, for looking only.
  template <hook P, class Value>
  void fire_scalar(int layer, mixer_kind mixer, const Value& value) {
    if constexpr (can_fire<H, P>) {
      std::vector<float> values;
      for (const segment& s : segments_) {
        const site where = site_of(P, layer, mixer, s);
        if (!hooks_.wants(where)) continue;
        values.resize(static_cast<std::size_t>(s.rows));
        for (index r = 0; r < s.rows; ++r) values[static_cast<std::size_t>(r)] = value(s.first_row + r);
        hooks_.fire(where, {values.data(), 1, {s.rows}, 1});
      }
    }
  }

  /// Whether P is wanted on one segment, and the call for it, where a block prepares the value itself.
  template <hook P>
  bool wants(int layer, mixer_kind mixer, const segment& s) const {
    if constexpr (can_fire<H, P>)
      return hooks_.wants(site_of(P, layer, mixer, s));
    else
      return false;
  }
  template <hook P>
  void fire_on(int layer, mixer_kind mixer, const segment& s, activation_view view) {
    hooks_.fire(site_of(P, layer, mixer, s), view);
  }

  /// The same for a state, which belongs to one position of the segment.
  bool wants_state(int layer, mixer_kind mixer, const segment& s, index position) const {
    if constexpr (can_fire<H, hook::ssm_state>)
      return hooks_.wants(state_site(layer, mixer, s, position));
    else
      return false;
  }
  void fire_state(int layer, mixer_kind mixer, const segment& s, index position, activation_view view) {
    hooks_.fire(state_site(layer, mixer, s, position), view);
  }

  site site_of(hook point, int layer, mixer_kind mixer, const segment& s) const {
    return {point, layer, mixer, s.sequence, s.first_position - config.memory_tokens, true};
  }

 private:
  struct planned {
    fork what;
    int sequence;
  };

  // The order of stages in a layer. Two mixers in parallel (Hymba) share one join, so the block asks with the
  // later.
  static int key(int layer, fork_stage stage, mixer_kind mixer) {
    constexpr int stages = 4;
    const int within = stage == fork_stage::resid_pre   ? 0
                       : stage == fork_stage::resid_mid ? 3
                       : mixer == mixer_kind::attention ? 1
                                                        : 2;
    return layer * stages + within;
  }

  site state_site(int layer, mixer_kind mixer, const segment& s, index position) const {
    site where = site_of(hook::ssm_state, layer, mixer, s);
    where.first_position = position - config.memory_tokens;
    where.ends_sequence = position == s.first_position + s.rows - 1;
    return where;
  }

  H& hooks_;
  index capacity_;
  std::vector<segment> segments_;
  std::vector<std::int32_t> positions_;
  std::vector<planned> pending_;
  std::size_t next_ = 0;
  std::vector<activation_buffer*> kept_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_FORWARD_PASS_HPP
