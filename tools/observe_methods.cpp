#include <set>

#include "methods.hpp"
#include "progress.hpp"

namespace iclmech::cli {
namespace {

constexpr std::size_t batch = 8;

void require_patterns(const model_spec& spec) {
  for (const mixer_id id : spec.mixer_ids()) {
    const hook point = is_state_space(id.mixer) ? hook::log_decay : hook::pattern;
    if (!spec.observable.contains(point))
      throw unsupported_error(fmt::format("this host does not show {}, which tells where {} heads look",
                                          describe(point).name, to_string(id.mixer)));
  }
}

}  // namespace

prediction_result answers(any_host& host, std::span<const labelled_prompt> prompts, const std::string& what) {
  progress bar(what, prompts.size());
  return predict(host, prompts, batch, bar);
}

head_scores scores(any_host& host, std::span<const labelled_prompt> prompts, bool components,
                   const std::string& what) {
  progress bar(what, prompts.size());
  return score_heads(host, prompts, {.components = components}, bar);
}

layer_geometry geometry(any_host& host, std::span<const labelled_prompt> prompts,
                        std::span<const head_selection> selections, const std::string& what) {
  progress bar(what, prompts.size());
  return measure_layer_geometry(host, prompts, selections, batch, bar);
}

std::vector<subspace_share> shares(any_host& host, std::span<const labelled_prompt> prompts,
                                   std::span<const head_id> heads) {
  return subspace_shares(host, prompts, heads, batch);
}

head_map<attention_profile> profiles(any_host& host, std::span<const tagged_prompt> prompts,
                                     const std::string& what) {
  require_patterns(host.spec());
  progress bar(what, prompts.size());
  return attention_profiles(host, prompts, bar);
}

head_map<double> induction(any_host& host, std::span<const labelled_prompt> prompts, std::uint64_t seed) {
  require_patterns(host.spec());
  constexpr index longest_period = 24;
  constexpr int blocks = 4;
  std::set<token_id> seen;
  // The first token may be the begin-of-sequence token.
  for (const labelled_prompt& p : prompts) seen.insert(p.ids.begin() + 1, p.ids.end());
  const std::vector<token_id> alphabet(seen.begin(), seen.end());
  head_map<double> mean(host.spec());
  for (int b = 0; b < blocks; ++b) {
    const auto block =
        repeat_random_tokens(alphabet, std::min<index>(longest_period, std::ssize(alphabet)), 2,
                             seed + static_cast<std::uint64_t>(b), prompts.front().ids.front());
    const head_map<double> one = induction_scores(host, block);
    for (std::size_t i = 0; i < one.size(); ++i) mean.values()[i] += one.values()[i] / blocks;
  }
  return mean;
}

}  // namespace iclmech::cli
