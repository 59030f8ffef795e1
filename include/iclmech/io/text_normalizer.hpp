#ifndef ICLMECH_IO_TEXT_NORMALIZER_HPP
#define ICLMECH_IO_TEXT_NORMALIZER_HPP
// What a tokenizer does to text before it splits it: prepend, replace, Unicode normalization forms.

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/unicode_regex.hpp"

namespace iclmech {

/// Puts `text` in front of everything but empty text.
struct prepend_normalizer {
  std::string text;
};

/// Replaces each occurrence of a string (not empty) or match of an expression.
struct replace_normalizer {
  std::variant<std::string, unicode_regex> pattern;
  std::string replacement;
};

/// One of Unicode's four normalization forms.
enum class unicode_form { nfc, nfd, nfkc, nfkd };

using normalizer_step = std::variant<prepend_normalizer, replace_normalizer, unicode_form>;

namespace detail {

inline std::string normalize_with(const prepend_normalizer& step, std::string text) {
  return text.empty() ? text : step.text + text;
}

inline std::string replace_all(std::string_view text, std::string_view pattern,
                               std::string_view replacement) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(pattern, from)) != std::string_view::npos;
       from = at + pattern.size()) {
    out += text.substr(from, at - from);
    out += replacement;
  }
  out += text.substr(from);
  return out;
}

inline std::string normalize_with(const replace_normalizer& step, std::string text) {
  if (const auto* literal = std::get_if<std::string>(&step.pattern))
    return replace_all(text, *literal, step.replacement);
  std::string out;
  std::size_t from = 0;
  std::get<unicode_regex>(step.pattern).for_each_match(text, [&](std::size_t begin, std::size_t end) {
    out.append(text, from, begin - from);
    out += step.replacement;
    from = end;
  });
  out.append(text, from);
  return out;
}

inline std::string normalize_with(unicode_form form, std::string text) {
  bool ascii = true;
  for (const char c : text) ascii = ascii && static_cast<unsigned char>(c) < 0x80;
  if (ascii) return text;
  const bool compose = form == unicode_form::nfc || form == unicode_form::nfkc;
  const bool compatible = form == unicode_form::nfkc || form == unicode_form::nfkd;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                     (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const utf8_unit unit = read_utf8(text, at);
    at += unit.size;
    utf8proc_int32_t parts[32];  // U+FDFA, the longest, has 18
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(unit.code_point),
                                                           parts, 32, options, &boundary);
    if (count < 0 || count > 32) throw error("Unicode normalization fails on '" + excerpt(text) + "'");
    points.insert(points.end(), parts, parts + count);
  }
  // utf8proc_map would do all of this, but it sorts each run of marks in time square to its length.
  const auto mark_class = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (auto run = points.begin(); run != points.end();) {
    run = std::find_if(run, points.end(), mark_class);
    const auto end = std::find_if_not(run, points.end(), mark_class);
    std::stable_sort(run, end, [&](auto a, auto b) { return mark_class(a) < mark_class(b); });
    run = end;
  }
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), options);
  text.clear();
  for (utf8proc_ssize_t i = 0; i < size; ++i)
    append_utf8(text, static_cast<char32_t>(points[static_cast<std::size_t>(i)]));
  return text;
}

}  // namespace detail

/// `steps` one after the other on `text` (valid UTF-8).
inline std::string normalize(const std::vector<normalizer_step>& steps, std::string text) {
  for (const normalizer_step& step : steps)
    text = std::visit([&](const auto& s) { return detail::normalize_with(s, std::move(text)); }, step);
  return text;
}

}  // namespace iclmech

#endif  // ICLMECH_IO_TEXT_NORMALIZER_HPP
