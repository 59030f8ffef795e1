#ifndef ICLMECH_IO_WORD_LEVEL_HPP
#define ICLMECH_IO_WORD_LEVEL_HPP
// Vocabularies of whole words.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/vocabulary.hpp"

namespace iclmech {

/// One token for each piece of text. Immutable.
class word_level_model {
 public:
  word_level_model(vocabulary tokens, std::optional<token_id> unknown)
      : tokens_(std::move(tokens)), unknown_(unknown) {}

  const vocabulary& tokens() const { return tokens_; }

  /// Appends the token of `piece` to `ids`; for a word that is none the unknown token. Throws argument_error
  /// if there is no unknown token either.
  void encode(std::string_view piece, std::vector<token_id>& ids) const {
    const token_id id = tokens_.id(piece);
    if (id < 0 && !unknown_)
      throw argument_error(
          "the word " + detail::in_quotes(piece) +
          " is not in the model's vocabulary, which has no unknown token; use its own words");
    ids.push_back(id < 0 ? *unknown_ : id);
  }

 private:
  vocabulary tokens_;
  std::optional<token_id> unknown_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_WORD_LEVEL_HPP
