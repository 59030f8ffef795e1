#include "iclmech/task/prompt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using iclmech::episode;
using iclmech::label_kind;
using iclmech::no_demonstration;
using iclmech::prompt;
using iclmech::prompt_span;
using iclmech::prompt_template;
using iclmech::render;
using iclmech::token_role;
using ::testing::ElementsAre;

episode two_verbs() {
  return {{{"go", "went"}, {"see", "saw"}}, {"eat", "ate"}, label_kind::open, {"went", "saw", "ate"}};
}

std::vector<std::string> texts(const prompt& source, token_role role) {
  std::vector<std::string> found;
  for (const prompt_span& span : source.spans)
    if (span.role == role) found.push_back(source.text.substr(span.begin, span.end - span.begin));
  return found;
}

TEST(render, writes_questions_and_answers_by_default) {
  EXPECT_EQ(render(prompt_template{}, two_verbs()).text, "Q: go\nA: went\n\nQ: see\nA: saw\n\nQ: eat\nA:");
}

TEST(render, writes_word_level_prompts) {
  EXPECT_EQ(render(iclmech::word_level_template(), two_verbs()).text, "go : went ; see : saw ; eat :");
}

TEST(render, writes_the_query_alone_when_there_are_no_demonstrations) {
  episode subject = two_verbs();
  subject.demonstrations.clear();
  EXPECT_EQ(render(prompt_template{}, subject).text, "Q: eat\nA:");
}

TEST(render, marks_every_role) {
  const prompt written = render(prompt_template{}, two_verbs());
  EXPECT_THAT(texts(written, token_role::demonstration), ElementsAre("go", "see"));
  EXPECT_THAT(texts(written, token_role::label), ElementsAre("went", "saw"));
  EXPECT_THAT(texts(written, token_role::query), ElementsAre("eat"));
  EXPECT_THAT(texts(written, token_role::separator),
              ElementsAre("Q: ", "\nA:", " ", "\n\n", "Q: ", "\nA:", " ", "\n\n", "Q: ", "\nA:"));
}

TEST(render, covers_the_text_with_spans_that_touch_and_are_not_empty) {
  for (const prompt_template& layout : {prompt_template{}, iclmech::word_level_template()}) {
    const prompt written = render(layout, two_verbs());
    std::size_t end = 0;
    for (const prompt_span& span : written.spans) {
      EXPECT_EQ(span.begin, end);
      EXPECT_LT(span.begin, span.end);
      end = span.end;
    }
    EXPECT_EQ(end, written.text.size());
  }
}

TEST(render, says_which_demonstration_each_span_belongs_to) {
  std::vector<int> owners;
  for (const prompt_span& span : render(iclmech::word_level_template(), two_verbs()).spans)
    owners.push_back(span.demonstration);
  EXPECT_THAT(owners, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, no_demonstration, no_demonstration));
}

TEST(render, carries_the_labels_the_answer_and_what_stands_before_labels) {
  const prompt written = render(prompt_template{}, two_verbs());
  EXPECT_THAT(written.labels, ElementsAre("went", "saw", "ate"));
  EXPECT_EQ(written.answer, "ate");
  EXPECT_EQ(written.label_prefix, " ");
}

}  // namespace
