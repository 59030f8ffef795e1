// The same tiny models as GGUF files and as Hugging Face folders: logits and activations must not depend on
// the format.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "iclmech/hook/recorder.hpp"
#include "support/golden_tensors.hpp"

namespace iclmech {
namespace {

std::string gguf_path(const std::string& name) { return ICLMECH_TEST_DATA "/gguf/" + name + ".gguf"; }

struct run_result {
  row_matrix logits;
  std::map<std::string, recorded_activation> activations;
};

run_result run(any_host host, const token_sequence& ids, const std::string& hook_names) {
  const std::vector<token_sequence> prompt{ids};
  activation_recorder recorder(find_hook_places(host.spec(), hook_names));
  row_matrix logits = host.run(prompt, recorder, logit_rows::all);
  return {std::move(logits), recorder.take()};
}

class gguf_twin : public ::testing::TestWithParam<std::string> {};

TEST_P(gguf_twin, has_the_golden_logits_however_weights_are_kept) {
  const test::golden_tensors golden(GetParam());
  for (const bool packed : {false, true}) {
    any_host host = test::file_host(gguf_path(GetParam()), packed);
    const std::vector<token_sequence> prompt{golden.ids()};
    no_hooks none;
    const row_matrix logits = host.run(prompt, none, logit_rows::all);
    golden.expect("logits", logits.data(), logits.size());
  }
}

TEST_P(gguf_twin, has_the_activations_of_the_folder) {
  // Gemma's attention scale goes into its query norm (see README.md there), so its queries differ.
  const std::string names =
      GetParam() == "gemma3_text" ? "*hook_rot_k,*hook_z,*hook_mixer_out,*hook_resid_*,*mlp*" : "*";
  const test::golden_tensors golden(GetParam());
  const run_result folder = run(test::golden_host(GetParam()), golden.ids(), names);
  const run_result file = run(test::file_host(gguf_path(GetParam())), golden.ids(), names);
  ASSERT_EQ(file.activations.size(), folder.activations.size());
  for (const auto& [name, expected] : folder.activations) {
    const auto& found = file.activations.at(name);
    ASSERT_EQ(found.shape, expected.shape) << name;
    float largest = 1.0F, worst = 0.0F;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (expected.values[i] == found.values[i]) continue;  // infinities of masked scores too
      largest = std::max(largest, std::abs(expected.values[i]));
      worst = std::max(worst, std::abs(expected.values[i] - found.values[i]));
    }
    EXPECT_LE(worst, test::golden_tolerance * largest) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(models, gguf_twin,
                         ::testing::Values("llama", "qwen2", "gemma3_text", "mamba", "mamba2"),
                         [](const auto& instance) { return instance.param; });

class gguf_rounded : public ::testing::TestWithParam<std::string> {};

TEST_P(gguf_rounded, has_the_logits_that_pytorch_makes_of_its_weights) {
  const std::string name = GetParam();
  const test::golden_tensors golden(name.substr(0, name.find('-')));
  const std::vector<token_sequence> prompt{golden.ids()};
  const tensor_file file = read_safetensors(ICLMECH_TEST_DATA "/gguf/rounded_logits.safetensors");
  const row_matrix expected = file.read_matrix(file.require(name));
  const float limit = test::golden_tolerance * expected.cwiseAbs().maxCoeff();
  EXPECT_GT((golden["logits"] - expected).cwiseAbs().maxCoeff(), 10 * limit)
      << "the rounding makes no difference";
  for (const bool packed : {false, true}) {
    no_hooks none;
    const row_matrix logits = test::file_host(gguf_path(name), packed).run(prompt, none, logit_rows::all);
    EXPECT_LE((logits - expected).cwiseAbs().maxCoeff(), limit) << (packed ? "packed" : "dense");
  }
}

INSTANTIATE_TEST_SUITE_P(models, gguf_rounded, ::testing::Values("llama-f16", "llama-q8_0", "mamba-q8_0"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace iclmech
