#include "iclmech/detail/nearest_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using iclmech::detail::edit_distance;
using iclmech::detail::joined;
using iclmech::detail::nearest_names;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(edit_distance, counts_insertions_deletions_and_replacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2U);
}

TEST(nearest_names, puts_a_misspelt_name_first) {
  const std::vector<std::string> names{"antonym", "sentiment", "singular-plural", "subjectivity"};
  EXPECT_THAT(nearest_names("sentimant", names, 1), ElementsAre("sentiment"));
  EXPECT_THAT(nearest_names("antonyms", names, 1), ElementsAre("antonym"));
}

TEST(nearest_names, prefers_names_that_contain_the_wanted_one) {
  const std::vector<std::string> names{"rural", "singular-plural", "moral"};
  EXPECT_THAT(nearest_names("plural", names, 2), ElementsAre("singular-plural", "rural"));
}

TEST(nearest_names, gives_all_in_order_when_nothing_is_wanted_and_none_when_there_are_none) {
  const std::vector<std::string> names{"b", "a"};
  EXPECT_THAT(nearest_names("", names, 5), ElementsAre("b", "a"));
  EXPECT_THAT(nearest_names("x", std::vector<std::string>{}, 5), IsEmpty());
}

TEST(joined, separates_by_commas) {
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b"}), "a, b");
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
}

}  // namespace
