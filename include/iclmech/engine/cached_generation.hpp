#ifndef ICLMECH_ENGINE_CACHED_GENERATION_HPP
#define ICLMECH_ENGINE_CACHED_GENERATION_HPP
// Greedy text behind prompts with the reference engine's caches: keys and values, scan and convolution
// states.

#include <vector>

#include "iclmech/engine/reference_engine.hpp"

namespace iclmech {

/// The `count` likeliest next tokens, one after the other, of each prompt. A prompt goes through the layers
/// once and each token after it as one row, all sequences together; the hooks fire on both. What `generate`
/// gives on any host, for the price of `count` rows.
/// @throws argument_error for prompts that the model cannot take, the generated tokens included.
template <hooks H>
std::vector<token_sequence> generate_cached(reference_engine& engine, prompt_batch prompts, std::size_t count,
                                            H& hook_functions) {
  std::vector<sequence_cache> caches(prompts.size());
  std::vector<token_sequence> next(prompts.begin(), prompts.end()), generated(prompts.size());
  for (std::size_t step = 0; step < count; ++step) {
    const row_matrix logits = engine.advance(next, caches, hook_functions);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      index likeliest = 0;
      logits.row(static_cast<index>(p)).maxCoeff(&likeliest);
      next[p] = {static_cast<token_id>(likeliest)};
      generated[p].push_back(next[p].front());
    }
  }
  return generated;
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_CACHED_GENERATION_HPP
