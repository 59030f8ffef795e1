#ifndef ICLMECH_IO_ADDED_TOKENS_HPP
#define ICLMECH_IO_ADDED_TOKENS_HPP
// Tokens that are found in the text as they stand, before it is split: special tokens and other added ones.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/io/unicode_property.hpp"
#include "iclmech/io/utf8.hpp"

namespace iclmech {

/// A token matched verbatim. With `single_word` only where no word character touches it; `lstrip` and
/// `rstrip` take the white space beside it along; `normalized` ones are looked for after normalization, in
/// their own normalized form.
struct added_token {
  token_id id = 0;
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
};

/// Finds added tokens in text: leftmost first, of those the longest.
class added_token_matcher {
 public:
  added_token_matcher() = default;

  /// Tokens with empty content match nothing.
  explicit added_token_matcher(std::vector<added_token> tokens) : tokens_(std::move(tokens)) {
    std::erase_if(tokens_, [](const added_token& t) { return t.content.empty(); });
    std::stable_sort(tokens_.begin(), tokens_.end(),
                     [](const auto& a, const auto& b) { return a.content < b.content; });
    for (const added_token& t : tokens_) starts_[static_cast<unsigned char>(t.content.front())] = true;
  }

  /// Calls `visit(part, token)` for each part of `text` (valid UTF-8) in order: either a part between tokens
  /// (not empty, `token` null) or a token (`part` empty).
  template <class Visit>
  void split(std::string_view text, Visit&& visit) const {
    std::size_t from = 0;
    const auto emit_text = [&](std::size_t end) {
      if (from < end) visit(text.substr(from, end - from), static_cast<const added_token*>(nullptr));
    };
    for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
      const added_token* token =
          starts_[static_cast<unsigned char>(text[at])] ? longest_at(text.substr(at)) : nullptr;
      if (!token) {
        ++at;
        continue;
      }
      std::size_t begin = at, end = at + token->content.size();
      at = end;  // the search goes on behind the token itself, whatever it strips
      if (token->single_word && (word_before(text, begin) || word_after(text, end))) continue;
      if (token->lstrip) begin = white_space_before(text, begin, from);
      if (token->rstrip) end = white_space_after(text, std::max(end, from));
      emit_text(begin);
      visit(std::string_view(), token);
      from = end;
    }
    emit_text(text.size());
  }

 private:
  /// Narrows the sorted list byte by byte to the tokens that share the text's beginning.
  const added_token* longest_at(std::string_view text) const {
    const added_token* longest = nullptr;
    auto low = tokens_.begin(), high = tokens_.end();
    for (std::size_t depth = 0; depth < text.size(); ++depth) {
      const auto byte = static_cast<unsigned char>(text[depth]);
      // Of the tokens in range those that end here come first: they are shorter than `depth + 1`.
      const auto at_depth = [depth](const added_token& t) {
        return t.content.size() > depth ? static_cast<unsigned char>(t.content[depth]) : -1;
      };
      low = std::partition_point(low, high, [&](const added_token& t) { return at_depth(t) < byte; });
      high = std::partition_point(low, high, [&](const added_token& t) { return at_depth(t) <= byte; });
      if (low == high) break;
      if (low->content.size() == depth + 1) longest = &*low;
    }
    return longest;
  }

  /// The start of the code point that ends before byte `at` > 0 of valid UTF-8.
  static std::size_t previous(std::string_view text, std::size_t at) {
    do --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    return at;
  }

  static bool word_before(std::string_view text, std::size_t at) {
    return at > 0 && is_word_character(read_utf8(text, previous(text, at)).code_point);
  }
  static bool word_after(std::string_view text, std::size_t at) {
    return at < text.size() && is_word_character(read_utf8(text, at).code_point);
  }
  static std::size_t white_space_before(std::string_view text, std::size_t at, std::size_t bound) {
    while (at > bound) {
      const std::size_t start = previous(text, at);
      if (!is_white_space(read_utf8(text, start).code_point)) break;
      at = start;
    }
    return at;
  }
  static std::size_t white_space_after(std::string_view text, std::size_t at) {
    while (at < text.size()) {
      const utf8_unit unit = read_utf8(text, at);
      if (!is_white_space(unit.code_point)) break;
      at += unit.size;
    }
    return at;
  }

  std::vector<added_token> tokens_;
  std::array<bool, 256> starts_{};
};

}  // namespace iclmech

#endif  // ICLMECH_IO_ADDED_TOKENS_HPP
