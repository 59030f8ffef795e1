#ifndef ICLMECH_IO_SENTENCEPIECE_BPE_HPP
#define ICLMECH_IO_SENTENCEPIECE_BPE_HPP
// Byte pair encoding by scores, as SentencePiece does it and as GGUF files store Llama 2's and Gemma's
// tokenizers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/bpe.hpp"
#include "iclmech/io/bpe_merge.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/utf8.hpp"
#include "iclmech/io/vocabulary.hpp"

namespace iclmech {

/// A vocabulary of scored pieces: of the neighbouring pieces whose joined text is a piece, those that make
/// the one with the highest score join first, leftmost among equals. Characters that are no piece are spelled
/// in byte tokens. Immutable.
class sentencepiece_bpe {
 public:
  /// `scores[id]` and `joinable[id]` (whether text may become that token) have one entry for each id;
  /// `unknown` is the token for bytes that have none. Throws argument_error if a count is wrong or a score is
  /// not a number.
  sentencepiece_bpe(vocabulary tokens, const std::vector<float>& scores, const std::vector<bool>& joinable,
                    std::optional<token_id> unknown)
      : tokens_(std::move(tokens)), byte_tokens_(iclmech::byte_tokens(tokens_)), unknown_(unknown) {
    if (scores.size() != tokens_.size() || joinable.size() != tokens_.size())
      throw argument_error("there are " + std::to_string(tokens_.size()) + " tokens, but " +
                           std::to_string(scores.size()) + " scores and " + std::to_string(joinable.size()) +
                           " token types");
    std::vector<float> order;
    for (std::size_t id = 0; id < scores.size(); ++id) {
      if (!joinable[id]) continue;
      if (std::isnan(scores[id]))
        throw argument_error("the score of token " + std::to_string(id) + " is not a number");
      order.push_back(scores[id]);
      if (const auto text = tokens_.text(static_cast<token_id>(id)))
        longest_ = std::max(longest_, text->size());
    }
    std::sort(order.begin(), order.end(), std::greater<>());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    ranks_.assign(tokens_.size(), not_joinable);
    for (std::size_t id = 0; id < scores.size(); ++id)
      if (joinable[id])
        ranks_[id] = static_cast<std::uint32_t>(
            std::lower_bound(order.begin(), order.end(), scores[id], std::greater<>()) - order.begin());
  }

  const vocabulary& tokens() const { return tokens_; }

  /// Appends the tokens of one piece of text (valid UTF-8) to `ids`.
  void encode(std::string_view piece, std::vector<token_id>& ids) const {
    std::vector<bpe_symbol> symbols;
    symbols.reserve(piece.size());
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t size = read_utf8(piece, at).size;
      append_symbol(symbols, find(piece.substr(at, size)), at, size);
      at += size;
    }
    bool after_unknown = false;
    merge_symbols(
        symbols, [&](const bpe_symbol& left, const bpe_symbol& right) { return join(piece, left, right); },
        [&](const bpe_symbol& symbol) {
          if (symbol.id >= 0) {
            ids.push_back(symbol.id);
            after_unknown = false;
            return;
          }
          for (const char byte : piece.substr(symbol.begin, symbol.size)) {
            const token_id id = byte_tokens_[static_cast<unsigned char>(byte)];
            if (id >= 0) ids.push_back(id);
            if (id < 0 && unknown_ && !after_unknown) ids.push_back(*unknown_);
            after_unknown = id < 0;
          }
        });
  }

 private:
  static constexpr std::uint32_t not_joinable = std::numeric_limits<std::uint32_t>::max();

  /// The token that `text` may become, -1 if none.
  token_id find(std::string_view text) const {
    if (text.size() > longest_) return -1;
    const token_id id = tokens_.id(text);
    return id < 0 || ranks_[static_cast<std::size_t>(id)] == not_joinable ? -1 : id;
  }

  std::optional<bpe_join> join(std::string_view piece, const bpe_symbol& left,
                               const bpe_symbol& right) const {
    if (left.id < 0 || right.id < 0) return std::nullopt;
    const token_id id = find(piece.substr(left.begin, std::size_t{left.size} + right.size));
    if (id < 0) return std::nullopt;
    return bpe_join{ranks_[static_cast<std::size_t>(id)], id};
  }

  vocabulary tokens_;
  std::array<token_id, 256> byte_tokens_;
  std::optional<token_id> unknown_;
  std::vector<std::uint32_t> ranks_;  ///< 0 for the highest score, equal for equal ones
  std::size_t longest_ = 0;           ///< bytes of the longest joinable token
};

}  // namespace iclmech

#endif  // ICLMECH_IO_SENTENCEPIECE_BPE_HPP
