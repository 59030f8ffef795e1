#ifndef ICLMECH_IO_UNICODE_REGEX_HPP
#define ICLMECH_IO_UNICODE_REGEX_HPP
// Regular expressions over UTF-8 with the meaning tokenizer files give them, run by PCRE2 in UTF mode.
//
// Tokenizer files are written for Oniguruma. The two engines agree on what these files use but for three
// classes: \s and \w (PCRE2 counts U+180E as a space and leaves marks out of \w) are spelled out by their
// Unicode properties, and what has no counterpart is refused when the pattern is compiled.
//
// Thread-safe: a compiled expression is immutable; match state is one block per thread.

#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include <pcre2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "iclmech/error.hpp"
#include "iclmech/io/utf8.hpp"

namespace iclmech {

namespace detail {

/// The PCRE2 spelling of an Oniguruma pattern. Throws unsupported_error for what PCRE2 would read
/// differently.
inline std::string oniguruma_to_pcre2(std::string_view pattern) {
  const auto refuse = [&](const std::string& what) {
    throw unsupported_error("the pattern '" + excerpt(pattern, 200) + "' uses " + what +
                            ", which iclmech does not translate to PCRE2; write it without");
  };
  static constexpr std::string_view space = R"(\t-\r\x{85}\p{Z})";
  static constexpr std::string_view word = R"(\p{L}\p{M}\p{N}\p{Pc})";
  std::string out;
  bool in_class = false;
  std::size_t class_start = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      const bool negated = escaped == 'S' || escaped == 'W';
      if (escaped == 's' || escaped == 'w' || negated) {
        const std::string_view members = (escaped == 's' || escaped == 'S') ? space : word;
        if (in_class && negated) refuse(std::string("\\") + escaped + " inside a character class");
        if (!in_class) out += negated ? "[^" : "[";
        out += members;
        if (!in_class) out += ']';
      } else {
        if (escaped == 'h' || escaped == 'H') refuse("\\h");
        out += c;
        out += escaped;
      }
    } else if (in_class) {
      if (c == '[' && pattern.substr(i, 2) != "[:") refuse("a character class inside another");
      if (c == '&' && pattern.substr(i, 2) == "&&") refuse("an intersection of character classes");
      if (c == ']' && i > class_start) in_class = false;
      out += c;
      if (c == '[') {  // a POSIX class: its own closing bracket does not end ours
        const std::size_t end = pattern.find(":]", i + 2);
        if (end == std::string_view::npos) refuse("'[:' without ':]'");
        out += pattern.substr(i + 1, end + 1 - i);
        i = end + 1;
      }
    } else {
      out += c;
      if (c == '[') {
        in_class = true;
        if (pattern.substr(i + 1, 1) == "^") out += pattern[++i];
        class_start = i + 1;  // a ']' here would be a member
      }
    }
  }
  return out;
}

inline std::string pcre2_message(int code) {
  PCRE2_UCHAR buffer[256];
  return pcre2_get_error_message(code, buffer, sizeof buffer) < 0 ? "PCRE2 error " + std::to_string(code)
                                                                  : reinterpret_cast<const char*>(buffer);
}

/// What a match needs besides the expression.
class pcre2_scratch {
 public:
  static pcre2_scratch& of_this_thread() {
    thread_local pcre2_scratch scratch;
    return scratch;
  }
  pcre2_match_data* data() const { return data_.get(); }
  pcre2_match_context* context() const { return context_.get(); }

 private:
  pcre2_scratch()
      : data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(32 * 1024, 1024 * 1024, nullptr)) {
    if (!data_ || !context_) throw std::bad_alloc();
    // A hostile pattern ends in an error after some hundredths of a second instead of running on.
    pcre2_set_match_limit(context_.get(), 1'000'000);
    pcre2_set_depth_limit(context_.get(), 100'000);
    pcre2_set_heap_limit(context_.get(), 64 * 1024);
    if (stack_) pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  }

  struct release {
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
    void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
    void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
  };
  std::unique_ptr<pcre2_match_data, release> data_;
  std::unique_ptr<pcre2_match_context, release> context_;
  std::unique_ptr<pcre2_jit_stack, release> stack_;
};

}  // namespace detail

/// A compiled regular expression.
class unicode_regex {
 public:
  /// Compiles `pattern` (Oniguruma's syntax, UTF-8). Throws argument_error with the place of the fault, or
  /// unsupported_error for a construct that PCRE2 lacks.
  explicit unicode_regex(std::string_view pattern) : pattern_(pattern) {
    if (!is_utf8(pattern)) throw argument_error("the pattern '" + excerpt(pattern, 200) + "' is not UTF-8");
    const std::string translated = detail::oniguruma_to_pcre2(pattern);
    int code = 0;
    PCRE2_SIZE where = 0;
    // \C could split a code point, and matches are taken without a further UTF check.
    const std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options,
                              &code, &where, nullptr),
                pcre2_code_free);
    if (!code_)
      throw argument_error("the pattern '" + excerpt(pattern, 200) + "' does not compile at byte " +
                           std::to_string(where) + " of its PCRE2 form '" + excerpt(translated, 200) +
                           "': " + detail::pcre2_message(code));
    // Where there is no JIT (a hardened system, an odd processor) the interpreter gives the same matches.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  }

  const std::string& pattern() const { return pattern_; }

  /// Calls `visit(begin, end)` with the byte range of each match in `text` (valid UTF-8), left to right,
  /// without overlap; an empty match is reported unless it touches the end of the one before. Throws error if
  /// PCRE2's limits on backtracking are reached.
  template <class Visit>
  void for_each_match(std::string_view text, Visit&& visit) const {
    const auto& scratch = detail::pcre2_scratch::of_this_thread();
    if (text.empty()) return;
    std::size_t from = 0;
    std::size_t last_end = std::string_view::npos;
    while (from <= text.size()) {
      const int count = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                    PCRE2_NO_UTF_CHECK, scratch.data(), scratch.context());
      if (count == PCRE2_ERROR_NOMATCH) return;
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch.data());
      const std::size_t begin = bounds[0], end = bounds[1];
      // \K can put a match's start after its end or before the search's start.
      if (count >= 0 && (begin < from || end < begin))
        throw unsupported_error("the pattern '" + excerpt(pattern_, 200) + "' matches backwards");
      if (count < 0)
        throw error("the pattern '" + excerpt(pattern_, 200) + "' fails on the text from its byte " +
                    std::to_string(from) + " on: " + detail::pcre2_message(count));
      if (begin == end && end == last_end) {
        from += from < text.size() ? read_utf8(text, from).size : 1;
        continue;
      }
      from = last_end = end;
      visit(begin, end);
    }
  }

 private:
  std::string pattern_;
  std::shared_ptr<pcre2_code> code_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_UNICODE_REGEX_HPP
