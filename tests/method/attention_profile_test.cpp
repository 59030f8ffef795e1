#include "iclmech/method/attention_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/hosts.hpp"

namespace iclmech {
namespace {

/// `first` and then two demonstrations of text and label, then the query.
tagged_prompt tagged(const model_spec& spec, std::uint64_t seed, std::vector<bool> shows_answer) {
  using enum token_role;
  return {test::some_tokens(spec, 7, seed),
          {first, demonstration, label, demonstration, label, query, separator},
          {-1, 0, 0, 1, 1, -1, -1},
          std::move(shows_answer)};
}

class profiles_of : public ::testing::TestWithParam<std::string> {};

TEST_P(profiles_of, are_means_over_prompts) {
  any_host host = test::golden_host(GetParam());
  const std::vector<tagged_prompt> both{tagged(host.spec(), 1, {true, true}),
                                        tagged(host.spec(), 2, {false, true})};
  const auto nothing = [](std::size_t) {};
  const auto one = attention_profiles(host, std::span(both).first(1), nothing),
             two = attention_profiles(host, std::span(both).last(1), nothing),
             mean = attention_profiles(host, std::span<const tagged_prompt>(both), nothing);
  for (const head_id h : mean.ids()) {
    EXPECT_NEAR(one[h].on_answer, 1.0, 1e-12) << "every demonstration shows the answer";
    EXPECT_DOUBLE_EQ(one[h].answer_share, 1.0);
    EXPECT_DOUBLE_EQ(two[h].answer_share, 0.5);
    EXPECT_NEAR(mean[h].on_answer, (one[h].on_answer + two[h].on_answer) / 2.0, 1e-12);
    double roles = 0.0, demonstrations = 0.0;
    for (std::size_t r = 0; r < mean[h].roles.size(); ++r) {
      EXPECT_NEAR(mean[h].roles[r], (one[h].roles[r] + two[h].roles[r]) / 2.0, 1e-12);
      roles += mean[h].roles[r];
    }
    for (const double share : mean[h].demonstrations) demonstrations += share;
    EXPECT_NEAR(roles, 1.0, 1e-9);
    // Demonstrations are their texts and labels: nothing else here belongs to one.
    EXPECT_NEAR(demonstrations, mean[h].roles[1] + mean[h].roles[2], 1e-9);
    const double second = two[h].demonstrations[0] + two[h].demonstrations[1];
    if (second > 0.0) {
      EXPECT_NEAR(two[h].on_answer, two[h].demonstrations[1] / second, 1e-9);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(models, profiles_of, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

TEST(attention_profiles_errors, name_the_prompt) {
  any_host host = test::golden_host("llama");
  std::vector<tagged_prompt> prompts{tagged(host.spec(), 1, {true, true}), tagged(host.spec(), 2, {true})};
  try {
    attention_profiles(host, std::span<const tagged_prompt>(prompts), [](std::size_t) {});
    FAIL() << "the prompts differ";
  } catch (const argument_error& e) {
    EXPECT_STREQ(e.what(), "attention_profiles: prompt 1 has 1 demonstrations, the first one 2");
  }
}

}  // namespace
}  // namespace iclmech
