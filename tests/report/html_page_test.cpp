#include "iclmech/report/html_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iclmech {
namespace {

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

TEST(html_page, rows_without_figures_leave_nothing) {
  html_page page("t");
  page.begin_row();
  page.end_row();
  EXPECT_THAT(page.html(), Not(HasSubstr("class=row")));
  page.begin_row();
  page.figure("caption", "<svg></svg>");
  page.end_row();
  EXPECT_THAT(page.html(), HasSubstr("<div class=row><figure>"));
}

TEST(html_page, needs_no_network) { EXPECT_THAT(html_page("t").html(), Not(HasSubstr("http"))); }

}  // namespace
}  // namespace iclmech
