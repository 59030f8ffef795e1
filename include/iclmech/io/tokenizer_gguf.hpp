#ifndef ICLMECH_IO_TOKENIZER_GGUF_HPP
#define ICLMECH_IO_TOKENIZER_GGUF_HPP
// Makes a tokenizer of a GGUF file's metadata: tokenizer.ggml.model "gpt2" (byte-level) and "llama"
// (SentencePiece).
//
// GGUF keeps less than tokenizer.json: a name in tokenizer.ggml.pre stands for the split pattern and the
// normalizer, scores stand for merges. What Hugging Face's tokenizer of that name does is restored from them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/gguf.hpp"
#include "iclmech/io/tokenizer_pipeline.hpp"

namespace iclmech {
namespace detail {

/// What a value of tokenizer.ggml.pre stands for.
struct gguf_pre_tokenizer {
  std::string_view name;
  std::string_view pattern;
  bool single_digits;  ///< numbers are cut into digits first
  bool nfc;
  bool ignore_merges;
  bool adds_bos;  ///< unless tokenizer.ggml.add_bos_token says otherwise
};

inline constexpr std::string_view llama3_split_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2_split_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline constexpr std::array<gguf_pre_tokenizer, 9> gguf_pre_tokenizers = {{
    {"llama-bpe", llama3_split_pattern, false, false, true, true},
    {"llama3", llama3_split_pattern, false, false, true, true},
    {"llama-v3", llama3_split_pattern, false, false, true, true},
    {"qwen2", qwen2_split_pattern, false, true, false, false},
    {"deepseek-r1-qwen", qwen2_split_pattern, false, true, false, false},
    {"smollm", gpt2_split_pattern, true, false, false, false},
    {"gpt-2", gpt2_split_pattern, false, false, false, false},
    {"mpt", gpt2_split_pattern, false, true, false,
     false},  // what converters write for GPT-NeoX, so for Mamba
    {"olmo", gpt2_split_pattern, false, true, false, false},  // GPT-NeoX's vocabulary too
}};

/// Translates the tokenizer.ggml.* fields.
class tokenizer_gguf_reader {
 public:
  explicit tokenizer_gguf_reader(const gguf_file& file) : file_(file) {}

  tokenizer read() const {
    const auto kind = file_.require<std::string>("tokenizer.ggml.model");
    if (kind != "gpt2" && kind != "llama")
      throw unsupported_error(file_.path() + ": metadata 'tokenizer.ggml.model': is " + in_quotes(kind) +
                              "; iclmech reads gpt2 (byte-level BPE) and llama (SentencePiece BPE)");
    const auto texts = file_.require<std::vector<std::string>>("tokenizer.ggml.tokens");
    const std::vector<token_type> types = read_types(texts.size());
    try {
      tokenizer_parts parts = kind == "gpt2" ? byte_level(texts, types) : sentencepiece(texts, types);
      parts.bos = file_.get<token_id>("tokenizer.ggml.bos_token_id");
      parts.eos = file_.get<token_id>("tokenizer.ggml.eos_token_id");
      parts.adds_bos = file_.get<bool>("tokenizer.ggml.add_bos_token").value_or(parts.adds_bos) && parts.bos;
      return tokenizer(std::move(parts));
    } catch (const argument_error& problem) {
      fail("tokens", problem.what());
    }
  }

 private:
  enum class token_type : std::int32_t { normal = 1, unknown, control, user_defined, unused, byte };

  [[noreturn]] void fail(std::string_view field, const std::string& problem) const {
    throw file_error(file_.path(), "metadata 'tokenizer.ggml." + std::string(field) + "'", problem);
  }

  std::vector<token_type> read_types(std::size_t count) const {
    const auto numbers = file_.get<std::vector<std::int32_t>>("tokenizer.ggml.token_type");
    if (!numbers) return std::vector<token_type>(count, token_type::normal);
    if (numbers->size() != count)
      fail("token_type",
           "has " + std::to_string(numbers->size()) + " entries for " + std::to_string(count) + " tokens");
    std::vector<token_type> types;
    for (const std::int32_t number : *numbers) {
      if (number < 1 || number > 6)
        fail("token_type", "has the entry " + std::to_string(number) + "; types go from 1 to 6");
      types.push_back(static_cast<token_type>(number));
    }
    return types;
  }

  static bool verbatim(token_type type) {
    return type == token_type::control || type == token_type::user_defined || type == token_type::unknown;
  }

  static std::vector<added_token> verbatim_tokens(const std::vector<std::string>& texts,
                                                  const std::vector<token_type>& types) {
    std::vector<added_token> added;
    for (std::size_t id = 0; id < texts.size(); ++id)
      if (verbatim(types[id]))
        added.push_back({static_cast<token_id>(id), texts[id], false, false, false, false});
    return added;
  }

