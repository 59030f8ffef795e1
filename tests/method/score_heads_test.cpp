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

TEST_P(methods_on, scores_of_each_prompt_are_those_of_the_prompt_alone) {
  const std::span<const labelled_prompt> all(prompts_);
  EXPECT_TRUE(score_heads(host_, all).each.empty());
  const head_scores scores = score_heads(host_, all, {.batch = 1, .each = true});
  ASSERT_EQ(scores.each.size(), 3U);
  for (std::size_t p = 0; p < 3; ++p) {
    const head_scores alone = score_heads(host_, all.subspan(p, 1), {.batch = 1});
    ASSERT_EQ(scores.each[p].size(), alone.heads.size());
    for (std::size_t h = 0; h < alone.heads.size(); ++h) {
      EXPECT_EQ(scores.each[p][h].tr, alone.heads.values()[h].tr);
      EXPECT_EQ(scores.each[p][h].logit_difference, alone.heads.values()[h].logit_difference);
    }
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

/// A component of the model that writes into the stream, with its write at the last position.
struct recorded_write {
  std::string name;
  row_vector value;
};

/// Embedding, mixers and MLPs in the order of the scores. Zamba2's shared blocks do not write into the
/// stream.
std::vector<recorded_write> component_writes(any_host& host,
                                             const std::map<std::string, recorded_activation>& seen) {
  std::vector<recorded_write> writes{{"embed", last_row(seen.at("hook_embed"))}};
  for (int l = 0; l < host.spec().layer_count(); ++l) {
    const layer_spec& layer = host.spec().layers[static_cast<std::size_t>(l)];
    const bool attention_only = layer.mixers.size() == 1 && layer.mixers[0].kind == mixer_kind::attention;
    const std::string name = "L" + std::to_string(l);
    const hook mixer = attention_only ? hook::attn_out : hook::mixer_out;
    writes.push_back({name + ".mixer", last_row(seen.at(hook_name({mixer, l})))});
    if (layer.has_mlp) writes.push_back({name + ".mlp", last_row(seen.at(hook_name({hook::mlp_out, l})))});
  }
  return writes;
}

TEST_P(methods_on, components_have_the_scores_of_what_their_hooks_show) {
  std::vector<component_scores> expected;
  for (const labelled_prompt& p : prompts_) {
    const label_subspace labels(host_.unembedding(p.labels), label_set(p.labels));
    const index answer = labels.labels().index_of(p.answer);
    const auto writes = component_writes(host_, record(host_, p.ids));
    expected.resize(writes.size());
    for (std::size_t c = 0; c < writes.size(); ++c) {
      const tsla_score score = labels.score(writes[c].value, answer);
      const row_vector coordinates = writes[c].value * host_.unembedding(p.labels).transpose();
      write_scores& e = expected[c].scores;
      expected[c].name = writes[c].name;
      e.tr += score.tr / 3.0;
      e.tl += score.tl / 3.0;
      e.dla_sum += double{coordinates.sum()} / 3.0;
      e.dla_answer += double{coordinates[answer]} / 3.0;
      const double others =
          double{coordinates.sum() - coordinates[answer]} / static_cast<double>(p.labels.size() - 1);
      e.logit_difference += (double{coordinates[answer]} - others) / 3.0;
    }
  }
  const head_scores scores = score_heads(host_, std::span<const labelled_prompt>(prompts_), {.batch = 2});
  ASSERT_EQ(scores.components.size(), expected.size());
  for (std::size_t c = 0; c < expected.size(); ++c) {
    const std::string& name = expected[c].name;
    const write_scores &found = scores.components[c].scores, &e = expected[c].scores;
    const double limit = 1e-4 * std::max(1.0, e.tr);  // float32: prompts run alone here, in pairs there
    EXPECT_EQ(scores.components[c].name, name);
    EXPECT_EQ(scores.components[c].layer, name == "embed" ? -1 : name[1] - '0');
    EXPECT_NEAR(found.tr, e.tr, limit) << name;
    EXPECT_NEAR(found.tl, e.tl, 1e-3) << name;
    EXPECT_NEAR(found.dla_sum, e.dla_sum, 3 * limit) << name;
    EXPECT_NEAR(found.dla_answer, e.dla_answer, 3 * limit) << name;
    EXPECT_NEAR(found.logit_difference, e.logit_difference, 3 * limit) << name;
  }
  EXPECT_TRUE(score_heads(host_, std::span<const labelled_prompt>(prompts_), {.components = false})
                  .components.empty());
}

// Nothing else writes into the stream: the components' attributions add up to those of the stream behind the
// last layer (1e-4 relative: a float32 sum in another order).
TEST_P(methods_on, components_add_up_to_the_stream) {
  const int last = host_.spec().layer_count() - 1;
  const head_scores scores = score_heads(host_, std::span<const labelled_prompt>(prompts_));
  double sum = 0.0, answer = 0.0, expected_sum = 0.0, expected_answer = 0.0, largest = 1.0;
  for (const component_scores& c : scores.components) {
    sum += c.scores.dla_sum;
    answer += c.scores.dla_answer;
    largest = std::max({largest, std::abs(c.scores.dla_sum), std::abs(c.scores.dla_answer)});
  }
  for (const labelled_prompt& p : prompts_) {
    const auto seen = record(host_, p.ids);
    const row_vector stream = last_row(seen.at(hook_name({hook::resid_post, last})));
    row_vector writes = row_vector::Zero(stream.size());
    for (const recorded_write& w : component_writes(host_, seen)) writes += w.value;
    EXPECT_LE((writes - stream).norm(), 1e-4F * stream.norm());
    expected_sum += double{(stream * host_.unembedding(p.labels).transpose()).sum()} / 3.0;
    expected_answer += double{stream.dot(host_.unembedding(std::span(&p.answer, 1)).row(0))} / 3.0;
  }
  EXPECT_NEAR(sum, expected_sum, 1e-4 * largest);
  EXPECT_NEAR(answer, expected_answer, 1e-4 * largest);
}

// With the final norm frozen at the scale of the run, the attributions of heads, MLPs and embedding add up to
// the logits that the model itself gives.
TEST_P(methods_on, attributions_through_the_frozen_norm_add_up_to_the_logits) {
  for (const labelled_prompt& p : prompts_) {
    const auto seen = record(host_, p.ids);
    const double scale = double{last_row(seen.at("ln_final.hook_scale"))[0]};
    const row_vector stream =
        last_row(seen.at(hook_name({hook::resid_post, host_.spec().layer_count() - 1})));
    EXPECT_NEAR(scale, rms_scale(stream, 0.0), 1e-3 * scale);  // but for the norm's epsilon

    const row_vector gain = host_.final_norm_gain();
    const label_subspace labels(host_.unembedding(p.labels) * gain.asDiagonal(), label_set(p.labels));
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(labels.labels().size());
    const auto add = [&](const row_vector& write) {
      sum += labels.coordinates(write).cast<double>() / scale;
    };
    for (const recorded_write& w : component_writes(host_, seen))
      if (!w.name.ends_with(".mixer")) add(w.value);
    for (const mixer_id id : host_.spec().mixer_ids()) {
      if (host_.spec().mixer(id.layer, id.mixer).write == write_path::measured) continue;
      const row_matrix writes = writes_of(host_, seen, id);
      for (index k = 0; k < writes.rows(); ++k) add(writes.row(k));
    }
    no_hooks none;
    const row_matrix logits = host_.run(std::vector<token_sequence>{p.ids}, none);
    for (std::size_t y = 0; y < p.labels.size(); ++y)
      EXPECT_NEAR(sum[static_cast<index>(y)], logits(0, p.labels[y]), 1e-3) << "label " << p.labels[y];
  }
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
