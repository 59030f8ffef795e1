// config.json: what is read from it in every spelling, and the errors of fields that are missing, wrong or
// contradict each other.

#include "iclmech/engine/hf_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using nlohmann::json;

/// The configuration of a tiny checkpoint, changed by a merge patch: null removes a field.
json changed(const std::string& model, const std::string& patch) {
  std::ifstream file(ICLMECH_TEST_DATA "/models/" + model + "/config.json");
  json config = json::parse(file);
  config.merge_patch(json::parse(patch));
  return config;
}

model_config read(const std::string& text) {
  const iclmech::test::temporary_folder folder;
  return read_hf_config(folder.write("config.json", text));
}
model_config read(const std::string& model, const std::string& patch) {
  return read(changed(model, patch).dump());
}

/// The message of the error, without the file's path.
std::string error_of(const std::string& text) {
  const iclmech::test::temporary_folder folder;
  const std::string path = folder.write("config.json", text);
  try {
    read_hf_config(path);
  } catch (const file_error& e) {
    const std::string message = e.what();
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    return message.substr(path.size() + 2);
  }
  return "no error";
}

struct refusal {
  const char* model;
  const char* patch;
  const char* message;
};

void PrintTo(const refusal& r, std::ostream* out) { *out << r.model << ' ' << r.patch; }

class hf_config_refuses : public ::testing::TestWithParam<refusal> {};

TEST_P(hf_config_refuses, with_a_message_that_names_the_field) {
  const refusal& r = GetParam();
  EXPECT_EQ(error_of(changed(r.model, r.patch).dump()), r.message);
}

INSTANTIATE_TEST_SUITE_P(
    any_model, hf_config_refuses,
    ::testing::Values(
        refusal{
            "llama", R"({"model_type": "gpt2"})",
            "model_type: 'gpt2' is not supported: llama, qwen2, gemma3_text, mamba, mamba2, zamba2 and hymba "
            "are"},
        refusal{"llama", R"({"model_type": null})",
                "model_type: is missing: llama, qwen2, gemma3_text, mamba, mamba2, zamba2 and hymba are "
                "supported"},
        refusal{"llama", R"({"model_type": 7})", "model_type: must be a string, it is 7"},
        refusal{"llama", R"({"hidden_size": null})", "hidden_size: is missing"},
        refusal{"llama", R"({"hidden_size": -64})", "hidden_size: must be positive, it is -64"},
        refusal{"llama", R"({"hidden_size": "64"})", "hidden_size: must be a whole number, it is \"64\""},
        refusal{"llama", R"({"hidden_size": 64.5})", "hidden_size: must be a whole number, it is 64.5"},
        refusal{"llama", R"({"hidden_size": 1e30})", "hidden_size: is 1e+30, out of any range"},
        refusal{"llama", R"({"hidden_size": 100000000})", "hidden_size: is 100000000, more than any model's"},
        refusal{"llama", R"({"d_model": 32})",
                "hidden_size and d_model: contradict each other: hidden_size is 64, d_model is 32"},
        refusal{"llama", R"({"vocab_size": 0})", "vocab_size: must be positive, it is 0"},
        refusal{"llama", R"({"num_hidden_layers": 0})", "num_hidden_layers: must be positive, it is 0"},
        refusal{"llama", R"({"num_hidden_layers": 20000})",
                "num_hidden_layers: is 20000, more than any model's"},
        refusal{"llama", R"({"tie_word_embeddings": 1})",
                "tie_word_embeddings: must be true or false, it is 1"}));

