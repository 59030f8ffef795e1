#include "iclmech/report/svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iclmech {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

TEST(svg, text_is_escaped_and_numbers_are_short) {
  EXPECT_EQ(svg::escape("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(svg::number(0.123456), "0.123");
  EXPECT_EQ(svg::number(12.0), "12");
  EXPECT_EQ(svg::number(std::nan("")), "–");
}

TEST(svg, a_heat_map_has_a_cell_for_each_head_that_says_its_value) {
  const std::string map = svg::heat_map({{0, 0, "L0H0", 0.5}, {1, 1, "L1H1", 1.0}}, 2, "TR");
  EXPECT_THAT(map, HasSubstr("<title>L0H0: 0.5</title>"));
  EXPECT_THAT(map, HasSubstr("<title>L1H1: 1</title>"));
  EXPECT_THAT(map, HasSubstr("#08306b"));  // the largest value is the darkest
  EXPECT_THAT(map, HasSubstr("</i> 0 to 1</p>"));
  EXPECT_EQ(svg::heat_map({}, 2, "TR"), "");
}

TEST(svg, negative_values_make_the_scale_diverge) {
  const std::string map = svg::heat_map({{0, 0, "L0H0", -2.0}, {0, 1, "L0H1", 1.0}}, 1, "AIE");
  EXPECT_THAT(map, HasSubstr("</i> -2 to 2</p>"));
  EXPECT_THAT(map, HasSubstr("#b2182b"));  // -2: the darkest red
  EXPECT_THAT(map, HasSubstr("#4292c6"));  // +1: half way to dark blue
}

TEST(svg, numbers_have_no_exponent_where_they_can_be_read_without) {
  EXPECT_EQ(svg::number(999.6), "1e+03");
  EXPECT_EQ(svg::number(-1234.5), "-1234");
  EXPECT_EQ(svg::number(2e6), "2e+06");
}

TEST(svg, bars_are_as_long_as_their_shares_and_never_leave_the_picture) {
  const std::string bars = svg::bars({"accuracy"}, {{"all", {1.0}}, {"half", {0.5}}, {"too much", {7.0}}});
  // Labels of eight letters leave 380 - 61.6 - 44 of the width.
  EXPECT_THAT(bars, HasSubstr("width=274.4"));
  EXPECT_THAT(bars, HasSubstr("width=137.2"));
  EXPECT_THAT(bars, HasSubstr("too much, accuracy: 7"));
  EXPECT_EQ(svg::bars({"accuracy"}, {}), "");
}

TEST(svg, curves_leave_out_what_is_not_a_number) {
  const svg::curve line{"a", {0.0, 1.0, 2.0}, {0.0, std::nan(""), 1.0}, {}, {}};
  const std::string picture = svg::curves({line}, "layer", "share");
  EXPECT_THAT(picture, HasSubstr("a, layer 0: 0"));
  EXPECT_THAT(picture, HasSubstr("a, layer 2: 1"));
  EXPECT_THAT(picture, Not(HasSubstr("a, layer 1")));
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
  EXPECT_EQ(svg::curves({}, "layer", "share"), "");
}

TEST(svg, the_vertical_axis_of_shares_runs_from_0_to_1_and_that_of_values_over_them) {
  const svg::curve line{"a", {0.0, 1.0}, {0.25, 0.5}, {}, {}};
  const auto ticks = [&](svg::vertical_axis axis) { return svg::curves({line}, "layer", "y", axis); };
  EXPECT_THAT(ticks(svg::vertical_axis::shares),
              AllOf(HasSubstr("text-anchor=end>0<"), HasSubstr("text-anchor=end>1<")));
  EXPECT_THAT(ticks(svg::vertical_axis::values),
              AllOf(HasSubstr("text-anchor=end>0.35<"), Not(HasSubstr("text-anchor=end>0<"))));
}

TEST(svg, ticks_are_round_and_not_too_close) {
  EXPECT_THAT(svg::detail::ticks(0, 29), ElementsAre(0, 5, 10, 15, 20, 25));
  EXPECT_THAT(svg::detail::ticks(0, 2, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(svg::detail::ticks(0, 2), ElementsAre(0, 0.5, 1, 1.5, 2));
  EXPECT_THAT(svg::detail::ticks(-0.43, 1), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(svg::detail::ticks(0.25, 0.5),
              Pointwise(DoubleEq(), std::vector<double>{0.25, 0.3, 0.35, 0.4, 0.45, 0.5}));
  EXPECT_THAT(svg::detail::ticks(-2e-9, 1e-9),
              Pointwise(DoubleEq(), std::vector<double>{-2e-9, -1.5e-9, -1e-9, -5e-10, 0, 5e-10, 1e-9}));
}

}  // namespace
}  // namespace iclmech
