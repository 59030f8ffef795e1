// The metadata of GGUF files: what is read from it, and the errors of keys that are missing, wrong or
// contradict each other.

#include "iclmech/engine/gguf_config.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <variant>

#include "support/file_builders.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using metadata_value = std::variant<std::uint32_t, std::int32_t, float, bool, std::string>;
using metadata = std::map<std::string, metadata_value>;

/// The beginning of a file of that metadata, up to the list of its tensors.
test::gguf_builder gguf_header(const metadata& pairs, std::uint64_t tensors) {
  test::gguf_builder file(tensors, pairs.size());
  for (const auto& [key, value] : pairs) {
    constexpr std::uint32_t types[]{4, 5, 6, 7, 8};
    file.key(key, types[value.index()]);
    std::visit(
        [&file](const auto& v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>)
            file.text(v);
          else
            file.number(v);
        },
        value);
  }
  return file;
}

/// A file of that metadata whose only tensor is an embedding of 5 tokens, `width` wide.
std::string gguf_bytes(const metadata& pairs, std::uint64_t width = 8) {
  test::gguf_builder file = gguf_header(pairs, 1);
  file.tensor("token_embd.weight", {width, 5}, 0, 0).pad();
  return file.data(std::string(width * 5 * 4, '\0')).bytes();
}

model_config read(const metadata& pairs) {
  const iclmech::test::temporary_folder folder;
  return read_gguf_config(gguf_file(folder.write("model.gguf", gguf_bytes(pairs))));
}

std::string error_of(const metadata& pairs) {
  const iclmech::test::temporary_folder folder;
  const std::string path = folder.write("model.gguf", gguf_bytes(pairs));
  try {
    read_gguf_config(gguf_file(path));
  } catch (const file_error& e) {
    const std::string message = e.what();
    return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
  }
  return "no error";
}

