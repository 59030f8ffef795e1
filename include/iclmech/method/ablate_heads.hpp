#ifndef ICLMECH_METHOD_ABLATE_HEADS_HPP
#define ICLMECH_METHOD_ABLATE_HEADS_HPP
// Takes sets of heads out of a model (zero, mean or resample) and measures accuracy and TR ratio without
// them.

#include <string>
#include <vector>

#include "iclmech/method/head_selection.hpp"
#include "iclmech/method/indirect_effect.hpp"
#include "iclmech/method/score_heads.hpp"

namespace iclmech {

/// What a head's output is replaced by.
enum class ablation_kind : unsigned char {
  zero,
  mean,     ///< its mean at the last position over the prompts
  resample  ///< its output at the last position of another prompt
};

struct ablation_options {
  ablation_kind kind = ablation_kind::zero;
  bool all_positions = false;  ///< otherwise the last position only
  std::uint64_t seed = 0;      ///< for resampling
  std::size_t batch = 4;       ///< prompts swept together
  sweep_options sweep;
};

/// How the model does without a selection.
struct ablation_outcome {
  std::string name;
  std::size_t heads = 0;
  prediction_summary summary;
  double probability = 0.0;           ///< mean P(answer)
  std::vector<token_id> predictions;  ///< per prompt
};

namespace detail {

/// The last position's head outputs of all prompts, [prompts] by head.
template <class Host>
head_map<std::vector<vector>> outputs_by_prompt(Host& h, std::span<const labelled_prompt> prompts,
                                                std::size_t batch) {
  head_map<std::vector<vector>> all(h.spec());
  for (std::size_t first = 0; first < prompts.size(); first += batch) {
    std::vector<token_sequence> ids;
    for (std::size_t p = first; p < std::min(first + batch, prompts.size()); ++p)
      ids.push_back(prompts[p].ids);
    last_output_collector outputs(h.spec(), ids.size(), false);
    h.run(ids, outputs, logit_rows::none);
    for (std::size_t p = 0; p < ids.size(); ++p)
      for (std::size_t m = 0; m < outputs.mixers().size(); ++m) {
        const std::span<std::vector<vector>> heads = all.mixer(outputs.mixers()[m]);
        const index d_head = outputs[p].z[m].size() / static_cast<index>(heads.size());
        for (std::size_t k = 0; k < heads.size(); ++k)
          heads[k].push_back(outputs[p].z[m].segment(static_cast<index>(k) * d_head, d_head).transpose());
      }
  }
  return all;
}

}  // namespace detail

/// Accuracy and TR ratio with nothing taken out (first, named "none") and without each selection.
/// `progress(done)` is called after each batch of prompts.
/// @throws argument_error for heads the model does not have, or prompts it cannot take.
template <class Host, class Progress>
std::vector<ablation_outcome> ablate_heads(Host& h, std::span<const labelled_prompt> prompts,
                                           std::span<const head_selection> selections,
                                           const ablation_options& options, Progress&& progress) {
  require_host<Host>();
  for (const head_selection& s : selections)
    for (const head_id head : s.heads) h.spec().check(head);
  if (options.kind == ablation_kind::resample && prompts.size() < 2)
    throw argument_error("resample ablation needs at least two prompts to draw from");
  head_map<std::vector<vector>> outputs;
  if (options.kind != ablation_kind::zero) outputs = detail::outputs_by_prompt(h, prompts, options.batch);
  detail::random_stream random{options.seed, detail::stream_key("resample ablation")};
  const auto replacement = [&](head_id head, std::size_t donor) -> vector {
    if (options.kind == ablation_kind::zero) return {};
    const std::vector<vector>& seen = outputs[head];
    if (options.kind == ablation_kind::resample) return seen[donor];
    vector mean = vector::Zero(seen.front().size());
    for (const vector& z : seen) mean += z / static_cast<float>(seen.size());
    return mean;
  };

  std::vector<ablation_outcome> outcomes;
  outcomes.push_back({"none", 0, {}, 0.0, {}});
  for (const head_selection& s : selections) outcomes.push_back({s.name, s.heads.size(), {}, 0.0, {}});
  for (std::size_t first = 0; first < prompts.size(); first += options.batch) {
    const std::size_t count = std::min(options.batch, prompts.size() - first);
    std::vector<token_sequence> ids;
    std::vector<variant> variants;
    for (std::size_t p = first; p < first + count; ++p) {
      ids.push_back(prompts[p].ids);
      const std::size_t donor =
          prompts.size() < 2 ? p : (p + 1 + random.below(prompts.size() - 1)) % prompts.size();
      for (const head_selection& s : selections) {
        variant v{static_cast<int>(p - first), {}};
        for (const head_id head : s.heads) {
          intervention edit = replace_head(head, replacement(head, donor));
          if (options.all_positions) edit.positions = position_choice::all();
          v.edits.push_back(std::move(edit));
        }
        variants.push_back(std::move(v));
      }
    }
    const auto swept = sweep(
        h, ids, variants,
        [&](int prompt, const const_matrix_ref& logits) {
          return read_answer(logits, prompts[first + static_cast<std::size_t>(prompt)].answer);
        },
        options.sweep);
    const auto take = [&](ablation_outcome& o, const model_answer& s) {
      o.predictions.push_back(s.prediction);
      o.probability += s.probability / static_cast<double>(prompts.size());
    };
    for (std::size_t p = 0; p < count; ++p) {
      take(outcomes[0], swept.prompts[p]);
      for (std::size_t s = 0; s < selections.size(); ++s)
        take(outcomes[s + 1], swept.variants[p * selections.size() + s]);
    }
    progress(first + count);
  }
  for (ablation_outcome& o : outcomes) o.summary = summarize(prompts, o.predictions);
  return outcomes;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_ABLATE_HEADS_HPP
