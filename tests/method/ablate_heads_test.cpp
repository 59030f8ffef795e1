// Ablation against runs of the plain model, one for each prompt and set of heads, with the heads' outputs
// overwritten by a hook of this file's own. Replacements come from recordings.

#include "iclmech/method/ablate_heads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "iclmech/hook/recorder.hpp"
#include "support/hosts.hpp"

namespace iclmech {
namespace {

// The sweep sums in another order than runs of their own: float32 noise of probabilities.
constexpr double tolerance = 1e-5;

using replacements = std::map<head_id, vector>;

void nothing(std::size_t) {}

ablation_options options_for(ablation_kind kind, bool all_positions = false, std::uint64_t seed = 0) {
  ablation_options how;
  how.kind = kind;
  how.all_positions = all_positions;
  how.seed = seed;
  how.batch = 3;
  return how;
}

class ablation_on : public ::testing::TestWithParam<std::string> {
 protected:
  ablation_on() : host_(test::golden_host(GetParam())), heads_(host_.spec().heads()) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      // The answer is what the model says, so that its probability is large enough to be moved.
      labelled_prompt p{test::some_tokens(host_.spec(), 5 + seed, seed), {}, 0};
      p.answer = reduce::argmax_of(logits(p.ids, {}, false));
      p.labels = {p.answer, p.answer == 3 ? 4 : 3};
      prompts_.push_back(p);
      outputs_.push_back(record(p.ids));
    }
    sets_ = each_head(host_.spec());
    head_selection half{"every other head", {}};
    for (std::size_t k = 0; k < heads_.size(); k += 2) half.heads.push_back(heads_[k]);
    sets_.insert(sets_.begin(), half);
  }

  /// Every head's hook_z at the last position.
  replacements record(const token_sequence& ids) {
    activation_recorder recorder(find_hook_places(host_.spec(), "*hook_z"));
    host_.run(std::vector<token_sequence>{ids}, recorder, logit_rows::none);
    const auto seen = recorder.take();
    replacements z;
    for (const head_id h : heads_) {
      const recorded_activation& a = seen.at(hook_name({hook::z, h.layer, h.mixer}));
      const index rows = a.shape[0], heads = a.shape[1], width = a.shape[2];
      z[h] = Eigen::Map<const vector>(a.values.data() + ((rows - 1) * heads + h.head) * width, width);
    }
    return z;
  }

  /// The last logits with the outputs of some heads overwritten, at the last position or at all tokens'.
  row_vector logits(const token_sequence& ids, const replacements& by, bool all_positions) {
    auto overwrite = ::iclmech::edit<hook::z>([&](const site& s, activation_view z) {
      for (const auto& [head, value] : by) {
        if (head.layer != s.layer || head.mixer != s.mixer) continue;
        for (index r = all_positions ? -s.first_position : z.rows() - 1; r < z.rows(); ++r)
          z.row(r).segment(head.head * value.size(), value.size()) = value.transpose();
      }
    });
    return host_.run(std::vector<token_sequence>{ids}, overwrite, logit_rows::last).row(0);
  }

  static double probability(const row_vector& logits, token_id answer) {
    const Eigen::ArrayXd e = (logits.cast<double>().array() - double{logits.maxCoeff()}).exp().transpose();
    return e[answer] / e.sum();
  }

  /// Of another prompt or a mean, what a set of heads gets.
  static replacements of(const head_selection& set, const replacements& outputs) {
    replacements r;
    for (const head_id h : set.heads) r[h] = outputs.at(h);
    return r;
  }

  /// Expects ablation to give what runs with `values` written over the heads do.
  void expect_outcomes(const ablation_options& how, const replacements& values) {
    const auto outcomes =
        ablate_heads(host_, std::span<const labelled_prompt>(prompts_), sets_, how, nothing);
    ASSERT_EQ(outcomes.size(), sets_.size() + 1);
    double largest = 0.0;
    for (std::size_t o = 0; o < outcomes.size(); ++o) {
      const head_selection set = o == 0 ? head_selection{"none", {}} : sets_[o - 1];
      double expected = 0.0, right = 0.0, labels = 0.0;
      for (std::size_t p = 0; p < prompts_.size(); ++p) {
        const row_vector l = logits(prompts_[p].ids, of(set, values), how.all_positions);
        expected += probability(l, prompts_[p].answer) / 4;
        const token_id said = outcomes[o].predictions[p];
        EXPECT_NEAR(l[said], l.maxCoeff(), 1e-3F);  // ties in all but float32 noise
        right += said == prompts_[p].answer ? 0.25 : 0.0;
        labels += said == prompts_[p].labels[0] || said == prompts_[p].labels[1] ? 0.25 : 0.0;
      }
      EXPECT_EQ(outcomes[o].name, set.name);
      EXPECT_EQ(outcomes[o].heads, set.heads.size());
      EXPECT_NEAR(outcomes[o].probability, expected, tolerance) << set.name;
      EXPECT_DOUBLE_EQ(outcomes[o].summary.accuracy, right) << set.name;
      EXPECT_DOUBLE_EQ(outcomes[o].summary.tr_ratio, labels) << set.name;
      largest = std::max(largest, std::abs(outcomes[o].probability - outcomes[0].probability));
    }
    EXPECT_DOUBLE_EQ(outcomes[0].summary.accuracy, 1.0) << "the answers are what the model says";
    EXPECT_GT(largest, 0.01) << "the heads matter";
  }

