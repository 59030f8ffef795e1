#ifndef ICLMECH_ENGINE_BLOCK_SCAN_DRIVER_HPP
#define ICLMECH_ENGINE_BLOCK_SCAN_DRIVER_HPP
// Runs a recurrence over every sequence in flight: states carried in from caches and prompts, shown to hooks
// at the positions they ask for, and handed on to forks.

#include <algorithm>
#include <span>
#include <vector>

#include "iclmech/engine/causal_conv.hpp"
#include "iclmech/engine/forward_pass.hpp"

namespace iclmech {
namespace detail {

/// The earlier inputs of a convolution for one segment, [taps-1 x channels], or nullptr for zeros.
template <hooks H>
const float* conv_past(forward_pass<H>& pass, int layer, const segment& s, const matrix_view& x, index kept) {
  if (s.cache != nullptr) {
    aligned_floats& past = s.cache->layers[static_cast<std::size_t>(layer)].conv;
    if (past.empty()) past.assign(static_cast<std::size_t>(kept * x.cols()), 0.0F);
    return past.data();
  }
  if (s.parent < 0) return nullptr;
  activation_buffer& past = pass.work.gathered[0];
  past.shape(kept, x.cols());
  past.rows(kept).setZero();
  const index from = pass.segments()[static_cast<std::size_t>(s.parent)].first_row;
  const index count = std::min(kept, s.first_position);
  past.block(kept - count, count) = x.middleRows(from + s.first_position - count, count);
  return past.row(0);
}

}  // namespace detail

/// Causal convolution with silu of every segment, x to work.conv; caches keep the last inputs.
template <hooks H>
matrix_view convolve(forward_pass<H>& pass, int layer, mixer_kind mixer, const row_matrix& weight,
                     const vector& bias, matrix_view x) {
  const index kept = weight.cols() - 1;
  pass.work.conv.shape(pass.capacity(), x.cols());
  for (const segment& s : pass.segments()) {
    const auto rows = x.middleRows(s.first_row, s.rows);
    causal_conv_silu(rows, detail::conv_past(pass, layer, s, x, kept), weight,
                     bias.size() > 0 ? bias.data() : nullptr, pass.work.conv.block(s.first_row, s.rows));
    if (s.cache != nullptr)
      advance_conv_past(rows, kept, s.cache->layers[static_cast<std::size_t>(layer)].conv.data());
  }
  matrix_view out = pass.work.conv.rows(x.rows());
  pass.template fire<hook::conv>(layer, mixer, out);
  return out;
}

/// Runs `kernel` over all segments. A kernel knows the inputs and outputs of its mixer, by row of the pass:
///   state_size(), state_view(state)      the state and how hooks see it
///   scan(first_row, rows, state)         writes the outputs of those rows, advances the state
///   step_from(state, rows)               one step for each of the rows, all from the same state, which is
///   kept make_explicit(first_row, rows)       per-step decays and writes into work.explicit_*
///   decay_view(rows), write_view(rows)   how hooks see them
///   scan_explicit(first_row, offset, rows, state)   as scan, from those, `offset` rows into them
template <hooks H, class Kernel>
class scan_driver {
 public:
  scan_driver(forward_pass<H>& pass, int layer, mixer_kind mixer, Kernel& kernel)
      : pass_(pass), kernel_(kernel), layer_(layer), mixer_(mixer) {}

  void run() {
    lay_out_states();
    std::vector<index> together;  // first rows of forks that step from one snapshot
    for (std::size_t i = 0; i < pass_.segments().size(); ++i) {
      const segment& s = pass_.segments()[i];
      if (s.parent < 0) {
        scan_prompt(i);
      } else if (s.rows > 1 || watched(s)) {
        float* state = spare_state();
        const float* from = snapshot(s);
        std::copy_n(from, kernel_.state_size(), state);
        scan_piecewise(s, state, {});
      }
    }
    for (const saved& snap : saved_) {
      together.clear();
      for (const segment& s : pass_.segments())
        if (s.parent == snap.parent && s.first_position == snap.position && s.rows == 1 && !watched(s))
          together.push_back(s.first_row);
      if (!together.empty()) kernel_.step_from(state_at(snap.slot), together);
    }
  }

