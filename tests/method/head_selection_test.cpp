#include "iclmech/method/head_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mixed_spec.hpp"

namespace iclmech {
namespace {

TEST(head_selection, top_heads_are_the_highest_scores_first) {
  const std::vector<head_id> ids{
      {0, mixer_kind::attention, 0}, {0, mixer_kind::attention, 1}, {1, mixer_kind::attention, 0}};
  const std::vector<double> scores{0.5, 2.0, 1.0};
  EXPECT_THAT(top_heads(ids, scores, 2), ::testing::ElementsAre(ids[1], ids[2]));
  try {
    top_heads(ids, std::vector<double>{1.0}, 1);
    FAIL() << "two scores are missing";
  } catch (const argument_error& e) {
    EXPECT_STREQ(e.what(), "top_heads: 1 scores for 3 heads");
  }
}

TEST(head_selection, each_head_names_every_head_once) {
  const model_spec spec = test::mixed_spec();
  const auto all = each_head(spec);
  ASSERT_EQ(all.size(), spec.heads().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_THAT(all[i].heads, ::testing::ElementsAre(spec.heads()[i]));
    EXPECT_EQ(spec.parse_head(all[i].name), spec.heads()[i]);
  }
}

TEST(head_selection, a_set_less_each_of_its_heads) {
  const model_spec spec = test::mixed_spec();
  const std::vector<head_id> heads{spec.heads()[0], spec.heads()[2], spec.heads()[3]};
  const auto less = less_each_head(spec, heads);
  ASSERT_EQ(less.size(), 3U);
  EXPECT_EQ(less[1].name, spec.label(heads[1]));
  EXPECT_THAT(less[1].heads, ::testing::ElementsAre(heads[0], heads[2]));
}

TEST(head_selection, matched_random_heads_have_the_same_mixers_and_avoid_the_set) {
  const model_spec spec = test::mixed_spec();
  const std::vector<head_id> like{spec.heads()[1]};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto random = matched_random_heads(spec, like, seed);
    ASSERT_EQ(random.size(), 1U);
    EXPECT_EQ(random[0].layer, like[0].layer);
    EXPECT_EQ(random[0].mixer, like[0].mixer);
    EXPECT_NE(random[0].head, like[0].head);
  }
}

}  // namespace
}  // namespace iclmech
