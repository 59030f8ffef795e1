#include "iclmech/adapters/llama_cpp.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "adapters/llama_cpp_hosts.hpp"
#include "iclmech/sweep.hpp"
#include "support/temporary_folder.hpp"
#include "support/tokenizer_goldens.hpp"

namespace iclmech {
namespace {

using test::llama_cpp_parity;
using test::some_prompts;
using test::tiny_gguf;
using test::tiny_llama_cpp;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// llama.cpp looks its GELU up in a table of 16-bit floats: a value may be off by 1/2048 of itself, and jump
/// by that where the input differs in the last bit.
float tolerance_of(const std::string& model, float otherwise) {
  return model == "gemma3_text" ? 2e-3F : otherwise;
}

class llama_cpp_on : public ::testing::TestWithParam<std::string> {};
/// Tests for which nothing is needed to compare with.
class llama_cpp_alone_on : public ::testing::TestWithParam<std::string> {};

TEST_P(llama_cpp_alone_on, keeps_what_hosts_promise) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  conformance_options options;
  options.tolerance = tolerance_of(GetParam(), options.tolerance);
  EXPECT_THAT(check_host(host, options), IsEmpty());
}

TEST_P(llama_cpp_on, says_of_the_model_what_the_reference_engine_says) {
  const llama_cpp_host host = tiny_llama_cpp(GetParam());
  const any_host reference = test::file_host(tiny_gguf(GetParam()));
  EXPECT_EQ(host.spec().architecture, reference.spec().architecture);
  EXPECT_EQ(host.spec().d_model, reference.spec().d_model);
  EXPECT_EQ(host.spec().vocab_size, reference.spec().vocab_size);
  ASSERT_EQ(host.spec().heads(), reference.spec().heads());
  for (const mixer_id id : reference.spec().mixer_ids()) {
    EXPECT_EQ(host.spec().mixer(id.layer, id.mixer).write, reference.spec().mixer(id.layer, id.mixer).write);
    EXPECT_EQ(host.spec().mixer(id.layer, id.mixer).d_head,
              reference.spec().mixer(id.layer, id.mixer).d_head);
  }
}

TEST_P(llama_cpp_on, computes_what_the_reference_engine_computes) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  any_host reference = test::file_host(tiny_gguf(GetParam()));
  const auto prompts = some_prompts(host.spec());
  firing_log seen(host.spec().observable), expected(host.spec().observable);
  const row_matrix logits = host.run(prompts, seen, logit_rows::all);
  EXPECT_LE(distance(logits, reference.run(prompts, expected, logit_rows::all)), llama_cpp_parity);
  for (const hook_place& place : hook_places(host.spec()))
    for (int p = 0; p < 3; ++p) {
      const firing *here = seen.find(place, p), *there = expected.find(place, p);
      ASSERT_NE(here, nullptr) << hook_name(place) << " of prompt " << p;
      ASSERT_NE(there, nullptr) << hook_name(place) << " of prompt " << p;
      EXPECT_EQ(here->shape, there->shape) << hook_name(place);
      EXPECT_LE(distance(here->values, there->values), tolerance_of(GetParam(), llama_cpp_parity))
          << hook_name(place) << " of prompt " << p;
    }
}

TEST_P(llama_cpp_on, has_the_weights_of_the_reference_engine) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  any_host reference = test::file_host(tiny_gguf(GetParam()));
  const std::vector<token_id> ids{3, 0, 7};
  EXPECT_EQ(distance(host.unembedding(ids), reference.unembedding(ids)), 0.0F);
  EXPECT_EQ(distance(host.final_norm_gain(), reference.final_norm_gain()), 0.0F);
  for (const mixer_id id : host.spec().mixer_ids())
    EXPECT_EQ(distance(host.output_projection(id), reference.output_projection(id)), 0.0F);
}

