#include "iclmech/method/merge.hpp"

#include <gtest/gtest.h>

#include "support/hosts.hpp"

// Seven prompts in parts of 3, 2 and 2 against all seven at once, one method after another. Batches are one
// prompt each, so that both sides compute the same floats: what is left is the rounding of weighted means, in
// double, or in float for mean outputs.

namespace iclmech {
namespace {

constexpr double rounding = 1e-12;

class merged_on : public ::testing::TestWithParam<std::string> {
 protected:
  merged_on() : host_(test::golden_host(GetParam())), heads_(host_.spec().heads()) {
    for (std::uint64_t seed = 1; seed <= 7; ++seed) {
      const token_id answer = std::array<token_id, 3>{3, 7, 9}[seed % 3];
      prompts_.push_back({test::some_tokens(host_.spec(), 6 + seed % 3, seed), {3, 7, 9}, answer});
      answered_.push_back({prompts_.back().ids, answer});
    }
  }

  /// Adds up `measure(first, count)` over the parts.
  template <class Measure>
  auto in_parts(const Measure& measure) {
    auto whole = measure(0, 3);
    merge(whole, 3, measure(3, 2), 2);
    merge(whole, 5, measure(5, 2), 2);
    return whole;
  }
  std::span<const labelled_prompt> part(std::size_t first, std::size_t count) const {
    return std::span(prompts_).subspan(first, count);
  }
  std::span<const answered_prompt> answered(std::size_t first, std::size_t count) const {
    return std::span(answered_).subspan(first, count);
  }
  static void nothing(std::size_t) {}

  static void expect_same(const prediction_summary& a, const prediction_summary& b) {
    EXPECT_NEAR(a.accuracy, b.accuracy, rounding);
    EXPECT_NEAR(a.tr_ratio, b.tr_ratio, rounding);
  }

