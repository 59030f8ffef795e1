#include "iclmech/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "iclmech/detail/random.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

using ::testing::HasSubstr;

// Both ways compute the same sums in another order, in float32: probabilities differ by rounding only.
constexpr double probability_tolerance = 1e-5;

class sweep_on : public ::testing::TestWithParam<std::string> {
 protected:
  sweep_on() : host_(test::golden_host(GetParam())), random_(7) {
    for (const std::size_t length : {9, 13})
      prompts_.push_back(test::some_tokens(host_.spec(), length, length));
    // The likeliest tokens, because interventions move their probabilities most.
    no_hooks none;
    const row_matrix logits = host_.run(prompts_, none);
    for (index p = 0; p < logits.rows(); ++p) answers_.push_back(reduce::argmax_of(logits.middleRows(p, 1)));
  }

  vector noise(index size) {
    vector v(size);
    for (index i = 0; i < size; ++i) v[i] = static_cast<float>(random_.uniform() - 0.5);
    return v;
  }

  void expect_same(const std::vector<variant>& variants, index row_limit = 4096) {
    const auto reduce = reduce::answer_probability(answers_);
    const auto loop = sweep_by_loop(host_, prompts_, variants, reduce);
    const auto shared = sweep(host_, prompts_, variants, reduce, {row_limit});
    ASSERT_EQ(shared.variants.size(), variants.size());
    for (std::size_t p = 0; p < prompts_.size(); ++p)
      EXPECT_NEAR(shared.prompts[p], loop.prompts[p], probability_tolerance);
    double moved = 0.0;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      EXPECT_NEAR(shared.variants[v], loop.variants[v], probability_tolerance) << "variant " << v;
      moved = std::max(
          moved, std::abs(loop.variants[v] - loop.prompts[static_cast<std::size_t>(variants[v].prompt)]));
    }
    EXPECT_GT(moved, 1e-4) << "the interventions changed nothing, so the comparison says nothing";
  }

  any_host host_;
  detail::random_stream random_;
  std::vector<token_sequence> prompts_;
  std::vector<token_id> answers_;
};

TEST_P(sweep_on, every_head_replaced_at_the_last_position) {
  std::vector<variant> variants;
  for (const head_id head : host_.spec().heads())
    for (int prompt : {0, 1})
      variants.push_back(
          {prompt, {replace_head(head, noise(host_.spec().mixer(head.layer, head.mixer).d_head))}});
  expect_same(variants);
  expect_same(variants, 40);  // split into many goes
}

TEST_P(sweep_on, heads_at_other_positions) {
  std::vector<variant> variants;
  for (const head_id head : host_.spec().heads())
    for (const position_choice where : {position_choice::one(4), position_choice::all()}) {
      intervention edit = zero_head(head);
      edit.positions = where;
      variants.push_back({1, {edit}});
    }
  expect_same(variants);
}

TEST_P(sweep_on, the_stream_the_mixers_and_the_mlp) {
  const model_spec& spec = host_.spec();
  std::vector<variant> variants;
  for (int layer = 0; layer < spec.layer_count(); ++layer) {
    const layer_spec& parts = spec.layers[static_cast<std::size_t>(layer)];
    variants.push_back({0, {add_to_stream_at(layer, noise(spec.d_model))}});
    variants.push_back({1, {zero_output(hook::mixer_out, layer)}});
    variants.push_back(
        {0, {{hook::resid_post, layer, mixer_kind::attention, -1, position_choice::last(), 0.5F, {}}}});
    if (parts.has_mlp || parts.shares_block) variants.push_back({1, {zero_output(hook::mlp_out, layer)}});
    if (parts.has_mlp)
      variants.push_back(
          {1, {{hook::resid_mid, layer, mixer_kind::attention, -1, position_choice::one(6), 0.5F, {}}}});
  }
  expect_same(variants);
}

TEST_P(sweep_on, several_edits_at_once) {
  const auto heads = host_.spec().heads();
  std::vector<variant> variants;
  for (std::size_t i = 0; i + 2 < heads.size(); ++i) {
    intervention earlier = scale_head(heads[i + 1], 2.0F);
    earlier.positions = position_choice::one(5);
    variants.push_back({1, {zero_head(heads[i]), earlier, zero_head(heads.back())}});
  }
  expect_same(variants);
}

