#include "iclmech/task/perturb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::episode;
using iclmech::label_kind;
using iclmech::label_mapping;
using iclmech::neutral_words;
using iclmech::task_pair;
using iclmech::unrelated_labels;
using iclmech::with_random_texts;
using iclmech::with_shuffled_labels;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

const std::vector<std::string> words{"spoon", "river", "lamp"};

episode sentiment() {
  return {{{"what a fine film", "good"}, {"dull", "bad"}, {"a  treat\n", "good"}, {"no", "bad"}},
          {"great", "good"},
          label_kind::classification,
          {"bad", "good"}};
}

episode verbs() {
  return {{{"go", "went"}, {"see", "saw"}, {"run", "ran"}},
          {"eat", "ate"},
          label_kind::open,
          {"went", "saw", "ran", "ate"}};
}

std::vector<std::string> outputs(const episode& source) {
  std::vector<std::string> labels;
  for (const task_pair& pair : source.demonstrations) labels.push_back(pair.output);
  return labels;
}

TEST(neutral_words, are_all_different) {
  const std::vector<std::string> all = neutral_words();
  EXPECT_THAT(std::set<std::string>(all.begin(), all.end()), SizeIs(all.size()));
}

TEST(with_random_texts, keeps_the_number_of_words_the_labels_the_query_and_the_answer) {
  const episode changed = with_random_texts(sentiment(), words, 1, 2);
  const std::vector<std::ptrdiff_t> expected_spaces{3, 0, 1, 0};
  for (std::size_t place = 0; place < expected_spaces.size(); ++place) {
    const std::string& text = changed.demonstrations[place].input;
    EXPECT_EQ(std::count(text.begin(), text.end(), ' '), expected_spaces[place]) << text;
    EXPECT_NE(text, sentiment().demonstrations[place].input);
  }
  EXPECT_EQ(outputs(changed), outputs(sentiment()));
  EXPECT_EQ(changed.query, sentiment().query);
  EXPECT_EQ(changed.labels, sentiment().labels);
}

TEST(with_random_texts, is_a_function_of_seed_and_index) {
  EXPECT_EQ(with_random_texts(sentiment(), words, 1, 2), with_random_texts(sentiment(), words, 1, 2));
  EXPECT_NE(with_random_texts(sentiment(), words, 1, 2), with_random_texts(sentiment(), words, 1, 3));
  EXPECT_NE(with_random_texts(sentiment(), words, 1, 2), with_random_texts(sentiment(), words, 2, 2));
}

TEST(with_random_texts, needs_words) {
  EXPECT_THAT([] { with_random_texts(sentiment(), {}, 1, 2); },
              ThrowsMessage<argument_error>(HasSubstr("at least one word")));
}

TEST(unrelated_labels, gives_each_label_a_word_of_its_own_that_is_no_label) {
  const std::vector<std::string> labels{"good", "river", "bad"};
  const std::vector<std::string> offered{"river", "lamp", "good", "spoon", "lamp", "quilt"};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const label_mapping mapping = unrelated_labels(labels, offered, seed);
    std::set<std::string> targets;
    for (const std::string& label : labels) {
      ASSERT_NE(mapping.find(label), nullptr);
      targets.insert(*mapping.find(label));
    }
    EXPECT_EQ(targets, (std::set<std::string>{"lamp", "quilt", "spoon"}));
  }
}

TEST(unrelated_labels, depends_on_the_seed_alone) {
  const std::vector<std::string> labels{"good", "bad"};
  EXPECT_EQ(unrelated_labels(labels, neutral_words(), 5), unrelated_labels(labels, neutral_words(), 5));
  EXPECT_NE(unrelated_labels(labels, neutral_words(), 5), unrelated_labels(labels, neutral_words(), 6));
}

TEST(unrelated_labels, changes_labels_and_answer_consistently_through_relabelled) {
  const episode original = sentiment();
  const label_mapping mapping = unrelated_labels(original.labels, neutral_words(), 1);
  const episode changed = relabelled(original, mapping);
  EXPECT_THAT(outputs(changed), ElementsAre(*mapping.find("good"), *mapping.find("bad"),
                                            *mapping.find("good"), *mapping.find("bad")));
  EXPECT_EQ(changed.query.output, *mapping.find("good"));
}

TEST(unrelated_labels, says_when_there_are_too_few_words) {
  const std::vector<std::string> labels{"spoon", "bad", "good"};
  EXPECT_THAT(
      [&] { unrelated_labels(labels, words, 1); },
      ThrowsMessage<argument_error>(HasSubstr("3 labels need as many unrelated words, but only 2 of those")));
}

TEST(with_shuffled_labels, permutes_labels_and_always_changes_some) {
  for (const episode& original : {sentiment(), verbs()}) {
    std::vector<std::string> sorted = outputs(original);
    std::sort(sorted.begin(), sorted.end());
    for (std::uint64_t index = 0; index < 100; ++index) {
      const episode changed = with_shuffled_labels(original, 7, index);
      std::vector<std::string> labels = outputs(changed);
      EXPECT_NE(labels, outputs(original));
      std::sort(labels.begin(), labels.end());
      EXPECT_EQ(labels, sorted);
      EXPECT_EQ(changed.query, original.query);
      for (std::size_t place = 0; place < labels.size(); ++place)
        EXPECT_EQ(changed.demonstrations[place].input, original.demonstrations[place].input);
    }
  }
}

TEST(with_shuffled_labels, reaches_every_other_order) {
  std::set<std::vector<std::string>> orders;
  for (std::uint64_t index = 0; index < 100; ++index)
    orders.insert(outputs(with_shuffled_labels(verbs(), 7, index)));
  EXPECT_THAT(orders, SizeIs(5));  // 3! less the original
}

TEST(with_shuffled_labels, leaves_alone_what_cannot_change) {
  episode same = sentiment();
  for (task_pair& pair : same.demonstrations) pair.output = "good";
  EXPECT_EQ(with_shuffled_labels(same, 1, 1), same);
  episode none = sentiment();
  none.demonstrations.clear();
  EXPECT_EQ(with_shuffled_labels(none, 1, 1), none);
}

}  // namespace
