#ifndef ICLMECH_METHOD_INDIRECT_EFFECT_HPP
#define ICLMECH_METHOD_INDIRECT_EFFECT_HPP
// Causal indirect effects of all heads, and the function vectors made of the strongest (Todd et al. 2024; for
// state-space and hybrid models arXiv 2510.23006).

#include "iclmech/function_vector.hpp"
#include "iclmech/host/head_map.hpp"
#include "iclmech/method/last_outputs.hpp"
#include "iclmech/statistics.hpp"
#include "iclmech/sweep.hpp"

namespace iclmech {

/// A prompt and the token it should go on with.
struct answered_prompt {
  token_sequence ids;
  token_id answer = 0;
};

/// Means over clean prompts at the last position, one vector [d_head] per head.
struct head_means {
  head_map<vector> outputs;  ///< `zbar`: of hook_z
  head_map<vector> scaled;   ///< of hook_z times hook_write_scale: what W_O maps to the mean write
};

/// @throws argument_error without prompts, or for prompts the model cannot take.
template <class Host>
head_means mean_head_outputs(Host& h, std::span<const answered_prompt> prompts, std::size_t batch = 8) {
  require_host<Host>();
  if (prompts.empty()) throw argument_error("mean head outputs need at least one clean prompt");
  const std::vector<mixer_id> mixers = h.spec().mixer_ids();
  std::vector<running_mean> outputs, scaled;
  for (const mixer_id m : mixers) outputs.emplace_back(h.spec().mixer(m.layer, m.mixer).width());
  scaled = outputs;
  for (std::size_t first = 0; first < prompts.size(); first += batch) {
    std::vector<token_sequence> ids;
    for (const answered_prompt& p : prompts.subspan(first, std::min(batch, prompts.size() - first)))
      ids.push_back(p.ids);
    last_output_collector seen(h.spec(), ids.size(), false);
    h.run(ids, seen, logit_rows::none);
    for (std::size_t p = 0; p < ids.size(); ++p)
      for (std::size_t m = 0; m < mixers.size(); ++m) {
        outputs[m].add(seen[p].z[m]);
        scaled[m].add(seen[p].scale[m] * seen[p].z[m]);
      }
  }
  head_means result{head_map<vector>(h.spec()), head_map<vector>(h.spec())};
  for (std::size_t m = 0; m < mixers.size(); ++m) {
    const index d_head = h.spec().mixer(mixers[m].layer, mixers[m].mixer).d_head;
    const auto split = [&](const running_mean& mean, std::span<vector> heads) {
      for (std::size_t k = 0; k < heads.size(); ++k)
        heads[k] =
            mean.mean().segment(static_cast<index>(k) * d_head, d_head).matrix().template cast<float>();
    };
    split(outputs[m], result.outputs.mixer(mixers[m]));
    split(scaled[m], result.scaled.mixer(mixers[m]));
  }
  return result;
}

/// Effects of every head on corrupted prompts.
struct indirect_effect_result {
  std::vector<head_id> heads;    ///< the order of the effects
  indirect_effects effects;      ///< CIE per prompt and head, AIE with intervals
  std::vector<double> baseline;  ///< P(answer) of each corrupted prompt, nothing replaced
};

/// CIE_h(p) = P(answer | p with head h's last output := zbar_h) - P(answer | p), for every head and prompt:
/// one sweep for each group of prompts. `progress(done)` is called after each.
/// @throws argument_error for prompts the model cannot take.
template <class Host, class Progress>
indirect_effect_result measure_indirect_effects(Host& h, const head_map<vector>& mean_outputs,
                                                std::span<const answered_prompt> corrupted,
                                                const sweep_options& options, std::size_t batch,
                                                Progress&& progress) {
  require_host<Host>();
  indirect_effect_result result{h.spec().heads(), indirect_effects(h.spec().head_count()), {}};
  std::vector<float> row(result.heads.size());
  for (std::size_t first = 0; first < corrupted.size(); first += batch) {
    const auto part = corrupted.subspan(first, std::min(batch, corrupted.size() - first));
    std::vector<token_sequence> ids;
    std::vector<token_id> answers;
    std::vector<variant> variants;
    for (std::size_t p = 0; p < part.size(); ++p) {
      ids.push_back(part[p].ids);
      answers.push_back(part[p].answer);
      for (const head_id head : result.heads)
        variants.push_back({static_cast<int>(p), {replace_head(head, mean_outputs[head])}});
    }
    const auto swept = sweep(h, ids, variants, reduce::answer_probability(answers), options);
    for (std::size_t p = 0; p < part.size(); ++p) {
      for (std::size_t k = 0; k < row.size(); ++k)
        row[k] = static_cast<float>(swept.variants[p * row.size() + k] - swept.prompts[p]);
      result.effects.add(static_cast<std::int64_t>(first + p), row);
      result.baseline.push_back(swept.prompts[p]);
    }
    progress(first + part.size());
  }
  return result;
}

/// The function vector of chosen heads: the sum of their mean writes, [d_model]. Heads without a linear path
/// (measured writes) are refused.
/// @throws unsupported_error naming such a head.
template <class Host>
vector function_vector(Host& h, const head_means& means, std::span<const head_id> heads) {
  vector v = vector::Zero(h.spec().d_model);
  for (const head_id head : heads) {
    if (h.spec().mixer(head.layer, head.mixer).write == write_path::measured)
      throw unsupported_error("head " + h.spec().label(head) +
                              " has no linear path to the stream: steer its output instead of the stream");
    add_head_write(row_matrix(h.output_projection({head.layer, head.mixer})), head.head, means.scaled[head],
                   v);
  }
  return v;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_INDIRECT_EFFECT_HPP
