#ifndef ICLMECH_METHOD_ATTENTION_PROFILE_HPP
#define ICLMECH_METHOD_ATTENTION_PROFILE_HPP
// What every head looks at from the last position, averaged over prompts: roles of tokens, and
// demonstrations.

#include <array>
#include <cstdint>
#include <vector>

#include "iclmech/method/head_patterns.hpp"

namespace iclmech {

/// A few-shot prompt whose tokens are tagged.
struct tagged_prompt {
  token_sequence ids;
  std::vector<token_role> roles;             ///< [tokens]
  std::vector<std::int32_t> demonstrations;  ///< [tokens]: which one a token belongs to, negative for none
  std::vector<bool> shows_answer;            ///< [demonstrations]: its label is the prompt's answer
};

/// Means over prompts of one head's shares.
struct attention_profile {
  std::array<double, all_token_roles.size()> roles{};  ///< in the order of `all_token_roles`, memory left out
  std::vector<double> demonstrations;                  ///< of all attention, on each demonstration in order
  double on_answer = 0.0;     ///< of the attention on demonstrations, the share on those that show the answer
  double answer_share = 0.0;  ///< the share of demonstrations that do: what looking at random would give

  /// False of a head whose pattern the host does not show: every other looks somewhere.
  bool shown() const {
    return std::any_of(roles.begin(), roles.end(), [](double r) { return r > 0.0; });
  }
};

/// @throws argument_error for prompts the model cannot take, and prompts with different numbers of
/// demonstrations; unsupported_error if the host shows no patterns.
template <class Host, class Progress>
head_map<attention_profile> attention_profiles(Host& h, std::span<const tagged_prompt> prompts,
                                               Progress&& progress) {
  require_host<Host>();
  head_map<attention_profile> profiles(h.spec());
  if (prompts.empty()) return profiles;
  const std::size_t groups = prompts.front().shows_answer.size();
  for (attention_profile& p : profiles.values()) p.demonstrations.assign(groups, 0.0);
  const double n = static_cast<double>(prompts.size());
  for (std::size_t number = 0; number < prompts.size(); ++number) {
    const tagged_prompt& prompt = prompts[number];
    if (prompt.shows_answer.size() != groups)
      throw argument_error("attention_profiles: prompt " + std::to_string(number) + " has " +
                           std::to_string(prompt.shows_answer.size()) + " demonstrations, the first one " +
                           std::to_string(groups));
    for_each_head_pattern(h, prompt.ids, [&](head_id id, const row_matrix& pattern) {
      attention_profile& sum = profiles[id];
      const row_vector last = pattern.bottomRows(1).rightCols(static_cast<index>(prompt.roles.size()));
      const role_shares roles = role_shares::of(last, prompt.roles);
      for (std::size_t r = 0; r < sum.roles.size(); ++r) sum.roles[r] += roles.values()[r] / n;
      const auto shares = group_shares(last, prompt.demonstrations, static_cast<std::int32_t>(groups));
      double all = 0.0, right = 0.0, count = 0.0;
      for (std::size_t d = 0; d < groups; ++d) {
        sum.demonstrations[d] += shares[d] / n;
        all += shares[d];
        if (!prompt.shows_answer[d]) continue;
        right += shares[d];
        count += 1.0;
      }
      if (all > 0.0) sum.on_answer += right / all / n;
      if (groups > 0) sum.answer_share += count / static_cast<double>(groups) / n;
    });
    progress(number + 1);
  }
  return profiles;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_ATTENTION_PROFILE_HPP
