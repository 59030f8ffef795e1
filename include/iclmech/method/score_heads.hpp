#ifndef ICLMECH_METHOD_SCORE_HEADS_HPP
#define ICLMECH_METHOD_SCORE_HEADS_HPP
// Scores all heads of a model on a set of prompts: TR and TL (TSLA, arXiv 2509.24164) and their logit
// baselines.

#include <optional>
#include <string>
#include <vector>

#include "iclmech/folded_labels.hpp"
#include "iclmech/host/head_map.hpp"
#include "iclmech/label_subspace.hpp"
#include "iclmech/logit_attribution.hpp"
#include "iclmech/method/last_outputs.hpp"
#include "iclmech/method/measured_writes.hpp"
#include "iclmech/method/predict.hpp"
#include "iclmech/statistics.hpp"

namespace iclmech {

/// The scores of one write, or their means over prompts. `dla_sum` and `dla_answer` are the baselines of TR
/// and TL.
struct write_scores {
  double tr = 0.0;
  double tl = 0.0;
  double dla_sum = 0.0;
  double dla_answer = 0.0;
  double logit_difference = 0.0;
};

/// The scores of a part of the model that is not a head.
struct component_scores {
  std::string name;  ///< "embed", "L3.mixer", "L3.mlp"
  int layer = -1;
  write_scores scores;
};

struct head_scores {
  head_map<write_scores> heads;                 ///< means over the prompts
  std::vector<component_scores> components;     ///< embedding, mixers, MLPs
  std::vector<token_id> predictions;            ///< argmax over the whole vocabulary, per prompt
  std::vector<std::vector<write_scores>> each;  ///< [prompts][heads], if score_options::each asks for them
  std::vector<std::string> notes;               ///< nearly parallel labels and the like
  double accuracy = 0.0;                        ///< share of predictions that are the answer
  double tr_ratio = 0.0;                        ///< share of predictions inside the prompt's label set
};

struct score_options {
  bool components = true;
  std::size_t batch = 8;  ///< prompts run together
  bool each = false;      ///< keep the scores of every prompt, to resample them
};

/// Adds up scores prompt by prompt. Heads with a linear path cost |Y| * d_head each: their writes are never
/// formed.
template <class Host>
class head_scorer {
 public:
  explicit head_scorer(Host& h, const score_options& options = {})
      : host_(h), options_(options), mixers_(h.spec().mixer_ids()), sums_(h.spec()), prompt_(h.spec()) {
    require_host<Host>();
  }

  /// Scores a batch of prompts.
  /// @throws argument_error for prompts the model cannot take, labels that collide, an answer that is no
  /// label.
  void add(std::span<const labelled_prompt> prompts) {
    std::vector<token_sequence> ids;
    std::vector<label_subspace> labels;
    for (const labelled_prompt& p : prompts) {
      ids.push_back(p.ids);
      labels.emplace_back(host_.unembedding(p.labels), label_set(p.labels));
    }
    last_output_collector outputs(host_.spec(), ids.size(), options_.components);
    const row_matrix logits = host_.run(ids, outputs, logit_rows::last);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      predictions_.push_back(reduce::argmax_of(logits.middleRows(static_cast<index>(p), 1)));
      prompts_.push_back({{}, prompts[p].labels, prompts[p].answer});
      score(labels[p], labels[p].labels().index_of(prompts[p].answer), ids[p], outputs[p]);
      for (std::size_t h = 0; h < sums_.size(); ++h) add_to(sums_.values()[h], prompt_.values()[h]);
      if (options_.each) each_.emplace_back(prompt_.values().begin(), prompt_.values().end());
    }
  }

  head_scores result() const {
    head_scores r{sums_, components_, predictions_, each_, notes_, 0.0, 0.0};
    const double n = std::max<double>(1.0, static_cast<double>(predictions_.size()));
    const auto divide = [n](write_scores& s) {
      for (double* value : {&s.tr, &s.tl, &s.dla_sum, &s.dla_answer, &s.logit_difference}) *value /= n;
    };
    for (write_scores& s : r.heads.values()) divide(s);
    for (component_scores& c : r.components) divide(c.scores);
    const prediction_summary summary = summarize(prompts_, predictions_);
    r.accuracy = summary.accuracy;
    r.tr_ratio = summary.tr_ratio;
    return r;
  }

