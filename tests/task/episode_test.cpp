#include "iclmech/task/episode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using iclmech::argument_error;
using iclmech::episode;
using iclmech::label_kind;
using iclmech::label_mapping;
using iclmech::relabelled;
using iclmech::task_pair;
using iclmech::update_labels;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

episode sentiment() {
  return {
      {{"fine", "good"}, {"awful", "bad"}}, {"great", "good"}, label_kind::classification, {"bad", "good"}};
}

TEST(update_labels, keeps_the_label_set_of_a_classification_and_adds_to_it) {
  episode subject = sentiment();
  subject.demonstrations[0].output = "odd";
  update_labels(subject);
  EXPECT_THAT(subject.labels, ElementsAre("bad", "good", "odd"));
}

TEST(update_labels, takes_open_labels_from_the_demonstrations_then_the_answer) {
  episode subject{
      {{"go", "went"}, {"see", "saw"}, {"walk", "went"}}, {"eat", "ate"}, label_kind::open, {"old"}};
  update_labels(subject);
  EXPECT_THAT(subject.labels, ElementsAre("went", "saw", "ate"));
}

TEST(relabelled, replaces_labels_everywhere_and_nothing_else) {
  const episode changed = relabelled(sentiment(), label_mapping{{{"good", "foo"}, {"bad", "bar"}}});
  EXPECT_THAT(changed.demonstrations, ElementsAre(task_pair{"fine", "foo"}, task_pair{"awful", "bar"}));
  EXPECT_EQ(changed.query, (task_pair{"great", "foo"}));
  EXPECT_THAT(changed.labels, ElementsAre("bar", "foo"));
}

TEST(relabelled, puts_labels_that_become_one_into_play_once) {
  const episode changed = relabelled(sentiment(), label_mapping{{{"good", "foo"}, {"bad", "foo"}}});
  EXPECT_THAT(changed.labels, ElementsAre("foo"));
}

TEST(relabelled, names_the_label_that_a_mapping_lacks) {
  EXPECT_THAT(
      [] {
        relabelled(sentiment(), label_mapping{{{"good", "foo"}}});
      },
      ThrowsMessage<argument_error>(HasSubstr("no entry for the label \"bad\"")));
}

}  // namespace
