#include "iclmech/task/tokenized.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/task/sampling.hpp"

namespace {

using iclmech::argument_error;
using iclmech::episode;
using iclmech::label_kind;
using iclmech::no_demonstration;
using iclmech::prompt;
using iclmech::prompt_template;
using iclmech::render;
using iclmech::token_id;
using iclmech::token_role;
using iclmech::token_sequence;
using iclmech::tokenize;
using iclmech::tokenized_prompt;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Numbers pieces as they come; token 0 begins a sequence. What a piece is, `Split` says.
template <typename Split>
class toy_encoder {
 public:
  token_sequence encode(std::string_view text, bool bos) const {
    token_sequence ids;
    if (bos) ids.push_back(0);
    for (const std::string& piece : Split{}(text))
      ids.push_back(number_.emplace(piece, static_cast<token_id>(number_.size() + 1)).first->second);
    return ids;
  }

  std::vector<std::string> pieces(const token_sequence& ids) const {
    std::vector<std::string> found;
    for (const token_id id : ids) {
      const auto piece = std::find_if(number_.begin(), number_.end(),
                                      [id](const auto& entry) { return entry.second == id; });
      found.push_back(id == 0 ? "<s>" : piece->first);
    }
    return found;
  }

 private:
  mutable std::map<std::string, token_id> number_;
};

/// Words between spaces; the spaces are dropped.
struct split_words {
  std::vector<std::string> operator()(std::string_view text) const {
    std::vector<std::string> pieces(1);
    for (const char letter : text)
      if (letter == ' ')
        pieces.emplace_back();
      else
        pieces.back() += letter;
    std::erase(pieces, std::string());
    return pieces;
  }
};

/// As byte-level BPE splits: a word takes the space before it, punctuation takes the line ends after it.
struct split_like_bpe {
  std::vector<std::string> operator()(std::string_view text) const {
    const auto is_letter = [](char letter) {
      return std::string_view(" \n:.,;!?").find(letter) == std::string_view::npos;
    };
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      if (text[at] == ' ' && at + 1 < text.size() && text[at + 1] != '\n') ++at;
      if (is_letter(text[at])) {
        while (at < text.size() && is_letter(text[at])) ++at;
      } else {
        ++at;
        if (text[at - 1] != ' ')
          while (at < text.size() && text[at] == '\n') ++at;
      }
      pieces.emplace_back(text.substr(begin, at - begin));
    }
    return pieces;
  }
};

/// Pairs of bytes, wherever they fall.
struct split_pairs {
  std::vector<std::string> operator()(std::string_view text) const {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += 2) pieces.emplace_back(text.substr(at, 2));
    return pieces;
  }
};

using word_encoder = toy_encoder<split_words>;
using bpe_encoder = toy_encoder<split_like_bpe>;
using pair_encoder = toy_encoder<split_pairs>;

static_assert(iclmech::text_encoder<word_encoder>);
static_assert(!iclmech::text_encoder<std::string>);

episode animals() {
  return {{{"cat", "foo"}, {"bus", "bar"}}, {"dog", "foo"}, label_kind::classification, {"foo", "bar"}};
}

TEST(tokenize, gives_word_level_tokens_their_roles_and_owners) {
  const word_encoder encoder;
  const tokenized_prompt done = tokenize(encoder, render(iclmech::word_level_template(), animals()));
  EXPECT_THAT(encoder.pieces(done.ids),
              ElementsAre("<s>", "cat", ":", "foo", ";", "bus", ":", "bar", ";", "dog", ":"));
  using enum token_role;
  EXPECT_THAT(done.roles, ElementsAre(first, demonstration, separator, label, separator, demonstration,
                                      separator, label, separator, query, separator));
  EXPECT_THAT(done.demonstrations,
              ElementsAre(no_demonstration, 0, 0, 0, 0, 1, 1, 1, 1, no_demonstration, no_demonstration));
  EXPECT_THAT(encoder.pieces(done.labels), ElementsAre("foo", "bar"));
  EXPECT_THAT(encoder.pieces({done.answer}), ElementsAre("foo"));
}

TEST(tokenize, makes_the_first_token_first_whatever_it_says) {
  const tokenized_prompt done =
      tokenize(word_encoder(), render(iclmech::word_level_template(), animals()), {.bos = false});
  EXPECT_EQ(done.roles[0], token_role::first);
  EXPECT_EQ(done.demonstrations[0], 0);
  EXPECT_EQ(done.roles[1], token_role::separator);
}

TEST(tokenize, gives_a_token_across_two_roles_to_label_before_text_before_separator) {
  const bpe_encoder encoder;
  const episode subject{{{"so good.", "fine"}}, {"so bad!", "dull"}, label_kind::open, {"fine", "dull"}};
  const tokenized_prompt done = tokenize(encoder, render(prompt_template{}, subject), {.bos = false});
  EXPECT_THAT(encoder.pieces(done.ids), ElementsAre("Q", ":", " so", " good", ".\n", "A", ":", " fine",
                                                    "\n\n", "Q", ":", " so", " bad", "!\n", "A", ":"));
  using enum token_role;
  EXPECT_THAT(done.roles,
              ElementsAre(first, separator, demonstration, demonstration, demonstration, separator, separator,
                          label, separator, separator, separator, query, query, query, separator, separator));
  EXPECT_THAT(encoder.pieces(done.labels), ElementsAre(" fine", " dull"));
}

