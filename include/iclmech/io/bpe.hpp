#ifndef ICLMECH_IO_BPE_HPP
#define ICLMECH_IO_BPE_HPP
// Byte pair encoding with a list of merges, as tokenizer.json and byte-level GGUF vocabularies hold it.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/bpe_merge.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/utf8.hpp"
#include "iclmech/io/vocabulary.hpp"

namespace iclmech {

/// The ids of the byte tokens "<0x00>" to "<0xFF>", -1 where the vocabulary lacks one.
inline std::array<token_id, 256> byte_tokens(const vocabulary& tokens) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::array<token_id, 256> ids{};
  for (std::size_t b = 0; b < 256; ++b)
    ids[b] = tokens.id(std::string{'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'});
  return ids;
}

namespace detail {

/// What two tokens become: an open-addressed hash table, looked into once for every pair of neighbours.
class merge_table {
 public:
  explicit merge_table(std::size_t merges) : slots_(std::bit_ceil(2 * merges + 1)) {}

  void put(token_id left, token_id right, bpe_join join) {
    slot& s = slots_[place(left, right)];
    s = {left, right, join};
  }

  std::optional<bpe_join> find(token_id left, token_id right) const {
    const slot& s = slots_[place(left, right)];
    if (s.left < 0) return std::nullopt;
    return s.join;
  }

 private:
  struct slot {
    token_id left = -1;
    token_id right = -1;
    bpe_join join{};
  };

  /// The slot of that pair, or the free one it would take.
  std::size_t place(token_id left, token_id right) const {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio
    std::uint64_t hash =
        (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
    hash = (hash * odd) ^ ((hash * odd) >> 32);
    hash *= odd;
    std::size_t i = static_cast<std::size_t>(hash >> 32) & (slots_.size() - 1);
    while (slots_[i].left >= 0 && (slots_[i].left != left || slots_[i].right != right))
      i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  std::vector<slot> slots_;
};

}  // namespace detail

/// What a BPE model does with characters outside its vocabulary, and with whole pieces inside it.
struct bpe_options {
  bool byte_fallback =
      false;  ///< spell unknown characters with the byte tokens, if all of their bytes have one
  bool fuse_unknown = false;   ///< one unknown token for a run of unknown characters
  bool ignore_merges = false;  ///< a piece that is a token becomes that token, whatever its merges say
  std::optional<token_id> unknown = std::nullopt;  ///< without it unknown characters vanish
};

/// A vocabulary with ranked merges. Immutable.
class bpe_model {
 public:
  using merge = std::pair<std::string, std::string>;

  /// `merges` come best first. Throws argument_error if a merge's parts or what they make are no tokens.
  bpe_model(vocabulary tokens, const std::vector<merge>& merges, bpe_options options)
      : tokens_(std::move(tokens)),
        options_(options),
        byte_tokens_(iclmech::byte_tokens(tokens_)),
        merges_(merges.size()) {
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const std::string& left = merges[rank].first;  // clang 14 captures no structured binding
      const std::string& right = merges[rank].second;
      const auto id = [&](const std::string& text) {
        const token_id found = tokens_.id(text);
        if (found < 0)
          throw argument_error("merge " + std::to_string(rank) + " joins " + detail::in_quotes(left) +
                               " and " + detail::in_quotes(right) + ", but " + detail::in_quotes(text) +
                               " is not in the vocabulary");
        return found;
      };
      const token_id first = id(left), second = id(right);
      merges_.put(first, second, {static_cast<std::uint32_t>(rank), id(left + right)});
    }
    std::string text;
    for (char32_t c = 0; c < small_ids_.size(); ++c) {
      text.clear();
      append_utf8(text, c);
      small_ids_[c] = tokens_.id(text);
    }
  }

  const vocabulary& tokens() const { return tokens_; }

  /// Appends the tokens of one piece of text (valid UTF-8) to `ids`.
  void encode(std::string_view piece, std::vector<token_id>& ids) const {
    if (options_.ignore_merges) {
      if (const token_id whole = tokens_.id(piece); whole >= 0) {
        ids.push_back(whole);
        return;
      }
    }
    std::vector<bpe_symbol> symbols = characters(piece);
    merge_symbols(
        symbols,
        [&](const bpe_symbol& left, const bpe_symbol& right) { return merges_.find(left.id, right.id); },
        [&](const bpe_symbol& symbol) { ids.push_back(symbol.id); });
  }

 private:
  std::vector<bpe_symbol> characters(std::string_view piece) const {
    std::vector<bpe_symbol> symbols;
    symbols.reserve(piece.size());
    std::size_t unknown_begin = 0, unknown_size = 0;  // a run of unknown characters not yet in the list
    const auto flush_unknown = [&] {
      if (unknown_size != 0) append_symbol(symbols, *options_.unknown, unknown_begin, unknown_size);
      unknown_size = 0;
    };
    for (std::size_t at = 0; at < piece.size();) {
      const utf8_unit unit = read_utf8(piece, at);
      const std::string_view character = piece.substr(at, unit.size);
      const token_id id =
          unit.code_point < small_ids_.size() ? small_ids_[unit.code_point] : tokens_.id(character);
      if (id >= 0) {
        flush_unknown();
        append_symbol(symbols, id, at, unit.size);
      } else if (options_.byte_fallback && all_bytes_known(character)) {
        for (std::size_t i = 0; i < unit.size; ++i)
          append_symbol(symbols, byte_token(character[i]), at + i, 1);
      } else if (options_.unknown) {
        if (!options_.fuse_unknown) flush_unknown();
        if (unknown_size == 0) unknown_begin = at;
        unknown_size += unit.size;
      }
      at += unit.size;
    }
    flush_unknown();
    return symbols;
  }

  token_id byte_token(char byte) const { return byte_tokens_[static_cast<unsigned char>(byte)]; }

  bool all_bytes_known(std::string_view character) const {
    for (const char byte : character)
      if (byte_token(byte) < 0) return false;
    return true;
  }

  vocabulary tokens_;
  bpe_options options_;
  std::array<token_id, 256> byte_tokens_;
  std::array<token_id, 0x180>
      small_ids_{};  ///< tokens of the first code points, the byte-level alphabet included
  detail::merge_table merges_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_BPE_HPP
