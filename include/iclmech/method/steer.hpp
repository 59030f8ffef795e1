#ifndef ICLMECH_METHOD_STEER_HPP
#define ICLMECH_METHOD_STEER_HPP
// Steers prompts with a vector in the stream, layer by layer, or with mean head outputs, and measures what it
// does.

#include <string>
#include <vector>

#include "iclmech/method/indirect_effect.hpp"
#include "iclmech/method/score_heads.hpp"

namespace iclmech {

/// What one way of steering does to a set of prompts.
struct steering_outcome {
  std::string name;  ///< "none", "stream", "heads"
  int layer = -1;    ///< where the vector was added; -1: nowhere, or at the heads
  float strength = 0.0F;
  prediction_summary summary;
  double probability = 0.0;  ///< mean P(answer)
};

struct steering_options {
  std::vector<float> strengths{1.0F};
  std::size_t batch = 16;
  sweep_options sweep;
};

/// Runs the prompts as they are (first outcome), with `v` [d_model] times each strength added to the stream
/// entering each layer at the last position, and, if there are any `heads`, with their outputs there raised
/// by their means times each strength. `progress(done)` is called after each batch.
/// @throws argument_error for prompts the model cannot take; `v` may be empty, then only heads are steered.
template <class Host, class Progress>
std::vector<steering_outcome> steer(Host& h, std::span<const labelled_prompt> prompts, const vector& v,
                                    std::span<const head_id> heads, const head_map<vector>& mean_outputs,
                                    const steering_options& options, Progress&& progress) {
  require_host<Host>();
  std::vector<steering_outcome> outcomes{{"none", -1, 0.0F, {}, 0.0}};
  std::vector<std::vector<intervention>> ways;
  for (const float strength : options.strengths) {
    for (int layer = 0; v.size() > 0 && layer < h.spec().layer_count(); ++layer) {
      outcomes.push_back({"stream", layer, strength, {}, 0.0});
      ways.push_back({add_to_stream_at(layer, strength * v)});
    }
    if (heads.empty()) continue;
    outcomes.push_back({"heads", -1, strength, {}, 0.0});
    std::vector<intervention>& edits = ways.emplace_back();
    for (const head_id head : heads) edits.push_back(add_to_head(head, strength * mean_outputs[head]));
  }

  std::vector<std::vector<token_id>> predictions(outcomes.size());
  for (std::size_t first = 0; first < prompts.size(); first += options.batch) {
    const std::size_t count = std::min(options.batch, prompts.size() - first);
    std::vector<token_sequence> ids;
    std::vector<variant> variants;
    for (std::size_t p = 0; p < count; ++p) {
      ids.push_back(prompts[first + p].ids);
      for (const auto& edits : ways) variants.push_back({static_cast<int>(p), edits});
    }
    const auto swept = sweep(
        h, ids, variants,
        [&](int prompt, const const_matrix_ref& logits) {
          return read_answer(logits, prompts[first + static_cast<std::size_t>(prompt)].answer);
        },
        options.sweep);
    for (std::size_t p = 0; p < count; ++p)
      for (std::size_t o = 0; o < outcomes.size(); ++o) {
        const model_answer& s = o == 0 ? swept.prompts[p] : swept.variants[p * ways.size() + o - 1];
        predictions[o].push_back(s.prediction);
        outcomes[o].probability += s.probability / static_cast<double>(prompts.size());
      }
    progress(first + count);
  }
  for (std::size_t o = 0; o < outcomes.size(); ++o) outcomes[o].summary = summarize(prompts, predictions[o]);
  return outcomes;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_STEER_HPP
