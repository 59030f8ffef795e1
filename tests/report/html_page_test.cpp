#include "iclmech/report/html_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iclmech {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(html_page, shows_headings_that_something_follows) {
  html_page page("A <title>");
  page.heading("Empty");
  page.heading("Full");
  page.paragraph("text & more");
  page.heading("Last");
  const std::string html = page.html();
  EXPECT_THAT(html, HasSubstr("<title>A &lt;title&gt;</title>"));
  EXPECT_THAT(html,
              HasSubstr("<nav><a href=\"#h0\">Full</a></nav><h2 id=h0>Full</h2><p>text &amp; more</p>"));
  EXPECT_THAT(html, Not(HasSubstr("Empty")));
  EXPECT_THAT(html, Not(HasSubstr("Last")));
}

TEST(html_page, figures_carry_their_data_and_their_command) {
  html_page page("t");
  page.figure("caption", "<svg></svg>", "a,b\n1,\"x y\"\n", "iclmech study tsla llama");
  page.figure("nothing", "");
  const std::string html = page.html();
  EXPECT_THAT(html, HasSubstr("href=\"data:text/csv;charset=utf-8,a,b%0A1,%22x%20y%22%0A\""));
  EXPECT_THAT(html, HasSubstr("<pre>iclmech study tsla llama</pre>"));
  EXPECT_THAT(html, Not(HasSubstr("nothing")));
}

TEST(html_page, tables_quote_commas_in_their_csv) {
  html_page page("t");
  page.table("caption", {"name", "value"}, {{"a, b", "1"}});
  page.table("no rows", {"name"}, {});
  const std::string html = page.html();
  EXPECT_THAT(html, HasSubstr("name,value%0A%22a,%20b%22,1%0A"));
  EXPECT_THAT(html, HasSubstr("<td>a, b</td><td>1</td>"));
  EXPECT_THAT(html, Not(HasSubstr("no rows")));
}

TEST(html_page, columns_without_figures_leave_nothing) {
  html_page page("t");
  page.heading("Empty");
  page.begin_column("a");
  page.begin_column("b");
  page.end_columns();
  EXPECT_THAT(page.html(), AllOf(Not(HasSubstr("<div class")), Not(HasSubstr("Empty"))));
}

TEST(html_page, one_column_wraps_in_a_row) {
  html_page page("t");
  page.begin_column("a");
  page.figure("map", "<svg></svg>");
  page.end_columns();
  page.figure("after", "<svg></svg>");
  EXPECT_THAT(page.html(),
              HasSubstr("<div class=row><figure><figcaption>a: map</figcaption><svg></svg></figure></div>"
                        "<figure><figcaption>after</figcaption>"));
}

// The second column lacks what the first begins with and has something of its own.
TEST(html_page, columns_stand_side_by_side_by_caption) {
  html_page page("t");
  page.begin_column("a");
  page.figure("first", "<i>");
  page.figure("shared", "<i>");
  page.begin_column("b");
  page.figure("shared", "<i>");
  page.figure("own", "<i>");
  page.end_columns();
  const auto cell = [](const std::string& caption) {
    return "<div><figure><figcaption>" + caption + "</figcaption><i></figure></div>";
  };
  const std::string none = "<div></div>";
  EXPECT_THAT(page.html(),
              HasSubstr("<div class=columns style=\"--n:2\">" + cell("a: first") + none + cell("a: shared") +
                        cell("b: shared") + none + cell("b: own") + "</div>"));
}

TEST(html_page, keeps_numbers_and_their_percent_signs_together) {
  html_page page("t");
  page.paragraph("from 5 % to 10 %");
  EXPECT_THAT(page.html(), HasSubstr("<p>from 5&nbsp;% to 10&nbsp;%</p>"));
}

TEST(html_page, needs_no_network) { EXPECT_THAT(html_page("t").html(), Not(HasSubstr("http"))); }

}  // namespace
}  // namespace iclmech
