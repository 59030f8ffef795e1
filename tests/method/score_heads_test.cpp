#include "iclmech/method/score_heads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/QR>

#include "iclmech/hook/recorder.hpp"
#include "support/golden_tensors.hpp"

namespace iclmech {
namespace {

class methods_on : public ::testing::TestWithParam<std::string> {
 protected:
  methods_on() : host_(test::golden_host(GetParam())) {
    prompts_.push_back({test::some_tokens(host_.spec(), 11, 1), {3, 7, 9}, 7});
    prompts_.push_back({test::some_tokens(host_.spec(), 8, 2), {3, 7, 9}, 3});
    prompts_.push_back({test::some_tokens(host_.spec(), 14, 3), {20, 21}, 21});
  }

  any_host host_;
  std::vector<labelled_prompt> prompts_;
};

/// All activations of one prompt, by hook name.
std::map<std::string, recorded_activation> record(any_host& host, const token_sequence& ids) {
  activation_recorder recorder(hook_places(host.spec()));
  const std::vector<token_sequence> prompt{ids};
  host.run(prompt, recorder, logit_rows::none);
  return recorder.take();
}

row_vector last_row(const recorded_activation& a) {
  const index width = static_cast<index>(a.values.size()) / a.shape[0];
  return Eigen::Map<const row_vector>(a.values.data() + (a.shape[0] - 1) * width, width);
}

/// The writes of a mixer's heads at the last position from its recorded activations, [heads x d_model].
row_matrix writes_of(any_host& host, const std::map<std::string, recorded_activation>& seen, mixer_id id) {
  const mixer_spec& mixer = host.spec().mixer(id.layer, id.mixer);
  const row_vector z = last_row(seen.at(hook_name({hook::z, id.layer, id.mixer})));
  float scale = 1.0F;
  if (mixer.write == write_path::frozen_norm)
    scale = last_row(seen.at(hook_name({hook::write_scale, id.layer, id.mixer})))[0];
  const row_matrix& w = host.output_projection(id);
  row_matrix writes(mixer.heads, host.spec().d_model);
  for (int k = 0; k < mixer.heads; ++k)
    writes.row(k) = scale * z.segment(k * mixer.d_head, mixer.d_head) *
                    w.middleCols(k * mixer.d_head, mixer.d_head).transpose();
  return writes;
}

// Writes with a linear path add up to what their mixers put out (1e-4 relative: float32 sums in another
// order).
TEST_P(methods_on, writes_add_up_to_the_mixer_output) {
  const auto seen = record(host_, prompts_[0].ids);
  for (int l = 0; l < host_.spec().layer_count(); ++l) {
    const layer_spec& layer = host_.spec().layers[static_cast<std::size_t>(l)];
    row_vector sum = row_vector::Zero(host_.spec().d_model);
    for (const mixer_spec& mixer : layer.mixers)
      if (mixer.write != write_path::measured) sum += writes_of(host_, seen, {l, mixer.kind}).colwise().sum();
    const bool attention_only = layer.mixers.size() == 1 && layer.mixers[0].kind == mixer_kind::attention;
    const row_vector out =
        last_row(seen.at(hook_name({attention_only ? hook::attn_out : hook::mixer_out, l})));
    EXPECT_LE((sum - out).norm(), 1e-4F * out.norm()) << "layer " << l;
  }
}

TEST_P(methods_on, scores_equal_their_definition) {
  const head_scores scores = score_heads(host_, std::span<const labelled_prompt>(prompts_), {.batch = 2});
  head_map<write_scores> expected(host_.spec());
  for (const labelled_prompt& p : prompts_) {
    const auto seen = record(host_, p.ids);
    const Eigen::MatrixXd w = host_.unembedding(p.labels).cast<double>();
    const Eigen::MatrixXd q = Eigen::HouseholderQR<Eigen::MatrixXd>(w.transpose()).householderQ() *
                              Eigen::MatrixXd::Identity(w.cols(), w.rows());
    const index answer = std::find(p.labels.begin(), p.labels.end(), p.answer) - p.labels.begin();
    for (const mixer_id id : host_.spec().mixer_ids()) {
      const bool measured = host_.spec().mixer(id.layer, id.mixer).write == write_path::measured;
      const row_matrix writes = measured ? measured_writes(host_, p.ids, id) : writes_of(host_, seen, id);
      for (index k = 0; k < writes.rows(); ++k) {
        const Eigen::VectorXd a = writes.row(k).transpose().cast<double>();
        const Eigen::VectorXd c = w * a;
        const double tr = (q.transpose() * a).norm();
        const double others = (c.sum() - c[answer]) / static_cast<double>(c.size() - 1);
        write_scores& e = expected[{id.layer, id.mixer, static_cast<int>(k)}];
        e.tr += tr / 3.0;
        e.tl += (c[answer] - others) / tr / 3.0;
        e.dla_sum += c.sum() / 3.0;
        e.dla_answer += c[answer] / 3.0;
      }
    }
  }
  double largest = 0.0;
  for (const write_scores& e : expected.values()) largest = std::max(largest, e.tr);
  const double tolerance = 1e-4 * std::max(1.0, largest);  // float32 writes against double sums
  for (const head_id h : expected.ids()) {
    EXPECT_NEAR(scores.heads[h].tr, expected[h].tr, tolerance) << host_.spec().label(h);
    EXPECT_NEAR(scores.heads[h].tl, expected[h].tl, 2e-3) << host_.spec().label(h);
    EXPECT_NEAR(scores.heads[h].dla_sum, expected[h].dla_sum, 3 * tolerance) << host_.spec().label(h);
    EXPECT_NEAR(scores.heads[h].dla_answer, expected[h].dla_answer, 3 * tolerance) << host_.spec().label(h);
  }
}

TEST_P(methods_on, predictions_and_ratios) {
  const head_scores scores = score_heads(host_, std::span<const labelled_prompt>(prompts_));
  ASSERT_EQ(scores.predictions.size(), 3U);
  no_hooks none;
  std::size_t right = 0;
  for (std::size_t p = 0; p < 3; ++p) {
    const std::vector<token_sequence> one{prompts_[p].ids};
    EXPECT_EQ(scores.predictions[p], reduce::argmax_of(host_.run(one, none)));
    right += scores.predictions[p] == prompts_[p].answer ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(scores.accuracy, static_cast<double>(right) / 3.0);
}

// A measured write is the stream with minus the stream without the head; the plain way takes two runs.
TEST_P(methods_on, measured_writes_equal_two_runs) {
  const mixer_id id = host_.spec().mixer_ids().front();
  const row_matrix writes = measured_writes(host_, prompts_[0].ids, id);
  const std::vector<token_sequence> prompt{prompts_[0].ids};
  row_vector with, without;
  auto keep = [&](row_vector& into) {
    return observe<hook::resid_post>(at_layer(id.layer),
                                     [&into](const site&, const_activation_view x) { into = x.last_row(); });
  };
  auto plain = keep(with);
  host_.run(prompt, plain, logit_rows::none);
  const std::vector<intervention> zero{zero_head({id.layer, id.mixer, 1})};
  hook_set holed(intervention_hooks([&](int) { return std::span<const intervention>(zero); }), keep(without));
  host_.run(prompt, holed, logit_rows::none);
  EXPECT_LE((writes.row(1) - (with - without)).cwiseAbs().maxCoeff(), 1e-4F * std::max(1.0F, with.norm()));
}

INSTANTIATE_TEST_SUITE_P(models, methods_on, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

TEST(score_heads_errors, say_what_is_wrong) {
  any_host host = test::golden_host("llama");
  const auto message = [&](labelled_prompt p) -> std::string {
    try {
      score_heads(host, std::span<const labelled_prompt>(&p, 1));
    } catch (const error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message({{1, 2}, {3, 3}, 3}), ::testing::HasSubstr("share one token"));
  EXPECT_THAT(message({{1, 2}, {3, 4}, 5}), ::testing::HasSubstr("token 5 is none of the 2 labels"));
  EXPECT_THAT(message({{}, {3, 4}, 3}), ::testing::HasSubstr("prompt 0 is empty"));
  EXPECT_THAT(message({{1, 500}, {3, 4}, 3}),
              ::testing::HasSubstr("prompt 0, token 1: id 500 is outside the vocabulary of 128"));
  EXPECT_THAT(message({token_sequence(300, 1), {3, 4}, 3}),
              ::testing::HasSubstr("300 tokens, the model's context holds 256"));
}

}  // namespace
}  // namespace iclmech
