#include "iclmech/task/label_noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::episode;
using iclmech::flip_mapping;
using iclmech::label_kind;
using iclmech::label_mapping;
using iclmech::relabelled;
using iclmech::task_pair;
using iclmech::with_label_noise;
using iclmech::with_random_labels;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

const std::vector<std::string> topics{"art", "law", "sea"};

episode with_demonstrations(std::size_t count) {
  episode source{{}, {"query", "art"}, label_kind::classification, topics};
  for (std::size_t place = 0; place < count; ++place)
    source.demonstrations.push_back({"text" + std::to_string(place), topics[place % 3]});
  return source;
}

std::set<std::size_t> right_places(const episode& changed, const episode& original) {
  std::set<std::size_t> places;
  for (std::size_t place = 0; place < original.demonstrations.size(); ++place)
    if (changed.demonstrations[place].output == original.demonstrations[place].output) places.insert(place);
  return places;
}

TEST(with_label_noise, keeps_exactly_the_share_of_right_labels) {
  for (const std::size_t count :
       {std::size_t{4}, std::size_t{8}, std::size_t{12}, std::size_t{16}, std::size_t{32}}) {
    const episode original = with_demonstrations(count);
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
      for (std::uint64_t index = 0; index < 10; ++index) {
        const episode changed = with_label_noise(original, share, topics, 1, index);
        EXPECT_THAT(right_places(changed, original),
                    SizeIs(static_cast<std::size_t>(std::lround(share * static_cast<double>(count)))));
        EXPECT_EQ(changed.query, original.query);
        EXPECT_EQ(changed.labels, topics);
      }
  }
}

TEST(with_label_noise, nests_the_right_ones_and_repeats_the_wrong_ones_as_the_share_falls) {
  const episode original = with_demonstrations(16);
  const episode half = with_label_noise(original, 0.5, topics, 1, 0);
  const episode quarter = with_label_noise(original, 0.25, topics, 1, 0);
  const auto right_at_half = right_places(half, original);
  for (const std::size_t place : right_places(quarter, original)) EXPECT_EQ(right_at_half.count(place), 1U);
  for (std::size_t place = 0; place < 16; ++place) {
    if (right_at_half.count(place) == 1) continue;
    EXPECT_EQ(half.demonstrations[place], quarter.demonstrations[place]);
  }
}

TEST(with_label_noise, uses_every_wrong_label) {
  std::set<std::string> seen;
  for (std::uint64_t index = 0; index < 30; ++index)
    seen.insert(with_label_noise(with_demonstrations(1), 0.0, topics, 1, index).demonstrations[0].output);
  EXPECT_THAT(seen, ElementsAre("law", "sea"));
}

TEST(with_label_noise, brings_open_labels_up_to_date) {
  const episode verbs{{{"go", "went"}}, {"eat", "ate"}, label_kind::open, {"went", "ate"}};
  const std::vector<std::string> space{"went", "saw"};
  EXPECT_THAT(with_label_noise(verbs, 0.0, space, 1, 0).labels, ElementsAre("saw", "ate"));
}

TEST(with_label_noise, refuses_a_share_that_is_none) {
  for (const double share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT([share] { with_label_noise(with_demonstrations(2), share, topics, 1, 0); },
                ThrowsMessage<argument_error>(HasSubstr("must be from 0 to 1")));
}

TEST(with_label_noise, says_when_there_is_no_wrong_label_and_does_not_mind_when_none_is_needed) {
  const std::vector<std::string> only{"art"};
  EXPECT_THAT([&] { with_label_noise(with_demonstrations(1), 0.0, only, 1, 0); },
              ThrowsMessage<argument_error>(HasSubstr("no wrong label for \"art\"")));
  EXPECT_EQ(with_label_noise(with_demonstrations(1), 1.0, only, 1, 0), with_demonstrations(1));
}

TEST(with_random_labels, draws_every_label_alike_whatever_was_right) {
  std::map<std::string, int> count;
  for (std::uint64_t index = 0; index < 1000; ++index)
    for (const task_pair& pair : with_random_labels(with_demonstrations(3), topics, 4, index).demonstrations)
      ++count[pair.output];
  ASSERT_THAT(count, SizeIs(3));
  // Binomial(3000, 1/3): standard deviation 26; five of them.
  for (const auto& [label, seen] : count) EXPECT_NEAR(seen, 1000, 130) << label;
}

TEST(with_random_labels, keeps_the_answer_and_needs_labels) {
  EXPECT_EQ(with_random_labels(with_demonstrations(3), topics, 4, 0).query.output, "art");
  EXPECT_THAT([] { with_random_labels(with_demonstrations(3), {}, 4, 0); },
              ThrowsMessage<argument_error>(HasSubstr("need a label space")));
}

TEST(flip_mapping, moves_every_label_and_reaches_each_one_once) {
  const std::vector<std::string> labels{"a", "b", "c", "d", "e"};
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const label_mapping mapping = flip_mapping(labels, seed);
    std::set<std::string> targets;
    std::vector<std::string> order;
    for (const std::string& label : labels) {
      ASSERT_NE(mapping.find(label), nullptr);
      EXPECT_NE(*mapping.find(label), label);
      targets.insert(*mapping.find(label));
      order.push_back(*mapping.find(label));
    }
    EXPECT_EQ(targets, std::set<std::string>(labels.begin(), labels.end()));
    seen.insert(order);
  }
  EXPECT_THAT(seen, SizeIs(24));  // (5 - 1)! cycles
}

TEST(flip_mapping, swaps_two_labels_in_demonstrations_and_answer) {
  const std::vector<std::string> two{"good", "bad"};
  const episode original{
      {{"fine", "good"}, {"dull", "bad"}}, {"great", "good"}, label_kind::classification, two};
  const episode flipped = relabelled(original, flip_mapping(two, 1));
  EXPECT_THAT(flipped.demonstrations, ElementsAre(task_pair{"fine", "bad"}, task_pair{"dull", "good"}));
  EXPECT_EQ(flipped.query.output, "bad");
}

TEST(flip_mapping, needs_two_labels) {
  const std::vector<std::string> one{"good"};
  EXPECT_THAT([&] { flip_mapping(one, 1); },
              ThrowsMessage<argument_error>(HasSubstr("at least two labels, but there are 1")));
}

}  // namespace
