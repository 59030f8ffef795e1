#ifndef ICLMECH_METHOD_PREDICT_HPP
#define ICLMECH_METHOD_PREDICT_HPP
// What a model answers to prompts as they are: behaviour, before any mechanism is looked at.

#include <algorithm>
#include <span>
#include <vector>

#include "iclmech/sweep.hpp"

namespace iclmech {

/// A prompt as the methods need it: its tokens, the label tokens in play, and the right one of them.
struct labelled_prompt {
  token_sequence ids;
  std::vector<token_id> labels;
  token_id answer = 0;
};

/// Share of predictions that are right, and that are labels at all.
struct prediction_summary {
  double accuracy = 0.0;
  double tr_ratio = 0.0;
};

/// @pre one prediction per prompt.
inline prediction_summary summarize(std::span<const labelled_prompt> prompts,
                                    std::span<const token_id> predictions) {
  prediction_summary s;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const auto& labels = prompts[p].labels;
    s.accuracy += predictions[p] == prompts[p].answer ? 1.0 : 0.0;
    s.tr_ratio += std::find(labels.begin(), labels.end(), predictions[p]) != labels.end() ? 1.0 : 0.0;
  }
  const double n = std::max<double>(1.0, static_cast<double>(prompts.size()));
  return {s.accuracy / n, s.tr_ratio / n};
}

/// What a row of logits answers to a prompt.
struct model_answer {
  token_id prediction = 0;   ///< argmax over the whole vocabulary
  double probability = 0.0;  ///< of the right answer
};
inline model_answer read_answer(const const_matrix_ref& logits, token_id answer) {
  return {reduce::argmax_of(logits), probability_of(logits.row(0), answer)};
}

/// The answers to a set of prompts.
struct prediction_result {
  std::vector<token_id> predictions;  ///< argmax over the whole vocabulary, per prompt
  std::vector<double> probabilities;  ///< P(answer), per prompt
  prediction_summary summary;
};

/// Runs the prompts, `batch` of them together; `progress(done)` is called after each batch.
/// @throws argument_error for prompts the model cannot take.
template <class Host, class Progress>
prediction_result predict(Host& h, std::span<const labelled_prompt> prompts, std::size_t batch,
                          Progress&& progress) {
  require_host<Host>();
  prediction_result result;
  for (std::size_t first = 0; first < prompts.size(); first += batch) {
    const auto part = prompts.subspan(first, std::min(batch, prompts.size() - first));
    std::vector<token_sequence> ids;
    for (const labelled_prompt& p : part) ids.push_back(p.ids);
    no_hooks none;
    const row_matrix logits = h.run(ids, none, logit_rows::last);
    for (std::size_t p = 0; p < part.size(); ++p) {
      const model_answer given = read_answer(logits.middleRows(static_cast<index>(p), 1), part[p].answer);
      result.predictions.push_back(given.prediction);
      result.probabilities.push_back(given.probability);
    }
    progress(first + part.size());
  }
  result.summary = summarize(prompts, result.predictions);
  return result;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_PREDICT_HPP
