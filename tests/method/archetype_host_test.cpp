// The methods on hosts that have what the concept asks for and nothing more: no forks, no final norm, few
// hook points. A model of two channels is worked out by hand; models of random numbers, with layers of the
// same and of different shapes, are recomputed as products of matrices in double.

#include "support/archetype_host.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <map>

#include "iclmech/method/ablate_heads.hpp"
#include "iclmech/method/steer.hpp"

namespace iclmech {
namespace {

static_assert(!forkable_host<test::archetype_host> && !host_with_final_norm<test::archetype_host>,
              "methods must do with the least a host can be");

void nothing(std::size_t) {}

// Two heads that read one channel each and write twice as much into it; three tokens, embedded and
// unembedded as (1, 0), (0, 1) and (1, 1).
class two_channels : public ::testing::Test {
 protected:
  two_channels() : host_(1, 2, 1, 2, 3) {
    host_.embedding.resize(3, 2);
    host_.embedding << 1, 0, 0, 1, 1, 1;
    host_.unembedding_rows = host_.embedding;
    host_.read[0] = row_matrix::Identity(2, 2);
    host_.write[0] = 2.0F * row_matrix::Identity(2, 2);
  }

  /// P(token 1) of the logits (a, b, c).
  static double probability(double a, double b, double c) {
    return std::exp(b) / (std::exp(a) + std::exp(b) + std::exp(c));
  }

