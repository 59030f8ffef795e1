#include "iclmech/method/generate.hpp"

#include <gtest/gtest.h>

#include "support/hosts.hpp"

namespace iclmech {
namespace {

class generation_on : public ::testing::TestWithParam<std::string> {
 protected:
  generation_on() : host_(test::golden_host(GetParam())) {
    for (const std::size_t length : {5, 8})
      prompts_.push_back(test::some_tokens(host_.spec(), length, length));
  }

  /// One token after the other, a run for each, with `v` added by a hook from the prompt's last position on.
  token_sequence by_hand(token_sequence ids, std::size_t count, int layer, const vector& v) {
    const index start = std::ssize(ids) - 1;
    token_sequence generated;
    for (std::size_t step = 0; step < count; ++step) {
      auto push = edit<hook::resid_pre>(at_layer(layer), [&](const site& s, activation_view x) {
        for (index r = 0; r < x.rows(); ++r)
          if (s.first_position + r >= start && v.size() > 0) x.matrix().row(r) += v.transpose();
      });
      const std::vector<token_sequence> one{ids};
      ids.push_back(reduce::argmax_of(host_.run(one, push)));
      generated.push_back(ids.back());
    }
    return generated;
  }

  any_host host_;
  std::vector<token_sequence> prompts_;
};

TEST_P(generation_on, is_the_likeliest_token_again_and_again) {
  const auto generated = generate(host_, prompts_, 4);
  for (std::size_t p = 0; p < 2; ++p) EXPECT_EQ(generated[p], by_hand(prompts_[p], 4, 0, {}));
}

TEST_P(generation_on, follows_a_push_at_every_generated_position) {
  // The unembedding row of a token, long enough to win.
  const std::vector<token_id> token{7};
  const vector v = 20.0F * host_.unembedding(token).row(0).transpose().normalized();
  const int layer = host_.spec().layer_count() - 1;
  const auto pushed = generate(host_, prompts_, 4, {layer, v}), plain = generate(host_, prompts_, 4);
  for (std::size_t p = 0; p < 2; ++p) EXPECT_EQ(pushed[p], by_hand(prompts_[p], 4, layer, v));
  EXPECT_NE(pushed, plain) << "the push changed nothing, so the comparison says nothing";
}

INSTANTIATE_TEST_SUITE_P(models, generation_on, ::testing::Values("llama", "gemma3_text", "mamba", "mamba2"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace iclmech