INSTANTIATE_TEST_SUITE_P(
    transformers, hf_config_refuses,
    ::testing::Values(
        refusal{
            "llama", R"({"num_key_value_heads": 3})",
            "num_key_value_heads and num_attention_heads: do not fit: num_key_value_heads (3) must divide "
            "num_attention_heads (4)"},
        refusal{"llama", R"({"num_key_value_heads": 0})", "num_key_value_heads: must be positive, it is 0"},
        refusal{"llama", R"({"head_dim": null, "num_attention_heads": 3, "num_key_value_heads": 3})",
                "num_attention_heads and hidden_size: do not fit: num_attention_heads (3) must divide "
                "hidden_size "
                "(64)"},
        refusal{"llama", R"({"head_dim": 15})",
                "head_dim: is 15: a rotary embedding needs an even number of channels"},
        refusal{
            "llama", R"({"head_dim": null, "hidden_size": 60})",
            "hidden_size / num_attention_heads: is 15: a rotary embedding needs an even number of channels"},
        refusal{"llama", R"({"intermediate_size": -1})", "intermediate_size: must be positive, it is -1"},
        refusal{"llama", R"({"rms_norm_eps": 0.0})", "rms_norm_eps: must be positive, it is 0.0"},
        refusal{"llama", R"({"rms_norm_eps": "1e-5"})", "rms_norm_eps: must be a number, it is \"1e-5\""},
        refusal{"llama", R"({"hidden_act": "relu"})",
                "hidden_act: 'relu' is not supported: silu, gelu and gelu_pytorch_tanh are"},
        refusal{"llama", R"({"rope_parameters": {"rope_type": "yarn"}})",
                "rope_parameters.rope_type: 'yarn' is not supported: default, linear and llama3 are"},
        refusal{"llama", R"({"rope_parameters": {"factor": null}})", "rope_parameters.factor: is missing"},
        refusal{"llama", R"({"rope_parameters": {"factor": 0}})",
                "rope_parameters.factor: must be positive, it is 0"},
        refusal{"llama", R"({"rope_parameters": {"low_freq_factor": 8.0, "high_freq_factor": 4.0}})",
                "rope_parameters.low_freq_factor: is 8.0, it must be below high_freq_factor, which is 4.0"},
        refusal{"llama", R"({"rope_parameters": {"partial_rotary_factor": 0.5}})",
                "rope_parameters.partial_rotary_factor: is 0.5: only 1 is supported"},
        refusal{"llama", R"({"rope_parameters": null, "rope_scaling": {"type": "dynamic", "factor": 2.0}})",
                "rope_scaling.type: 'dynamic' is not supported: default, linear and llama3 are"},
        refusal{"llama", R"({"rope_parameters": [1]})", "rope_parameters: must be an object, it is [1]"},
        refusal{"gemma3_text", R"({"layer_types": ["full_attention"]})",
                "the length of layer_types and num_hidden_layers: contradict each other: the length of "
                "layer_types "
                "is 1, num_hidden_layers is 6"},
        refusal{
            "gemma3_text", R"({"num_hidden_layers": 1, "layer_types": ["chunked_attention"]})",
            "layer_types: 'chunked_attention' is not a layer kind: full_attention and sliding_attention are"},
        refusal{"gemma3_text", R"({"layer_types": null, "sliding_window_pattern": 0})",
                "sliding_window_pattern: must be positive, it is 0"},
        refusal{"gemma3_text", R"({"sliding_window": 0})", "sliding_window: must be positive, it is 0"},
        refusal{"gemma3_text", R"({"query_pre_attn_scalar": -4})",
                "query_pre_attn_scalar: must be positive, it is -4"},
        refusal{"gemma3_text", R"({"use_bidirectional_attention": true})",
                "use_bidirectional_attention: is true: only false is supported"}));

INSTANTIATE_TEST_SUITE_P(
    state_spaces, hf_config_refuses,
    ::testing::Values(
        refusal{"mamba", R"({"conv_kernel": 0})", "conv_kernel: must be positive, it is 0"},
        refusal{"mamba", R"({"state_size": -8})", "state_size: must be positive, it is -8"},
        refusal{"mamba", R"({"time_step_rank": 0})", "time_step_rank: must be positive, it is 0"},
        refusal{"mamba", R"({"intermediate_size": 80})",
                "intermediate_size and expand * hidden_size: contradict each other: intermediate_size is 80, "
                "expand * hidden_size is 64"},
        refusal{"mamba", R"({"expand": 1000000})",
                "expand * hidden_size: is 32000000, more than any model's"},
        refusal{"mamba", R"({"n_layer": 7})",
                "num_hidden_layers and n_layer: contradict each other: num_hidden_layers is 4, n_layer is 7"},
        refusal{"mamba", R"({"hidden_act": "gelu"})", "hidden_act: is \"gelu\": only \"silu\" is supported"},
        refusal{
            "mamba2", R"({"head_dim": 13})",
            "head_dim and expand * hidden_size: do not fit: head_dim (13) must divide expand * hidden_size "
            "(96)"},
        refusal{"mamba2", R"({"num_heads": 4})",
                "num_heads * head_dim and expand * hidden_size: contradict each other: num_heads * head_dim "
                "is 48, "
                "expand * hidden_size is 96"},
        refusal{"mamba2", R"({"n_groups": 3})",
                "n_groups and num_heads: do not fit: n_groups (3) must divide num_heads (8)"},
        refusal{"mamba2", R"({"n_groups": 0})", "n_groups: must be positive, it is 0"},
        refusal{"mamba2", R"({"time_step_limit": [0.0]})",
                "time_step_limit: must be two numbers, it is [0.0]"},
        refusal{"mamba2", R"({"time_step_limit": [0.5, 0.1]})",
                "time_step_limit: is [0.5,0.1]: the first must not be above the second"},
        refusal{"mamba2", R"({"time_step_limit": [0.5, "inf"]})",
                "time_step_limit: must be a number, it is \"inf\""}));

