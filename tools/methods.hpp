#ifndef ICLMECH_TOOLS_METHODS_HPP
#define ICLMECH_TOOLS_METHODS_HPP
// The methods on any host, compiled once for all commands. How they go through the prompts is up to `work`.

#include <span>
#include <string>
#include <vector>

#include "iclmech/host/any_host.hpp"
#include "iclmech/method/ablate_heads.hpp"
#include "iclmech/method/attention_profile.hpp"
#include "iclmech/method/generate.hpp"
#include "iclmech/method/layer_geometry.hpp"
#include "iclmech/method/steer.hpp"
#include "piecework.hpp"
#include "prompts.hpp"

namespace iclmech::cli {

// ---- What a run shows (observe_methods.cpp)

prediction_result answers(any_host& host, std::span<const labelled_prompt> prompts, piecework& work);
head_scores scores(any_host& host, std::span<const labelled_prompt> prompts, const score_options& how,
                   piecework& work);
layer_geometry geometry(any_host& host, std::span<const labelled_prompt> prompts,
                        std::span<const head_selection> selections, piecework& work);
std::vector<subspace_share> shares(any_host& host, std::span<const labelled_prompt> prompts,
                                   std::span<const head_id> heads, piecework& work);
/// @throws unsupported_error if the host shows no patterns.
head_map<attention_profile> profiles(any_host& host, std::span<const tagged_prompt> prompts, piecework& work);

/// Mean induction scores over a few repeated blocks of random tokens, drawn from those of the prompts so that
/// no special token is among them. NaN where the host does not show the pattern.
/// @throws unsupported_error if it shows none.
head_map<double> induction(any_host& host, std::span<const labelled_prompt> prompts, std::uint64_t seed);

// ---- What interventions change (intervene_methods.cpp)

/// What mean and resample ablation draw from.
head_outputs outputs(any_host& host, std::span<const labelled_prompt> prompts, piecework& work);
/// `drawn` are the prompts' `outputs`; none are needed for zero ablation.
std::vector<ablation_outcome> ablated(any_host& host, std::span<const labelled_prompt> prompts,
                                      std::span<const head_selection> selections, const ablation_options& how,
                                      const head_outputs& drawn, piecework& work);
head_means means(any_host& host, std::span<const answered_prompt> prompts, piecework& work);

/// The summed mean writes of `heads`, less those that have no linear path to the stream; empty if none has.
vector task_vector(any_host& host, const head_means& means, std::span<const head_id> heads);

std::vector<steering_outcome> steered(any_host& host, std::span<const labelled_prompt> prompts,
                                      const vector& v, std::span<const head_id> heads,
                                      const head_means& means, const steering_options& how, piecework& work);

/// Greedy continuations of a few prompts; any process of a group does them all.
std::vector<token_sequence> continued(any_host& host, std::span<const token_sequence> prompts,
                                      std::size_t tokens, const stream_push& push);

/// Mean head outputs over clean prompts and the effects of all heads on corrupted ones.
struct measured_effects {
  head_means means;
  indirect_effect_result effects;
};
measured_effects effects(any_host& host, const effect_prompts& prompts, piecework& work);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_METHODS_HPP
