// The engine against PyTorch on tiny checkpoints of every architecture: logits, every recorded activation,
// ablations, token-by-token decoding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "iclmech/hook/recorder.hpp"
#include "iclmech/sweep.hpp"
#include "support/golden_tensors.hpp"

namespace iclmech {
namespace {

using test::golden_tensors;

class golden : public ::testing::TestWithParam<std::string> {
 protected:
  golden() : host_(test::golden_host(GetParam())), tensors_(GetParam()) { prompt_.push_back(tensors_.ids()); }

  any_host host_;
  golden_tensors tensors_;
  std::vector<token_sequence> prompt_;
};

/// Our place for a recorded tensor's name ("head_z.3"), or nothing for tensors that are checked elsewhere.
std::optional<hook_place> place_of(const model_spec& spec, const std::string& name) {
  const auto dot = name.find('.');
  const std::string kind = name.substr(0, dot);
  if (kind == "final_normed") return hook_place{hook::final_normalized, -1};
  if (kind == "resid_final") return hook_place{hook::resid_post, spec.layer_count() - 1};
  if (dot == std::string::npos || kind.starts_with("ablate")) return std::nullopt;
  const int layer = std::stoi(name.substr(dot + 1));
  const layer_spec& parts = spec.layers[static_cast<std::size_t>(layer)];
  const mixer_kind ssm = parts.mixers.back().kind;
  const bool post_norms = spec.architecture == "gemma3";
  using enum hook;
  const std::map<std::string, hook_place> places{
      {"resid_pre", {resid_pre, layer}},
      {"pattern", {pattern, layer, mixer_kind::attention}},
      {"head_z", {z, layer, mixer_kind::attention}},
      {"attn_out", {parts.shares_block ? attn_out : mixer_out, layer}},
      {"attn_out_postnorm", {attn_out, layer}},
      {"mlp_out_postnorm", {mlp_out, layer}},
      {"shared_out", {shared_out, layer}},
      {"dt", {dt, layer, ssm}},
      {"B", {B, layer, ssm}},
      {"C", {C, layer, ssm}},
      {"ssm_state_last", {ssm_state, layer, ssm}},
      {"ssm_y", {recurrence_out, layer, ssm}},
      {"ssm_gated", {z, layer, ssm}},
      {"ssm_out", {mixer_out, layer}},
      {"merged", {merged, layer}},
      {"mixer_out", {mixer_out, layer}}};
  // Gemma's MLP output before its post norm has no hook: what the stream gets is behind it.
  if (kind == "mlp_out") return post_norms ? std::nullopt : std::optional(hook_place{mlp_out, layer});
  const auto found = places.find(kind);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

TEST_P(golden, logits_and_every_recorded_activation) {
  std::vector<hook_place> places;
  std::map<std::string, std::string> tensor_of;  // by hook name
  std::size_t left_out = 0;
  for (const tensor_entry& entry : tensors_.file().entries()) {
    if (const auto place = place_of(host_.spec(), entry.name)) {
      places.push_back(*place);
      tensor_of[hook_name(*place)] = entry.name;
    } else if (!entry.name.starts_with("ablate") && entry.name != "logits" && entry.name != "input_ids") {
      ++left_out;
    }
  }
  EXPECT_EQ(left_out, GetParam() == "gemma3_text" ? 6U : 0U) << "tensors without a hook point";
  activation_recorder recorder(places);
  const row_matrix logits = host_.run(prompt_, recorder, logit_rows::all);
  tensors_.expect("logits", logits.data(), logits.size());
  const auto recorded = recorder.take();
  EXPECT_EQ(recorded.size(), tensor_of.size()) << "a hook did not fire";
  for (const auto& [name, value] : recorded)
    tensors_.expect(tensor_of[name], value.values.data(), static_cast<index>(value.values.size()));
}

TEST_P(golden, the_last_row_of_a_batch_without_hooks) {
  std::vector<token_sequence> batch{prompt_[0], {1, 2, 3}, prompt_[0]};
  no_hooks none;
  const row_matrix logits = host_.run(batch, none);
  const row_matrix all = tensors_["logits"];
  const float limit = test::golden_tolerance * std::max(1.0F, all.cwiseAbs().maxCoeff());
  for (const index p : {0, 2}) EXPECT_LE((logits.row(p) - all.bottomRows(1)).cwiseAbs().maxCoeff(), limit);
}

TEST_P(golden, weights_kept_as_the_file_has_them) {
  any_host packed = test::golden_host(GetParam(), true);
  no_hooks none;
  const row_matrix logits = packed.run(prompt_, none, logit_rows::all);
  tensors_.expect("logits", logits.data(), logits.size());
}

TEST_P(golden, decoding_token_by_token) {
  const row_matrix logits = test::golden_decoded(GetParam(), prompt_[0], 5);
  const row_matrix all = tensors_["logits"];
  // The first five tokens come together: their last row, then one row for each token.
  const row_matrix expected = all.bottomRows(all.rows() - 4);
  const float limit = test::golden_tolerance * std::max(1.0F, all.cwiseAbs().maxCoeff());
  ASSERT_EQ(logits.rows(), expected.rows());
  EXPECT_LE((logits - expected).cwiseAbs().maxCoeff(), limit);
}

/// Zeroes one head of the merged branches (Hymba), which is no place for an intervention.
row_matrix logits_without_merged_head(any_host& host, prompt_batch prompt, int layer, int head) {
  auto hole = edit<hook::merged>(at_layer(layer), [head](const site&, activation_view view) {
    view.last_row().segment(head * view.shape(2), view.shape(2)).setZero();
  });
  return host.run(prompt, hole);
}

TEST_P(golden, ablations) {
  std::vector<std::string> names;
  std::vector<variant> variants;
  for (const tensor_entry& entry : tensors_.file().entries()) {
    if (!entry.name.starts_with("ablate")) continue;
    const std::string kind = entry.name.substr(0, entry.name.find('.'));
    int layer = 0, head = 0;
    ASSERT_EQ(std::sscanf(entry.name.c_str() + kind.size(), ".%d.%d", &layer, &head), 2);
    const layer_spec& parts = host_.spec().layers[static_cast<std::size_t>(layer)];
    if (kind == "ablate" && host_.spec().architecture == "hymba") {
      const row_matrix logits = logits_without_merged_head(host_, prompt_, layer, head);
      tensors_.expect(entry.name, logits.data(), logits.size());
      continue;
    }
    const mixer_kind mixer = kind == "ablate_ssm" ? parts.mixers.back().kind : parts.mixers.front().kind;
    names.push_back(entry.name);
    variants.push_back({0, {zero_head({layer, mixer, head})}});
  }
  ASSERT_FALSE(variants.empty());
  for (const auto& result : {sweep(host_, prompt_, variants, reduce::all_logits()),
                             sweep_by_loop(host_, prompt_, variants, reduce::all_logits())})
    for (std::size_t v = 0; v < variants.size(); ++v)
      tensors_.expect(names[v], result.variants[v].data(), result.variants[v].size());
}

INSTANTIATE_TEST_SUITE_P(models, golden, ::testing::ValuesIn(test::golden_models),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
