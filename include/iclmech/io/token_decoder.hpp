#ifndef ICLMECH_IO_TOKEN_DECODER_HPP
#define ICLMECH_IO_TOKEN_DECODER_HPP
// How the texts of tokens become text again.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "iclmech/io/byte_level.hpp"
#include "iclmech/io/text_normalizer.hpp"
#include "iclmech/io/utf8.hpp"

namespace iclmech {

/// Turns the byte-level alphabet back into bytes and joins all tokens.
struct byte_level_decoder {};

/// Turns runs of byte tokens "<0x..>" into the text they spell, or U+FFFD for each byte if they spell none.
struct byte_fallback_decoder {};

/// Joins all tokens.
struct fuse_decoder {};

/// Takes up to `start` and `stop` characters `content` from the two ends of each token.
struct strip_decoder {
  char32_t content = U' ';
  std::size_t start = 0;
  std::size_t stop = 0;
};

/// Writes a space for each `replacement`, nothing for those of the first token if `drops_first`.
struct metaspace_decoder {
  std::string replacement = "\xE2\x96\x81";
  bool drops_first = true;
};

using decoder_step = std::variant<byte_level_decoder, byte_fallback_decoder, fuse_decoder, strip_decoder,
                                  metaspace_decoder, replace_normalizer>;

namespace detail {

using token_texts = std::vector<std::string>;

inline std::string join(const token_texts& tokens, std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) text += between;
    text += tokens[i];
  }
  return text;
}

inline token_texts decode_with(const byte_level_decoder&, const token_texts& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += bytes_of_byte_level(token).value_or(token);
  return {repair_utf8(bytes)};
}

/// The byte that a token "<0x..>" stands for.
inline std::optional<char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                                                  : 16;
    if (digit == 16) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<char>(static_cast<unsigned char>(value));
}

inline token_texts decode_with(const byte_fallback_decoder&, const token_texts& tokens) {
  token_texts out;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (is_utf8(bytes))
      out.push_back(bytes);
    else
      out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    if (const auto byte = byte_of_token(token)) {
      bytes += *byte;
    } else {
      flush();
      out.push_back(token);
    }
  }
  flush();
  return out;
}

inline token_texts decode_with(const fuse_decoder&, const token_texts& tokens) { return {join(tokens, "")}; }

inline token_texts decode_with(const strip_decoder& step, token_texts tokens) {
  std::string content;
  append_utf8(content, step.content);
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (std::size_t i = 0; i < step.start && rest.starts_with(content); ++i)
      rest.remove_prefix(content.size());
    for (std::size_t i = 0; i < step.stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
    token = std::string(rest);
  }
  return tokens;
}

inline token_texts decode_with(const metaspace_decoder& step, token_texts tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = replace_all(tokens[i], step.replacement, i == 0 && step.drops_first ? "" : " ");
  return tokens;
}

inline token_texts decode_with(const replace_normalizer& step, token_texts tokens) {
  for (std::string& token : tokens) token = normalize_with(step, std::move(token));
  return tokens;
}

}  // namespace detail

/// The text that tokens with these texts stand for. Without `steps` words are joined by spaces.
inline std::string decode_tokens(const std::optional<std::vector<decoder_step>>& steps,
                                 std::vector<std::string> tokens) {
  if (!steps) return detail::join(tokens, " ");
  for (const decoder_step& step : *steps)
    tokens = std::visit([&](const auto& s) { return detail::decode_with(s, std::move(tokens)); }, step);
  return detail::join(tokens, "");
}

}  // namespace iclmech

#endif  // ICLMECH_IO_TOKEN_DECODER_HPP
