#include "iclmech/label_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using iclmech::argument_error;
using iclmech::label_set;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(label_set, knows_its_tokens_by_position_and_by_value) {
  const label_set labels({30, 10, 20});
  EXPECT_EQ(labels.size(), 3);
  EXPECT_EQ(labels.token(1), 10);
  EXPECT_EQ(labels.index_of(20), 2);
  EXPECT_TRUE(labels.contains(30));
  EXPECT_FALSE(labels.contains(31));
  EXPECT_THAT([&] { (void)labels.index_of(31); },
              ThrowsMessage<argument_error>(HasSubstr("token 31 is none of the 3 labels")));
}

TEST(label_set, describes_a_label_with_and_without_its_name) {
  EXPECT_EQ(label_set({7}).describe(0), "label 0 (token 7)");
  EXPECT_EQ(label_set({7, 8}, {"good", "bad"}).describe(1), "label \"bad\" (token 8)");
}

TEST(label_set, names_both_labels_that_share_a_token) {
  EXPECT_THAT(
      [] {
        label_set({4, 7, 4}, {"great", "fine", "good"});
      },
      ThrowsMessage<argument_error>(
          HasSubstr("label \"great\" (token 4) and label \"good\" (token 4) share one token")));
  EXPECT_THAT(
      [] {
        label_set({1, 5, 5});
      },
      ThrowsMessage<argument_error>(HasSubstr("label 1 (token 5) and label 2 (token 5)")));
}

TEST(label_set, refuses_what_is_no_set_of_labels) {
  EXPECT_THAT([] { label_set(std::vector<iclmech::token_id>{}); },
              ThrowsMessage<argument_error>(HasSubstr("no labels")));
  EXPECT_THAT(
      [] {
        label_set({3, -1}, {"a", "b"});
      },
      ThrowsMessage<argument_error>(HasSubstr("label \"b\" (token -1) is no token id")));
  EXPECT_THAT(
      [] {
        label_set({3, 4}, {"a"});
      },
      ThrowsMessage<argument_error>(HasSubstr("1 names for 2 tokens")));
}

}  // namespace
