#include "iclmech/task/task.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "iclmech/task/token_role.hpp"

namespace {

using iclmech::infer_label_kind;
using iclmech::label_kind;
using iclmech::label_mapping;
using iclmech::task;
using iclmech::task_pair;
using ::testing::ElementsAre;
using ::testing::IsNull;
using ::testing::Pointee;

TEST(task, lists_its_labels_in_the_order_of_their_first_occurrence) {
  task subject;
  subject.pairs = {{"1", "b"}, {"2", "a"}, {"3", "b"}, {"4", "c"}};
  EXPECT_THAT(subject.labels(), ElementsAre("b", "a", "c"));
}

TEST(infer_label_kind, calls_a_few_labels_that_recur_a_classification) {
  EXPECT_EQ(infer_label_kind(std::vector<task_pair>{{"1", "a"}, {"2", "b"}, {"3", "a"}, {"4", "b"}}),
            label_kind::classification);
}

TEST(infer_label_kind, calls_outputs_open_when_one_of_them_occurs_once) {
  EXPECT_EQ(infer_label_kind(std::vector<task_pair>{{"1", "a"}, {"2", "b"}, {"3", "a"}}), label_kind::open);
}

TEST(infer_label_kind, needs_two_labels_and_allows_ten) {
  EXPECT_EQ(infer_label_kind(std::vector<task_pair>{{"1", "a"}, {"2", "a"}}), label_kind::open);
  EXPECT_EQ(infer_label_kind(std::vector<task_pair>{}), label_kind::open);
  std::vector<task_pair> pairs;
  for (int label = 0; label < 10; ++label) pairs.insert(pairs.end(), 2, {"x", std::to_string(label)});
  EXPECT_EQ(infer_label_kind(pairs), label_kind::classification);
  pairs.insert(pairs.end(), 2, {"x", "eleventh"});
  EXPECT_EQ(infer_label_kind(pairs), label_kind::open);
}

TEST(label_mapping, finds_what_a_label_stands_for) {
  const label_mapping mapping{{{"cat", "foo"}, {"dog", "bar"}}};
  EXPECT_THAT(mapping.find("dog"), Pointee(std::string("bar")));
  EXPECT_THAT(mapping.find("cow"), IsNull());
}

TEST(token_role, has_a_name_of_its_own_for_each) {
  std::vector<std::string_view> names;
  for (const iclmech::token_role role : iclmech::all_token_roles) names.push_back(iclmech::to_string(role));
  EXPECT_THAT(names, ElementsAre("first", "demonstration", "label", "query", "separator"));
}

}  // namespace