  any_host host_;
  std::vector<head_id> heads_;
  std::vector<labelled_prompt> prompts_;
  std::vector<replacements> outputs_;  ///< by prompt
  std::vector<head_selection> sets_;   ///< every other head together, then each alone
};

TEST_P(ablation_on, zero) {
  replacements zeros = outputs_[0];
  for (auto& [head, z] : zeros) z.setZero();
  for (const bool all : {false, true}) expect_outcomes(options_for(ablation_kind::zero, all), zeros);
}

TEST_P(ablation_on, mean) {
  replacements means;
  for (const head_id h : heads_)
    means[h] = (outputs_[0][h] + outputs_[1][h] + outputs_[2][h] + outputs_[3][h]) / 4.0F;
  for (const bool all : {false, true}) expect_outcomes(options_for(ablation_kind::mean, all), means);
}

// The output of the head on some other prompt: which one is found by trying them all.
TEST_P(ablation_on, resample_takes_one_other_prompt_for_all_heads) {
  const std::span<const labelled_prompt> prompts(prompts_);
  const head_outputs outputs = head_outputs_of(host_, prompts, 4);
  for (const bool all : {false, true}) {
    const ablation_options how = options_for(ablation_kind::resample, all, 11);
    std::vector<double> sums(sets_.size() + 1, 0.0);
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      const auto outcomes = ablate_heads(host_, prompts, p, 1, sets_, how, outputs, nothing);
      for (std::size_t o = 0; o < sums.size(); ++o) sums[o] += outcomes[o].probability / 4;
      const auto donors = [&](std::size_t set) {
        std::set<std::size_t> fitting;
        for (std::size_t q = 0; q < prompts_.size(); ++q) {
          const double expected =
              probability(logits(prompts_[p].ids, of(sets_[set], outputs_[q]), all), prompts_[p].answer);
          // Relative, because these probabilities may be small; logits of up to 20 carry float32 noise.
          if (std::abs(expected - outcomes[set + 1].probability) <= 1e-3 * expected) fitting.insert(q);
        }
        return fitting;
      };
      const std::set<std::size_t> together = donors(0);
      ASSERT_EQ(together.size(), 1U) << "prompt " << p;
      EXPECT_NE(*together.begin(), p);
      for (std::size_t s = 1; s < sets_.size(); ++s)
        EXPECT_TRUE(donors(s).contains(*together.begin())) << "prompt " << p << ", " << sets_[s].name;
    }
    // All prompts at once draw the same donors as each for itself.
    const auto whole = ablate_heads(host_, prompts, sets_, how, nothing);
    for (std::size_t o = 0; o < sums.size(); ++o) EXPECT_NEAR(whole[o].probability, sums[o], tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(models, ablation_on, ::testing::Values("llama", "mamba2", "hymba", "zamba2"),
                         [](const auto& instance) { return instance.param; });

// Over seeds, every other prompt is drawn, about as often as any: 120 draws of 3 are within 5 standard
// deviations (5.2 each) of 40.
TEST(resample_ablation, draws_every_other_prompt) {
  any_host host = test::golden_host("llama");
  std::vector<labelled_prompt> prompts;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    prompts.push_back({test::some_tokens(host.spec(), 6, seed), {3, 7}, 7});
  // Outputs that tell whose they are: of prompt q, a head's is q everywhere.
  head_outputs outputs(host.spec());
  for (const head_id h : host.spec().heads())
    for (int q = 0; q < 4; ++q)
      outputs[h].push_back(
          vector::Constant(host.spec().mixer(h.layer, h.mixer).d_head, static_cast<float>(q)));
  const std::vector<head_selection> all{{"all", host.spec().heads()}};
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    std::map<double, int> drawn;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
      const ablation_options how = options_for(ablation_kind::resample, false, seed);
      ++drawn[ablate_heads(host, std::span<const labelled_prompt>(prompts), p, 1, all, how, outputs,
                           nothing)[1]
                  .probability];
    }
    EXPECT_EQ(drawn.size(), 3U) << "prompt " << p;
    for (const auto& [probability, times] : drawn) EXPECT_NEAR(times, 40, 26) << "prompt " << p;
  }
}

TEST(resample_ablation, needs_another_prompt) {
  any_host host = test::golden_host("llama");
  const std::vector<labelled_prompt> one{{{1, 2, 3}, {3, 7}, 7}};
  const auto all = each_head(host.spec());
  const auto run = [&](std::vector<head_selection> sets, ablation_kind kind) -> std::string {
    try {
      ablate_heads(host, std::span<const labelled_prompt>(one), sets, options_for(kind), nothing);
    } catch (const argument_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(run(all, ablation_kind::resample), "resample ablation needs at least two prompts to draw from");
  EXPECT_EQ(run(all, ablation_kind::mean), "no error");
  EXPECT_THAT(run({{"absent", {{0, mixer_kind::attention, 4}}}}, ablation_kind::zero),
              ::testing::HasSubstr("heads 0 to 3"));
}

}  // namespace
}  // namespace iclmech