 private:
  struct saved {
    int parent;
    index position;  // the state before this position
    index slot;
  };

  bool watched(const segment& s) const {
    if (pass_.template wants<hook::log_decay>(layer_, mixer_, s) ||
        pass_.template wants<hook::ssm_write>(layer_, mixer_, s))
      return true;
    for (index p = s.first_position; p < s.first_position + s.rows; ++p)
      if (pass_.wants_state(layer_, mixer_, s, p)) return true;
    return false;
  }

  // One slot for each snapshot a fork starts from, one for a running state.
  void lay_out_states() {
    for (const segment& s : pass_.segments()) {
      if (s.parent < 0) continue;
      const bool known = std::any_of(saved_.begin(), saved_.end(), [&s](const saved& x) {
        return x.parent == s.parent && x.position == s.first_position;
      });
      if (!known) saved_.push_back({s.parent, s.first_position, static_cast<index>(saved_.size())});
    }
    std::sort(saved_.begin(), saved_.end(),
              [](const saved& a, const saved& b) { return a.position < b.position; });
    const auto needed = (saved_.size() + 1) * static_cast<std::size_t>(kernel_.state_size());
    if (pass_.work.states.size() < needed) pass_.work.states.resize(needed);
  }

  float* state_at(index slot) { return pass_.work.states.data() + slot * kernel_.state_size(); }
  float* spare_state() { return state_at(static_cast<index>(saved_.size())); }
  const float* snapshot(const segment& fork) {
    const auto it = std::find_if(saved_.begin(), saved_.end(), [&fork](const saved& s) {
      return s.parent == fork.parent && s.position == fork.first_position;
    });
    return state_at(it->slot);
  }

  void scan_prompt(std::size_t segment_index) {
    const segment& s = pass_.segments()[segment_index];
    float* state = spare_state();
    if (s.cache != nullptr) {
      aligned_floats& kept = s.cache->layers[static_cast<std::size_t>(layer_)].state;
      kept.resize(static_cast<std::size_t>(kernel_.state_size()), 0.0F);
      state = kept.data();
    } else {
      std::fill_n(state, kernel_.state_size(), 0.0F);
    }
    std::vector<saved> here;
    for (const saved& snap : saved_)
      if (snap.parent == static_cast<int>(segment_index)) here.push_back(snap);
    scan_piecewise(s, state, here);
  }

  // Scans a segment, stopping where a snapshot is due or a hook wants the state.
  void scan_piecewise(const segment& s, float* state, std::span<const saved> snapshots) {
    const bool decay = pass_.template wants<hook::log_decay>(layer_, mixer_, s);
    const bool writes = pass_.template wants<hook::ssm_write>(layer_, mixer_, s);
    if (decay || writes) kernel_.make_explicit(s.first_row, s.rows);
    if (decay) pass_.template fire_on<hook::log_decay>(layer_, mixer_, s, kernel_.decay_view(s.rows));
    if (writes) pass_.template fire_on<hook::ssm_write>(layer_, mixer_, s, kernel_.write_view(s.rows));
    const index end = s.first_position + s.rows;
    index position = s.first_position;
    const auto advance = [&](index to) {
      if (to == position) return;
      const index row = s.first_row + position - s.first_position;
      if (decay || writes)
        kernel_.scan_explicit(row, position - s.first_position, to - position, state);
      else
        kernel_.scan(row, to - position, state);
      position = to;
    };
    for (index p = s.first_position; p < end; ++p) {
      for (const saved& snap : snapshots)
        if (snap.position == p) {
          advance(p);
          std::copy_n(state, kernel_.state_size(), state_at(snap.slot));
        }
      if (pass_.wants_state(layer_, mixer_, s, p)) {
        advance(p + 1);
        pass_.fire_state(layer_, mixer_, s, p, kernel_.state_view(state));
        if constexpr (std::remove_cvref_t<H>::edits(hook::ssm_state))
          kernel_.read_out(s.first_row + p - s.first_position, state);
      }
    }
    advance(end);
  }

  forward_pass<H>& pass_;
  Kernel& kernel_;
  int layer_;
  mixer_kind mixer_;
  std::vector<saved> saved_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_SCAN_DRIVER_HPP
