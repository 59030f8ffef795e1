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

/// The last position's outputs of every head, one vector [d_head] for each prompt.
using head_outputs = head_map<std::vector<vector>>;

/// What mean and resample ablation take their replacements from.
/// @throws argument_error for prompts the model cannot take.
template <class Host>
head_outputs head_outputs_of(Host& h, std::span<const labelled_prompt> prompts, std::size_t batch = 8) {
  require_host<Host>();
  head_outputs all(h.spec());
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

namespace detail {

/// What replaces a head's output on prompt number p of those that `outputs` has.
class ablation_replacement {
 public:
  ablation_replacement(const ablation_options& options, const head_outputs& outputs, std::size_t prompts)
      : options_(options), outputs_(outputs), prompts_(prompts) {
    if (options.kind == ablation_kind::resample && prompts < 2)
      throw argument_error("resample ablation needs at least two prompts to draw from");
    if (options.kind != ablation_kind::mean) return;
    for (const std::vector<vector>& seen : outputs.values()) {
      vector& mean = means_.emplace_back(vector::Zero(seen.front().size()));
      for (const vector& z : seen) mean += z / static_cast<float>(seen.size());
    }
  }

  vector operator()(head_id head, std::size_t p) const {
    if (options_.kind == ablation_kind::zero) return {};
    if (options_.kind == ablation_kind::mean) return means_[outputs_.position(head)];
    // One other prompt for all heads.
    random_stream random{options_.seed, stream_key("resample ablation"), p};
    return outputs_[head][(p + 1 + random.below(prompts_ - 1)) % prompts_];
  }

 private:
  const ablation_options& options_;
  const head_outputs& outputs_;
  std::size_t prompts_;
  std::vector<vector> means_;  ///< for mean ablation, in the order of the outputs
};

}  // namespace detail

/// Prompts [first, first + count) of `prompts`, with nothing taken out (first, named "none") and without each
/// selection. `outputs` is `head_outputs_of` all the prompts, or empty for zero ablation.
/// `progress(done)` is called after each batch.
/// @throws argument_error for heads the model does not have, or prompts it cannot take.
template <class Host, class Progress>
std::vector<ablation_outcome> ablate_heads(Host& h, std::span<const labelled_prompt> prompts,
                                           std::size_t first, std::size_t count,
                                           std::span<const head_selection> selections,
                                           const ablation_options& options, const head_outputs& outputs,
                                           Progress&& progress) {
  require_host<Host>();
  for (const head_selection& s : selections)
    for (const head_id head : s.heads) h.spec().check(head);
  const detail::ablation_replacement replacement(options, outputs, prompts.size());
  const std::span<const labelled_prompt> part = prompts.subspan(first, count);
  std::vector<ablation_outcome> outcomes;
  outcomes.push_back({"none", 0, {}, 0.0, {}});
  for (const head_selection& s : selections) outcomes.push_back({s.name, s.heads.size(), {}, 0.0, {}});
  for (std::size_t begin = 0; begin < part.size(); begin += options.batch) {
    const std::size_t together = std::min(options.batch, part.size() - begin);
    std::vector<token_sequence> ids;
    std::vector<variant> variants;
    for (std::size_t p = 0; p < together; ++p) {
      ids.push_back(part[begin + p].ids);
      for (const head_selection& s : selections) {
        variant v{static_cast<int>(p), {}};
        for (const head_id head : s.heads) {
          intervention edit = replace_head(head, replacement(head, first + begin + p));
          if (options.all_positions) edit.positions = position_choice::all();
          v.edits.push_back(std::move(edit));
        }
        variants.push_back(std::move(v));
      }
    }
    const auto swept = sweep(
        h, ids, variants,
        [&](int prompt, const const_matrix_ref& logits) {
          return read_answer(logits, part[begin + static_cast<std::size_t>(prompt)].answer);
        },
        options.sweep);
    const auto take = [&](ablation_outcome& o, const model_answer& s) {
      o.predictions.push_back(s.prediction);
      o.probability += s.probability / static_cast<double>(part.size());
    };
    for (std::size_t p = 0; p < together; ++p) {
      take(outcomes[0], swept.prompts[p]);
      for (std::size_t s = 0; s < selections.size(); ++s)
        take(outcomes[s + 1], swept.variants[p * selections.size() + s]);
    }
    progress(begin + together);
  }
  for (ablation_outcome& o : outcomes) o.summary = summarize(part, o.predictions);
  return outcomes;
}

/// The same on all prompts.
template <class Host, class Progress>
std::vector<ablation_outcome> ablate_heads(Host& h, std::span<const labelled_prompt> prompts,
                                           std::span<const head_selection> selections,
                                           const ablation_options& options, Progress&& progress) {
  head_outputs outputs;
  if (options.kind != ablation_kind::zero) outputs = head_outputs_of(h, prompts, options.batch);
  return ablate_heads(h, prompts, 0, prompts.size(), selections, options, outputs,
                      std::forward<Progress>(progress));
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_ABLATE_HEADS_HPP
