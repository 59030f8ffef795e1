#ifndef ICLMECH_IO_BPE_MERGE_HPP
#define ICLMECH_IO_BPE_MERGE_HPP
// Byte pair encoding's one loop: join the best neighbours until no two can be joined.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "iclmech/detail/matrix.hpp"

namespace iclmech {

/// A token in the making, a link in a list held in a vector. Positions are 32 bits: texts are below 2 GiB.
struct bpe_symbol {
  token_id id;            ///< Token id, -1 where the text is no token (yet).
  std::uint32_t begin;    ///< Byte where its text starts.
  std::uint32_t size;     ///< Bytes of text, 0 once joined to the symbol before.
  std::int32_t previous;  ///< Neighbours' places, -1 at the ends.
  std::int32_t next;
};

/// What two neighbours become, and how soon: lower ranks first, leftmost among equals.
struct bpe_join {
  std::uint32_t rank;
  token_id id;
};

/// Appends a symbol at the end of the list.
inline void append_symbol(std::vector<bpe_symbol>& symbols, token_id id, std::size_t begin,
                          std::size_t size) {
  const auto place = static_cast<std::int32_t>(symbols.size());
  if (place > 0) symbols.back().next = place;
  symbols.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size), place - 1, -1});
}

/// Joins neighbours in `symbols` as `find(left, right) -> std::optional<bpe_join>` says and calls
/// `emit(symbol)` for those that remain. Time O(n log n) and n + O(1) calls of `find` for each join.
template <class Find, class Emit>
void merge_symbols(std::vector<bpe_symbol>& symbols, Find&& find, Emit&& emit) {
  struct candidate {
    std::uint32_t rank;
    std::int32_t place;
    token_id id;
    bool operator<(const candidate& other) const {  // std::priority_queue keeps the greatest on top
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  std::vector<candidate> first;
  const auto at = [&](std::int32_t place) -> bpe_symbol& { return symbols[static_cast<std::size_t>(place)]; };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    if (const std::optional<bpe_join> join = find(symbols[i], symbols[i + 1]))
      first.push_back({join->rank, static_cast<std::int32_t>(i), join->id});
  std::priority_queue<candidate> queue({}, std::move(first));
  const auto consider = [&](std::int32_t place) {
    if (const std::optional<bpe_join> join = find(at(place), at(at(place).next)))
      queue.push({join->rank, place, join->id});
  };
  while (!queue.empty()) {
    const candidate top = queue.top();
    queue.pop();
    bpe_symbol& left = at(top.place);
    if (left.size == 0 || left.next < 0) continue;
    bpe_symbol& right = at(left.next);
    // Since this candidate was queued its symbols may have been joined to others.
    const std::optional<bpe_join> join = find(left, right);
    if (!join || join->id != top.id) continue;
    left.id = top.id;
    left.size += right.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) at(left.next).previous = top.place;
    if (left.previous >= 0) consider(left.previous);
    if (left.next >= 0) consider(top.place);
  }
  for (const bpe_symbol& symbol : symbols)
    if (symbol.size != 0) emit(symbol);
}

}  // namespace iclmech

#endif  // ICLMECH_IO_BPE_MERGE_HPP