  static vocabulary make_vocabulary(const std::vector<std::string>& texts) {
    std::vector<std::pair<std::string, token_id>> entries;
    for (std::size_t id = 0; id < texts.size(); ++id)
      entries.emplace_back(texts[id], static_cast<token_id>(id));
    return vocabulary(std::move(entries));
  }

  tokenizer_parts byte_level(const std::vector<std::string>& texts,
                             const std::vector<token_type>& types) const {
    const gguf_pre_tokenizer& pre = find_pre_tokenizer();
    bpe_options options;
    options.ignore_merges = pre.ignore_merges;
    tokenizer_parts parts{verbatim_tokens(texts, types),
                          {},
                          {},
                          bpe_model(make_vocabulary(texts), read_merges(), options),
                          std::vector<decoder_step>{byte_level_decoder{}},
                          {},
                          {},
                          pre.adds_bos};
    if (pre.nfc) parts.normalizer.push_back(unicode_form::nfc);
    if (pre.single_digits) parts.pre_tokenizer.push_back(digit_split{true});
    parts.pre_tokenizer.push_back(pattern_split{unicode_regex(pre.pattern)});
    parts.pre_tokenizer.push_back(byte_level_split{false, false});
    return parts;
  }

  const gguf_pre_tokenizer& find_pre_tokenizer() const {
    const auto name = file_.get<std::string>("tokenizer.ggml.pre");
    const auto found = std::find_if(gguf_pre_tokenizers.begin(), gguf_pre_tokenizers.end(),
                                    [&](const gguf_pre_tokenizer& pre) { return name && pre.name == *name; });
    if (found != gguf_pre_tokenizers.end()) return *found;
    std::string known;
    for (const gguf_pre_tokenizer& pre : gguf_pre_tokenizers)
      known += (known.empty() ? "" : ", ") + std::string(pre.name);
    throw unsupported_error(
        file_.path() + ": metadata 'tokenizer.ggml.pre': " +
        (name ? "is " + in_quotes(*name) : "is missing, so that the split pattern is not known") +
        "; iclmech reads " + known + "; convert the model again or use its Hugging Face folder");
  }

  std::vector<bpe_model::merge> read_merges() const {
    std::vector<bpe_model::merge> merges;
    for (const std::string_view text :
         file_.require<std::vector<std::string_view>>("tokenizer.ggml.merges")) {
      const std::size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
        fail("merges", "has in place " + std::to_string(merges.size()) + " " + in_quotes(text) +
                           " instead of two tokens with one space between");
      merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    }
    return merges;
  }

  tokenizer_parts sentencepiece(std::vector<std::string> texts, const std::vector<token_type>& types) const {
    const auto scores = file_.require<std::vector<float>>("tokenizer.ggml.scores");
    std::vector<float> ranked = scores;
    std::vector<bool> joinable(texts.size());
    for (std::size_t id = 0; id < texts.size(); ++id) {
      joinable[id] = types[id] == token_type::normal || types[id] == token_type::unused;
      // Runs of spaces that were added to the vocabulary: converters write them as spaces, but they are made
      // of the "▁" that spaces have become by then, before anything else is joined.
      if (types[id] == token_type::user_defined && texts[id].find_first_not_of(' ') == std::string::npos) {
        texts[id] = replace_all(texts[id], " ", space_mark);
        joinable[id] = true;
        if (id < ranked.size()) ranked[id] = std::numeric_limits<float>::infinity();
      }
    }
    const auto unknown = file_.get<token_id>("tokenizer.ggml.unknown_token_id");
    if (unknown && (*unknown < 0 || static_cast<std::size_t>(*unknown) >= texts.size()))
      fail("unknown_token_id", "is " + std::to_string(*unknown) + ", outside the vocabulary of " +
                                   std::to_string(texts.size()) + " tokens");
    tokenizer_parts parts{verbatim_tokens(texts, types),
                          {},
                          {},
                          sentencepiece_bpe(make_vocabulary(texts), ranked, joinable, unknown),
                          std::vector<decoder_step>{replace_normalizer{std::string(space_mark), " "},
                                                    byte_fallback_decoder{}, fuse_decoder{}},
                          {},
                          {},
                          true};
    if (file_.get<bool>("tokenizer.ggml.add_space_prefix").value_or(true)) {
      parts.normalizer.push_back(prepend_normalizer{std::string(space_mark)});
      parts.decoder->push_back(strip_decoder{U' ', 1, 0});
    }
    parts.normalizer.push_back(replace_normalizer{" ", std::string(space_mark)});
    return parts;
  }

  static constexpr std::string_view space_mark = "\xE2\x96\x81";

  const gguf_file& file_;
};

}  // namespace detail

/// The tokenizer in the metadata of `file`, which may have no tensors. Throws file_error with the field that
/// is wrong, or unsupported_error naming the kind of tokenizer that iclmech does not have.
inline tokenizer read_tokenizer_gguf(const gguf_file& file) {
  return detail::tokenizer_gguf_reader(file).read();
}

}  // namespace iclmech

#endif  // ICLMECH_IO_TOKENIZER_GGUF_HPP
