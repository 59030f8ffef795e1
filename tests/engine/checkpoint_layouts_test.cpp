// Checkpoints that other programs lay out differently: the state-spaces project's names.

#include <gtest/gtest.h>

#include "support/golden_tensors.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using iclmech::test::read_text;
using iclmech::test::temporary_folder;

/// A safetensors file with a tensor renamed; the names' lengths may differ by what spaces make up for.
std::string renamed(std::string bytes, const std::string& from, const std::string& to) {
  const auto at = bytes.find('"' + from + '"');
  EXPECT_NE(at, std::string::npos) << from;
  return bytes.replace(at, from.size() + 2, '"' + to + '"' + std::string(from.size() - to.size(), ' '));
}

/// The golden model's weights under the state-spaces project's names, with its config.json.
void expect_golden_logits(const std::string& model, const std::string& config) {
  const temporary_folder folder;
  folder.write("config.json", config);
  folder.write("model.safetensors", renamed(read_text(test::golden_folder(model) + "/model.safetensors"),
                                            "backbone.embeddings.weight", "backbone.embedding.weight"));
  const test::golden_tensors golden(model);
  const std::vector<token_sequence> prompt{golden.ids()};
  any_host host = test::file_host(folder.path().string());
  no_hooks none;
  const row_matrix logits = host.run(prompt, none, logit_rows::all);
  golden.expect("logits", logits.data(), logits.size());
}

TEST(state_spaces_files, mamba) {
  expect_golden_logits("mamba", R"({"d_model": 32, "n_layer": 4, "vocab_size": 125, "ssm_cfg": {"d_state": 8},
    "rms_norm": true, "residual_in_fp32": true, "fused_add_norm": true, "pad_vocab_size_multiple": 8})");
}

TEST(state_spaces_files, mamba2) {
  expect_golden_logits("mamba2", R"({"d_model": 48, "d_intermediate": 0, "n_layer": 4, "vocab_size": 120,
    "ssm_cfg": {"layer": "Mamba2", "d_state": 16, "headdim": 12}, "attn_layer_idx": [], "attn_cfg": {},
    "pad_vocab_size_multiple": 16, "tie_embeddings": true})");
}

}  // namespace
}  // namespace iclmech