TEST_P(llama_cpp_alone_on, forks_from_any_position_of_any_prompt) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const auto prompts = some_prompts(host.spec());
  std::vector<variant> variants;
  for (const head_id head : host.spec().heads())
    for (int prompt = 0; prompt < 3; ++prompt) {
      intervention edit = zero_head(head);
      edit.positions = head.head % 3 == 0   ? position_choice::last()
                       : head.head % 3 == 1 ? position_choice::one(prompt)
                                            : position_choice::all();
      variants.push_back({prompt, {edit}});
    }
  const auto loop = sweep_by_loop(host, prompts, variants, reduce::all_logits());
  const auto shared = sweep(host, prompts, variants, reduce::all_logits());
  for (std::size_t p = 0; p < prompts.size(); ++p)
    EXPECT_LE(distance(shared.prompts[p], loop.prompts[p]), tolerance_of(GetParam(), 1e-4F))
        << "prompt " << p;
  for (std::size_t v = 0; v < variants.size(); ++v)
    EXPECT_LE(distance(shared.variants[v], loop.variants[v]), tolerance_of(GetParam(), 1e-4F))
        << "variant " << v;
}

TEST_P(llama_cpp_alone_on, takes_more_variants_than_it_has_sequences) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const std::vector<token_sequence> prompt{test::some_tokens(host.spec(), 6, 4)};
  std::vector<variant> variants;
  for (int i = 0; i < 600; ++i)
    variants.push_back(
        {0,
         {scale_head(host.spec().heads()[static_cast<std::size_t>(i % 4)], 0.01F * static_cast<float>(i))}});
  const auto all = sweep(host, prompt, variants, reduce::all_logits());
  for (const std::size_t v : {0U, 254U, 255U, 256U, 511U, 599U}) {
    const auto alone = sweep_by_loop(host, prompt, std::span(variants).subspan(v, 1), reduce::all_logits());
    EXPECT_LE(distance(all.variants[v], alone.variants[0]), tolerance_of(GetParam(), 1e-4F))
        << "variant " << v;
  }
}

TEST_P(llama_cpp_alone_on, forgets_values_that_are_not_finite) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const auto prompts = some_prompts(host.spec());
  no_hooks none;
  const row_matrix before = host.run(prompts, none, logit_rows::last);
  auto poison =
      edit<hook::resid_pre>(at_layer(0), [](const site&, activation_view x) { x.matrix().setConstant(NAN); });
  host.run(prompts, poison, logit_rows::last);
  EXPECT_EQ(distance(host.run(prompts, none, logit_rows::last), before), 0.0F);
}

INSTANTIATE_TEST_SUITE_P(models, llama_cpp_on,
                         ::testing::Values("llama", "qwen2", "gemma3_text", "mamba", "mamba2"),
                         test::without_dashes);
INSTANTIATE_TEST_SUITE_P(models, llama_cpp_alone_on,
                         ::testing::Values("llama", "qwen2", "gemma3_text", "mamba", "mamba2",
                                           "granitehybrid", "granitehybrid-plain", "falcon-h1",
                                           "falcon-h1-plain"),
                         test::without_dashes);

class llama_cpp_on_rounded : public ::testing::TestWithParam<std::string> {};

// llama.cpp rounds activations to 8 bits where weights have 8 bits, and to 16 where they have 16: by up to
// 1/254 and 1/2048 of the largest number in a block of 32, which the layers add up; a recurrence carries it
// on.
TEST_P(llama_cpp_on_rounded, computes_roughly_what_the_reference_engine_computes) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  any_host reference = test::file_host(tiny_gguf(GetParam()));
  const auto prompts = some_prompts(host.spec());
  no_hooks none;
  EXPECT_LE(distance(host.run(prompts, none, logit_rows::all), reference.run(prompts, none, logit_rows::all)),
            0.1F);
}

