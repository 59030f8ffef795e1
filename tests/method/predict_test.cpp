#include "iclmech/method/predict.hpp"

#include <gtest/gtest.h>

#include "iclmech/method/ablate_heads.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

class predictions_of : public ::testing::TestWithParam<std::string> {
 protected:
  predictions_of() : host_(test::golden_host(GetParam())) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      prompts_.push_back({test::some_tokens(host_.spec(), 7 + seed, seed), {3, 7, 9}, 7});
  }

  any_host host_;
  std::vector<labelled_prompt> prompts_;
};

TEST_P(predictions_of, prompts_one_by_one) {
  const auto together = predict(host_, std::span<const labelled_prompt>(prompts_), 2, [](std::size_t) {});
  ASSERT_EQ(together.predictions.size(), 3U);
  for (std::size_t p = 0; p < 3; ++p) {
    const std::vector<token_sequence> one{prompts_[p].ids};
    no_hooks none;
    const row_matrix logits = host_.run(one, none);
    EXPECT_EQ(together.predictions[p], reduce::argmax_of(logits));
    // A batch of two sums in another order than one prompt alone: float32 noise.
    EXPECT_NEAR(together.probabilities[p], probability_of(logits.row(0), 7), 1e-5);
  }
}

// The sweep of all heads against a run of its own for each: probabilities to 1e-5, float32 sums in another
// order.
TEST_P(predictions_of, leave_one_out_is_a_run_without_each_head) {
  const auto all = each_head(host_.spec());
  const auto outcomes =
      ablate_heads(host_, std::span<const labelled_prompt>(prompts_), all, {}, [](std::size_t) {});
  ASSERT_EQ(outcomes.size(), all.size() + 1);
  const auto plain = predict(host_, std::span<const labelled_prompt>(prompts_), 3, [](std::size_t) {});
  EXPECT_NEAR(outcomes[0].probability,
              (plain.probabilities[0] + plain.probabilities[1] + plain.probabilities[2]) / 3, 1e-5);
  for (const std::size_t k : {std::size_t{0}, all.size() / 2, all.size() - 1}) {
    const std::vector<intervention> edits{zero_head(all[k].heads[0])};
    double expected = 0.0;
    for (const labelled_prompt& p : prompts_) {
      intervention_hooks without([&](int) { return std::span<const intervention>(edits); });
      const std::vector<token_sequence> one{p.ids};
      expected += probability_of(host_.run(one, without).row(0), p.answer) / 3.0;
    }
    EXPECT_NEAR(outcomes[k + 1].probability, expected, 1e-5) << all[k].name;
  }
}

INSTANTIATE_TEST_SUITE_P(models, predictions_of, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