metadata llama() {
  return {{"general.architecture", "llama"},  {"llama.embedding_length", 8U},
          {"llama.block_count", 2U},          {"llama.feed_forward_length", 16U},
          {"llama.attention.head_count", 4U}, {"llama.attention.head_count_kv", 2U},
          {"llama.rope.freq_base", 5000.0F},  {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
          {"llama.context_length", 64U}};
}

metadata gemma() {
  return {{"general.architecture", "gemma3"},
          {"gemma3.embedding_length", 8U},
          {"gemma3.block_count", 7U},
          {"gemma3.feed_forward_length", 16U},
          {"gemma3.attention.head_count", 2U},
          {"gemma3.attention.key_length", 16U},
          {"gemma3.attention.value_length", 16U},
          {"gemma3.attention.sliding_window", 9U},
          {"gemma3.attention.layer_norm_rms_epsilon", 1e-6F}};
}

metadata mamba2() {
  return {{"general.architecture", "mamba2"}, {"mamba2.embedding_length", 8U},
          {"mamba2.block_count", 1U},         {"mamba2.ssm.inner_size", 16U},
          {"mamba2.ssm.state_size", 4U},      {"mamba2.ssm.conv_kernel", 3U},
          {"mamba2.ssm.time_step_rank", 8U},  {"mamba2.ssm.group_count", 2U},
          {"mamba2.context_length", 64U},     {"mamba2.attention.layer_norm_rms_epsilon", 1e-5F}};
}

metadata with(metadata pairs, const std::string& key, metadata_value value) {
  pairs[key] = std::move(value);
  return pairs;
}
metadata without(metadata pairs, const std::string& key) {
  pairs.erase(key);
  return pairs;
}

TEST(gguf_config, llama_fields) {
  const model_config c = read(llama());
  EXPECT_EQ(c.arch, architecture::llama);
  EXPECT_EQ(c.d_model, 8);
  EXPECT_EQ(c.vocab_size, 5);
  EXPECT_EQ(c.context_length, 64);
  EXPECT_TRUE(c.tied_embeddings);
  ASSERT_EQ(c.layers.size(), 2U);
  const attention_config& a = *c.layers[1].attention;
  EXPECT_EQ(a.heads, 4);
  EXPECT_EQ(a.kv_heads, 2);
  EXPECT_EQ(a.d_key, 2);
  EXPECT_EQ(a.rope->theta, 5000.0);
  EXPECT_EQ(c.layers[1].d_mlp, 16);
}

TEST(gguf_config, gemma_slides_in_five_layers_of_six) {
  const model_config c = read(gemma());
  for (std::size_t l = 0; l < 7; ++l) {
    EXPECT_EQ(c.layers[l].attention->window, l == 5 ? 0 : 9) << l;
    EXPECT_EQ(c.layers[l].attention->rope->theta, l == 5 ? 1e6 : 1e4) << l;
  }
  const model_config other = read(with(with(gemma(), "gemma3.attention.sliding_window_pattern", 2U),
                                       "gemma3.rope.freq_base_swa", 123.0F));
  for (std::size_t l = 0; l < 7; ++l)
    EXPECT_EQ(other.layers[l].attention->rope->theta, l % 2 == 1 ? 1e6 : 123.0) << l;
}

TEST(gguf_config, gemma_scales_full_layers_only) {
  const model_config c = read(with(with(gemma(), "gemma3.rope.scaling.type", std::string("linear")),
                                   "gemma3.rope.scaling.factor", 8.0F));
  EXPECT_EQ(c.layers[5].attention->rope->factor, 8.0);
  EXPECT_EQ(c.layers[0].attention->rope->scaling, rope_scaling::none);
}

TEST(gguf_config, mamba2_fields) {
  const model_config c = read(mamba2());
  const state_space_config& s = *c.layers[0].state_space;
  EXPECT_EQ(s.d_inner, 16);
  EXPECT_EQ(s.d_state, 4);
  EXPECT_EQ(s.d_conv, 3);
  EXPECT_EQ(s.heads, 8);
  EXPECT_EQ(s.groups, 2);
  EXPECT_EQ(c.context_length, 0) << "a recurrence has no limit";
}

TEST(gguf_config, signed_and_unsigned_numbers_read_alike) {
  EXPECT_EQ(read(with(mamba2(), "mamba2.ssm.conv_kernel", 3)).layers[0].state_space->d_conv, 3);
}

TEST(gguf_config, refuses_architectures_and_lists_the_others) {
  EXPECT_EQ(
      error_of({{"general.architecture", "gpt2"}}),
      "metadata 'general.architecture': 'gpt2' is not supported: llama, qwen2, gemma3, mamba and mamba2 are, "
      "and granitehybrid and falcon-h1 by the llama.cpp host");
}

TEST(gguf_config, refuses_missing_keys) {
  EXPECT_EQ(error_of(without(llama(), "llama.attention.head_count")),
            "metadata 'llama.attention.head_count': is missing");
  EXPECT_EQ(error_of(without(mamba2(), "mamba2.ssm.group_count")),
            "metadata 'mamba2.ssm.group_count': is missing");
}

TEST(gguf_config, refuses_sizes_that_no_model_has) {
  EXPECT_EQ(error_of(with(llama(), "llama.block_count", 0U)),
            "metadata 'llama.block_count': must be positive, it is 0");
  EXPECT_EQ(error_of(with(llama(), "llama.block_count", 20000U)),
            "metadata 'llama.block_count': is 20000, more than any model's");
  EXPECT_EQ(error_of(with(llama(), "llama.feed_forward_length", -4)),
            "metadata 'llama.feed_forward_length': must be positive, it is -4");
  EXPECT_EQ(error_of(with(llama(), "llama.embedding_length", 1U << 30)),
            "metadata 'llama.embedding_length': is 1073741824, more than any model's");
  EXPECT_EQ(error_of(with(mamba2(), "mamba2.ssm.conv_kernel", 0U)),
            "metadata 'mamba2.ssm.conv_kernel': must be positive, it is 0");
  EXPECT_EQ(error_of(with(gemma(), "gemma3.attention.sliding_window_pattern", 0U)),
            "metadata 'gemma3.attention.sliding_window_pattern': must be positive, it is 0");
  EXPECT_EQ(error_of(with(llama(), "llama.attention.layer_norm_rms_epsilon", 0.0F)),
            "metadata 'llama.attention.layer_norm_rms_epsilon': must be a positive number, it is 0.000000");
}

TEST(gguf_config, refuses_factors_that_are_no_positive_numbers) {
  constexpr float endless = std::numeric_limits<float>::infinity();
  for (const float value : {-1.0F, endless, -endless, std::nanf("")}) {
    const auto complaint = [value](const std::string& key) {
      return "metadata '" + key + "': must be a positive number, it is " + std::to_string(value);
    };
    for (const std::string key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"})
      EXPECT_EQ(error_of(with(llama(), key, value)), complaint(key));
    for (const std::string key : {"gemma3.final_logit_softcapping", "gemma3.rope.freq_base_swa"})
      EXPECT_EQ(error_of(with(gemma(), key, value)), complaint(key));
  }
  EXPECT_EQ(error_of(with(gemma(), "gemma3.final_logit_softcapping", 0.0F)), "no error");
}

TEST(gguf_config, refuses_sizes_that_contradict_each_other) {
  EXPECT_EQ(error_of(with(llama(), "llama.attention.head_count_kv", 3U)),
            "llama.attention.head_count_kv and llama.attention.head_count: do not fit: "
            "llama.attention.head_count_kv (3) must divide llama.attention.head_count (4)");
  EXPECT_EQ(
      error_of(with(with(llama(), "llama.attention.head_count", 3U), "llama.attention.head_count_kv", 3U)),
      "llama.attention.head_count and llama.embedding_length: do not fit: llama.attention.head_count (3) "
      "must "
      "divide llama.embedding_length (8)");
  EXPECT_EQ(
      error_of(with(mamba2(), "mamba2.ssm.group_count", 3U)),
      "mamba2.ssm.group_count and mamba2.ssm.time_step_rank: do not fit: mamba2.ssm.group_count (3) must "
      "divide mamba2.ssm.time_step_rank (8)");
  EXPECT_EQ(
      error_of(with(mamba2(), "mamba2.ssm.inner_size", 20U)),
      "mamba2.ssm.time_step_rank and mamba2.ssm.inner_size: do not fit: mamba2.ssm.time_step_rank (8) must "
      "divide mamba2.ssm.inner_size (20)");
  EXPECT_EQ(
      error_of(with(llama(), "llama.rope.dimension_count", 1U)),
      "metadata 'llama.rope.dimension_count': is 1 but heads have 2 channels: rotating a part of a head is "
      "not supported");
  EXPECT_EQ(
      error_of(with(llama(), "llama.attention.key_length", 7U)),
      "metadata 'llama.attention.key_length': is 7: a rotary embedding needs an even number of channels");
}

TEST(gguf_config, refuses_what_it_cannot_compute) {
  EXPECT_EQ(error_of(with(llama(), "llama.rope.scaling.type", std::string("yarn"))),
            "metadata 'llama.rope.scaling.type': 'yarn' is not supported: none and linear are");
  metadata falcon{{"general.architecture", "mamba"}, {"mamba.embedding_length", 8U},
                  {"mamba.block_count", 1U},         {"mamba.ssm.inner_size", 16U},
                  {"mamba.ssm.state_size", 4U},      {"mamba.ssm.conv_kernel", 3U},
                  {"mamba.ssm.time_step_rank", 2U},  {"mamba.attention.layer_norm_rms_epsilon", 1e-5F}};
  EXPECT_EQ(error_of(with(falcon, "mamba.ssm.dt_b_c_rms", false)), "no error");
  EXPECT_EQ(error_of(with(falcon, "mamba.ssm.dt_b_c_rms", true)),
            "metadata 'mamba.ssm.dt_b_c_rms': is true: mixers that norm their step sizes, B and C are not "
            "supported");
}

// Divisors of the rotary frequencies, one for each pair of channels.

TEST(gguf_config, rope_divisors_must_be_as_many_as_pairs) {
  const metadata pairs = with(llama(), "llama.attention.key_length", 8U);
  const auto config_with = [&pairs](std::uint64_t divisors) {
    const iclmech::test::temporary_folder folder;
    test::gguf_builder file = gguf_header(pairs, 2);
    file.tensor("token_embd.weight", {8, 5}, 0, 0).tensor("rope_freqs.weight", {divisors}, 0, 160).pad();
    file.data(std::string(160, '\0')).data(test::float_bytes({1.0F, 2.0F, 4.0F, 8.0F, 16.0F}));
    const std::string path = folder.write("model.gguf", file.bytes());
    try {
      return std::pair(read_gguf_config(gguf_file(path)).layers[0].attention->rope->divisors, std::string());
    } catch (const file_error& e) {
      const std::string message = e.what();
      EXPECT_TRUE(message.starts_with(path + ": ")) << message;
      return std::pair(std::vector<float>{}, message.substr(path.size() + 2));
    }
  };
  EXPECT_EQ(config_with(4), std::pair(std::vector<float>{1.0F, 2.0F, 4.0F, 8.0F}, std::string()));
  for (const std::uint64_t count : {3U, 5U}) {
    const std::string error = config_with(count).second;
    EXPECT_TRUE(error.starts_with("tensor 'rope_freqs.weight' (byte ")) << error;
    EXPECT_TRUE(error.ends_with("): has the shape [" + std::to_string(count) +
                                "], but the model's description asks for [4]"))
        << error;
  }
}

}  // namespace
}  // namespace iclmech