INSTANTIATE_TEST_SUITE_P(
    zamba2, hf_config_refuses,
    ::testing::Values(
        refusal{"zamba2", R"({"n_mamba_heads": 5})",
                "n_mamba_heads and mamba_expand * hidden_size: do not fit: n_mamba_heads (5) must divide "
                "mamba_expand * hidden_size (64)"},
        refusal{"zamba2", R"({"mamba_headdim": 8})",
                "n_mamba_heads * mamba_headdim and mamba_expand * hidden_size: contradict each other: "
                "n_mamba_heads "
                "* mamba_headdim is 32, mamba_expand * hidden_size is 64"},
        refusal{
            "zamba2", R"({"mamba_ngroups": 3})",
            "mamba_ngroups and n_mamba_heads: do not fit: mamba_ngroups (3) must divide n_mamba_heads (4)"},
        refusal{
            "zamba2", R"({"num_attention_heads": 3, "num_key_value_heads": 3})",
            "num_attention_heads and 2 * hidden_size: do not fit: num_attention_heads (3) must divide 2 * "
            "hidden_size (64)"},
        refusal{"zamba2", R"({"attention_head_dim": 8})",
                "attention_head_dim and 2 * hidden_size / num_attention_heads: contradict each other: "
                "attention_head_dim is 8, 2 * hidden_size / num_attention_heads is 16"},
        refusal{"zamba2", R"({"num_mem_blocks": 0})", "num_mem_blocks: must be positive, it is 0"},
        refusal{"zamba2", R"({"num_mem_blocks": 3})",
                "num_mem_blocks: is 3, but layers_block_type has only 2 hybrid layers: the first layer that "
                "uses a "
                "block holds its weights"},
        refusal{"zamba2", R"({"layers_block_type": null})", "layers_block_type: is missing"},
        refusal{"zamba2", R"({"layers_block_type": ["hybrid"]})",
                "the length of layers_block_type and num_hidden_layers: contradict each other: the length of "
                "layers_block_type is 1, num_hidden_layers is 5"},
        refusal{"zamba2", R"({"layers_block_type": ["mamba", "mamba", "hybrid", "moe", "hybrid"]})",
                "layers_block_type: 'moe' is not a layer kind: linear_attention (or mamba) and hybrid are"},
        refusal{"zamba2", R"({"hybrid_layer_ids": [1, 4]})",
                "hybrid_layer_ids: [1,4] contradicts layers_block_type, whose hybrid layers are [2,4]"},
        refusal{"zamba2", R"({"adapter_rank": 0})", "adapter_rank: must be positive, it is 0"},
        refusal{"zamba2", R"({"use_long_context": true})",
                "use_long_context: is true: only false is supported"}));

