#include "iclmech/host/head_id.hpp"

#include <gtest/gtest.h>

namespace iclmech {
namespace {

TEST(head_id, as_text) {
  EXPECT_EQ(to_string(head_id{5, mixer_kind::attention, 3}), "L5H3");
  EXPECT_EQ(to_string(head_id{5, mixer_kind::attention, 3}, true), "L5.attention.H3");
  EXPECT_EQ(to_string(head_id{12, mixer_kind::mamba2, 30}, true), "L12.mamba.H30");
}

TEST(head_id, orders_by_layer_then_mixer_then_head) {
  const head_id a{0, mixer_kind::mamba2, 9}, b{1, mixer_kind::attention, 5}, c{1, mixer_kind::attention, 6},
      d{1, mixer_kind::mamba1, 0};
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  EXPECT_LT(c, d);
  EXPECT_EQ(b, (head_id{1, mixer_kind::attention, 5}));
}

TEST(parse_head_id, short_and_long) {
  const auto id = parse_head_id("L10H7");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->layer, 10);
  EXPECT_EQ(id->mixer, "");
  EXPECT_EQ(id->head, 7);
  const auto full = parse_head_id("L0.mamba.H12");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->mixer, "mamba");
  EXPECT_EQ(full->head, 12);
}

TEST(parse_head_id, refuses_everything_else) {
  for (const char* text : {"", "L", "L5", "L5H", "H3", "5H3", "L5H3 ", " L5H3", "L-1H0", "L5H-3", "L5..H3",
                           "L5.mamba", "l5h3", "L5.mambaH3", "L99999999999H0", "L5H3x", "L+1H2"})
    EXPECT_FALSE(parse_head_id(text)) << text;
}

TEST(mixer_kind, names) {
  for (const mixer_kind kind : all_mixer_kinds) EXPECT_EQ(parse_mixer_kind(to_string(kind)), kind);
  EXPECT_EQ(parse_mixer_kind("attn"), mixer_kind::attention);
  EXPECT_EQ(parse_mixer_kind("mamba"), mixer_kind::mamba1);
  EXPECT_EQ(parse_mixer_kind("ssm", mixer_kind::mamba2), mixer_kind::mamba2);
  EXPECT_EQ(parse_mixer_kind("Attention"), std::nullopt);
  EXPECT_TRUE(is_state_space(mixer_kind::mamba1) && !is_state_space(mixer_kind::attention));
}

}  // namespace
}  // namespace iclmech
