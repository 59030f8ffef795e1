// The bundled tiny models, end to end: the engine gives PyTorch's logits and predictions on them, and the
// methods find what the models do. Expectations were measured; each is stated with a margin. What a tiny
// model does not show is not asserted (docs/bundled_models.md says what).

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "iclmech/induction.hpp"
#include "iclmech/io/json_file.hpp"
#include "iclmech/io/safetensors.hpp"
#include "iclmech/method/ablate_heads.hpp"
#include "iclmech/method/head_patterns.hpp"
#include "iclmech/method/steer.hpp"
#include "iclmech/overlap.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

const std::string golden_root = ICLMECH_TEST_DATA "/bundled/";

class bundled : public ::testing::TestWithParam<std::string> {
 protected:
  bundled()
      : host_(test::file_host(std::string(ICLMECH_SOURCE_DIR "/examples/models/") + GetParam())),
        expected_(read_json_file(golden_root + GetParam() + ".json")) {}

  std::vector<labelled_prompt> prompts(const std::string& task, const std::string& shots) const {
    const nlohmann::json& set = expected_["tasks"][task][shots];
    std::vector<labelled_prompt> all;
    for (std::size_t p = 0; p < set["prompts"].size(); ++p) {
      const auto& labels = set["label_sets"][set["label_sets"].size() == 1 ? 0 : p];
      all.push_back({set["prompts"][p].get<token_sequence>(), labels.get<std::vector<token_id>>(),
                     set["answers"][p].get<token_id>()});
    }
    return all;
  }

  std::vector<token_id> predictions(const std::vector<labelled_prompt>& prompts) {
    std::vector<token_sequence> ids;
    for (const labelled_prompt& p : prompts) ids.push_back(p.ids);
    no_hooks none;
    const row_matrix logits = host_.run(ids, none);
    std::vector<token_id> tokens;
    for (index p = 0; p < logits.rows(); ++p) tokens.push_back(reduce::argmax_of(logits.middleRows(p, 1)));
    return tokens;
  }

  any_host host_;
  nlohmann::json expected_;
};