TEST_P(llama_cpp_on_rounded, keeps_what_hosts_promise) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  conformance_options options;
  options.tolerance = 0.05F;
  EXPECT_THAT(check_host(host, options), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(models, llama_cpp_on_rounded,
                         ::testing::Values("llama-f16", "llama-q8_0", "mamba-q8_0"), test::without_dashes);

TEST(llama_cpp, shows_the_pattern_of_forks_over_the_prompts_own_positions) {
  llama_cpp_host host = tiny_llama_cpp("llama");
  any_host reference = test::file_host(tiny_gguf("llama"));
  const auto prompts = some_prompts(host.spec());
  const std::vector<fork> forks{
      {1, 3, 0, fork_stage::resid_pre}, {0, 0, 0, fork_stage::resid_pre}, {1, 4, 0, fork_stage::resid_pre}};
  firing_log seen{hook_mask{hook::pattern}}, expected{hook_mask{hook::pattern}};
  host.run_forked(prompts, forks, seen, detail::archetype_sink{});
  reference.run_forked(prompts, forks, expected, detail::archetype_sink{});
  ASSERT_EQ(seen.firings().size(), expected.firings().size());
  for (const firing& f : expected.firings()) {
    const firing* here = seen.find(f.place(), f.where.sequence);
    ASSERT_NE(here, nullptr);
    EXPECT_EQ(here->where.first_position, f.where.first_position);
    EXPECT_EQ(here->shape, f.shape);
    EXPECT_LE(distance(here->values, f.values), llama_cpp_parity);
  }
}

TEST(llama_cpp, shows_of_the_end_of_the_last_layer_what_it_computes) {
  llama_cpp_host host = tiny_llama_cpp("llama");
  const auto prompts = some_prompts(host.spec());
  const int last = host.spec().layer_count() - 1;
  firing_log log(host.spec().observable);
  host.run(prompts, log, logit_rows::last);
  const firing* before = log.find({hook::z, last}, 1);
  const firing* behind = log.find({hook::mlp_out, last}, 1);
  ASSERT_TRUE(before != nullptr && behind != nullptr);
  EXPECT_EQ(before->where.first_position, 0);
  EXPECT_EQ(before->shape[0], 5);
  EXPECT_EQ(behind->where.first_position, 4);
  EXPECT_EQ(behind->shape[0], 1);
  firing_log whole(host.spec().observable);
  host.run(prompts, whole, logit_rows::none);
  EXPECT_EQ(whole.find({hook::mlp_out, last}, 1)->shape[0], 5);
  EXPECT_LE(distance(behind->values, whole.find({hook::mlp_out, last}, 1)->values.bottomRows(1)), 1e-5F);
}

TEST(llama_cpp, says_at_once_which_points_its_graph_lacks) {
  std::vector<llama_node_rule> rules = llama_node_rules(gguf_weights(tiny_gguf("llama")).description());
  for (llama_node_rule& rule : rules)
    if (rule.point == hook::z) rule.name = "kqv_renamed";
  try {
    llama_cpp_host host(tiny_gguf("llama"), {.context_limit = 64}, rules);
    FAIL() << "a graph without hook_z was taken";
  } catch (const unsupported_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("blocks.0.attn.hook_z (node kqv_renamed-0)"));
    EXPECT_THAT(e.what(), HasSubstr(std::string(tested_llama_cpp_versions)));
    EXPECT_THAT(e.what(), Not(HasSubstr("hook_mlp_out")));
  }
}

TEST(llama_cpp, refuses_a_node_of_another_shape) {
  std::vector<llama_node_rule> rules = llama_node_rules(gguf_weights(tiny_gguf("llama")).description());
  for (llama_node_rule& rule : rules)
    if (rule.point == hook::mlp_out) rule.name = "ffn_swiglu";
  try {
    llama_cpp_host host(tiny_gguf("llama"), {.context_limit = 64}, rules);
    FAIL() << "a node of d_mlp numbers was taken for one of d_model";
  } catch (const unsupported_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("node ffn_swiglu-0, taken for blocks.0.hook_mlp_out"));
  }
}

