#include "iclmech/io/vocabulary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using iclmech::argument_error;
using iclmech::token_id;
using iclmech::vocabulary;
using ::testing::HasSubstr;

using entries = std::vector<std::pair<std::string, token_id>>;

std::string message_of(entries list) {
  try {
    vocabulary v(std::move(list));
  } catch (const argument_error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}

TEST(vocabulary, maps_both_ways) {
  const vocabulary v(entries{{"a", 2}, {"", 0}, {"b", 5}});
  EXPECT_EQ(v.size(), 6u);
  EXPECT_EQ(v.id("a"), 2);
  EXPECT_EQ(v.id(""), 0);
  EXPECT_EQ(v.id("c"), -1);
  EXPECT_EQ(v.text(5), "b");
  EXPECT_EQ(v.text(0), "");
  EXPECT_EQ(v.text(1), std::nullopt);
  EXPECT_EQ(v.text(6), std::nullopt);
  EXPECT_EQ(v.text(-1), std::nullopt);
}

TEST(vocabulary, may_be_empty) {
  const vocabulary v(entries{});
  EXPECT_EQ(v.size(), 0u);
  EXPECT_EQ(v.id("a"), -1);
  EXPECT_EQ(v.text(0), std::nullopt);
}

TEST(vocabulary, survives_copying_and_moving) {
  vocabulary v(entries{{"a", 0}, {"a longer token than fits a small string", 1}});
  const vocabulary copy = v;
  const vocabulary moved = std::move(v);
  for (const vocabulary* each : {&copy, &moved}) {
    EXPECT_EQ(each->id("a"), 0);
    EXPECT_EQ(each->id("a longer token than fits a small string"), 1);
  }
}

TEST(vocabulary, finds_each_of_many) {
  entries list;
  for (token_id i = 0; i < 20000; ++i) list.emplace_back("token " + std::to_string(i * 7), i);
  const vocabulary v(list);
  for (const auto& [text, id] : list) ASSERT_EQ(v.id(text), id);
  for (token_id i = 0; i < 20000; ++i) ASSERT_EQ(v.id("token " + std::to_string(i * 7 + 1)), -1);
}

TEST(vocabulary, names_contradictions) {
  EXPECT_EQ(message_of({{"a", 3}, {"b", 3}}), "the id 3 belongs to both 'a' and 'b'");
  EXPECT_EQ(message_of({{"a", 3}, {"a", 4}}), "the token 'a' has both the id 3 and the id 4");
  EXPECT_EQ(message_of({{"a\n", -1}}), "the token 'a\\x0a' has the id -1; ids go from 0 to 4194303");
  EXPECT_THAT(message_of({{"a", vocabulary::max_size}}), HasSubstr("has the id 4194304"));
}

}  // namespace
