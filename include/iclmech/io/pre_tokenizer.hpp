#ifndef ICLMECH_IO_PRE_TOKENIZER_HPP
#define ICLMECH_IO_PRE_TOKENIZER_HPP
// How a tokenizer cuts text into the pieces that are then tokenized one by one.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "iclmech/io/byte_level.hpp"
#include "iclmech/io/unicode_property.hpp"
#include "iclmech/io/unicode_regex.hpp"
#include "iclmech/io/utf8.hpp"

namespace iclmech {

/// A range of bytes.
struct text_range {
  std::size_t begin;
  std::size_t end;
};

/// Text and the pieces of it that are left, in order, none empty.
struct split_text {
  std::string text;
  std::vector<text_range> pieces;
  bool starts_input = true;  ///< Whether `text` is where the tokenizer's whole input starts.

  std::string_view piece(std::size_t i) const {
    return std::string_view(text).substr(pieces[i].begin, pieces[i].end - pieces[i].begin);
  }
};

/// What becomes of a delimiter: dropped, a piece of its own, joined to a neighbour, or joined to the
/// delimiters beside it.
enum class split_behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Splits at each occurrence of a string (not empty) or match of an expression; `invert` makes what lies
/// between the matches the delimiters.
struct pattern_split {
  std::variant<std::string, unicode_regex> pattern;
  split_behavior behavior = split_behavior::isolated;
  bool invert = false;
};

/// Splits by GPT-2's expression where `use_regex` is set, then spells every byte as one printable character.
struct byte_level_split {
  bool add_prefix_space = false;
  bool use_regex = true;
};

/// Sets numbers apart, each digit on its own if `individual`.
struct digit_split {
  bool individual = false;
};

/// Writes `replacement` for each space, and in front of pieces that do not start with it as `prepend` says;
/// then splits before each `replacement` if `split` is set.
struct metaspace_split {
  enum class prepend_scheme { always, first, never };
  std::string replacement = "\xE2\x96\x81";
  prepend_scheme prepend = prepend_scheme::always;
  bool split = true;
};

/// Keeps runs of word characters and runs of other visible characters.
struct word_split {};

/// Keeps what lies between white space.
struct white_space_split {};

using pre_tokenizer_step = std::variant<pattern_split, byte_level_split, digit_split, metaspace_split,
                                        word_split, white_space_split>;

/// GPT-2's expression, also that of GPT-NeoX and of SmolLM2 (after its digits).
inline constexpr std::string_view gpt2_split_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace detail {

/// A stretch of a piece, between delimiters or a delimiter itself.
struct stretch {
  text_range range;
  bool delimiter;
};

/// The ranges that `behavior` makes of stretches that cover a piece from its start to its end; empty ones go.
inline void append_pieces(const std::vector<stretch>& stretches, split_behavior behavior,
                          std::vector<text_range>& pieces) {
  const std::size_t first = pieces.size();
  bool joins_next = false;  // merged_with_next: the last range is a delimiter that waits for its text
  bool previous_delimiter = false;
  for (const stretch& s : stretches) {
    bool join = false;
    switch (behavior) {
      case split_behavior::removed:
        if (s.delimiter) continue;
        break;
      case split_behavior::isolated:
        break;
      case split_behavior::merged_with_previous:
        join = s.delimiter && !previous_delimiter;
        break;
      case split_behavior::merged_with_next:
        join = joins_next && !s.delimiter;
        joins_next = s.delimiter;
        break;
      case split_behavior::contiguous:
        join = s.delimiter == previous_delimiter;
        break;
    }
    previous_delimiter = s.delimiter;
    if (join && pieces.size() > first)
      pieces.back().end = s.range.end;
    else
      pieces.push_back(s.range);
  }
  const auto start = pieces.begin() + static_cast<std::ptrdiff_t>(first);
  pieces.erase(std::remove_if(start, pieces.end(), [](const text_range& r) { return r.begin == r.end; }),
               pieces.end());
}

/// Cuts every piece of `split`: `find(piece, emit)` calls `emit(begin, end)` for each delimiter in it.
template <class Find>
void cut(split_text& split, split_behavior behavior, bool invert, Find&& find) {
  std::vector<text_range> pieces;
  pieces.reserve(split.pieces.size());
  std::vector<stretch> stretches;
  for (std::size_t i = 0; i < split.pieces.size(); ++i) {
    const auto [offset, end] = split.pieces[i];
    stretches.clear();
    std::size_t from = offset;
    const auto emit = [&, offset = offset](std::size_t b, std::size_t e) {
      if (from != offset + b) stretches.push_back({{from, offset + b}, invert});
      stretches.push_back({{offset + b, offset + e}, !invert});
      from = offset + e;
    };
    find(split.piece(i), emit);
    if (from != end) stretches.push_back({{from, end}, invert});
    append_pieces(stretches, behavior, pieces);
  }
  split.pieces = std::move(pieces);
}

/// Delimiters that are single characters.
template <class Predicate>
auto characters_where(Predicate predicate) {
  return [predicate](std::string_view text, const auto& emit) {
    for (std::size_t at = 0; at < text.size();) {
      const utf8_unit unit = read_utf8(text, at);
      if (predicate(unit.code_point)) emit(at, at + unit.size);
      at += unit.size;
    }
  };
}

inline auto occurrences_of(std::string_view pattern) {
  return [pattern](std::string_view text, const auto& emit) {
    for (std::size_t at = 0; (at = text.find(pattern, at)) != std::string_view::npos; at += pattern.size())
      emit(at, at + pattern.size());
  };
}

inline auto matches_of(const unicode_regex& expression) {
  return [&expression](std::string_view text, const auto& emit) { expression.for_each_match(text, emit); };
}

/// Rewrites every piece: `rewrite(piece, index, out)` appends its new form to `out`.
template <class Rewrite>
void rewrite_pieces(split_text& split, Rewrite&& rewrite) {
  std::string text;
  text.reserve(split.text.size() * 2);
  std::vector<text_range> pieces;
  pieces.reserve(split.pieces.size());
  for (std::size_t i = 0; i < split.pieces.size(); ++i) {
    const std::size_t begin = text.size();
    rewrite(split.piece(i), i, text);
    pieces.push_back({begin, text.size()});
  }
  split.text = std::move(text);
  split.pieces = std::move(pieces);
}

inline void apply(const pattern_split& step, split_text& split) {
  if (const auto* literal = std::get_if<std::string>(&step.pattern))
    cut(split, step.behavior, step.invert, occurrences_of(*literal));
  else
    cut(split, step.behavior, step.invert, matches_of(std::get<unicode_regex>(step.pattern)));
}

inline void apply(const byte_level_split& step, split_text& split) {
  static const unicode_regex gpt2(gpt2_split_pattern);
  if (step.add_prefix_space)
    rewrite_pieces(split, [](std::string_view piece, std::size_t, std::string& out) {
      if (piece.front() != ' ') out += ' ';
      out += piece;
    });
  if (step.use_regex) cut(split, split_behavior::isolated, false, matches_of(gpt2));
  rewrite_pieces(
      split, [](std::string_view piece, std::size_t, std::string& out) { append_byte_level(out, piece); });
}

inline void apply(const digit_split& step, split_text& split) {
  cut(split, step.individual ? split_behavior::isolated : split_behavior::contiguous, false,
      characters_where(is_numeric));
}

inline void apply(const metaspace_split& step, split_text& split) {
  using scheme = metaspace_split::prepend_scheme;
  rewrite_pieces(split, [&](std::string_view piece, std::size_t index, std::string& out) {
    const bool wanted =
        step.prepend == scheme::always || (step.prepend == scheme::first && index == 0 && split.starts_input);
    if (wanted && piece.front() != ' ' && !piece.starts_with(step.replacement)) out += step.replacement;
    for (const char c : piece) c == ' ' ? void(out += step.replacement) : void(out += c);
  });
  if (step.split) cut(split, split_behavior::merged_with_next, false, occurrences_of(step.replacement));
}

inline void apply(const word_split&, split_text& split) {
  enum class kind { space, word, other };
  const auto kind_of = [](char32_t c) {
    return is_word_character(c) ? kind::word : is_white_space(c) ? kind::space : kind::other;
  };
  cut(split, split_behavior::removed, true, [&](std::string_view text, const auto& emit) {
    std::size_t begin = 0;
    kind current = kind::space;
    for (std::size_t at = 0; at <= text.size();) {
      const utf8_unit unit = at < text.size() ? read_utf8(text, at) : utf8_unit{U' ', 1, true};
      const kind next = kind_of(unit.code_point);
      if (next != current) {
        if (current != kind::space) emit(begin, at);
        begin = at;
        current = next;
      }
      at += unit.size;
    }
  });
}

inline void apply(const white_space_split&, split_text& split) {
  cut(split, split_behavior::removed, false, characters_where(is_white_space));
}

}  // namespace detail

/// Runs `steps` one after the other over `text` (valid UTF-8, not empty). `starts_input` says whether the
/// text is the start of what the tokenizer was given.
inline split_text pre_tokenize(const std::vector<pre_tokenizer_step>& steps, std::string text,
                               bool starts_input) {
  split_text split;
  split.pieces.push_back({0, text.size()});
  split.text = std::move(text);
  split.starts_input = starts_input;
  for (const pre_tokenizer_step& step : steps)
    std::visit([&](const auto& s) { detail::apply(s, split); }, step);
  return split;
}

}  // namespace iclmech

#endif  // ICLMECH_IO_PRE_TOKENIZER_HPP