/// A tiny model's file with another number for `key`.
std::string with_number(const test::temporary_folder& folder, const char* model, const std::string& key,
                        std::uint32_t number) {
  std::ifstream in(tiny_gguf(model), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t at = bytes.find(key);
  if (at == std::string::npos) throw std::runtime_error("no " + key);
  std::memcpy(bytes.data() + at + key.size() + sizeof(std::uint32_t), &number,
              sizeof number);  // after the type
  return folder.write("changed.gguf", bytes);
}

TEST(llama_cpp, makes_room_for_prompts_beyond_the_first_context) {
  const test::temporary_folder folder;
  const std::string file = with_number(folder, "llama", "llama.context_length", 4096);
  llama_cpp_host host(file);
  any_host reference = test::file_host(file);
  EXPECT_EQ(host.spec().context_length, 4096);
  no_hooks none;
  const std::vector<token_sequence> brief{test::some_tokens(host.spec(), 9, 1)};
  const row_matrix before = host.run(brief, none);
  const std::vector<token_sequence> longer{test::some_tokens(host.spec(), 2500, 2)};
  EXPECT_LE(distance(host.run(longer, none), reference.run(longer, none)), llama_cpp_parity);
  EXPECT_EQ(distance(host.run(brief, none), before), 0.0F);
  const std::vector<token_sequence> beyond{test::some_tokens(host.spec(), 4097, 3)};
  EXPECT_THROW(host.run(beyond, none), argument_error);
}

TEST(llama_cpp, refuses_more_layers_than_llama_cpp_takes) {
  const test::temporary_folder folder;
  const std::string file = with_number(folder, "llama", "llama.block_count", 513);
  try {
    llama_cpp_host host(file);
    FAIL() << "513 layers were taken";
  } catch (const unsupported_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("513 layers, llama.cpp takes at most 512"));
  }
}

TEST(llama_cpp, observes_only_points_that_have_a_rule) {
  std::vector<llama_node_rule> rules = llama_node_rules(gguf_weights(tiny_gguf("llama")).description());
  std::erase_if(rules, [](const llama_node_rule& rule) { return rule.point == hook::pattern; });
  const llama_cpp_host host(tiny_gguf("llama"), {.context_limit = 64}, rules);
  EXPECT_FALSE(host.spec().observable.contains(hook::pattern));
  EXPECT_TRUE(host.spec().observable.contains(hook::z));
}

TEST(llama_cpp, names_what_it_cannot_load) {
  EXPECT_THROW(llama_cpp_host(tiny_gguf("no_such_model")), file_error);
  EXPECT_THROW(llama_cpp_host(ICLMECH_TEST_DATA "/models/zamba2"), error);
}

/// Real models, where they have been fetched.
class llama_cpp_on_real : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    path_ = test::real_files() / (GetParam() + ".gguf");
    if (!std::filesystem::exists(path_))
      GTEST_SKIP() << path_ << " is not there; scripts/fetch_real_files.sh fetches it";
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  }
  std::filesystem::path path_;
};

// Quantised: see docs/llama_cpp.md for the differences measured on 50 prompts of words.
TEST_P(llama_cpp_on_real, predicts_what_the_reference_engine_predicts) {
  llama_cpp_host host(path_.string());
  any_host reference = test::file_host(path_.string());
  const std::vector<token_sequence> prompts{test::some_tokens(host.spec(), 24, 1),
                                            test::some_tokens(host.spec(), 40, 2)};
  no_hooks none;
  const row_matrix logits = host.run(prompts, none, logit_rows::last),
                   expected = reference.run(prompts, none, logit_rows::last);
  EXPECT_LE(distance(logits, expected), 0.1F);
  // Random tokens have several continuations that are about as good.
  for (index p = 0; p < 2; ++p) {
    const float best = expected.row(p).maxCoeff(), chosen = expected(p, reduce::argmax_of(logits.row(p)));
    EXPECT_LE(best - chosen, 0.1F * expected.row(p).cwiseAbs().maxCoeff()) << "prompt " << p;
  }
}

INSTANTIATE_TEST_SUITE_P(models, llama_cpp_on_real, ::testing::Values("smollm2", "gemma3"),
                         test::without_dashes);

}  // namespace
}  // namespace iclmech
