#include "iclmech/method/head_patterns.hpp"

#include <gtest/gtest.h>

#include "iclmech/hook/recorder.hpp"
#include "support/golden_tensors.hpp"

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

// The effective attention of a scan times its input, plus the skip, is the scan's output (1e-4 of the largest
// value).
class scan_rebuilt : public ::testing::TestWithParam<std::string> {};

TEST_P(scan_rebuilt, from_the_effective_attention_of_mamba2_heads) {
  any_host host = test::golden_host(GetParam());
  const std::vector<token_sequence> prompt{test::some_tokens(host.spec(), 15, 9)};
  activation_recorder recorder(find_hook_places(host.spec(), "*hook_conv,*hook_recurrence_out"));
  host.run(prompt, recorder, logit_rows::none);
  const auto seen = recorder.take();
  for_each_head_pattern(host, prompt[0], [&](head_id id, const row_matrix& alpha) {
    if (id.mixer != mixer_kind::mamba2) return;
    const index P = host.spec().mixer(id.layer, id.mixer).d_head;
    const auto matrix = [&](hook point) {
      const recorded_activation& a = seen.at(hook_name({point, id.layer, id.mixer}));
      return const_matrix_view(a.values.data(), 15, static_cast<index>(a.values.size()) / 15,
                               Eigen::OuterStride<>(static_cast<index>(a.values.size()) / 15));
    };
    const row_matrix x = matrix(hook::conv).middleCols(id.head * P, P),
                     y = matrix(hook::recurrence_out).middleCols(id.head * P, P);
    const row_matrix rest = y - alpha * x;  // D x, with one D for the head
    const float D = (rest.array() * x.array()).sum() / x.squaredNorm();
    EXPECT_LE((rest - D * x).cwiseAbs().maxCoeff(), 1e-4F * std::max(1.0F, y.cwiseAbs().maxCoeff()))
        << host.spec().label(id);
  });
}

INSTANTIATE_TEST_SUITE_P(models, scan_rebuilt, ::testing::Values("mamba2", "zamba2"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