TEST(tokenize, finds_every_role_where_tokens_fall_across_all_borders) {
  const pair_encoder encoder;
  const prompt written = render({"", ":", "", ";"}, animals());
  ASSERT_EQ(written.text, "cat:foo;bus:bar;dog:");
  const tokenized_prompt done = tokenize(encoder, written, {.bos = false});
  ASSERT_THAT(encoder.pieces(done.ids),
              ElementsAre("ca", "t:", "fo", "o;", "bu", "s:", "ba", "r;", "do", "g:"));
  using enum token_role;
  EXPECT_THAT(done.roles, ElementsAre(first, demonstration, label, label, demonstration, demonstration, label,
                                      label, query, query));
  EXPECT_THAT(done.demonstrations, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, no_demonstration, no_demonstration));
}

TEST(tokenize, takes_the_first_token_of_a_long_label) {
  const pair_encoder encoder;
  const episode subject{{}, {"ab", "long"}, label_kind::open, {"long"}};
  EXPECT_THAT(encoder.pieces(tokenize(encoder, render({"", "::", "", ""}, subject)).labels),
              ElementsAre("lo"));
}

TEST(tokenize, names_two_labels_that_begin_with_one_token) {
  const pair_encoder encoder;
  episode subject{{}, {"ab", "longer"}, label_kind::open, {"lost", "long", "longer"}};
  const prompt written = render({"", "::", "", ""}, subject);
  const token_id shared = encoder.encode("ab::lo", false).back();
  EXPECT_THAT([&] { tokenize(encoder, written); },
              ThrowsMessage<argument_error>(HasSubstr(
                  "the labels \"lost\" and \"long\" begin with the same token, " + std::to_string(shared))));
}

TEST(tokenize, says_when_a_label_melts_into_the_prompt) {
  const bpe_encoder encoder;
  const episode subject{{}, {"so", "fine"}, label_kind::open, {"fine"}};
  EXPECT_THAT(
      [&] {
        tokenize(encoder, render({"Q: ", "\nA: ", "", "\n"}, subject));
      },
      ThrowsMessage<argument_error>(HasSubstr(
          "the label \"fine\" melts into the end of the prompt, so it has no first token of its own: "
          "end the template's output_prefix without a space and begin label_prefix with one")));
}

TEST(tokenize, says_when_a_label_has_no_token) {
  const word_encoder encoder;
  const episode subject{{}, {"so", " "}, label_kind::open, {" "}};
  EXPECT_THAT([&] { tokenize(encoder, render(iclmech::word_level_template(), subject)); },
              ThrowsMessage<argument_error>(HasSubstr("the label \" \" has no token in this vocabulary")));
}

TEST(tokenize, says_both_lengths_of_a_prompt_that_does_not_fit) {
  const prompt written = render(iclmech::word_level_template(), animals());
  EXPECT_THAT([&] { tokenize(word_encoder(), written, {.context_length = 10}); },
              ThrowsMessage<argument_error>(HasSubstr(
                  "the prompt has 11 tokens but the model's context holds 10: show fewer demonstrations")));
  EXPECT_EQ(tokenize(word_encoder(), written, {.context_length = 11}).ids.size(), 11U);
}

TEST(tokenize, says_when_the_answer_is_not_in_play_or_the_prompt_is_empty) {
  prompt written = render(iclmech::word_level_template(), animals());
  written.answer = "baz";
  EXPECT_THAT([&] { tokenize(word_encoder(), written); },
              ThrowsMessage<argument_error>(HasSubstr("the answer \"baz\" is none of the 2 labels in play")));
  EXPECT_THAT([] { tokenize(word_encoder(), prompt{}, {.bos = false}); },
              ThrowsMessage<argument_error>(HasSubstr("the prompt has no tokens")));
}

TEST(first_token_key, keeps_sampled_labels_apart) {
  const pair_encoder encoder;
  iclmech::task subject;
  subject.layout = {"", "::", "", ";;"};
  for (int pair = 0; pair < 60; ++pair) {
    const char first = static_cast<char>('a' + pair % 12);
    subject.pairs.push_back(
        {"xx" + std::to_string(10 + pair), std::string(2, first) + std::to_string(10 + pair)});
  }
  iclmech::sampling_options options{.demonstrations = 6};
  options.label_key = first_token_key(encoder, subject.layout);
  const iclmech::episode_sampler sampler(subject, options);
  const iclmech::episode_sampler careless(subject, {.demonstrations = 6});
  int collisions = 0;
  for (std::uint64_t index = 0; index < 30; ++index) {
    EXPECT_EQ(tokenize(encoder, render(subject.layout, sampler.draw(index)), {.bos = false}).labels.size(),
              7U);
    try {
      tokenize(encoder, render(subject.layout, careless.draw(index)), {.bos = false});
    } catch (const argument_error&) {
      ++collisions;
    }
  }
  EXPECT_GT(collisions, 0);
}

}  // namespace