  any_host host_;
  std::vector<head_id> heads_;
  std::vector<labelled_prompt> prompts_;
  std::vector<answered_prompt> answered_;
};

TEST_P(merged_on, predictions) {
  const auto measure = [&](std::size_t first, std::size_t count) {
    return predict(host_, part(first, count), 1, nothing);
  };
  const prediction_result parts = in_parts(measure), whole = measure(0, 7);
  EXPECT_EQ(parts.predictions, whole.predictions);
  EXPECT_EQ(parts.probabilities, whole.probabilities);
  expect_same(parts.summary, whole.summary);
}

TEST_P(merged_on, scores) {
  const auto measure = [&](std::size_t first, std::size_t count) {
    return score_heads(host_, part(first, count), {.components = true, .batch = 1, .each = true});
  };
  const head_scores parts = in_parts(measure), whole = measure(0, 7);
  EXPECT_EQ(parts.predictions, whole.predictions);
  EXPECT_NEAR(parts.tr_ratio, whole.tr_ratio, rounding);
  ASSERT_FALSE(whole.components.empty());
  ASSERT_EQ(parts.each.size(), 7U);
  const auto expect_scores = [](const write_scores& a, const write_scores& b) {
    for (double write_scores::*score : {&write_scores::tr, &write_scores::tl, &write_scores::dla_sum,
                                        &write_scores::dla_answer, &write_scores::logit_difference})
      EXPECT_NEAR(a.*score, b.*score, rounding * std::max(1.0, std::abs(b.*score)));
  };
  for (const head_id h : heads_) expect_scores(parts.heads[h], whole.heads[h]);
  for (std::size_t p = 0; p < 7; ++p)
    for (std::size_t h = 0; h < heads_.size(); ++h) expect_scores(parts.each[p][h], whole.each[p][h]);
  for (std::size_t c = 0; c < whole.components.size(); ++c)
    expect_scores(parts.components[c].scores, whole.components[c].scores);
}

TEST_P(merged_on, mean_outputs) {
  const auto measure = [&](std::size_t first, std::size_t count) {
    return mean_head_outputs(host_, answered(first, count), 1);
  };
  const head_means parts = in_parts(measure), whole = measure(0, 7);
  for (const head_id h : heads_) {
    EXPECT_LT((parts.outputs[h] - whole.outputs[h]).norm(), 1e-6F * (1 + whole.outputs[h].norm()));
    EXPECT_LT((parts.scaled[h] - whole.scaled[h]).norm(), 1e-6F * (1 + whole.scaled[h].norm()));
  }
}

TEST_P(merged_on, ablations) {
  const std::vector<head_selection> sets{{"first", {heads_.front()}}, {"last", {heads_.back()}}};
  for (const ablation_kind kind : {ablation_kind::zero, ablation_kind::mean, ablation_kind::resample}) {
    ablation_options how;
    how.kind = kind;
    how.batch = 1;
    const head_outputs outputs = in_parts(
        [&](std::size_t first, std::size_t count) { return head_outputs_of(host_, part(first, count), 1); });
    const auto parts = in_parts([&](std::size_t first, std::size_t count) {
      return ablate_heads(host_, prompts_, first, count, sets, how, outputs, nothing);
    });
    const auto whole = ablate_heads(host_, prompts_, sets, how, nothing);
    ASSERT_EQ(parts.size(), 3U);
    for (std::size_t o = 0; o < whole.size(); ++o) {
      EXPECT_EQ(parts[o].name, whole[o].name);
      EXPECT_EQ(parts[o].predictions, whole[o].predictions);
      EXPECT_NEAR(parts[o].probability, whole[o].probability, rounding);
      expect_same(parts[o].summary, whole[o].summary);
    }
  }
}

TEST_P(merged_on, effects) {
  const head_means means = mean_head_outputs(host_, answered(0, 7));
  const auto measure = [&](std::size_t first, std::size_t count) {
    return measure_indirect_effects(host_, means.outputs, answered(first, count), {}, 1, nothing);
  };
  const indirect_effect_result parts = in_parts(measure), whole = measure(0, 7);
  EXPECT_EQ(parts.baseline, whole.baseline);
  EXPECT_EQ(parts.effects.effects(), whole.effects.effects());
}

TEST_P(merged_on, steering) {
  const head_means means = mean_head_outputs(host_, answered(0, 7));
  const vector v = vector::Constant(host_.spec().d_model, 0.5F);
  steering_options how;
  how.batch = 1;
  const auto measure = [&](std::size_t first, std::size_t count) {
    return steer(host_, part(first, count), v, std::span(heads_).first(1), means.outputs, how, nothing);
  };
  const auto parts = in_parts(measure), whole = measure(0, 7);
  ASSERT_EQ(parts.size(), whole.size());
  for (std::size_t o = 0; o < whole.size(); ++o) {
    EXPECT_NEAR(parts[o].probability, whole[o].probability, rounding);
    expect_same(parts[o].summary, whole[o].summary);
  }
}

TEST_P(merged_on, geometry_and_shares) {
  const std::vector<head_selection> sets{{"first", {heads_.front()}}};
  const auto measure = [&](std::size_t first, std::size_t count) {
    return measure_layer_geometry(host_, part(first, count), sets, 1, nothing);
  };
  const layer_geometry parts = in_parts(measure), whole = measure(0, 7);
  for (std::size_t l = 0; l < whole.entering.size(); ++l) {
    EXPECT_NEAR(parts.entering[l].alignment, whole.entering[l].alignment, rounding);
    EXPECT_NEAR(parts.with[0][l].rotation, whole.with[0][l].rotation, rounding);
  }
  EXPECT_NEAR(parts.leaving.alignment, whole.leaving.alignment, rounding);

  const auto measure_shares = [&](std::size_t first, std::size_t count) {
    return subspace_shares(host_, part(first, count), std::span(heads_).first(1), 1);
  };
  const auto share_parts = in_parts(measure_shares), share_whole = measure_shares(0, 7);
  EXPECT_NEAR(share_parts[0].share, share_whole[0].share, rounding);
  EXPECT_EQ(share_parts[0].p_values, share_whole[0].p_values);
  EXPECT_EQ(share_parts[0].median_p(), share_whole[0].median_p());
}

INSTANTIATE_TEST_SUITE_P(models, merged_on, ::testing::Values("llama", "mamba2", "hymba", "zamba2"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(merging, weighs_means_by_their_prompts) {
  prediction_result four{{1, 1, 1, 1}, {0.5, 0.5, 0.5, 0.5}, {1.0, 1.0}}, one{{2}, {0.25}, {0.0, 0.5}};
  merge(four, 4, one, 1);
  EXPECT_EQ(four.predictions, (std::vector<token_id>{1, 1, 1, 1, 2}));
  EXPECT_DOUBLE_EQ(four.summary.accuracy, 0.8);
  EXPECT_DOUBLE_EQ(four.summary.tr_ratio, 0.9);
  prediction_result none;
  merge(none, 0, one, 1);
  EXPECT_EQ(none.summary.tr_ratio, 0.5);
}

}  // namespace
}  // namespace iclmech