// float16 weights, float32 arithmetic on both sides: 2e-4 of the largest logit leaves room for another order
// of sums.
TEST_P(bundled, logits_equal_pytorch) {
  const tensor_file golden = read_safetensors(golden_root + GetParam() + ".safetensors");
  std::size_t compared = 0;
  for (const tensor_entry& entry : golden.entries()) {
    if (!entry.name.starts_with("logits")) continue;
    const std::string suffix = entry.name.substr(6);
    const auto ids = golden.read_integers(golden.require("input_ids" + suffix));
    const std::vector<token_sequence> prompt{token_sequence(ids.begin(), ids.end())};
    const row_matrix wanted = golden.read_matrix(entry);
    no_hooks none;
    const row_matrix logits = host_.run(prompt, none, logit_rows::all).bottomRows(wanted.rows());
    EXPECT_LE((logits - wanted).cwiseAbs().maxCoeff(), 2e-4F * wanted.cwiseAbs().maxCoeff()) << entry.name;
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

TEST_P(bundled, predictions_equal_pytorch_and_the_tasks_are_solved) {
  for (const auto& [task, sets] : expected_["tasks"].items()) {
    const auto shown = prompts(task, "8_shot");
    const auto predicted = predictions(shown);
    EXPECT_EQ(predicted, sets["8_shot"]["predictions"].get<std::vector<token_id>>()) << task;
    EXPECT_NEAR(summarize(shown, predicted).accuracy, sets["8_shot"]["accuracy"].get<double>(), 1e-12)
        << task;
    EXPECT_EQ(predictions(prompts(task, "0_shot")),
              sets["0_shot"]["predictions"].get<std::vector<token_id>>())
        << task;
  }
}

// Heads back each other up in models this small: a single top head costs most of them nothing, and mamba
// keeps .96 without its top quarter. The top half by TR is enough everywhere; measured .0 to .4 on the
// shipped files.
TEST_P(bundled, without_the_top_half_of_tr_heads_the_task_fails) {
  const auto shown = prompts("2 labels", "8_shot");
  const head_scores scores =
      score_heads(host_, std::span<const labelled_prompt>(shown), {.components = false});
  std::vector<double> tr;
  for (const write_scores& s : scores.heads.values()) tr.push_back(s.tr);
  head_selection top{"tr", {}};
  for (const index i : top_fraction(tr, 0.5))
    top.heads.push_back(scores.heads.ids()[static_cast<std::size_t>(i)]);
  const auto outcomes = ablate_heads(host_, std::span<const labelled_prompt>(shown), std::span(&top, 1), {},
                                     [](std::size_t) {});
  EXPECT_GE(outcomes[0].summary.accuracy, 0.97);
  EXPECT_LE(outcomes[1].summary.accuracy, 0.6) << "TR ratio " << outcomes[1].summary.tr_ratio;
}

// Without a quarter of the heads, chosen by TR, answers leave the label set; without matched random ones they
// do not. Measured TR ratios, chosen and random: llama .28 and .82, mamba2 .33 and 1, zamba2 .15 and .95. In
// mamba and hymba the rest of the heads makes up for it (.97 and .78), so there it is not asserted.
TEST_P(bundled, tr_heads_hold_the_answers_in_the_label_set) {
  if (GetParam() == "mamba" || GetParam() == "hymba") GTEST_SKIP() << "other heads make up for them";
  const auto shown = prompts("2 labels", "8_shot");
  const head_scores scores =
      score_heads(host_, std::span<const labelled_prompt>(shown), {.components = false});
  std::vector<double> tr;
  for (const write_scores& s : scores.heads.values()) tr.push_back(s.tr);
  std::vector<head_selection> sets{{"tr", {}}, {"random", {}}};
  for (const index i : top_fraction(tr, 0.25))
    sets[0].heads.push_back(scores.heads.ids()[static_cast<std::size_t>(i)]);
  sets[1].heads = matched_random_heads(host_.spec(), sets[0].heads, 0);
  const auto outcomes =
      ablate_heads(host_, std::span<const labelled_prompt>(shown), sets, {}, [](std::size_t) {});
  EXPECT_LE(outcomes[1].summary.tr_ratio, 0.6);
  EXPECT_GE(outcomes[2].summary.tr_ratio, outcomes[1].summary.tr_ratio + 0.2);
}

// From the last position, the induction heads of a model look at the labels of demonstrations of the query's
// own category, and not at those of the other one. Measured on the best head, weight on right and wrong
// labels: llama .97 and .00, hymba .99 and .00, and as effective attention of a state, which has no scale:
// mamba .55 and -.05, mamba2 15.7 and -1.9, zamba2 12.3 and -.6.
TEST_P(bundled, induction_heads_are_found) {
  const auto shown = prompts("2 labels", "8_shot");
  head_map<double> right(host_.spec()), wrong(host_.spec());
  for (std::size_t p = 0; p < 8; ++p) {
    std::vector<index> same, other;
    for (const index label : continuation_positions(shown[p].ids, 1))
      (shown[p].ids[static_cast<std::size_t>(label)] == shown[p].answer ? same : other)
          .push_back(label + host_.spec().prefix_rows);
    for_each_head_pattern(host_, shown[p].ids, [&](head_id id, const row_matrix& pattern) {
      right[id] += attention_on(pattern.bottomRows(1).row(0), same) / 8;
      wrong[id] += attention_on(pattern.bottomRows(1).row(0), other) / 8;
    });
  }
  head_id best = right.ids()[0];
  for (const head_id id : right.ids())
    if (right[id] - wrong[id] > right[best] - wrong[best]) best = id;
  EXPECT_GE(right[best], 0.4) << host_.spec().label(best);
  EXPECT_LE(std::abs(wrong[best]), 0.25 * right[best]) << host_.spec().label(best);
}

// Adding the mean outputs of all heads to a prompt without demonstrations makes the task known. Measured,
// from zero-shot to steered: llama .42 to 1, mamba .19 to .75, mamba2 .38 to .97, zamba2 .38 to 1.
TEST_P(bundled, mean_head_outputs_lift_prompts_without_demonstrations) {
  const auto shown = prompts("category", "8_shot"), bare = prompts("category", "0_shot");
  std::vector<answered_prompt> clean;
  for (const labelled_prompt& p : shown) clean.push_back({p.ids, p.answer});
  const head_means means = mean_head_outputs(host_, std::span<const answered_prompt>(clean));
  const std::vector<head_id> heads = host_.spec().heads();
  vector v = vector::Zero(host_.spec().d_model);
  std::vector<head_id> linear;
  for (const head_id h : heads)
    if (host_.spec().mixer(h.layer, h.mixer).write != write_path::measured) linear.push_back(h);
  if (!linear.empty()) v = function_vector(host_, means, linear);
  const auto outcomes = steer(host_, std::span<const labelled_prompt>(bare), v,
                              std::span<const head_id>(heads), means.outputs, {}, [](std::size_t) {});
  double best = 0.0;
  for (std::size_t o = 1; o < outcomes.size(); ++o) best = std::max(best, outcomes[o].summary.accuracy);
  EXPECT_GE(best, outcomes[0].summary.accuracy + 0.4) << "zero-shot " << outcomes[0].summary.accuracy;
}

INSTANTIATE_TEST_SUITE_P(models, bundled, ::testing::Values("llama", "mamba", "mamba2", "zamba2", "hymba"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace iclmech
