#include "iclmech/hook/name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/mixed_spec.hpp"

namespace iclmech {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<hook_place>& places) {
  std::vector<std::string> names;
  for (const hook_place& place : places) names.push_back(hook_name(place));
  return names;
}

TEST(hook_name, is_what_transformer_lens_calls_it) {
  EXPECT_EQ(hook_name({hook::embed}), "hook_embed");
  EXPECT_EQ(hook_name({hook::resid_pre, 0}), "blocks.0.hook_resid_pre");
  EXPECT_EQ(hook_name({hook::ln1_scale, 2}), "blocks.2.ln1.hook_scale");
  EXPECT_EQ(hook_name({hook::ln2_normalized, 12}), "blocks.12.ln2.hook_normalized");
  EXPECT_EQ(hook_name({hook::pattern, 5}), "blocks.5.attn.hook_pattern");
  EXPECT_EQ(hook_name({hook::z, 5, mixer_kind::attention}), "blocks.5.attn.hook_z");
  EXPECT_EQ(hook_name({hook::z, 5, mixer_kind::mamba1}), "blocks.5.mixer.hook_z");
  EXPECT_EQ(hook_name({hook::dt, 3, mixer_kind::mamba2}), "blocks.3.mixer.hook_dt");
  EXPECT_EQ(hook_name({hook::mlp_post, 1}), "blocks.1.mlp.hook_post");
  EXPECT_EQ(hook_name({hook::final_scale}), "ln_final.hook_scale");
}

TEST(hook_places, of_a_model_have_names_of_their_own) {
  const auto places = hook_places(test::mixed_spec());
  const auto names = names_of(places);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names.front(), "hook_embed");
  EXPECT_EQ(names.back(), "ln_final.hook_normalized");
}

// Names lead back to their places.
TEST(hook_places, round_trip_through_their_names) {
  const model_spec spec = test::mixed_spec();
  for (const hook_place& place : hook_places(spec))
    EXPECT_THAT(find_hook_places(spec, hook_name(place)), ElementsAre(place));
}

TEST(hook_places, are_those_that_a_layer_has) {
  const model_spec spec = test::mixed_spec();
  const auto count = [&](const char* patterns) { return find_hook_places(spec, patterns).size(); };
  EXPECT_THAT(names_of(find_hook_places(spec, "blocks.*.hook_resid_mid")),
              ElementsAre("blocks.0.hook_resid_mid"));
  EXPECT_THAT(names_of(find_hook_places(spec, "*hook_merged")), ElementsAre("blocks.2.hook_merged"));
  EXPECT_THAT(names_of(find_hook_places(spec, "*hook_shared_out")), ElementsAre("blocks.3.hook_shared_out"));
  EXPECT_THAT(names_of(find_hook_places(spec, "*hook_write_scale")),
              ElementsAre("blocks.2.attn.hook_write_scale", "blocks.2.mixer.hook_write_scale"));
  EXPECT_THAT(names_of(find_hook_places(spec, "*hook_attn_out")),
              ElementsAre("blocks.0.hook_attn_out", "blocks.3.hook_attn_out"));
  EXPECT_THAT(names_of(find_hook_places(spec, "*mlp_out")),
              ElementsAre("blocks.0.hook_mlp_out", "blocks.3.hook_mlp_out"));
  EXPECT_EQ(count("*hook_z"), 6U);
  EXPECT_EQ(count("*hook_dt"), 3U);
  EXPECT_EQ(count("*attn.hook_q"), 3U);
}

TEST(hook_places, are_those_that_the_host_shows) {
  model_spec spec = test::mixed_spec();
  spec.observable = {hook::z, hook::resid_post};
  EXPECT_THAT(names_of(hook_places(spec)),
              ElementsAre("blocks.0.attn.hook_z", "blocks.0.hook_resid_post", "blocks.1.mixer.hook_z",
                          "blocks.1.hook_resid_post", "blocks.2.attn.hook_z", "blocks.2.mixer.hook_z",
                          "blocks.2.hook_resid_post", "blocks.3.attn.hook_z", "blocks.3.mixer.hook_z",
                          "blocks.3.hook_resid_post"));
}

TEST(hook_places, leave_out_keys_that_an_earlier_layer_lends) {
  model_spec spec = test::mixed_spec();
  spec.layers[0].mixers[0].reuses_keys = true;
  EXPECT_THROW(find_hook_places(spec, "blocks.0.attn.hook_k"), argument_error);
  EXPECT_EQ(find_hook_places(spec, "blocks.0.attn.hook_q").size(), 1U);
}

TEST(patterns, with_stars_question_marks_and_commas) {
  const model_spec spec = test::mixed_spec();
  EXPECT_THAT(names_of(find_hook_places(spec, "blocks.?.hook_resid_pre")),
              ElementsAre("blocks.0.hook_resid_pre", "blocks.1.hook_resid_pre", "blocks.2.hook_resid_pre",
                          "blocks.3.hook_resid_pre"));
  // In the model's order and once, however they are asked for.
  EXPECT_THAT(names_of(find_hook_places(spec, "ln_final.*,hook_embed,*final*scale")),
              ElementsAre("hook_embed", "ln_final.hook_scale", "ln_final.hook_normalized"));
  EXPECT_TRUE(detail::matches_pattern("a*b*c", "a--b-bc"));
  EXPECT_FALSE(detail::matches_pattern("a*b*c", "a--b-b"));
  EXPECT_TRUE(detail::matches_pattern("**", ""));
  EXPECT_FALSE(detail::matches_pattern("?", ""));
}

TEST(patterns, in_other_spellings) {
  const model_spec spec = test::mixed_spec();
  EXPECT_THAT(names_of(find_hook_places(spec, "z0")), ElementsAre("blocks.0.attn.hook_z"));
  EXPECT_THAT(names_of(find_hook_places(spec, "resid_pre3")), ElementsAre("blocks.3.hook_resid_pre"));
  EXPECT_THAT(names_of(find_hook_places(spec, "blocks.1.mamba.hook_z")),
              ElementsAre("blocks.1.mixer.hook_z"));
  EXPECT_THAT(names_of(find_hook_places(spec, "blocks.1.ssm.hook_B")), ElementsAre("blocks.1.mixer.hook_B"));
  EXPECT_THAT(names_of(find_hook_places(spec, "blocks.2.attention.hook_z")),
              ElementsAre("blocks.2.attn.hook_z"));
}

TEST(patterns, that_match_nothing_name_the_nearest) {
  try {
    find_hook_places(test::mixed_spec(), "hook_embed,blocks.1.hook_resid_prr");
    FAIL() << "no error";
  } catch (const argument_error& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("no hook point matches 'blocks.1.hook_resid_prr'; the nearest names are"));
    EXPECT_THAT(e.what(), HasSubstr("blocks.1.hook_resid_pre"));
  }
}

TEST(hook_place, holds_sites_whatever_the_sequence) {
  const hook_place place{hook::z, 2, mixer_kind::mamba1};
  EXPECT_TRUE(place.holds({hook::z, 2, mixer_kind::mamba1, 9, 4, false}));
  EXPECT_FALSE(place.holds({hook::z, 2, mixer_kind::attention}));
  EXPECT_FALSE(place.holds({hook::z, 1, mixer_kind::mamba1}));
  EXPECT_TRUE((hook_place{hook::mixer_out, 2}).holds({hook::mixer_out, 2, mixer_kind::mamba1}));
}

}  // namespace
}  // namespace iclmech
