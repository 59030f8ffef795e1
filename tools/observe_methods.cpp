#include <fmt/format.h>

#include <set>

#include "methods.hpp"
#include "pieces.hpp"

namespace iclmech::cli {
namespace {

constexpr std::size_t batch = 8;

}  // namespace

prediction_result answers(any_host& host, std::span<const labelled_prompt> prompts, piecework& work) {
  return gather(work, "answers", prompts.size(), batch, needed::anywhere, prediction_result{},
                [&](std::size_t first, std::size_t count) {
                  return predict(host, prompts.subspan(first, count), batch, [](std::size_t) {});
                });
}

head_scores scores(any_host& host, std::span<const labelled_prompt> prompts, const score_options& how,
                   piecework& work) {
  head_scores empty;
  empty.heads = head_map<write_scores>(host.spec());
  return gather(work, "scores", prompts.size(), how.batch, needed::anywhere, empty,
                [&](std::size_t first, std::size_t count) {
                  return score_heads(host, prompts.subspan(first, count), how);
                });
}

layer_geometry geometry(any_host& host, std::span<const labelled_prompt> prompts,
                        std::span<const head_selection> selections, piecework& work) {
  return gather(work, "geometry", prompts.size(), batch, needed::anywhere, layer_geometry{},
                [&](std::size_t first, std::size_t count) {
                  return measure_layer_geometry(host, prompts.subspan(first, count), selections, batch,
                                                [](std::size_t) {});
                });
}

std::vector<subspace_share> shares(any_host& host, std::span<const labelled_prompt> prompts,
                                   std::span<const head_id> heads, piecework& work) {
  return gather(work, "shares", prompts.size(), batch, needed::anywhere, std::vector<subspace_share>{},
                [&](std::size_t first, std::size_t count) {
                  return subspace_shares(host, prompts.subspan(first, count), heads, batch);
                });
}

head_map<attention_profile> profiles(any_host& host, std::span<const tagged_prompt> prompts,
                                     piecework& work) {
  return gather(work, "profiles", prompts.size(), batch, needed::anywhere,
                head_map<attention_profile>(host.spec()), [&](std::size_t first, std::size_t count) {
                  return attention_profiles(host, prompts.subspan(first, count), [](std::size_t) {});
                });
}

head_map<double> induction(any_host& host, std::span<const labelled_prompt> prompts, std::uint64_t seed) {
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
