#include "iclmech/method/head_patterns.hpp"

#include <gtest/gtest.h>

#include "iclmech/method/attention_profile.hpp"
#include "support/edited_host.hpp"
#include "support/golden_scans.hpp"

namespace iclmech {
namespace {

class patterns_of : public ::testing::TestWithParam<std::string> {};

TEST_P(patterns_of, attention_rows_add_up_to_one_and_scans_are_causal) {
  any_host host = test::golden_host(GetParam());
  const token_sequence prompt = test::some_tokens(host.spec(), 12, 5);
  std::size_t heads = 0;
  for_each_head_pattern(host, prompt, [&](head_id id, const row_matrix& pattern) {
    ++heads;
    ASSERT_EQ(pattern.rows(), 12 + host.spec().prefix_rows);
    EXPECT_EQ(pattern.triangularView<Eigen::StrictlyUpper>().toDenseMatrix().norm(), 0.0F);
    if (id.mixer == mixer_kind::attention) {
      EXPECT_LE((pattern.rowwise().sum().array() - 1.0F).abs().maxCoeff(), 1e-5F);  // a softmax in float32
    } else {
      EXPECT_TRUE(pattern.allFinite());
      EXPECT_GT(pattern.norm(), 0.0F);
    }
  });
  EXPECT_EQ(heads, static_cast<std::size_t>(host.spec().head_count()));
}

TEST_P(patterns_of, induction_scores_of_every_head_are_finite_and_roles_add_up) {
  any_host host = test::golden_host(GetParam());
  std::vector<token_id> alphabet;
  for (token_id id = 3; id < 60; ++id) alphabet.push_back(id);
  const repeated_tokens block = repeat_random_tokens(alphabet, 6, 2, 1);
  const head_map<double> scores = induction_scores(host, block);
  for (const head_id id : scores.ids()) {
    EXPECT_TRUE(std::isfinite(scores[id]));
    if (id.mixer == mixer_kind::attention) {
      EXPECT_GE(scores[id], 0.0);
      EXPECT_LE(scores[id], 1.0);
    }
  }
  std::vector<token_role> roles(block.ids.size(), token_role::separator);
  roles.front() = token_role::first;
  roles.back() = token_role::query;
  const head_map<role_shares> shares = attention_roles(host, block.ids, roles);
  for (const head_id id : shares.ids()) {
    if (id.mixer != mixer_kind::attention || host.spec().prefix_rows > 0) continue;
    double sum = 0.0;
    for (const double share : shares[id].values()) sum += share;
    EXPECT_NEAR(sum, 1.0, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(models, patterns_of, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

TEST(head_patterns, leave_out_heads_that_the_host_does_not_show) {
  any_host host = test::golden_host("zamba2");
  const std::vector<token_id> alphabet{3, 4, 5, 6, 7, 8, 9};
  const repeated_tokens block = repeat_random_tokens(alphabet, 6, 2, 1);
  const head_map<double> all = induction_scores(host, block);
  test::edited_host half_blind(host, no_hooks{});
  half_blind.spec().observable.remove(hook::log_decay);
  const head_map<double> some = induction_scores(half_blind, block);
  const std::vector<tagged_prompt> prompt{{block.ids,
                                           std::vector<token_role>(block.ids.size()),
                                           std::vector<std::int32_t>(block.ids.size(), -1),
                                           {}}};
  const auto profiles =
      attention_profiles(half_blind, std::span<const tagged_prompt>(prompt), [](std::size_t) {});
  for (const head_id id : all.ids()) {
    const bool shown = id.mixer == mixer_kind::attention;
    EXPECT_EQ(profiles[id].shown(), shown);
    if (shown)
      EXPECT_EQ(some[id], all[id]);
    else
      EXPECT_TRUE(std::isnan(some[id]));
  }
  test::edited_host blind(host, no_hooks{});
  blind.spec().observable.remove(hook::log_decay);
  blind.spec().observable.remove(hook::pattern);
  EXPECT_THROW(induction_scores(blind, block), unsupported_error);
}

// The effective attention of a scan times its input, plus the skip, is the scan's output (1e-4 of the largest
// value: float32 sums of other lengths).
class scan_rebuilt : public ::testing::TestWithParam<std::string> {
 protected:
  scan_rebuilt() : inner_(test::golden_host(GetParam())), prompt_(test::some_tokens(inner_.spec(), 15, 9)) {}

  template <class Host>
  void expect_rebuilt(Host& host, step_factor factor) const {
    std::map<head_id, head_scan> scans;
    for_each_head_scan(host, prompt_, [&](head_id id, const head_scan& scan) { scans[id] = scan; });
    for_each_head_pattern(
        host, prompt_,
        [&](head_id id, const row_matrix& pattern) {
          if (is_state_space(id.mixer)) expect_rebuilt(host, id, scans.at(id), pattern, factor);
        },
        factor);
    EXPECT_FALSE(scans.empty());
  }

  any_host inner_;
  token_sequence prompt_;

 private:
  template <class Host>
  void expect_rebuilt(Host& host, head_id id, const head_scan& scan, const row_matrix& pattern,
                      step_factor factor) const {
    const mixer_spec& mixer = host.spec().mixer(id.layer, id.mixer);
    const index width = mixer.d_head, first = id.head * width;
    const auto head_of = [&](hook point) -> row_matrix {
      return test::shown(host, prompt_, {point, id.layer, id.mixer}).middleCols(first, width);
    };
    row_matrix x = head_of(hook::conv);
    const row_vector skip = test::golden_skip(GetParam(), id.layer, mixer.width()).segment(first, width);
    const row_matrix expected = head_of(hook::recurrence_out) - x * skip.asDiagonal();
    const float limit = 1e-4F * std::max(1.0F, expected.cwiseAbs().maxCoeff());
    if (factor == step_factor::left_out) {
      for (index c = 0; c < width; ++c)
        x.col(c).array() *= scan.dt.col(id.mixer == mixer_kind::mamba2 ? 0 : c).array();
    }
    ASSERT_TRUE(pattern.allFinite()) << host.spec().label(id);
    ASSERT_EQ(pattern.rows(), x.rows());
    for (index t = 0; t < x.rows(); ++t) {
      const row_matrix alpha = channel_attention(scan, t, factor), before = x.topRows(t + 1);
      const row_vector rebuilt = id.mixer == mixer_kind::mamba2
                                     ? row_vector(alpha.col(0).transpose() * before)
                                     : row_vector(alpha.cwiseProduct(before).colwise().sum());
      EXPECT_LE((rebuilt - expected.row(t)).cwiseAbs().maxCoeff(), limit)
          << host.spec().label(id) << " at " << t;
      const row_vector mean = alpha.rowwise().mean().transpose();
      EXPECT_LE((pattern.row(t).head(t + 1) - mean).cwiseAbs().maxCoeff(),
                1e-5F * std::max(1.0F, mean.cwiseAbs().maxCoeff()))
          << host.spec().label(id) << " at " << t;
    }
  }
};

TEST_P(scan_rebuilt, from_the_effective_attention_of_heads_and_channels) {
  expect_rebuilt(inner_, step_factor::included);
}

TEST_P(scan_rebuilt, from_the_effective_attention_without_the_step_size) {
  expect_rebuilt(inner_, step_factor::left_out);
}

// A strongly negative input of the softplus underflows to a step size of zero, whose decay says nothing of A.
TEST_P(scan_rebuilt, where_the_first_step_size_is_zero) {
  test::edited_host host(inner_,
                         edit<hook::dt>([](const site&, activation_view dt) { dt.row(0).setZero(); }));
  expect_rebuilt(host, step_factor::included);
  expect_rebuilt(host, step_factor::left_out);
}

TEST_P(scan_rebuilt, where_every_step_size_is_zero) {
  test::edited_host host(inner_,
                         edit<hook::dt>([](const site&, activation_view dt) { dt.matrix().setZero(); }));
  expect_rebuilt(host, step_factor::included);
}

INSTANTIATE_TEST_SUITE_P(models, scan_rebuilt, ::testing::ValuesIn(test::state_space_models),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