INSTANTIATE_TEST_SUITE_P(
    hymba, hf_config_refuses,
    ::testing::Values(
        refusal{"hymba", R"({"num_attention_heads": 3, "num_key_value_heads": 3})",
                "num_attention_heads and hidden_size: do not fit: num_attention_heads (3) must divide "
                "hidden_size "
                "(40)"},
        refusal{"hymba", R"({"v_head_dim": 8})",
                "v_head_dim and mamba_expand * hidden_size / num_attention_heads: contradict each other: "
                "v_head_dim "
                "is 8, mamba_expand * hidden_size / num_attention_heads is 16"},
        refusal{
            "hymba", R"({"kq_head_dim": 16})",
            "kq_head_dim and hidden_size / num_attention_heads: contradict each other: kq_head_dim is 16, "
            "hidden_size / num_attention_heads is 8"},
        refusal{"hymba", R"({"num_memory_tokens": -1})", "num_memory_tokens: must not be negative, it is -1"},
        refusal{"hymba", R"({"global_attn_idx": [0, 6]})",
                "global_attn_idx: names layer 6, num_hidden_layers is 6"},
        refusal{"hymba", R"({"kv_reuse_group": [[1, 9]]})",
                "kv_reuse_group: names layer 9, num_hidden_layers is 6"},
        refusal{"hymba", R"({"kv_reuse_group": [[3, 2]]})",
                "kv_reuse_group: [3,2] lets layer 2 read the keys of layer 3, which does not come before it"},
        refusal{"hymba", R"({"kv_reuse_group": [[0, 1], [1, 2]]})",
                "kv_reuse_group: lets layer 2 read the keys of layer 1, which reads another layer's itself"},
        refusal{"hymba", R"({"kv_reuse_group": [1, 2]})",
                "kv_reuse_group: must be a list of lists of layers"},
        refusal{"hymba", R"({"kq_norm": "rms"})", "kq_norm: is \"rms\": only \"none\" is supported"},
        refusal{"hymba", R"({"num_experts": 4})", "num_experts: is 4: only 1 is supported"},
        refusal{"hymba", R"({"memory_tokens_interspersed_every": 8})",
                "memory_tokens_interspersed_every: is 8: only 0 is supported"},
        refusal{"hymba", R"({"rope_type": "dynamic_ntk"})",
                "rope_type: 'dynamic_ntk' is not supported: default and ntk are"},
        refusal{"hymba", R"({"max_position_embeddings": 16})",
                "max_position_embeddings: is 16, rope_type ntk needs more than half of "
                "orig_max_position_embeddings, which is 64"},
        refusal{"hymba", R"({"orig_max_position_embeddings": null})",
                "orig_max_position_embeddings: is missing"}));

// What transformers 4 wrote.

TEST(hf_config, rope_fields_of_older_files) {
  const auto scaled = read("llama", R"({"rope_parameters": null, "rope_theta": 5000.0,
    "rope_scaling": {"type": "linear", "factor": 4.0}, "dtype": null, "torch_dtype": "float16"})");
  const rope_config rope = *scaled.layers[0].attention->rope;
  EXPECT_EQ(rope.theta, 5000.0);
  EXPECT_EQ(rope.scaling, rope_scaling::linear);
  EXPECT_EQ(rope.factor, 4.0);
  const auto plain =
      read("llama", R"({"rope_parameters": null, "rope_theta": 5000.0, "rope_scaling": null})");
  EXPECT_EQ(plain.layers[0].attention->rope->scaling, rope_scaling::none);
}

TEST(hf_config, older_gemma_scales_full_layers_only_and_finds_them_by_pattern) {
  const auto c = read("gemma3_text", R"({"rope_parameters": null, "layer_types": null,
    "sliding_window_pattern": 3, "rope_theta": 2e6, "rope_local_base_freq": 2e4,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0}})");
  for (std::size_t l = 0; l < 6; ++l) {
    const attention_config& a = *c.layers[l].attention;
    const bool full = l % 3 == 2;
    EXPECT_EQ(a.window, full ? 0 : 8) << l;
    EXPECT_EQ(a.rope->theta, full ? 2e6 : 2e4) << l;
    EXPECT_EQ(a.rope->scaling, full ? rope_scaling::linear : rope_scaling::none) << l;
  }
}

TEST(hf_config, what_gemma_files_may_leave_out) {
  const auto c = read("gemma3_text", R"({"rope_parameters": null, "layer_types": null, "head_dim": null,
    "sliding_window_pattern": null, "_sliding_window_pattern": null, "query_pre_attn_scalar": null,
    "tie_word_embeddings": null})");
  EXPECT_EQ(c.layers[0].attention->d_key, 256);
  EXPECT_FLOAT_EQ(c.layers[0].attention->scale, 1.0F / 16.0F);
  EXPECT_EQ(c.layers[0].attention->rope->theta, 1e4);
  EXPECT_EQ(c.layers[5].attention->rope->theta, 1e6);
  EXPECT_EQ(c.layers[4].attention->window, 8);
  EXPECT_EQ(c.layers[5].attention->window, 0);
  EXPECT_TRUE(c.tied_embeddings);
}

