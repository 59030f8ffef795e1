// Hybrids, which the reference engine does not run: PyTorch's numbers stand in for it
// (scripts/make_hybrid_gguf.py).

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "adapters/llama_cpp_hosts.hpp"
#include "iclmech/io/safetensors.hpp"
#include "iclmech/method/head_patterns.hpp"
#include "iclmech/method/score_heads.hpp"
#include "support/file_builders.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using test::tiny_gguf;
using test::tiny_llama_cpp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// All arithmetic of these files is in float32 on both sides, so that only the order of sums differs
/// (measured: 2e-6).
constexpr float pytorch_parity = 1e-5F;

/// What PyTorch computes of one model.
class hybrid_golden {
 public:
  explicit hybrid_golden(const std::string& model)
      : file_(read_safetensors(ICLMECH_TEST_DATA "/gguf/hybrids.safetensors")), prefix_(model + "/") {}

  std::vector<token_sequence> prompts() const {
    std::vector<token_sequence> all;
    for (const char* number : {"0", "1", "2"}) {
      const auto ids = file_.read_integers(file_.require(prefix_ + "ids." + number));
      all.emplace_back(ids.begin(), ids.end());
    }
    return all;
  }
  row_matrix operator[](const std::string& name) const {
    return file_.read_matrix(file_.require(prefix_ + name));
  }
  /// The hooks whose values there are, of the first prompt.
  std::vector<std::string> hook_names() const {
    std::vector<std::string> names;
    for (const tensor_entry& entry : file_.entries())
      if (entry.name.starts_with(prefix_) && entry.name.find("hook") != std::string::npos)
        names.emplace_back(entry.name.substr(prefix_.size()));
    return names;
  }

 private:
  tensor_file file_;
  std::string prefix_;
};

hook_place place_called(const model_spec& spec, const std::string& name) {
  for (const hook_place& place : hook_places(spec))
    if (hook_name(place) == name) return place;
  ADD_FAILURE() << "the host has no " << name;
  return {};
}

class llama_cpp_on_hybrid : public ::testing::TestWithParam<std::string> {};

TEST_P(llama_cpp_on_hybrid, has_the_logits_of_pytorch) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const hybrid_golden golden(GetParam());
  no_hooks none;
  const row_matrix logits = host.run(golden.prompts(), none, logit_rows::all);
  index row = 0;
  for (const char* number : {"0", "1", "2"}) {
    const row_matrix expected = golden[std::string("logits.") + number];
    EXPECT_LE(distance(logits.middleRows(row, expected.rows()), expected), pytorch_parity)
        << "prompt " << number;
    row += expected.rows();
  }
}

TEST_P(llama_cpp_on_hybrid, shows_the_activations_of_pytorch) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const hybrid_golden golden(GetParam());
  firing_log seen(host.spec().observable);
  host.run(golden.prompts(), seen, logit_rows::all);
  const std::vector<std::string> names = golden.hook_names();
  EXPECT_GE(names.size(), 14U);
  for (const std::string& name : names) {
    const firing* here = seen.find(place_called(host.spec(), name), 0);
    ASSERT_NE(here, nullptr) << name;
    EXPECT_LE(distance(here->values, golden[name]), pytorch_parity) << name;
  }
}

// One product in float32, of numbers that PyTorch's file has: a wrong factor or head would show at once.
TEST_P(llama_cpp_on_hybrid, has_the_output_projections_of_the_model) {
  const llama_cpp_host host = tiny_llama_cpp(GetParam());
  const hybrid_golden golden(GetParam());
  for (int layer = 0; layer < host.spec().layer_count(); ++layer) {
    const row_matrix out = golden[hook_name({hook::mixer_out, layer})];
    row_matrix sum = row_matrix::Zero(out.rows(), out.cols());
    for (const mixer_spec& mixer : host.spec().layers[static_cast<std::size_t>(layer)].mixers) {
      EXPECT_EQ(mixer.write, write_path::linear);
      sum += golden[hook_name({hook::z, layer, mixer.kind})] *
             host.output_projection({layer, mixer.kind}).transpose();
    }
    EXPECT_LE(distance(sum, out), pytorch_parity) << "layer " << layer;
  }
}