  test::archetype_host host_;
  // The heads read the mean (1/2, 1/2) and write (1, 0) and (0, 1): stream (0, 1) + (1, 1), logits 1, 2, 3.
  const std::vector<labelled_prompt> prompt_{{{0, 1}, {0, 1}, 1}};
  const head_id first_{0, mixer_kind::attention, 0}, second_{0, mixer_kind::attention, 1};
};

constexpr double rounding = 1e-6;  // of float32 numbers of order one

TEST_F(two_channels, predict) {
  const auto given = predict(host_, std::span<const labelled_prompt>(prompt_), 1, nothing);
  EXPECT_EQ(given.predictions, std::vector<token_id>{2});
  EXPECT_NEAR(given.probabilities[0], probability(1, 2, 3), rounding);
  EXPECT_EQ(given.summary.accuracy, 0.0);
  EXPECT_EQ(given.summary.tr_ratio, 0.0);
}

TEST_F(two_channels, score_heads) {
  const head_scores scores = score_heads(host_, std::span<const labelled_prompt>(prompt_));
  const auto expect = [](const write_scores& s, double tr, double tl, double sum, double answer) {
    EXPECT_NEAR(s.tr, tr, rounding);
    EXPECT_NEAR(s.tl, tl, rounding);
    EXPECT_NEAR(s.dla_sum, sum, rounding);
    EXPECT_NEAR(s.dla_answer, answer, rounding);
  };
  expect(scores.heads[first_], 1, -1, 1, 0);
  expect(scores.heads[second_], 1, 1, 1, 1);
  ASSERT_EQ(scores.components.size(), 2U);
  EXPECT_EQ(scores.components[0].name, "embed");
  expect(scores.components[0].scores, 1, 1, 1, 1);
  EXPECT_EQ(scores.components[1].name, "L0.mixer");
  expect(scores.components[1].scores, std::sqrt(2.0), 0, 2, 1);
}

TEST_F(two_channels, ablate_heads) {
  const auto sets = each_head(host_.spec());
  const auto outcomes = ablate_heads(host_, std::span<const labelled_prompt>(prompt_), sets, {}, nothing);
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_NEAR(outcomes[0].probability, probability(1, 2, 3), rounding);
  EXPECT_NEAR(outcomes[1].probability, probability(0, 2, 2), rounding);
  EXPECT_NEAR(outcomes[2].probability, probability(1, 1, 2), rounding);
  EXPECT_EQ(outcomes[1].predictions, std::vector<token_id>{1}) << "of equal logits the first";
  EXPECT_EQ(outcomes[1].summary.accuracy, 1.0);
}

TEST_F(two_channels, function_vectors) {
  // Outputs (0, 1) and (1/3, 2/3), mean (1/6, 5/6).
  const std::vector<answered_prompt> clean{{{1, 1}, 1}, {{0, 1, 1}, 1}}, corrupted{{{0, 1}, 1}};
  const head_means means = mean_head_outputs(host_, clean);
  EXPECT_NEAR(means.outputs[first_][0], 1.0 / 6, rounding);
  EXPECT_NEAR(means.outputs[second_][0], 5.0 / 6, rounding);
  EXPECT_EQ(means.scaled[first_], means.outputs[first_]);

  // Streams with one output replaced: (1/3, 2) and (1, 8/3).
  const auto effects = measure_indirect_effects(host_, means.outputs, corrupted, {}, 1, nothing);
  const double plain = probability(1, 2, 3);
  EXPECT_NEAR(effects.baseline[0], plain, rounding);
  EXPECT_NEAR(effects.effects.mean()[0], probability(1.0 / 3, 2, 7.0 / 3) - plain, rounding);
  EXPECT_NEAR(effects.effects.mean()[1], probability(1, 8.0 / 3, 11.0 / 3) - plain, rounding);

  const vector v = function_vector(host_, means, std::span(&second_, 1));
  EXPECT_NEAR(v[0], 0, rounding);
  EXPECT_NEAR(v[1], 5.0 / 3, rounding);

  // Token 2 alone: (1, 1) and three times that behind the layer. With v at its input: (3, 8).
  const std::vector<labelled_prompt> zero_shot{{{2}, {0, 1}, 1}};
  const auto steered = steer(host_, std::span<const labelled_prompt>(zero_shot), v, std::span(&second_, 1),
                             means.outputs, {}, nothing);
  ASSERT_EQ(steered.size(), 3U);
  EXPECT_NEAR(steered[0].probability, probability(3, 3, 6), rounding);
  EXPECT_EQ(steered[1].name, "stream");
  EXPECT_NEAR(steered[1].probability, probability(3, 8, 11), rounding);
  EXPECT_EQ(steered[2].name, "heads");
  EXPECT_NEAR(steered[2].probability, probability(3, 3 + 5.0 / 3, 6 + 5.0 / 3), rounding);
}

using double_matrix = Eigen::MatrixXd;

/// Head outputs to overwrite (`by`) and a vector to add to the stream that enters a layer; at the last
/// position, or outputs at all of them.
struct changes {
  std::map<head_id, Eigen::VectorXd> by;
  bool all_positions = false;
  int layer = -1;
  Eigen::VectorXd added;
};

struct recomputed {
  std::vector<double_matrix> z;    ///< by layer, [positions x heads*d_head]
  std::vector<double_matrix> out;  ///< by layer, [positions x d_model]
  Eigen::VectorXd logits;          ///< of the last position
};

/// The model as products of matrices: with M the averages over what came before, z = M S V^T and
/// S' = S + z W^T.
recomputed recompute(const test::archetype_host& host, const token_sequence& ids,
                     const changes& change = {}) {
  const auto count = static_cast<index>(ids.size());
  double_matrix mean = double_matrix::Zero(count, count), stream(count, host.spec().d_model);
  for (index p = 0; p < count; ++p) {
    mean.row(p).head(p + 1).setConstant(1.0 / static_cast<double>(p + 1));
    stream.row(p) = host.embedding.row(ids[static_cast<std::size_t>(p)]).cast<double>();
  }
  recomputed r;
  for (std::size_t l = 0; l < host.read.size(); ++l) {
    if (change.layer == static_cast<int>(l)) stream.row(count - 1) += change.added.transpose();
    double_matrix z = mean * stream * host.read[l].transpose().cast<double>();
    for (const auto& [head, value] : change.by)
      if (head.layer == static_cast<int>(l))
        for (index p = change.all_positions ? 0 : count - 1; p < count; ++p)
          z.row(p).segment(head.head * value.size(), value.size()) = value.transpose();
    r.z.push_back(z);
    r.out.push_back(z * host.write[l].transpose().cast<double>());
    stream += r.out.back();
  }
  r.logits = host.unembedding_rows.cast<double>() * stream.row(count - 1).transpose();
  return r;
}

double probability(const Eigen::VectorXd& logits, token_id token) {
  const Eigen::ArrayXd e = (logits.array() - logits.maxCoeff()).exp();
  return e[token] / e.sum();
}

struct shape_case {
  const char* name;
  std::vector<test::archetype_host::layer_shape> layers;
};

void PrintTo(const shape_case& c, std::ostream* out) { *out << c.name; }

class archetypes : public ::testing::TestWithParam<shape_case> {
 protected:
  archetypes() : host_(GetParam().layers, 8, 12), heads_(host_.spec().heads()) {
    prompts_ = {
        {{1, 7, 2, 9, 4}, {3, 5, 8}, 5}, {{6, 0, 11}, {3, 5, 8}, 8}, {{10, 2, 2, 5, 1, 3}, {0, 4}, 4}};
    for (const labelled_prompt& p : prompts_) answered_.push_back({p.ids, p.answer});
    for (std::size_t k = 0; k < heads_.size(); k += 2) set_.heads.push_back(heads_[k]);
  }

