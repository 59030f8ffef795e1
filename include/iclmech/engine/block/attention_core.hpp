#ifndef ICLMECH_ENGINE_BLOCK_ATTENTION_CORE_HPP
#define ICLMECH_ENGINE_BLOCK_ATTENTION_CORE_HPP
// Causal attention from queries, keys and values to hook_z, for prompts, one-token steps and forks alike.

#include <limits>

#include "iclmech/detail/parallel.hpp"
#include "iclmech/detail/thread_scratch.hpp"
#include "iclmech/engine/forward_pass.hpp"

namespace iclmech {
namespace detail {

/// Keys and values of consecutive positions, one key/value head.
struct key_run {
  const float* keys = nullptr;
  const float* values = nullptr;
  index key_stride = 0;
  index value_stride = 0;
  index count = 0;
};

/// What one query head meets: positions 0 .. shared.count-1, then own ones.
struct attention_source {
  key_run shared;
  key_run own;
};

/// Scaled scores of query rows against both runs, into scores [q.rows x shared.count + own_count].
inline void score_rows(const attention_config& a, const const_matrix_ref& q, const attention_source& source,
                       index own_count, matrix_view scores) {
  const auto keys = [&](const key_run& run, index count) {
    return const_matrix_view(run.keys, count, a.d_key, Eigen::OuterStride<>(run.key_stride));
  };
  const index shared = source.shared.count;
  if (shared > 0) scores.leftCols(shared).noalias() = a.scale * q * keys(source.shared, shared).transpose();
  if (own_count > 0)
    scores.middleCols(shared, own_count).noalias() = a.scale * q * keys(source.own, own_count).transpose();
  if (a.softcap > 0.0F) scores.array() = a.softcap * (scores.array() / a.softcap).tanh();
}

/// Softmax over the keys that a query at `position` sees; the others get exactly 0. Row index = key position.
inline void mask_and_normalize(const attention_config& a, std::span<float> row, index position) {
  const index end = position + 1;
  const index begin = a.window > 0 ? std::max<index>(0, end - a.window) : 0;
  const index hidden_from = std::min(begin, a.always_visible);
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  std::fill(row.begin() + hidden_from, row.begin() + begin, hidden);
  std::fill(row.begin() + end, row.end(), hidden);
  const index first = hidden_from > 0 ? 0 : begin;
  std::fill(row.begin(), row.begin() + first, 0.0F);
  softmax(row.subspan(static_cast<std::size_t>(first)));
}

/// z = pattern times the values of both runs.
inline void mix_values(const attention_config& a, const const_matrix_ref& pattern,
                       const attention_source& source, index own_count, matrix_ref z) {
  const auto values = [&](const key_run& run, index count) {
    return const_matrix_view(run.values, count, a.d_value, Eigen::OuterStride<>(run.value_stride));
  };
  const index shared = source.shared.count;
  if (shared > 0)
    z.noalias() = pattern.leftCols(shared) * values(source.shared, shared);
  else
    z.setZero();
  if (own_count > 0) z.noalias() += pattern.middleCols(shared, own_count) * values(source.own, own_count);
}

/// All query rows of one head of one segment, a block of queries at a time.
inline void attend_rows(const attention_config& a, const const_matrix_ref& q, const attention_source& source,
                        index first_position, matrix_ref z) {
  constexpr index block = 64;
  for (index first = 0; first < q.rows(); first += block) {
    const index rows = std::min(block, q.rows() - first);
    // Keys behind the block's last query are seen by none of its rows.
    const index own = std::min(source.own.count, first_position + first + rows - source.shared.count);
    const index keys = source.shared.count + own;
    matrix_view scores(scratch_floats<struct attention_scores>(rows * keys), rows, keys,
                       Eigen::OuterStride<>(keys));
    score_rows(a, q.middleRows(first, rows), source, own, scores);
    for (index r = 0; r < rows; ++r)
      mask_and_normalize(a, {scores.row(r).data(), static_cast<std::size_t>(keys)},
                         first_position + first + r);
    mix_values(a, scores, source, own, z.middleRows(first, rows));
  }
}

/// Forks of one row each that share all earlier positions: one product serves them all, then each meets its
/// own key. `rows` are their rows in q, k, v and z; `q` etc. are one head's columns.
inline void attend_forks(const attention_config& a, std::span<const index> rows, const const_matrix_ref& q,
                         const const_matrix_ref& k, const const_matrix_ref& v, const key_run& shared,
                         matrix_ref z) {
  const index n = static_cast<index>(rows.size()), keys = shared.count + 1;
  float* memory = scratch_floats<struct attention_scores>(n * (keys + std::max(a.d_key, a.d_value)));
  matrix_view scores(memory, n, keys, Eigen::OuterStride<>(keys));
  matrix_view queries(memory + n * keys, n, a.d_key, Eigen::OuterStride<>(a.d_key));
  for (index i = 0; i < n; ++i) queries.row(i) = q.row(rows[static_cast<std::size_t>(i)]);
  score_rows(a, queries, {shared, {}}, 0, scores);
  for (index i = 0; i < n; ++i) {
    float own = a.scale * queries.row(i).dot(k.row(rows[static_cast<std::size_t>(i)]));
    if (a.softcap > 0.0F) own = a.softcap * std::tanh(own / a.softcap);
    scores(i, shared.count) = own;
    mask_and_normalize(a, {scores.row(i).data(), static_cast<std::size_t>(keys)}, shared.count);
  }
  matrix_view mixed(memory + n * keys, n, a.d_value, Eigen::OuterStride<>(a.d_value));
  mix_values(a, scores, {shared, {}}, 0, mixed);
  for (index i = 0; i < n; ++i) {
    const index row = rows[static_cast<std::size_t>(i)];
    z.row(row) = mixed.row(i) + scores(i, shared.count) * v.row(row);
  }
}

}  // namespace detail

/// Attention of one layer for every row in flight: q [rows x heads*d_key] and k [rows x kv_heads*d_key] after
/// the rotary embedding, v [rows x kv_heads*d_value], all row-aligned; writes z [rows x heads*d_value].
/// `kv_layer` is the layer whose cache holds the earlier keys and values.
template <hooks H>
void attend(forward_pass<H>& pass, int layer, const attention_config& a, matrix_view q, matrix_view k,
            matrix_view v, matrix_view z, bool extend_cache) {
  const int kv_layer = a.kv_source >= 0 ? a.kv_source : layer;
  const index per_kv = a.heads / a.kv_heads;
  const auto run = [&](const segment& s, index kv_head, index count) {
    return detail::key_run{k.data() + s.first_row * k.outerStride() + kv_head * a.d_key,
                           v.data() + s.first_row * v.outerStride() + kv_head * a.d_value, k.outerStride(),
                           v.outerStride(), count};
  };
  const auto source_of = [&](const segment& s, index head) -> detail::attention_source {
    const index kv_head = head / per_kv;
    if (s.parent >= 0)
      return {run(pass.segments()[static_cast<std::size_t>(s.parent)], kv_head, s.first_position),
              run(s, kv_head, s.rows)};
    if (s.cache == nullptr) return {{}, run(s, kv_head, s.rows)};
    const layer_cache& cache = s.cache->layers[static_cast<std::size_t>(kv_layer)];
    return {{},
            {cache.keys.data() + kv_head * a.d_key, cache.values.data() + kv_head * a.d_value,
             index{a.kv_heads} * a.d_key, index{a.kv_heads} * a.d_value, s.first_position + s.rows}};
  };

  // Forks of one row that share their prompt and position are taken together.
  attention_plan& plan = pass.work.attention;
  plan.clear();
  for (const segment& s : pass.segments()) {
    if (s.cache != nullptr && extend_cache) {
      layer_cache& cache = s.cache->layers[static_cast<std::size_t>(kv_layer)];
      detail::append_rows(cache.keys, k.middleRows(s.first_row, s.rows));
      detail::append_rows(cache.values, v.middleRows(s.first_row, s.rows));
    }
    const bool watched = pass.template wants<hook::pattern>(layer, mixer_kind::attention, s) ||
                         pass.template wants<hook::attn_scores>(layer, mixer_kind::attention, s);
    if (watched) {
      attend_watched(pass, layer, a, s, q, z, [&](index head) { return source_of(s, head); });
    } else if (s.parent >= 0 && s.rows == 1) {
      plan.add_fork(s.parent, s.first_position, s.first_row);
    } else {
      plan.single.push_back(static_cast<index>(&s - pass.segments().data()));
    }
  }

  index keys = 0;
  for (const segment& s : pass.segments()) keys = std::max(keys, s.first_position + s.rows);
  const index work = q.rows() * keys * a.heads * (a.d_key + a.d_value);
  const auto single = static_cast<index>(plan.single.size());
  const index items = single + plan.group_count;
  detail::parallel_for(items * a.heads, detail::threads_for(work), [&](index task) {
    const index head = task % a.heads;
    const index item = task / a.heads;
    auto head_z = z.middleCols(head * a.d_value, a.d_value);
    if (item < single) {
      const segment& s =
          pass.segments()[static_cast<std::size_t>(plan.single[static_cast<std::size_t>(item)])];
      detail::attend_rows(a, q.block(s.first_row, head * a.d_key, s.rows, a.d_key), source_of(s, head),
                          s.first_position, head_z.middleRows(s.first_row, s.rows));
    } else {
      const attention_plan::fork_group& g = plan.groups[static_cast<std::size_t>(item - single)];
      const index kv_head = head / per_kv;
      const segment& parent = pass.segments()[static_cast<std::size_t>(g.parent)];
      detail::attend_forks(
          a, g.rows, q.middleCols(head * a.d_key, a.d_key), k.middleCols(kv_head * a.d_key, a.d_key),
          v.middleCols(kv_head * a.d_value, a.d_value), run(parent, kv_head, g.position), head_z);
    }
  });
}

/// One segment with its scores and pattern in memory, for hooks that look at them or write them.
template <hooks H, class SourceOf>
void attend_watched(forward_pass<H>& pass, int layer, const attention_config& a, const segment& s,
                    matrix_view q, matrix_view z, const SourceOf& source_of) {
  const index keys = s.first_position + s.rows;
  aligned_floats& memory = pass.work.explicit_pattern;
  memory.resize(static_cast<std::size_t>(a.heads * s.rows * keys));
  const auto pattern = [&](index head) {
    return matrix_view(memory.data() + head * s.rows * keys, s.rows, keys, Eigen::OuterStride<>(keys));
  };
  const auto view = [&] { return activation_view::contiguous(memory.data(), 3, {a.heads, s.rows, keys}); };
  for (index head = 0; head < a.heads; ++head) {
    const detail::attention_source source = source_of(head);
    detail::score_rows(a, q.block(s.first_row, head * a.d_key, s.rows, a.d_key), source, source.own.count,
                       pattern(head));
  }
  if (pass.template wants<hook::attn_scores>(layer, mixer_kind::attention, s))
    pass.template fire_on<hook::attn_scores>(layer, mixer_kind::attention, s, view());
  for (index head = 0; head < a.heads; ++head)
    for (index r = 0; r < s.rows; ++r)
      detail::mask_and_normalize(a, {pattern(head).row(r).data(), static_cast<std::size_t>(keys)},
                                 s.first_position + r);
  if (pass.template wants<hook::pattern>(layer, mixer_kind::attention, s))
    pass.template fire_on<hook::pattern>(layer, mixer_kind::attention, s, view());
  for (index head = 0; head < a.heads; ++head) {
    const detail::attention_source source = source_of(head);
    detail::mix_values(a, pattern(head), source, source.own.count,
                       z.block(s.first_row, head * a.d_value, s.rows, a.d_value));
  }
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_BLOCK_ATTENTION_CORE_HPP
