#ifndef ICLMECH_METHOD_GENERATE_HPP
#define ICLMECH_METHOD_GENERATE_HPP
// Greedy text behind prompts, as the model writes it and as it does with a vector added to its stream.

#include <span>
#include <vector>

#include "iclmech/sweep.hpp"

namespace iclmech {

/// A vector for the stream entering a layer; none if it is empty.
struct stream_push {
  int layer = 0;
  vector v;  ///< [d_model]
};

/// The `count` likeliest next tokens, one after the other, of each prompt. The push is added at the prompt's
/// last position and at every generated one, so that each token is chosen under it. Runs whole prompts again
/// for every token: meant for a few short ones, on any host (the reference engine has `generate_cached`).
/// @throws argument_error for prompts that the model cannot take, the generated tokens included.
template <class Host>
std::vector<token_sequence> generate(Host& h, std::span<const token_sequence> prompts, std::size_t count,
                                     const stream_push& push = {}) {
  require_host<Host>();
  std::vector<token_sequence> longer(prompts.begin(), prompts.end()), generated(prompts.size());
  for (std::size_t step = 0; step < count; ++step) {
    std::vector<variant> variants;
    for (std::size_t p = 0; p < prompts.size() && push.v.size() > 0; ++p) {
      variant v{static_cast<int>(p), {}};
      for (std::size_t at = prompts[p].size() - 1; at < longer[p].size(); ++at) {
        intervention edit = add_to_stream_at(push.layer, push.v);
        edit.positions = position_choice::one(static_cast<index>(at));
        v.edits.push_back(std::move(edit));
      }
      variants.push_back(std::move(v));
    }
    const auto next = sweep(h, longer, variants, reduce::argmax());
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const token_id token = variants.empty() ? next.prompts[p] : next.variants[p];
      longer[p].push_back(token);
      generated[p].push_back(token);
    }
  }
  return generated;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_GENERATE_HPP