TEST_P(llama_cpp_on_hybrid, has_the_unembedding_of_the_model) {
  const llama_cpp_host host = tiny_llama_cpp(GetParam());
  const hybrid_golden golden(GetParam());
  std::vector<token_id> ids(static_cast<std::size_t>(host.spec().vocab_size));
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_LE(
      distance(golden["ln_final.hook_normalized"] * host.unembedding(ids).transpose(), golden["logits.0"]),
      pytorch_parity);
}

TEST_P(llama_cpp_on_hybrid, shows_the_pattern_of_forks_over_the_prompts_own_positions) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const auto prompts = test::some_prompts(host.spec());
  const std::vector<fork> forks{{1, 3, 0, fork_stage::resid_pre},
                                {0, 2, 0, fork_stage::resid_pre},
                                {0, 2, 0, fork_stage::resid_pre},
                                {2, 0, 0, fork_stage::resid_pre}};
  firing_log seen{hook_mask{hook::pattern}};
  host.run_forked(prompts, forks, seen, detail::archetype_sink{});
  int patterns = 0;
  for (const hook_place& place : hook_places(host.spec())) {
    if (place.point != hook::pattern) continue;
    for (std::size_t f = 0; f < forks.size(); ++f) {
      const firing* here = seen.find(place, static_cast<int>(prompts.size() + f));
      const firing* parent = seen.find(place, forks[f].parent);
      ASSERT_TRUE(here != nullptr && parent != nullptr);
      const index heads = parent->shape[0], length = parent->shape[1],
                  rows = length - forks[f].first_position;
      EXPECT_THAT(here->shape, ElementsAre(heads, rows, length));
      // Views of patterns are [heads x (queries x keys)].
      EXPECT_LE(distance(here->values, parent->values.rightCols(rows * length)), pytorch_parity);
      ++patterns;
    }
  }
  EXPECT_GT(patterns, 0);
}

TEST_P(llama_cpp_on_hybrid, ablates_a_head_without_touching_what_comes_before) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const std::vector<token_sequence> prompt{test::some_tokens(host.spec(), 8, 5)};
  firing_log before(host.spec().observable);
  host.run(prompt, before, logit_rows::all);
  for (const mixer_id id : host.spec().mixer_ids()) {
    const hook_place edited{hook::z, id.layer, id.mixer};
    const std::vector<intervention> zero{zero_head({id.layer, id.mixer, 1})};
    firing_log after(host.spec().observable);
    hook_set both(intervention_hooks([&zero](int) { return std::span<const intervention>(zero); }),
                  hooks_ref(after));
    host.run(prompt, both, logit_rows::all);
    for (const hook_place& place : hook_places(host.spec())) {
      const float moved = distance(after.find(place)->values, before.find(place)->values);
      // Everything in one layer behind hook_z and everything in later layers depends on it; what a mixer
      // beside it does, and what is before it, does not.
      if (must_precede(host.spec(), edited, place)) {
        EXPECT_GT(moved, 1e-4F) << hook_name(edited) << " and " << hook_name(place);
      } else if (!(place == edited)) {
        EXPECT_EQ(moved, 0.0F) << hook_name(edited) << " and " << hook_name(place);
      }
    }
  }
}

TEST_P(llama_cpp_on_hybrid, lets_heads_of_both_kinds_be_scored) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const std::vector<labelled_prompt> prompts{{test::some_tokens(host.spec(), 11, 1), {3, 7, 9}, 7},
                                             {test::some_tokens(host.spec(), 8, 2), {3, 7, 9}, 3}};
  const head_scores scores = score_heads(host, std::span<const labelled_prompt>(prompts));
  for (const mixer_kind kind : {mixer_kind::attention, mixer_kind::mamba2}) {
    float largest = 0.0F;
    for (const head_id head : host.spec().heads())
      if (head.mixer == kind)
        largest = std::max(largest, std::abs(static_cast<float>(scores.heads[head].tr)));
    EXPECT_GT(largest, 0.0F) << to_string(kind);
  }
}

// llama.cpp's graphs do not show how scans decay.
TEST_P(llama_cpp_on_hybrid, says_where_attention_heads_look) {
  llama_cpp_host host = tiny_llama_cpp(GetParam());
  const std::vector<token_id> alphabet{3, 5, 7, 9, 11, 13};
  const head_map<double> scores = induction_scores(host, repeat_random_tokens(alphabet, 6, 2, 1, 1));
  for (const head_id head : host.spec().heads())
    EXPECT_EQ(std::isnan(scores[head]), head.mixer == mixer_kind::mamba2) << host.spec().label(head);
}