  Eigen::VectorXd output(const token_sequence& ids, head_id h) const {
    const double_matrix z = recompute(host_, ids).z[static_cast<std::size_t>(h.layer)];
    const int width = host_.spec().mixer(h.layer, h.mixer).d_head;
    return z.bottomRows(1).middleCols(h.head * width, width).transpose();
  }
  Eigen::VectorXd mean_output(head_id h) const {
    return (output(prompts_[0].ids, h) + output(prompts_[1].ids, h) + output(prompts_[2].ids, h)) / 3;
  }
  /// W_O^h z.
  Eigen::VectorXd write(head_id h, const Eigen::VectorXd& z) const {
    return host_.write[static_cast<std::size_t>(h.layer)]
               .middleCols(h.head * z.size(), z.size())
               .cast<double>() *
           z;
  }

  test::archetype_host host_;
  std::vector<head_id> heads_;
  std::vector<labelled_prompt> prompts_;
  std::vector<answered_prompt> answered_;
  head_selection set_{"every other head", {}};
};

constexpr double tolerance = 1e-5;  // float32 against double

TEST_P(archetypes, predict) {
  const auto given = predict(host_, std::span<const labelled_prompt>(prompts_), 2, nothing);
  for (std::size_t p = 0; p < 3; ++p) {
    const Eigen::VectorXd logits = recompute(host_, prompts_[p].ids).logits;
    index best = 0;
    logits.maxCoeff(&best);
    EXPECT_EQ(given.predictions[p], best);
    EXPECT_NEAR(given.probabilities[p], probability(logits, prompts_[p].answer), tolerance);
  }
}

TEST_P(archetypes, score_heads) {
  const head_scores scores = score_heads(host_, std::span<const labelled_prompt>(prompts_), {.batch = 2});
  const auto expect = [this](const write_scores& found, const auto& write_on, const std::string& name) {
    write_scores e;
    for (const labelled_prompt& p : prompts_) {
      const double_matrix w = host_.unembedding(p.labels).cast<double>();
      const Eigen::VectorXd a = write_on(p.ids), c = w * a;
      const double tr = std::sqrt(c.dot((w * w.transpose()).inverse() * c));
      const index answer = std::find(p.labels.begin(), p.labels.end(), p.answer) - p.labels.begin();
      const double others = (c.sum() - c[answer]) / static_cast<double>(c.size() - 1);
      e.tr += tr / 3;
      e.tl += (c[answer] - others) / tr / 3;
      e.dla_sum += c.sum() / 3;
      e.dla_answer += c[answer] / 3;
    }
    EXPECT_NEAR(found.tr, e.tr, tolerance) << name;
    EXPECT_NEAR(found.tl, e.tl, 1e-3) << name;  // a quotient, of which both parts may be small
    EXPECT_NEAR(found.dla_sum, e.dla_sum, tolerance) << name;
    EXPECT_NEAR(found.dla_answer, e.dla_answer, tolerance) << name;
  };
  for (const head_id h : heads_)
    expect(
        scores.heads[h], [&](const token_sequence& ids) { return write(h, output(ids, h)); },
        host_.spec().label(h));
  ASSERT_EQ(scores.components.size(), host_.read.size() + 1);
  expect(
      scores.components[0].scores,
      [&](const token_sequence& ids) -> Eigen::VectorXd {
        return host_.embedding.row(ids.back()).transpose().cast<double>();
      },
      "embed");
  for (std::size_t l = 0; l < host_.read.size(); ++l)
    expect(
        scores.components[l + 1].scores,
        [&](const token_sequence& ids) -> Eigen::VectorXd {
          return recompute(host_, ids).out[l].bottomRows(1).transpose();
        },
        scores.components[l + 1].name);
}

TEST_P(archetypes, ablate_heads) {
  for (const bool all : {false, true})
    for (const ablation_kind kind : {ablation_kind::zero, ablation_kind::mean}) {
      changes change;
      change.all_positions = all;
      for (const head_id h : set_.heads)
        change.by[h] = kind == ablation_kind::zero ? 0.0 * mean_output(h) : mean_output(h);
      double plain = 0.0, expected = 0.0, moved = 0.0;
      for (const labelled_prompt& p : prompts_) {
        const double before = probability(recompute(host_, p.ids).logits, p.answer);
        const double after = probability(recompute(host_, p.ids, change).logits, p.answer);
        plain += before / 3;
        expected += after / 3;
        moved = std::max(moved, std::abs(after - before));
      }
      ablation_options how;
      how.kind = kind;
      how.all_positions = all;
      how.batch = 2;
      const auto outcomes =
          ablate_heads(host_, std::span<const labelled_prompt>(prompts_), std::span(&set_, 1), how, nothing);
      EXPECT_NEAR(outcomes[0].probability, plain, tolerance);
      EXPECT_NEAR(outcomes[1].probability, expected, tolerance);
      EXPECT_GT(moved, 100 * tolerance) << "the heads matter";
    }
}

TEST_P(archetypes, indirect_effects) {
  const head_means means = mean_head_outputs(host_, answered_, 2);
  const auto effects = measure_indirect_effects(host_, means.outputs, answered_, {}, 2, nothing);
  EXPECT_EQ(effects.heads, heads_);
  for (std::size_t k = 0; k < heads_.size(); ++k) {
    const Eigen::VectorXd mean = mean_output(heads_[k]);
    EXPECT_LE((means.outputs[heads_[k]].cast<double>() - mean).norm(), tolerance);
    double aie = 0.0;
    for (std::size_t p = 0; p < 3; ++p) {
      const double plain = probability(recompute(host_, answered_[p].ids).logits, answered_[p].answer);
      changes change;
      change.by[heads_[k]] = mean;
      aie +=
          (probability(recompute(host_, answered_[p].ids, change).logits, answered_[p].answer) - plain) / 3;
      EXPECT_NEAR(effects.baseline[p], plain, tolerance);
    }
    EXPECT_NEAR(effects.effects.mean()[static_cast<index>(k)], aie, tolerance)
        << host_.spec().label(heads_[k]);
  }
}

TEST_P(archetypes, function_vectors_and_steering) {
  const head_means means = mean_head_outputs(host_, answered_);
  const vector v = function_vector(host_, means, set_.heads);
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(8);
  for (const head_id h : set_.heads) expected += write(h, mean_output(h));
  EXPECT_LE((v.cast<double>() - expected).norm(), tolerance);

  steering_options how;
  how.strengths = {0.5F, 2.0F};
  how.batch = 2;
  const auto outcomes =
      steer(host_, std::span<const labelled_prompt>(prompts_), v, set_.heads, means.outputs, how, nothing);
  const auto mean_probability = [&](const auto& change_on) {
    double mean = 0.0;
    for (const labelled_prompt& p : prompts_)
      mean += probability(recompute(host_, p.ids, change_on(p.ids)).logits, p.answer) / 3;
    return mean;
  };
  std::size_t next = 0;
  const double plain = mean_probability([](const token_sequence&) { return changes{}; });
  EXPECT_NEAR(outcomes.at(next++).probability, plain, tolerance);
  for (const double strength : {0.5, 2.0}) {
    for (int layer = 0; layer < host_.spec().layer_count(); ++layer) {
      const steering_outcome& found = outcomes.at(next++);
      EXPECT_EQ(found.layer, layer);
      EXPECT_NEAR(found.probability, mean_probability([&](const token_sequence&) {
                    return changes{{}, false, layer, strength * expected};
                  }),
                  tolerance);
    }
    // Raised outputs: those of a layer depend on the layers before, so heads are raised one layer at a time.
    const steering_outcome& found = outcomes.at(next++);
    EXPECT_EQ(found.name, "heads");
    EXPECT_NEAR(found.probability, mean_probability([&](const token_sequence& ids) {
                  changes change;
                  for (const head_id h : set_.heads) {
                    const int width = host_.spec().mixer(h.layer, h.mixer).d_head;
                    const auto layer = static_cast<std::size_t>(h.layer);
                    changes below;
                    for (const auto& [head, value] : change.by)
                      if (head.layer < h.layer) below.by[head] = value;
                    const double_matrix z = recompute(host_, ids, below).z[layer];
                    change.by[h] = z.bottomRows(1).middleCols(h.head * width, width).transpose() +
                                   strength * mean_output(h);
                  }
                  return change;
                }),
                tolerance);
  }
  EXPECT_EQ(next, outcomes.size());
}

INSTANTIATE_TEST_SUITE_P(shapes, archetypes,
                         ::testing::Values(shape_case{"regular", {{3, 2}, {3, 2}}},
                                           shape_case{"ragged", {{1, 5}, {4, 1}, {2, 3}}}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace iclmech