 private:
  void score(const label_subspace& labels, index answer, const token_sequence& prompt,
             const last_outputs& out) {
    for (std::size_t m = 0; m < mixers_.size(); ++m) {
      const mixer_spec& mixer = host_.spec().mixer(mixers_[m].layer, mixers_[m].mixer);
      const std::span<write_scores> scores = prompt_.mixer(mixers_[m]);
      if (mixer.write == write_path::measured) {
        const row_matrix writes = measured_writes(host_, prompt, mixers_[m]);
        for (index k = 0; k < writes.rows(); ++k)
          scores[static_cast<std::size_t>(k)] = scores_of_write(labels, answer, writes.row(k));
      } else {
        score_heads(scores, fold(labels, m, mixer.heads), answer, out.z[m], out.scale[m]);
      }
    }
    if (options_.components) add_components(labels, answer, out);
  }

  // Prompts of a classification task share their labels, so the fold of the last set is kept.
  const folded_labels& fold(const label_subspace& labels, std::size_t m, int heads) {
    const auto tokens = labels.labels().tokens();
    if (!std::equal(tokens.begin(), tokens.end(), folded_tokens_.begin(), folded_tokens_.end())) {
      folded_.clear();
      folded_.resize(mixers_.size());
      folded_tokens_.assign(tokens.begin(), tokens.end());
      for (const std::string& note : labels.warnings())
        if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
    }
    if (!folded_[m]) folded_[m].emplace(labels, host_.output_projection(mixers_[m]), heads);
    return *folded_[m];
  }

  void score_heads(std::span<write_scores> scores, const folded_labels& folded, index answer,
                   const row_vector& z, float scale) {
    const index heads = folded.heads(), n = folded.labels().size();
    tsla_.resize(static_cast<std::size_t>(heads));
    coordinates_.resize(static_cast<std::size_t>(heads * n));
    folded.scores(z, answer, tsla_, scale);
    folded.coordinates({z.data(), static_cast<std::size_t>(z.size())}, coordinates_, scale);
    for (index k = 0; k < heads; ++k)
      scores[static_cast<std::size_t>(k)] =
          all_scores(tsla_[static_cast<std::size_t>(k)],
                     Eigen::Map<const vector>(coordinates_.data() + k * n, n), answer);
  }

  template <class Write>
  static write_scores scores_of_write(const label_subspace& labels, index answer, const Write& write) {
    const vector w = write.transpose();
    return all_scores(labels.score(w, answer), labels.coordinates(w), answer);
  }

  template <class Coordinates>
  static write_scores all_scores(const tsla_score& score, const Coordinates& c, index answer) {
    return {score.tr, score.tl, dla_sum(c), dla_answer(c, answer), logit_difference(c, answer)};
  }

  static void add_to(write_scores& sum, const write_scores& s) {
    sum.tr += s.tr;
    sum.tl += s.tl;
    sum.dla_sum += s.dla_sum;
    sum.dla_answer += s.dla_answer;
    sum.logit_difference += s.logit_difference;
  }

  void add_components(const label_subspace& labels, index answer, const last_outputs& out) {
    std::size_t next = 0;
    const auto add = [&](const std::string& name, int layer, const row_vector& write) {
      if (write.size() == 0) return;
      if (next == components_.size()) components_.push_back({name, layer, {}});
      add_to(components_[next++].scores, scores_of_write(labels, answer, write));
    };
    add("embed", -1, out.embedding);
    for (std::size_t l = 0; l < out.mixer.size(); ++l) {
      add("L" + std::to_string(l) + ".mixer", static_cast<int>(l), out.mixer[l]);
      add("L" + std::to_string(l) + ".mlp", static_cast<int>(l), out.mlp[l]);
    }
  }

  Host& host_;
  score_options options_;
  std::vector<mixer_id> mixers_;
  head_map<write_scores> sums_, prompt_;
  std::vector<std::vector<write_scores>> each_;
  std::vector<component_scores> components_;
  std::vector<token_id> predictions_;
  std::vector<labelled_prompt> prompts_;
  std::vector<std::string> notes_;
  std::vector<token_id> folded_tokens_;
  std::vector<std::optional<folded_labels>> folded_;
  std::vector<tsla_score> tsla_;
  std::vector<float> coordinates_;
};

/// Scores all heads of `h` on the prompts; `progress(done)` is called after each batch.
template <class Host, class Progress>
head_scores score_heads(Host& h, std::span<const labelled_prompt> prompts, const score_options& options,
                        Progress&& progress) {
  head_scorer<Host> scorer(h, options);
  for (std::size_t first = 0; first < prompts.size(); first += options.batch) {
    scorer.add(prompts.subspan(first, std::min(options.batch, prompts.size() - first)));
    progress(std::min(first + options.batch, prompts.size()));
  }
  return scorer.result();
}
template <class Host>
head_scores score_heads(Host& h, std::span<const labelled_prompt> prompts,
                        const score_options& options = {}) {
  return score_heads(h, prompts, options, [](std::size_t) {});
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_SCORE_HEADS_HPP
