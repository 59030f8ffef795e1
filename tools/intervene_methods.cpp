#include "methods.hpp"
#include "pieces.hpp"

namespace iclmech::cli {

head_outputs outputs(any_host& host, std::span<const labelled_prompt> prompts, piecework& work) {
  constexpr std::size_t batch = 4;
  return gather(work, "outputs", prompts.size(), batch, needed::here, head_outputs(host.spec()),
                [&](std::size_t first, std::size_t count) {
                  return head_outputs_of(host, prompts.subspan(first, count), batch);
                });
}

std::vector<ablation_outcome> ablated(any_host& host, std::span<const labelled_prompt> prompts,
                                      std::span<const head_selection> selections, const ablation_options& how,
                                      const head_outputs& drawn, piecework& work) {
  return gather(work, "ablated", prompts.size(), how.batch, needed::anywhere, std::vector<ablation_outcome>{},
                [&](std::size_t first, std::size_t count) {
                  return ablate_heads(host, prompts, first, count, selections, how, drawn,
                                      [](std::size_t) {});
                });
}

head_means means(any_host& host, std::span<const answered_prompt> prompts, piecework& work) {
  constexpr std::size_t batch = 8;
  return gather(work, "means", prompts.size(), batch, needed::here,
                head_means{head_map<vector>(host.spec()), head_map<vector>(host.spec())},
                [&](std::size_t first, std::size_t count) {
                  return mean_head_outputs(host, prompts.subspan(first, count), batch);
                });
}

vector task_vector(any_host& host, const head_means& means, std::span<const head_id> heads) {
  std::vector<head_id> linear;
  for (const head_id h : heads)
    if (host.spec().mixer(h.layer, h.mixer).write != write_path::measured) linear.push_back(h);
  return linear.empty() ? vector{} : function_vector(host, means, linear);
}

std::vector<steering_outcome> steered(any_host& host, std::span<const labelled_prompt> prompts,
                                      const vector& v, std::span<const head_id> heads,
                                      const head_means& means, const steering_options& how, piecework& work) {
  return gather(work, "steered", prompts.size(), how.batch, needed::anywhere, std::vector<steering_outcome>{},
                [&](std::size_t first, std::size_t count) {
                  return steer(host, prompts.subspan(first, count), v, heads, means.outputs, how,
                               [](std::size_t) {});
                });
}

std::vector<token_sequence> continued(any_host& host, std::span<const token_sequence> prompts,
                                      std::size_t tokens, const stream_push& push) {
  return generate(host, prompts, tokens, push);
}

measured_effects effects(any_host& host, const effect_prompts& prompts, piecework& work) {
  constexpr std::size_t together = 4;
  head_means clean = means(host, prompts.clean, work);
  const std::span<const answered_prompt> shuffled = prompts.shuffled;
  indirect_effect_result found =
      gather(work, "effects", shuffled.size(), together, needed::anywhere,
             indirect_effect_result{host.spec().heads(), indirect_effects(host.spec().head_count()), {}},
             [&](std::size_t first, std::size_t count) {
               return measure_indirect_effects(host, clean.outputs, shuffled.subspan(first, count), {},
                                               together, [](std::size_t) {});
             });
  return {std::move(clean), std::move(found)};
}

}  // namespace iclmech::cli
