#include "iclmech/method/layer_geometry.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>

#include "support/hosts.hpp"

namespace iclmech {
namespace {

class geometry_on : public ::testing::TestWithParam<std::string> {
 protected:
  geometry_on() : host_(test::golden_host(GetParam())) {
    prompts_.push_back({test::some_tokens(host_.spec(), 11, 1), {3, 7, 9}, 7});
    prompts_.push_back({test::some_tokens(host_.spec(), 8, 2), {3, 7, 9}, 3});
  }

  vector stream_entering(const token_sequence& ids, int layer) {
    vector x;
    auto watch = observe<hook::resid_pre>(
        at_layer(layer), [&](const site&, const_activation_view view) { x = view.last_row().transpose(); });
    const std::vector<token_sequence> prompt{ids};
    host_.run(prompt, watch, logit_rows::none);
    return x;
  }

  std::vector<head_id> heads_of(int layer) const {
    std::vector<head_id> heads;
    for (const head_id h : host_.spec().heads())
      if (h.layer == layer) heads.push_back(h);
    return heads;
  }

  /// ||P x|| / ||x|| with the projector of a QR factorisation.
  double alignment(const vector& x) {
    const Eigen::MatrixXd w = host_.unembedding(prompts_[0].labels).cast<double>();
    const Eigen::MatrixXd q = Eigen::HouseholderQR<Eigen::MatrixXd>(w.transpose()).householderQ() *
                              Eigen::MatrixXd::Identity(w.cols(), 3);
    return (q.transpose() * x.cast<double>()).norm() / x.cast<double>().norm();
  }

  any_host host_;
  std::vector<labelled_prompt> prompts_;
};

// float32 streams on both sides; 1e-4 leaves room for another order of sums.
TEST_P(geometry_on, is_that_of_the_stream_and_of_the_stream_with_writes) {
  const int last = host_.spec().layer_count() - 1;
  const std::vector<head_selection> selections{{"none", {}}, {"all of the last layer", heads_of(last)}};
  std::size_t done = 0;
  const layer_geometry g = measure_layer_geometry(host_, std::span<const labelled_prompt>(prompts_),
                                                  selections, 2, [&](std::size_t n) { done = n; });
  EXPECT_EQ(done, 2U);
  for (int l = 0; l <= last; ++l) {
    double expected = 0.0;
    for (const labelled_prompt& p : prompts_) expected += alignment(stream_entering(p.ids, l)) / 2.0;
    EXPECT_NEAR(g.entering[static_cast<std::size_t>(l)].alignment, expected, 1e-4);
    EXPECT_EQ(g.with[0][static_cast<std::size_t>(l)].alignment,
              g.entering[static_cast<std::size_t>(l)].alignment);
    if (l < last) {
      EXPECT_EQ(g.with[1][static_cast<std::size_t>(l)].alignment,
                g.entering[static_cast<std::size_t>(l)].alignment);
    }
  }
  double expected = 0.0;
  for (const labelled_prompt& p : prompts_) {
    last_output_collector outputs(host_.spec(), 1, true);
    const std::vector<token_sequence> prompt{p.ids};
    host_.run(prompt, outputs, logit_rows::none);
    const vector write = summed_write(host_, p.ids, outputs[0], heads_of(last));
    expected += alignment(vector(stream_entering(p.ids, last) + write)) / 2.0;
    bool linear = true;
    for (const mixer_spec& m : host_.spec().layers.back().mixers) linear &= m.write != write_path::measured;
    // All heads of a layer together write what its mixers add to the stream.
    if (linear) {
      EXPECT_LE((write.transpose() - outputs[0].mixer.back()).cwiseAbs().maxCoeff(),
                1e-4F * std::max(1.0F, write.norm()));
    }
  }
  EXPECT_NEAR(g.with[1].back().alignment, expected, 1e-4);
}

TEST_P(geometry_on, shares_in_the_subspace_are_squared_sines_with_the_p_value_of_their_median) {
  const std::vector<head_id> heads = heads_of(0);
  const auto shares = subspace_shares(host_, std::span<const labelled_prompt>(prompts_).first(1), heads);
  ASSERT_EQ(shares.size(), heads.size());
  last_output_collector outputs(host_.spec(), 1, false);
  const std::vector<token_sequence> prompt{prompts_[0].ids};
  host_.run(prompt, outputs, logit_rows::none);
  const concentration_null chance(3, host_.spec().d_model);
  for (std::size_t k = 0; k < heads.size(); ++k) {
    const vector a = summed_write(host_, prompts_[0].ids, outputs[0], std::span(&heads[k], 1));
    const double cosine = alignment(a);
    EXPECT_NEAR(shares[k].share, cosine * cosine, 1e-5) << host_.spec().label(heads[k]);
    EXPECT_DOUBLE_EQ(shares[k].expected, 3.0 / static_cast<double>(host_.spec().d_model));
    EXPECT_DOUBLE_EQ(shares[k].median_p(), chance.p_value(shares[k].share));
  }
}

INSTANTIATE_TEST_SUITE_P(models, geometry_on, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