TEST(hf_config, the_text_part_of_a_multimodal_gemma) {
  json whole{{"model_type", "gemma3"}, {"text_config", changed("gemma3_text", "{}")}};
  EXPECT_EQ(read(whole.dump()).layers.size(), 6U);
  whole["text_config"]["hidden_size"] = 0;
  EXPECT_EQ(error_of(whole.dump()), "text_config.hidden_size: must be positive, it is 0");
}

TEST(hf_config, what_llama_and_qwen2_files_may_leave_out) {
  const auto c =
      read("llama", R"({"head_dim": null, "num_key_value_heads": null, "tie_word_embeddings": null})");
  EXPECT_EQ(c.layers[0].attention->d_key, 16);
  EXPECT_EQ(c.layers[0].attention->kv_heads, 4);
  EXPECT_FALSE(c.tied_embeddings);
}

TEST(hf_config, upper_layers_of_qwen2_slide_if_told_to) {
  const std::string fields = R"("sliding_window": 5, "max_window_layers": 1, "layer_types": null)";
  const auto windows = [](const model_config& c) {
    std::vector<index> found;
    for (const layer_config& layer : c.layers) found.push_back(layer.attention->window);
    return found;
  };
  EXPECT_THAT(windows(read("qwen2", "{" + fields + R"(, "use_sliding_window": false})")),
              ::testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(windows(read("qwen2", "{" + fields + R"(, "use_sliding_window": true})")),
              ::testing::ElementsAre(0, 5, 5));
}

TEST(hf_config, zamba2_layers_by_their_older_name) {
  const auto c = read("zamba2", R"({"layers_block_type": ["mamba", "hybrid", "hybrid", "mamba", "hybrid"],
    "hybrid_layer_ids": null, "num_mem_blocks": 2})");
  const std::vector<int> blocks{-1, 0, 1, -1, 0}, uses{-1, 0, 1, -1, 2};
  for (std::size_t l = 0; l < 5; ++l) {
    EXPECT_EQ(c.layers[l].shared_block, blocks[l]) << l;
    EXPECT_EQ(c.layers[l].shared_use, uses[l]) << l;
  }
}

TEST(hf_config, infinity_bare_and_as_an_object) {
  for (const std::string infinity : {"Infinity", R"({"__float__": "Infinity"})"}) {
    std::string text = changed("mamba2", R"({"time_step_limit": [0.5, 7]})").dump();
    text.replace(text.find("[0.5,7]"), 7, "[0.5," + infinity + "]");
    const state_space_config s = *read(text).layers[0].state_space;
    EXPECT_EQ(s.dt_min, 0.5F);
    EXPECT_EQ(s.dt_max, std::numeric_limits<float>::infinity());
  }
}

// The state-spaces project's files.

TEST(state_spaces_config, mamba) {
  const auto c = read(R"({"d_model": 48, "n_layer": 2, "vocab_size": 50277, "ssm_cfg": {}, "rms_norm": true,
    "residual_in_fp32": true, "fused_add_norm": true, "pad_vocab_size_multiple": 8})");
  EXPECT_EQ(c.arch, architecture::mamba);
  EXPECT_EQ(c.d_model, 48);
  EXPECT_EQ(c.vocab_size, 50280);
  EXPECT_TRUE(c.tied_embeddings);
  ASSERT_EQ(c.layers.size(), 2U);
  const state_space_config& s = *c.layers[1].state_space;
  EXPECT_EQ(s.d_inner, 96);
  EXPECT_EQ(s.d_state, 16);
  EXPECT_EQ(s.d_conv, 4);
  EXPECT_EQ(s.dt_rank, 3);
}

TEST(state_spaces_config, mamba_with_every_field) {
  const auto c = read(R"({"d_model": 40, "n_layer": 1, "vocab_size": 16, "tie_embeddings": false,
    "ssm_cfg": {"layer": "Mamba1", "d_state": 6, "d_conv": 3, "expand": 3, "dt_rank": 5}})");
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.vocab_size, 16);
  const state_space_config& s = *c.layers[0].state_space;
  EXPECT_EQ(s.d_inner, 120);
  EXPECT_EQ(s.d_state, 6);
  EXPECT_EQ(s.d_conv, 3);
  EXPECT_EQ(s.dt_rank, 5);
}

