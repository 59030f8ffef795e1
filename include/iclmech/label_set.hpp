#ifndef ICLMECH_LABEL_SET_HPP
#define ICLMECH_LABEL_SET_HPP
// The set Y of label tokens that a prompt's answer is chosen from, free of collisions.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// The labels in play: one token each (the first token of " " + label), in the order of the label rows.
class label_set {
 public:
  /// `names` are the labels' texts, for messages and reports; none, or one per token. Throws argument_error
  /// for an empty set, a negative token, and two labels with one token (the message names both).
  explicit label_set(std::vector<token_id> tokens, std::vector<std::string> names = {})
      : tokens_(std::move(tokens)), names_(std::move(names)) {
    if (tokens_.empty())
      throw argument_error("label_set: no labels: give the token id of at least one label");
    if (!names_.empty() && names_.size() != tokens_.size())
      throw argument_error("label_set: " + std::to_string(names_.size()) + " names for " +
                           std::to_string(tokens_.size()) + " tokens: give none, or one for each token");
    std::vector<index> order(tokens_.size());
    std::iota(order.begin(), order.end(), index{0});
    std::stable_sort(order.begin(), order.end(), [&](index a, index b) { return token(a) < token(b); });
    if (token(order.front()) < 0)
      throw argument_error("label_set: " + describe(order.front()) + " is no token id: token ids start at 0");
    for (std::size_t i = 1; i < order.size(); ++i)
      if (token(order[i - 1]) == token(order[i]))
        throw argument_error(
            "label_set: " + describe(order[i - 1]) + " and " + describe(order[i]) +
            " share one token, so no score can tell them apart: rename one label or leave it out");
  }

  [[nodiscard]] index size() const { return static_cast<index>(tokens_.size()); }
  [[nodiscard]] std::span<const token_id> tokens() const { return tokens_; }
  [[nodiscard]] token_id token(index label) const { return tokens_[static_cast<std::size_t>(label)]; }
  [[nodiscard]] bool contains(token_id token) const {
    return std::ranges::find(tokens_, token) != tokens_.end();
  }

  /// The position of `token` in the set; throws argument_error when it is no label.
  [[nodiscard]] index index_of(token_id token) const {
    const auto found = std::ranges::find(tokens_, token);
    if (found == tokens_.end())
      throw argument_error("label_set: token " + std::to_string(token) + " is none of the " +
                           std::to_string(tokens_.size()) + " labels");
    return found - tokens_.begin();
  }

  /// `label "positive" (token 42)`, or `label 0 (token 42)` when the labels have no names.
  [[nodiscard]] std::string describe(index label) const {
    const std::string name =
        names_.empty() ? std::to_string(label) : "\"" + names_[static_cast<std::size_t>(label)] + "\"";
    return "label " + name + " (token " + std::to_string(token(label)) + ")";
  }

 private:
  std::vector<token_id> tokens_;
  std::vector<std::string> names_;
};

}  // namespace iclmech

#endif  // ICLMECH_LABEL_SET_HPP
