#ifndef ICLMECH_IO_TOKENIZER_PIPELINE_HPP
#define ICLMECH_IO_TOKENIZER_PIPELINE_HPP
// The tokenizer: the stages that text passes on its way to token ids, and back.

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/added_tokens.hpp"
#include "iclmech/io/bpe.hpp"
#include "iclmech/io/pre_tokenizer.hpp"
#include "iclmech/io/sentencepiece_bpe.hpp"
#include "iclmech/io/text_normalizer.hpp"
#include "iclmech/io/token_decoder.hpp"
#include "iclmech/io/utf8.hpp"
#include "iclmech/io/vocabulary.hpp"
#include "iclmech/io/word_level.hpp"

namespace iclmech {

/// Everything a tokenizer is made of, in the order in which text meets it.
struct tokenizer_parts {
  std::vector<added_token> added;
  std::vector<normalizer_step> normalizer;
  std::vector<pre_tokenizer_step> pre_tokenizer;
  std::variant<bpe_model, sentencepiece_bpe, word_level_model> model;
  std::optional<std::vector<decoder_step>> decoder;
  std::optional<token_id> bos;
  std::optional<token_id> eos;
  bool adds_bos = false;  ///< whether the model was trained with `bos` in front of its texts
};

/// Turns text into token ids and back, equal to Hugging Face's `tokenizers`. Immutable, cheap to copy, and
/// safe to use from several threads at once.
class tokenizer {
 public:
  /// Throws argument_error if a special token's id is out of range or an added token contradicts the
  /// vocabulary.
  explicit tokenizer(tokenizer_parts parts) : state_(std::make_shared<const state>(std::move(parts))) {}

  /// The token ids of `text`, after the begin-of-sequence token if `bos`. Special tokens that are spelled out
  /// in the text become their ids. Bytes that are not UTF-8 count as U+FFFD, one for each maximal invalid
  /// sequence (what Python's `bytes.decode(errors="replace")` would pass on). Throws argument_error for `bos`
  /// without such a token, for a text longer than 64 MiB, and for an unknown word in a vocabulary without an
  /// unknown token; error if a split pattern needs too much backtracking.
  std::vector<token_id> encode(std::string_view text, bool bos = false) const {
    if (text.size() > max_bytes)
      throw argument_error("the text has " + std::to_string(text.size()) +
                           " bytes; encode it in parts of at most " + std::to_string(max_bytes));
    std::vector<token_id> ids;
    if (bos) {
      if (!this->bos())
        throw argument_error("this tokenizer has no begin-of-sequence token; encode without it");
      ids.push_back(*this->bos());
    }
    std::string repaired;
    if (!is_utf8(text)) text = repaired = repair_utf8(text);
    state_->verbatim.split(text, [&](std::string_view part, const added_token* token) {
      if (token)
        ids.push_back(token->id);
      else
        encode_part(part, part.data() == text.data(), ids);
    });
    return ids;
  }

  /// The text of `ids`, special tokens included. Bytes that do not form UTF-8 come out as U+FFFD.
  /// Throws argument_error for an id without a token.
  std::string decode(std::span<const token_id> ids) const {
    std::vector<std::string> texts;
    texts.reserve(ids.size());
    for (const token_id id : ids) texts.push_back(token(id));
    return decode_tokens(state_->parts.decoder, std::move(texts));
  }

  /// A token as the vocabulary spells it: byte-level ones in their alphabet ("Ġthe"), SentencePiece's with
  /// "▁". Throws argument_error for an id without a token.
  std::string token(token_id id) const {
    if (const auto added = state_->added.find(id); added != state_->added.end()) return added->second;
    if (const auto text = state_->model_tokens().text(id)) return std::string(*text);
    throw argument_error("there is no token with the id " + std::to_string(id) +
                         "; the vocabulary goes from 0 to " + std::to_string(vocabulary_size() - 1));
  }

  /// The id of a token spelled as `token()` gives it, or nothing.
  std::optional<token_id> find_token(std::string_view text) const {
    for (const added_token& t : state_->parts.added)
      if (t.content == text) return t.id;
    const token_id id = state_->model_tokens().id(text);
    return id < 0 ? std::nullopt : std::optional(id);
  }

  /// The begin-of-sequence and end-of-sequence tokens, if there are any.
  std::optional<token_id> bos() const { return state_->parts.bos; }
  std::optional<token_id> eos() const { return state_->parts.eos; }

  /// Whether the model expects `bos` in front of its texts.
  bool adds_bos() const { return state_->parts.adds_bos; }

  /// One more than the highest token id.
  index vocabulary_size() const { return state_->size; }

 private:
  static constexpr std::size_t max_bytes = std::size_t{1} << 26;

  struct state {
    explicit state(tokenizer_parts p) : parts(std::move(p)) {
      size = static_cast<index>(model_tokens().size());
      std::vector<added_token> raw, normalized;
      for (const added_token& token : parts.added) {
        if (token.id < 0 || token.id >= vocabulary::max_size)
          throw argument_error("the added token " + detail::in_quotes(token.content) + " has the id " +
                               std::to_string(token.id) + ", which is out of range");
        const token_id known = model_tokens().id(token.content);
        if (known >= 0 && known != token.id)
          throw argument_error("the added token " + detail::in_quotes(token.content) + " has the id " +
                               std::to_string(token.id) + ", but " + std::to_string(known) +
                               " in the vocabulary");
        if (!added.emplace(token.id, token.content).second)
          throw argument_error("the id " + std::to_string(token.id) + " belongs to two added tokens, " +
                               detail::in_quotes(added.at(token.id)) + " and " +
                               detail::in_quotes(token.content));
        size = std::max(size, static_cast<index>(token.id) + 1);
        (token.normalized ? normalized : raw).push_back(token);
      }
      for (added_token& token : normalized) token.content = normalize(parts.normalizer, token.content);
      verbatim = added_token_matcher(std::move(raw));
      after_normalizer = added_token_matcher(std::move(normalized));
      for (const auto& special : {parts.bos, parts.eos})
        if (special && (*special < 0 || *special >= size))
          throw argument_error("the special token id " + std::to_string(*special) +
                               " is outside the vocabulary of " + std::to_string(size) + " tokens");
    }

    const vocabulary& model_tokens() const {
      return std::visit([](const auto& model) -> const vocabulary& { return model.tokens(); }, parts.model);
    }

    tokenizer_parts parts;
    std::map<token_id, std::string> added;
    added_token_matcher verbatim;
    added_token_matcher after_normalizer;
    index size = 0;
  };

  /// Text without verbatim tokens.
  void encode_part(std::string_view part, bool starts_input, std::vector<token_id>& ids) const {
    const tokenizer_parts& parts = state_->parts;
    const std::string text = normalize(parts.normalizer, std::string(part));
    state_->after_normalizer.split(text, [&](std::string_view section, const added_token* token) {
      if (token) {
        ids.push_back(token->id);
        return;
      }
      const split_text split = pre_tokenize(parts.pre_tokenizer, std::string(section),
                                            starts_input && section.data() == text.data());
      std::visit(
          [&](const auto& model) {
            for (std::size_t i = 0; i < split.pieces.size(); ++i) model.encode(split.piece(i), ids);
          },
          parts.model);
    });
  }

  std::shared_ptr<const state> state_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_TOKENIZER_PIPELINE_HPP