TEST(state_spaces_config, mamba2) {
  const auto c = read(R"({"d_model": 64, "d_intermediate": 0, "n_layer": 1, "vocab_size": 50277,
    "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [], "attn_cfg": {}, "pad_vocab_size_multiple": 16})");
  EXPECT_EQ(c.arch, architecture::mamba2);
  EXPECT_EQ(c.vocab_size, 50288);
  EXPECT_TRUE(c.tied_embeddings);
  const state_space_config& s = *c.layers[0].state_space;
  EXPECT_EQ(s.heads, 2);  // of 64 channels
  EXPECT_EQ(s.groups, 1);
  EXPECT_EQ(s.d_state, 128);
  EXPECT_EQ(s.dt_min, 0.0F);
}

TEST(state_spaces_config, mamba2_with_every_field) {
  const auto c = read(R"({"d_model": 64, "n_layer": 1, "vocab_size": 16, "ssm_cfg": {"layer": "Mamba2",
    "headdim": 16, "ngroups": 4, "d_state": 32, "dt_limit": [0.1, Infinity]}})");
  const state_space_config& s = *c.layers[0].state_space;
  EXPECT_EQ(s.heads, 8);
  EXPECT_EQ(s.groups, 4);
  EXPECT_EQ(s.d_state, 32);
  EXPECT_EQ(s.dt_min, 0.1F);
}

TEST(state_spaces_config, refuses_what_it_does_not_know) {
  const auto with = [](const std::string& field) {
    return error_of(R"({"d_model": 64, "n_layer": 1, "vocab_size": 16, )" + field + "}");
  };
  EXPECT_EQ(with(R"("ssm_cfg": {"layer": "Mamba3"})"),
            "ssm_cfg.layer: 'Mamba3' is not supported: Mamba1 and Mamba2 are");
  EXPECT_EQ(with(R"("ssm_cfg": {}, "attn_layer_idx": [3])"),
            "attn_layer_idx: is [3]: only [] (no attention layers) is supported");
  EXPECT_EQ(with(R"("ssm_cfg": {}, "d_intermediate": 128)"),
            "d_intermediate: is 128: only 0 (no MLP) is supported");
  EXPECT_EQ(with(R"("ssm_cfg": {}, "rms_norm": false)"), "rms_norm: is false: only true is supported");
  EXPECT_EQ(with(R"("ssm_cfg": {"layer": "Mamba2", "norm_before_gate": true})"),
            "ssm_cfg.norm_before_gate: is true: only false is supported");
  EXPECT_EQ(with(R"("ssm_cfg": {"d_conv": 0})"), "ssm_cfg.d_conv: must be positive, it is 0");
  EXPECT_EQ(with(R"("ssm_cfg": {"layer": "Mamba2", "ngroups": 4, "headdim": 64})"),
            "ngroups and num_heads: do not fit: ngroups (4) must divide num_heads (2)");
}

// Hymba's masks and shared keys.

TEST(hf_config, hymba_windows_count_one_more_than_the_field) {
  const auto c = read("hymba", "{}");
  const std::vector<index> windows{0, 7, 7, 0, 7, 0};
  for (std::size_t l = 0; l < 6; ++l) {
    EXPECT_EQ(c.layers[l].attention->window, windows[l]) << l;
    EXPECT_EQ(c.layers[l].attention->always_visible, 3) << l;
  }
  for (const layer_config& layer : read("hymba", R"({"sliding_window": null})").layers)
    EXPECT_EQ(layer.attention->window, 0);
  for (const layer_config& layer : read("hymba", R"({"global_attn_idx": null})").layers)
    EXPECT_EQ(layer.attention->window, 7);
}

TEST(hf_config, hymba_key_sources_by_group_and_by_interval) {
  const auto sources = [](const model_config& c) {
    std::vector<int> found;
    for (const layer_config& layer : c.layers) found.push_back(layer.attention->kv_source);
    return found;
  };
  EXPECT_THAT(sources(read("hymba", R"({"kv_reuse_group": [[0, 1, 2], [4, 5]]})")),
              ::testing::ElementsAre(-1, 0, 0, -1, -1, 4));
  EXPECT_THAT(sources(read("hymba", R"({"kv_reuse_group": null, "kv_reuse_every_i_layer": 2})")),
              ::testing::ElementsAre(-1, 0, -1, 2, -1, 4));
}

}  // namespace
}  // namespace iclmech
