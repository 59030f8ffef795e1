#ifndef ICLMECH_IO_VOCABULARY_HPP
#define ICLMECH_IO_VOCABULARY_HPP
// The two-way map between token ids and token texts.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"

namespace iclmech {

/// Token texts by id and ids by text. Ids may have holes.
class vocabulary {
 public:
  static constexpr token_id max_size = 1 << 22;

  /// `entries` are (text, id); every id must be in [0, max_size): the largest real vocabularies have 2^20
  /// tokens. Throws argument_error on an id out of range or given to two texts, or a text with two ids.
  explicit vocabulary(std::vector<std::pair<std::string, token_id>> entries)
      : slots_(std::bit_ceil(2 * entries.size() + 1)) {
    token_id last = -1;
    for (const auto& [text, id] : entries) {
      if (id < 0 || id >= max_size)
        throw argument_error("the token " + detail::in_quotes(text) + " has the id " + std::to_string(id) +
                             "; ids go from 0 to " + std::to_string(max_size - 1));
      last = std::max(last, id);
    }
    texts_.resize(static_cast<std::size_t>(last + 1));
    present_.resize(texts_.size());
    for (auto& [text, id] : entries) {
      const auto place = static_cast<std::size_t>(id);
      if (present_[place])
        throw argument_error("the id " + std::to_string(id) + " belongs to both " +
                             detail::in_quotes(texts_[place]) + " and " + detail::in_quotes(text));
      const std::size_t hash = std::hash<std::string_view>()(text);
      slot& s = slots_[find_slot(text, hash)];
      if (s.id >= 0)
        throw argument_error("the token " + detail::in_quotes(text) + " has both the id " +
                             std::to_string(s.id) + " and the id " + std::to_string(id));
      s = {tag(hash), id};
      present_[place] = true;
      texts_[place] = std::move(text);
    }
  }

  /// One more than the highest id.
  std::size_t size() const { return texts_.size(); }

  /// The text of `id`, or nothing if there is no such token.
  std::optional<std::string_view> text(token_id id) const {
    const auto place = static_cast<std::size_t>(id);
    if (id < 0 || place >= texts_.size() || !present_[place]) return std::nullopt;
    return texts_[place];
  }

  /// The id of `text`, -1 if there is no such token.
  token_id id(std::string_view text) const {
    return slots_[find_slot(text, std::hash<std::string_view>()(text))].id;
  }

 private:
  /// A place in an open-addressed hash table. Loading half a million merges is bound by cache misses here, of
  /// which std::unordered_map's list nodes cost one more.
  struct slot {
    std::uint32_t tag = 0;
    token_id id = -1;
  };

  static std::uint32_t tag(std::size_t hash) { return static_cast<std::uint32_t>(std::uint64_t{hash} >> 32); }

  /// The slot of `text`, or the free one it would take.
  std::size_t find_slot(std::string_view text, std::size_t hash) const {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].id >= 0 &&
           (slots_[i].tag != tag(hash) || texts_[static_cast<std::size_t>(slots_[i].id)] != text))
      i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  std::vector<slot> slots_;
  std::vector<std::string> texts_;
  std::vector<bool> present_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_VOCABULARY_HPP
