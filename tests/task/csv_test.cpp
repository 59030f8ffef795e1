#include "iclmech/task/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using iclmech::csv_row;
using iclmech::file_error;
using iclmech::read_csv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

std::vector<std::vector<std::string>> fields(std::string_view text, char delimiter = ',') {
  std::vector<std::vector<std::string>> found;
  for (const csv_row& row : read_csv(text, delimiter, "x.csv")) found.push_back(row.fields);
  return found;
}

TEST(read_csv, splits_at_delimiters_and_line_ends) {
  EXPECT_THAT(fields("a,b\nc,d\n"), ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  EXPECT_THAT(fields("a\tb,c\r\nd\te", '\t'), ElementsAre(ElementsAre("a", "b,c"), ElementsAre("d", "e")));
}

TEST(read_csv, keeps_empty_fields_and_leaves_out_empty_lines) {
  EXPECT_THAT(fields(",\n\n\r\na,\n"), ElementsAre(ElementsAre("", ""), ElementsAre("a", "")));
  EXPECT_THAT(fields(""), IsEmpty());
}

TEST(read_csv, reads_quoted_fields_as_rfc_4180_says) {
  EXPECT_THAT(fields("\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n"),
              ElementsAre(ElementsAre("a,b", "say \"hi\""), ElementsAre("two\nlines", "")));
}

TEST(read_csv, takes_a_quote_inside_a_plain_field_and_a_lone_return_as_text) {
  EXPECT_THAT(fields("5\" disk,a\rb\n"), ElementsAre(ElementsAre("5\" disk", "a\rb")));
}

TEST(read_csv, counts_lines_inside_quotes) {
  const auto rows = read_csv("h\n\"one\ntwo\"\n\nlast\n", ',', "x.csv");
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].line, 1U);
  EXPECT_EQ(rows[1].line, 2U);
  EXPECT_EQ(rows[2].line, 5U);
}

TEST(read_csv, says_where_a_quoted_field_that_never_ends_begins) {
  EXPECT_THAT(
      [] { read_csv("a\nb,\"c\nd\n", ',', "x.csv"); },
      ThrowsMessage<file_error>(HasSubstr("x.csv: line 2: a quoted field begins here and never ends")));
}

TEST(read_csv, says_where_text_follows_a_closing_quote) {
  EXPECT_THAT([] { read_csv("a\n\"b\nc\"d\n", ',', "x.csv"); },
              ThrowsMessage<file_error>(HasSubstr("x.csv: line 3: text follows a closing quote")));
}

}  // namespace
