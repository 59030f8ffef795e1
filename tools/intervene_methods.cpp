#include "methods.hpp"
#include "progress.hpp"

namespace iclmech::cli {

std::vector<ablation_outcome> ablated(any_host& host, std::span<const labelled_prompt> prompts,
                                      std::span<const head_selection> selections, const ablation_options& how,
                                      const std::string& what) {
  progress bar(what, prompts.size());
  return ablate_heads(host, prompts, selections, how, bar);
}

head_means means(any_host& host, std::span<const answered_prompt> prompts) {
  return mean_head_outputs(host, prompts);
}

vector task_vector(any_host& host, const head_means& means, std::span<const head_id> heads) {
  std::vector<head_id> linear;
  for (const head_id h : heads)
    if (host.spec().mixer(h.layer, h.mixer).write != write_path::measured) linear.push_back(h);
  return linear.empty() ? vector{} : function_vector(host, means, linear);
}

std::vector<steering_outcome> steered(any_host& host, std::span<const labelled_prompt> prompts,
                                      const vector& v, std::span<const head_id> heads,
                                      const head_means& means, const steering_options& how,
                                      const std::string& what) {
  progress bar(what, prompts.size());
  return steer(host, prompts, v, heads, means.outputs, how, bar);
}

measured_effects effects(any_host& host, const effect_prompts& prompts, const std::string& what) {
  constexpr std::size_t together = 4;
  head_means clean = mean_head_outputs(host, std::span<const answered_prompt>(prompts.clean));
  progress bar(what, prompts.shuffled.size());
  indirect_effect_result found = measure_indirect_effects(
      host, clean.outputs, std::span<const answered_prompt>(prompts.shuffled), {}, together, bar);
  return {std::move(clean), std::move(found)};
}

}  // namespace iclmech::cli