TEST_P(sweep_on, states) {
  const model_spec& spec = host_.spec();
  std::vector<variant> variants;
  for (const mixer_id id : spec.mixer_ids()) {
    if (!is_state_space(id.mixer)) continue;
    const mixer_spec& mixer = spec.mixer(id.layer, id.mixer);
    for (const position_choice where :
         {position_choice::last(), position_choice::one(3), position_choice::all()})
      variants.push_back({0, {{hook::ssm_state, id.layer, id.mixer, mixer.heads - 1, where, 0.0F, {}}}});
    variants.push_back({1,
                        {{hook::ssm_state, id.layer, id.mixer, -1, position_choice::one(2), 1.0F,
                          noise(mixer.width() * mixer.d_state)}}});
  }
  if (variants.empty()) GTEST_SKIP() << "no state-space mixers";
  expect_same(variants);
}

TEST_P(sweep_on, a_variant_without_edits_is_its_prompt) {
  const std::vector<variant> variants{{0, {}}, {1, {}}};
  const auto result = sweep(host_, prompts_, variants, reduce::answer_probability(answers_));
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_NEAR(result.variants[p], result.prompts[p], probability_tolerance);
}

TEST_P(sweep_on, observed_runs_show_every_prompt_and_variant) {
  const head_id head = host_.spec().heads().front();
  const std::vector<variant> variants{
      {1, {add_to_stream_at(0, noise(host_.spec().d_model))}},
      {0, {replace_head(head, noise(host_.spec().mixer(head.layer, head.mixer).d_head))}},
      {1, {zero_head(head)}}};
  const int last_layer = host_.spec().layer_count() - 1;
  const auto watch_into = [last_layer](std::map<int, row_vector>& ends) {
    return observe<hook::resid_post>(
        [last_layer](const site& s) { return s.ends_sequence && s.layer == last_layer; },
        [&ends](const site& s, const_activation_view x) { ends[s.sequence] = x.last_row(); });
  };
  std::map<int, row_vector> together;
  sweep_observed(host_, prompts_, variants, hook_set(watch_into(together)));
  ASSERT_EQ(together.size(), prompts_.size() + variants.size());

  const auto alone = [&](int prompt, std::span<const intervention> edits) -> row_vector {
    std::map<int, row_vector> ends;
    hook_set both(intervention_hooks([&](int) { return edits; }), watch_into(ends));
    host_.run(std::span(prompts_).subspan(static_cast<std::size_t>(prompt), 1), both, logit_rows::none);
    return ends.at(0);
  };
  // The same sums in another order, in float32.
  const auto expect_close = [](const row_vector& seen, const row_vector& expected) {
    EXPECT_LT((seen - expected).norm(), 1e-4F * expected.norm());
  };
  for (int p = 0; p < 2; ++p) expect_close(together[p], alone(p, {}));
  for (std::size_t v = 0; v < variants.size(); ++v)
    expect_close(together[2 + static_cast<int>(v)], alone(variants[v].prompt, variants[v].edits));
  EXPECT_GT((together[2] - together[1]).norm(), 1e-2F * together[1].norm());
}

INSTANTIATE_TEST_SUITE_P(models, sweep_on, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

TEST(sweep_errors, name_the_variant_and_what_is_wrong) {
  any_host host = test::golden_host("llama");
  const std::vector<token_sequence> prompts{{1, 2, 3}};
  const auto message = [&](variant v) -> std::string {
    try {
      sweep(host, prompts, std::vector<variant>{std::move(v)}, reduce::argmax());
    } catch (const error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message({1, {}}), HasSubstr("variant 0: there is no prompt 1 among 1"));
  EXPECT_THAT(message({0, {zero_head({0, mixer_kind::attention, 9})}}), HasSubstr("has heads 0 to 3"));
  EXPECT_THAT(message({0, {zero_head({7, mixer_kind::attention, 0})}}), HasSubstr("layers 0 to 2"));
  EXPECT_THAT(message({0, {zero_head({0, mixer_kind::mamba2, 0})}}), HasSubstr("no mamba2 mixer"));
  EXPECT_THAT(message({0, {replace_head({0, mixer_kind::attention, 0}, vector::Zero(3))}}),
              HasSubstr("the value has 3 numbers, the place 16"));
  intervention far = zero_head({0, mixer_kind::attention, 0});
  far.positions = position_choice::one(3);
  EXPECT_THAT(message({0, {far}}), HasSubstr("position 3 is outside the prompt of 3 tokens"));
  EXPECT_THAT(message({0, {add_to_stream_at(0, vector::Constant(64, NAN))}}), HasSubstr("not finite"));
  EXPECT_THAT(message({0, {{hook::pattern, 0, mixer_kind::attention, 0, {}, 0.0F, {}}}}),
              HasSubstr("hook_pattern"));
}

}  // namespace
}  // namespace iclmech
