#include "iclmech/engine/cached_generation.hpp"

#include <gtest/gtest.h>

#include "iclmech/engine/load.hpp"
#include "iclmech/sweep.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

class cached_generation : public ::testing::TestWithParam<std::string> {};

// Whole prompts run again for every token are the reference.
TEST_P(cached_generation, writes_what_whole_runs_write) {
  reference_engine engine(load_model(test::golden_folder(GetParam())));
  constexpr std::size_t count = 6;
  std::vector<token_sequence> prompts;
  for (const std::size_t length : {3, 9, 5})
    prompts.push_back(test::some_tokens(engine.spec(), length, length));
  no_hooks none;
  const auto generated = generate_cached(engine, prompts, count, none);
  std::vector<token_sequence> longer = prompts;
  for (std::size_t step = 0; step < count; ++step) {
    const row_matrix logits = engine.run(longer, none);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const token_id token = reduce::argmax_of(logits.middleRows(static_cast<index>(p), 1));
      EXPECT_EQ(generated[p][step], token) << "prompt " << p << ", token " << step;
      longer[p].push_back(token);
    }
  }
}

TEST_P(cached_generation, shows_every_position_to_hooks_once) {
  reference_engine engine(load_model(test::golden_folder(GetParam())));
  const std::vector<token_sequence> prompt{test::some_tokens(engine.spec(), 4, 1)};
  index rows = 0, last = 0;
  hook_set watch(observe<hook::resid_post>(at_layer(0), [&](const site& s, const_activation_view x) {
    rows += x.rows();
    last = s.first_position + x.rows() - 1;
  }));
  generate_cached(engine, prompt, 3, watch);
  // The prompt, and two of the three tokens: nothing follows the third.
  EXPECT_EQ(rows, engine.spec().prefix_rows + 6);
  EXPECT_EQ(last, 5);
}

INSTANTIATE_TEST_SUITE_P(models, cached_generation, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
