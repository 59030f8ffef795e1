// After a first prompt of a size, the layers must not allocate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocation/allocations.hpp"
#include "iclmech/detail/parallel.hpp"
#include "support/hosts.hpp"

namespace {

using namespace iclmech;

class engine_layers : public testing::TestWithParam<std::string> {};

TEST_P(engine_layers, do_not_allocate_after_the_first_prompt) {
  set_thread_count(
      1);  // a thread's first task makes its scratch memory, and which thread gets one is up to chance
  any_host host = test::golden_host(GetParam());
  const int last = host.spec().layer_count() - 1;
  long at_start = 0, at_end = 0;
  hook_set watch(observe<hook::resid_pre>(at_layer(0),
                                          [&](const site& s, const_activation_view) {
                                            if (s.sequence == 0) at_start = iclmech::test::allocations();
                                          }),
                 observe<hook::resid_post>(at_layer(last), [&](const site&, const_activation_view) {
                   at_end = iclmech::test::allocations();
                 }));
  const std::vector<token_sequence> prompts{test::some_tokens(host.spec(), 40, 1),
                                            test::some_tokens(host.spec(), 3, 2)};
  host.run(prompts, watch);
  if (at_start < 0) GTEST_SKIP() << "malloc cannot be replaced here";
  host.run(prompts, watch);
  EXPECT_EQ(at_end - at_start, 0);
  set_thread_count(0);
}

INSTANTIATE_TEST_SUITE_P(models, engine_layers,
                         testing::Values("llama", "qwen2", "gemma3_text", "mamba", "mamba2", "zamba2",
                                         "hymba"));

}  // namespace