INSTANTIATE_TEST_SUITE_P(models, llama_cpp_on_hybrid,
                         ::testing::Values("granitehybrid", "granitehybrid-plain", "falcon-h1",
                                           "falcon-h1-plain"),
                         test::without_dashes);

std::vector<mixer_kind> kinds_of(const layer_spec& layer) {
  std::vector<mixer_kind> kinds;
  for (const mixer_spec& mixer : layer.mixers) kinds.push_back(mixer.kind);
  return kinds;
}

TEST(llama_cpp_hybrids, describes_granite_as_layers_of_one_mixer) {
  const llama_cpp_host host = tiny_llama_cpp("granitehybrid");
  EXPECT_EQ(host.spec().architecture, "granitehybrid");
  EXPECT_THAT(kinds_of(host.spec().layers[0]), ElementsAre(mixer_kind::mamba2));
  EXPECT_THAT(kinds_of(host.spec().layers[1]), ElementsAre(mixer_kind::attention));
  EXPECT_EQ(host.spec().layers[0].d_mlp, 48);
  EXPECT_EQ(host.spec().layers[1].mixers[0].kv_heads, 2);
  EXPECT_TRUE(host.spec().editable.contains(hook::ln1_normalized));
  EXPECT_EQ(host.spec().label({1, mixer_kind::attention, 2}), "L1H2");
}

TEST(llama_cpp_hybrids, describes_falcon_as_layers_of_two_mixers_behind_two_norm_nodes) {
  const llama_cpp_host host = tiny_llama_cpp("falcon-h1");
  EXPECT_EQ(host.spec().architecture, "falcon-h1");
  EXPECT_THAT(kinds_of(host.spec().layers[1]), ElementsAre(mixer_kind::attention, mixer_kind::mamba2));
  EXPECT_FALSE(host.spec().observable.contains(hook::ln1_normalized));
  EXPECT_TRUE(host.spec().observable.contains(hook::ln2_normalized));
  EXPECT_EQ(host.spec().mixer(0, mixer_kind::mamba2).groups, 2);
}

/// Metadata of a hybrid that can be damaged key by key. The file has an embedding matrix of 8 tokens and
/// biases of convolutions, of no more than that is needed to be described.
class metadata_of_hybrid : public ::testing::Test {
 protected:
  void set(const std::string& key, std::int32_t value) { numbers_[key] = value; }

  gguf_description describe() const {
    const std::string prefix = architecture_ + ".";
    test::gguf_builder file(1 + with_bias_, numbers_.size() + reals_.size() + (kv_heads_.empty() ? 1 : 2));
    file.key("general.architecture", 8).text(architecture_);
    for (const auto& [key, value] : numbers_) file.key(prefix + key, 5).number(value);
    for (const auto& [key, value] : reals_) file.key(prefix + key, 6).number(value);
    if (!kv_heads_.empty()) {
      file.key(prefix + "attention.head_count_kv", 9).number(std::uint32_t{5});
      file.number(static_cast<std::uint64_t>(kv_heads_.size()));
      for (const std::int32_t count : kv_heads_) file.number(count);
    }
    file.tensor("token_embd.weight", {4, 8}, 0, 0);
    for (std::uint64_t layer = 0; layer < with_bias_; ++layer)
      file.tensor("blk." + std::to_string(layer) + ".ssm_conv1d.bias", {8}, 0, 128 + 32 * layer);
    file.pad().data(std::string(128 + 32 * with_bias_, '\0'));
    return describe_hybrid_gguf(gguf_file(folder_.write("hybrid.gguf", file.bytes())));
  }

  void expect_complaint(const std::string& key, const std::string& about) const {
    try {
      describe();
      FAIL() << key << " was taken";
    } catch (const file_error& e) {
      EXPECT_THAT(e.what(), HasSubstr(key));
      EXPECT_THAT(e.what(), HasSubstr(about));
    }
  }

  void be_falcon() {
    architecture_ = "falcon-h1";
    kv_heads_.clear();
    set("attention.head_count_kv", 1);
  }

