// What a model's weights must hold for its description: biases that flags ask for or rule out, shared blocks,
// real numbers, heads of a width.

#include "iclmech/engine/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "iclmech/engine/load.hpp"
#include "support/file_builders.hpp"
#include "support/golden_tensors.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using nlohmann::json;

/// A golden checkpoint, to be altered and written again.
class checkpoint {
 public:
  explicit checkpoint(const std::string& model)
      : config(json::parse(test::read_text(test::golden_folder(model) + "/config.json"))) {
    const tensor_file file = read_safetensors(test::golden_folder(model));
    for (const tensor_entry& entry : file.entries()) {
      EXPECT_EQ(entry.type, dtype::f32) << entry.name;
      tensors[entry.name] = {
          "F32", entry.shape, {reinterpret_cast<const char*>(entry.data.data()), entry.data.size()}};
    }
  }

  /// Gives a tensor that is not there: `size` times 0.25.
  void add(const std::string& name, index size) {
    const std::vector<float> values(static_cast<std::size_t>(size), 0.25F);
    EXPECT_TRUE(tensors.emplace(name, tensor{"F32", {size}, test::float_bytes(values)}).second) << name;
  }
  void remove(const std::string& name) { EXPECT_EQ(tensors.erase(name), 1U) << name; }

  void write(const test::temporary_folder& folder) const {
    json header = json::object();
    std::string data;
    for (const auto& [name, t] : tensors) {
      header[name] = {{"dtype", t.type},
                      {"shape", t.shape},
                      {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
      data += t.bytes;
    }
    folder.write("config.json", config.dump());
    folder.write("model.safetensors", test::safetensors_bytes(header.dump(), data));
  }

  /// What loading it says, its folder written as FOLDER; "no error" where it loads.
  std::string error(const load_options& options = {}) const {
    const test::temporary_folder folder;
    write(folder);
    try {
      load_model(folder.path().string(), options);
    } catch (const error_type& e) {
      std::string message = e.what();
      const std::string path = folder.path().string();
      for (auto at = message.find(path); at != std::string::npos; at = message.find(path))
        message.replace(at, path.size(), "FOLDER");
      return message;
    }
    return "no error";
  }

  struct tensor {
    std::string type;
    std::vector<index> shape;
    std::string bytes;
  };
  json config;
  std::map<std::string, tensor> tensors;

 private:
  using error_type = iclmech::error;
};

/// Logits of all positions of the golden prompt.
row_matrix logits_of(const checkpoint& c, const token_sequence& ids) {
  const test::temporary_folder folder;
  c.write(folder);
  const std::vector<token_sequence> prompt{ids};
  no_hooks none;
  return test::file_host(folder.path().string()).run(prompt, none, logit_rows::all);
}

/// A checkpoint whose flags (a merge patch of config.json) and biases contradict each other.
struct contradiction {
  const char* model;
  const char* patch;
  const char* tensor;
  index added;  ///< how wide the bias is that the checkpoint gets; 0: it loses its own, -1: it keeps it
  const char* why;
};

void PrintTo(const contradiction& c, std::ostream* out) {
  *out << c.model << ' ' << c.patch << (c.added != 0 ? " with " : " without ") << c.tensor;
}

class bias_flags : public ::testing::TestWithParam<contradiction> {};

TEST_P(bias_flags, are_held_against_the_weights_before_any_is_read) {
  const contradiction& c = GetParam();
  checkpoint altered(c.model);
  altered.config.merge_patch(json::parse(c.patch));
  if (c.added > 0)
    altered.add(c.tensor, c.added);
  else if (c.added == 0)
    altered.tensors.erase(c.tensor);
  // The embedding is the first weight to be read: with a wrong shape, whatever is read at all fails
  // otherwise.
  for (auto& [name, t] : altered.tensors)
    if (name.find("embed") != std::string::npos) std::reverse(t.shape.begin(), t.shape.end());
  EXPECT_EQ(altered.error(), std::string("FOLDER/model.safetensors: tensor '") + c.tensor +
                                 (c.added != 0 ? "': is in the file, but " : "': is missing, but ") + c.why);
}

INSTANTIATE_TEST_SUITE_P(
    missing, bias_flags,
    ::testing::Values(
        contradiction{"llama", R"({"attention_bias": true})", "model.layers.0.self_attn.q_proj.bias", 0,
                      "FOLDER/config.json says attention_bias: true"},
        contradiction{"llama", R"({"mlp_bias": true})", "model.layers.0.mlp.gate_proj.bias", 0,
                      "FOLDER/config.json says mlp_bias: true"},
        contradiction{"gemma3_text", R"({"attention_bias": true})", "model.layers.0.self_attn.q_proj.bias", 0,
                      "FOLDER/config.json says attention_bias: true"},
        contradiction{"qwen2", "{}", "model.layers.0.self_attn.q_proj.bias", 0,
                      "qwen2 models always have one"},
        contradiction{"qwen2", R"({"attention_bias": false})", "model.layers.2.self_attn.k_proj.bias", 0,
                      "qwen2 models always have one"},
        contradiction{"qwen2", "{}", "model.layers.1.self_attn.v_proj.bias", 0,
                      "qwen2 models always have one"},
        contradiction{"mamba", "{}", "backbone.layers.3.mixer.conv1d.bias", 0,
                      "FOLDER/config.json says use_conv_bias: true"},
        contradiction{"mamba", R"({"use_bias": true})", "backbone.layers.0.mixer.in_proj.bias", 0,
                      "FOLDER/config.json says use_bias: true"},
        contradiction{"mamba2", "{}", "backbone.layers.1.mixer.conv1d.bias", 0,
                      "FOLDER/config.json says use_conv_bias: true"},
        contradiction{"mamba2", R"({"use_bias": true})", "backbone.layers.0.mixer.in_proj.bias", 0,
                      "FOLDER/config.json says use_bias: true"},
        contradiction{"zamba2", "{}", "model.layers.0.mamba.conv1d.bias", 0, "zamba2 models always have one"},
        contradiction{"zamba2", R"({"use_conv_bias": false})",
                      "model.layers.2.mamba_decoder.mamba.conv1d.bias", 0, "zamba2 models always have one"},
        contradiction{"zamba2", R"({"add_bias_linear": true})", "model.layers.0.mamba.in_proj.bias", 0,
                      "FOLDER/config.json says add_bias_linear: true"},
        contradiction{"hymba", "{}", "model.layers.5.mamba.conv1d.bias", 0,
                      "FOLDER/config.json says mamba_conv_bias: true"},
        contradiction{"hymba", R"({"mamba_proj_bias": true})", "model.layers.0.mamba.in_proj.bias", 0,
                      "FOLDER/config.json says mamba_proj_bias: true"}));

INSTANTIATE_TEST_SUITE_P(
    not_expected, bias_flags,
    ::testing::Values(
        contradiction{"llama", "{}", "model.layers.1.self_attn.o_proj.bias", 64,
                      "FOLDER/config.json says attention_bias: false"},
        contradiction{"llama", "{}", "model.layers.2.mlp.down_proj.bias", 64,
                      "FOLDER/config.json says mlp_bias: false"},
        contradiction{"gemma3_text", "{}", "model.layers.5.self_attn.v_proj.bias", 32,
                      "FOLDER/config.json says attention_bias: false"},
        contradiction{"gemma3_text", "{}", "model.layers.5.mlp.up_proj.bias", 64,
                      "gemma3 models never have one"},
        contradiction{"qwen2", "{}", "model.layers.2.self_attn.o_proj.bias", 48,
                      "qwen2 models never have one"},
        contradiction{"mamba", R"({"use_conv_bias": false})", "backbone.layers.0.mixer.conv1d.bias", -1,
                      "FOLDER/config.json says use_conv_bias: false"},
        contradiction{"mamba", "{}", "backbone.layers.2.mixer.out_proj.bias", 32,
                      "FOLDER/config.json says use_bias: false"},
        contradiction{"zamba2", "{}", "model.layers.2.shared_transformer.feed_forward.down_proj.bias", 32,
                      "FOLDER/config.json says add_bias_linear: false"},
        contradiction{"zamba2", "{}", "model.layers.2.shared_transformer.self_attn.q_proj.bias", 64,
                      "zamba2 models never have one"},
        contradiction{"zamba2", "{}", "model.layers.4.linear.bias", 32, "zamba2 models never have one"},
        contradiction{"hymba", "{}", "model.layers.0.mamba.out_proj.bias", 40,
                      "FOLDER/config.json says mamba_proj_bias: false"},
        contradiction{"hymba", "{}", "model.layers.0.moe.experts.0.up_proj.bias", 48,
                      "hymba models never have one"}));

TEST(bias_flags_that_agree, let_biases_in) {
  // A bias of zeros changes nothing, another one does.
  const test::golden_tensors golden("llama");
  checkpoint c("llama");
  c.config["attention_bias"] = true;
  for (int l = 0; l < 3; ++l) {
    const std::string at = "model.layers." + std::to_string(l) + ".self_attn.";
    c.add(at + "q_proj.bias", 64);
    c.add(at + "k_proj.bias", 32);
    c.add(at + "v_proj.bias", 32);
    c.add(at + "o_proj.bias", 64);
  }
  EXPECT_GT((logits_of(c, golden.ids()) - golden["logits"]).cwiseAbs().maxCoeff(), 0.1F);
  for (auto& [name, t] : c.tensors)
    if (name.ends_with("_proj.bias")) t.bytes.assign(t.bytes.size(), '\0');
  const row_matrix logits = logits_of(c, golden.ids());
  golden.expect("logits", logits.data(), logits.size());
}

TEST(bias_flags_that_are_not_there, leave_it_to_the_weights) {
  checkpoint c("mamba");
  c.config.erase("use_bias");
  c.config.erase("use_conv_bias");
  EXPECT_EQ(c.error(), "no error");
  c.remove("backbone.layers.1.mixer.conv1d.bias");
  c.add("backbone.layers.1.mixer.in_proj.bias", 128);
  EXPECT_EQ(c.error(), "no error");
}

TEST(bias_flags_of_state_spaces_files, are_those_of_ssm_cfg) {
  checkpoint c("mamba");
  c.config = json::parse(R"({"d_model": 32, "n_layer": 4, "vocab_size": 128,
    "ssm_cfg": {"d_state": 8, "conv_bias": false}})");
  EXPECT_EQ(c.error(),
            "FOLDER/model.safetensors: tensor 'backbone.layers.0.mixer.conv1d.bias': is in the file, but "
            "FOLDER/config.json "
            "says ssm_cfg.conv_bias: false");
  c.config["ssm_cfg"] = {{"d_state", 8}, {"bias", true}};
  EXPECT_EQ(c.error(),
            "FOLDER/model.safetensors: tensor 'backbone.layers.0.mixer.in_proj.bias': is missing, but "
            "FOLDER/config.json says "
            "ssm_cfg.bias: true");
}

TEST(bias_flags_that_are_no_flags, are_refused) {
  checkpoint c("llama");
  c.config["attention_bias"] = "yes";
  EXPECT_EQ(c.error(), "FOLDER/config.json: attention_bias: must be true or false, it is \"yes\"");
}

TEST(shared_blocks, a_missing_one_is_named_with_the_fields_that_place_it) {
  checkpoint c("zamba2");
  c.remove("model.layers.2.shared_transformer.input_layernorm.weight");
  c.remove("model.embed_tokens.weight");
  const std::string tensor =
      "FOLDER/model.safetensors: tensor 'model.layers.2.shared_transformer.input_layernorm.weight': is "
      "missing, but ";
  EXPECT_EQ(c.error(),
            tensor +
                "layer 2 uses shared block 0, which the first layer that uses it must hold: num_mem_blocks "
                "is 1, hybrid_layer_ids (or the hybrid layers of layers_block_type) are [2,4]");
  // The other block of two, which layer 4 alone would use.
  checkpoint two("zamba2");
  two.config["num_mem_blocks"] = 2;
  EXPECT_EQ(two.error(),
            "FOLDER/model.safetensors: tensor 'model.layers.4.shared_transformer.input_layernorm.weight': is "
            "missing, but "
            "layer 4 uses shared block 1, which the first layer that uses it must hold: num_mem_blocks is "
            "2, hybrid_layer_ids (or the hybrid layers of layers_block_type) are [2,4]");
}

TEST(weights, that_are_integers_are_refused_however_they_are_kept) {
  for (const char* name :
       {"model.layers.1.mlp.up_proj.weight", "model.embed_tokens.weight", "model.norm.weight"}) {
    checkpoint c("llama");
    c.tensors.at(name).type = "I32";
    const std::string dense = c.error(), packed = c.error({.storage = weight_storage::packed});
    EXPECT_NE(dense.find(std::string("FOLDER/model.safetensors: tensor '") + name + "' (byte "),
              std::string::npos)
        << dense;
    EXPECT_NE(dense.find("): holds i32, but real numbers are needed here"), std::string::npos) << dense;
    EXPECT_EQ(packed, dense);
  }
}

TEST(mamba1_heads, that_do_not_divide_the_channels_are_named_with_their_option) {
  checkpoint c("mamba");
  EXPECT_EQ(c.error({.mamba1_heads = 12}),
            "mamba1_heads (--mamba-groups on the command line) is 12: the mixers of FOLDER have 64 inner "
            "channels, set it to a divisor of that");
  EXPECT_EQ(c.error({.mamba1_heads = 0}),
            "mamba1_heads (--mamba-groups on the command line) is 0: the mixers of FOLDER have 64 inner "
            "channels, set it to a divisor of that");
  EXPECT_EQ(c.error({.mamba1_heads = 16}), "no error");
  c.config = json::parse(R"({"d_model": 30, "n_layer": 4, "vocab_size": 128, "ssm_cfg": {"d_state": 8}})");
  EXPECT_EQ(c.error(),
            "mamba1_heads (--mamba-groups on the command line) is 8: the mixers of FOLDER have 60 inner "
            "channels, set it to a divisor of that");
}

}  // namespace
}  // namespace iclmech