  std::string architecture_ = "granitehybrid";
  std::map<std::string, std::int32_t> numbers_{{"block_count", 2},         {"embedding_length", 4},
                                               {"feed_forward_length", 6}, {"attention.head_count", 2},
                                               {"ssm.conv_kernel", 4},     {"ssm.inner_size", 8},
                                               {"ssm.state_size", 4},      {"ssm.time_step_rank", 4},
                                               {"ssm.group_count", 2},     {"context_length", 1 << 20}};
  std::map<std::string, float> reals_{{"attention.layer_norm_rms_epsilon", 1e-5F}};
  std::vector<std::int32_t> kv_heads_{0, 1};
  std::uint64_t with_bias_ = 2;
  test::temporary_folder folder_;
};

TEST_F(metadata_of_hybrid, is_read_when_it_is_right) {
  const gguf_description granite = describe();
  EXPECT_EQ(granite.spec.layers[0].mixers[0].heads, 4);
  EXPECT_FALSE(granite.residual_scale.has_value());
  reals_["residual_scale"] = 0.25F;
  reals_["logit_scale"] = 8.0F;
  EXPECT_EQ(describe().residual_scale, 0.25F);
  EXPECT_EQ(describe().logit_scale, 0.125F);
  be_falcon();
  EXPECT_EQ(describe().spec.layers[0].mixers.size(), 2U);
}

TEST_F(metadata_of_hybrid, names_experts_as_what_is_not_supported) {
  set("expert_count", 8);
  expect_complaint("granitehybrid.expert_count", "without experts");
}

TEST_F(metadata_of_hybrid, needs_as_many_head_counts_as_layers) {
  kv_heads_ = {0, 1, 1};
  expect_complaint("granitehybrid.attention.head_count_kv", "has 3 numbers for 2 layers");
  kv_heads_ = {0, -1};
  expect_complaint("granitehybrid.attention.head_count_kv", "negative");
  kv_heads_.clear();
  expect_complaint("granitehybrid.attention.head_count_kv", "missing");
  set("attention.head_count_kv", 1);
  expect_complaint("granitehybrid.attention.head_count_kv", "");
}

TEST_F(metadata_of_hybrid, needs_heads) {
  set("attention.head_count", 0);
  expect_complaint("granitehybrid.attention.head_count", "must be positive");
  set("attention.head_count", 2);
  set("ssm.time_step_rank", 0);
  expect_complaint("granitehybrid.ssm.time_step_rank", "must be positive");
  be_falcon();
  set("ssm.time_step_rank", 4);
  set("attention.head_count_kv", 0);
  expect_complaint("falcon-h1.attention.head_count_kv", "must be positive");
}

TEST_F(metadata_of_hybrid, needs_sizes_that_divide) {
  kv_heads_ = {0, 3};
  expect_complaint("granitehybrid.attention.head_count_kv", "must divide");
  kv_heads_ = {0, 1};
  set("attention.head_count", 3);
  expect_complaint("granitehybrid.attention.head_count", "must divide");
  set("attention.head_count", 2);
  set("ssm.group_count", 3);
  expect_complaint("granitehybrid.ssm.group_count", "must divide");
  set("ssm.group_count", 1);
  set("ssm.time_step_rank", 3);
  expect_complaint("granitehybrid.ssm.time_step_rank", "must divide");
}

// Each of these would end the program inside llama.cpp.
TEST_F(metadata_of_hybrid, is_refused_where_llama_cpp_would_stop_the_program) {
  set("ssm.inner_size", 16);
  expect_complaint("granitehybrid.ssm.inner_size", "twice granitehybrid.embedding_length");
  set("ssm.inner_size", 8);
  set("attention.value_length", 4);
  expect_complaint("granitehybrid.attention.value_length", "keys have 2 channels");
  numbers_.erase("attention.value_length");
  with_bias_ = 0;
  expect_complaint("blk.0.ssm_conv1d.bias", "");
}

TEST_F(metadata_of_hybrid, needs_factors_that_are_positive_numbers) {
  for (const float value : {-1.0F, std::numeric_limits<float>::infinity(), NAN}) {
    for (const char* key : {"residual_scale", "embedding_scale", "attention.scale", "rope.freq_base"}) {
      reals_[key] = value;
      expect_complaint(std::string("granitehybrid.") + key, "must be a positive number");
      reals_.erase(key);
    }
  }
  reals_["residual_scale"] = 0.0F;
  EXPECT_FALSE(describe().residual_scale.has_value());
}

TEST_F(metadata_of_hybrid, is_of_a_known_architecture) {
  architecture_ = "jamba";
  expect_complaint("general.architecture", "'jamba' is not a hybrid");
}

}  // namespace
}  // namespace iclmech
