#ifndef ICLMECH_SWEEP_HPP
#define ICLMECH_SWEEP_HPP
// Many interventions on few prompts, exactly, for the price of what really differs.
//
// On a host that forks, all variants of all prompts go through the layers together with their prompts: a
// variant becomes rows of its own at the first place it touches and shares everything before. On any other
// host every variant is a run of its own. Both give the same numbers.

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "iclmech/function_vector.hpp"
#include "iclmech/host/host.hpp"
#include "iclmech/intervention.hpp"

namespace iclmech {

struct sweep_options {
  /// Rows (token positions) in flight at a time, which bounds the memory; more variants are taken in several
  /// goes, each of which repeats the prompts. A single variant is never split.
  index row_limit = 4096;
};

/// What a sweep gives: the reduction of the last position's logits, per prompt and per variant.
template <class T>
struct sweep_result {
  std::vector<T> prompts;
  std::vector<T> variants;
};

/// \concept logit_reduction
/// Maps a prompt's index and a row of logits [vocabulary] to what is kept of them.
template <class R>
concept logit_reduction = std::invocable<R&, int, const const_matrix_ref&>;

/// Reductions in common use.
namespace reduce {

/// P(answer of the prompt).
inline auto answer_probability(std::span<const token_id> answers) {
  return [answers](int prompt, const const_matrix_ref& logits) {
    return probability_of(logits.row(0), answers[static_cast<std::size_t>(prompt)]);
  };
}

/// The token with the largest logit; of equal ones the first.
inline token_id argmax_of(const const_matrix_ref& logits) {
  index best = 0;
  logits.row(0).maxCoeff(&best);
  return static_cast<token_id>(best);
}
inline auto argmax() {
  return [](int, const const_matrix_ref& logits) { return argmax_of(logits); };
}

/// The logits themselves, where their size does not matter.
inline auto all_logits() {
  return [](int, const const_matrix_ref& logits) { return row_vector(logits.row(0)); };
}

}  // namespace reduce

namespace detail {

/// Where a variant leaves its prompt: the earliest stage and position that any of its edits touches.
inline fork fork_of(const model_spec& spec, const variant& v, index prompt_length) {
  fork f{v.prompt, prompt_length - 1, spec.layer_count(), fork_stage::resid_pre, mixer_kind::attention};
  // Stages as numbers that grow with the forward pass.
  const auto order = [](const fork& x) {
    const int within = x.stage == fork_stage::resid_pre   ? 0
                       : x.stage == fork_stage::resid_mid ? 3
                       : x.mixer == mixer_kind::attention ? 1
                                                          : 2;
    return x.layer * 4 + within;
  };
  for (const intervention& edit : v.edits) {
    const layer_spec& layer = spec.layers[static_cast<std::size_t>(edit.layer)];
    fork here = f;
    here.layer = edit.layer;
    switch (edit.point) {
      case hook::resid_mid:
      case hook::mlp_out:
      case hook::resid_post:
        if (layer.has_mlp) {
          here.stage = fork_stage::resid_mid;
          break;
        }
        [[fallthrough]];
      case hook::z:
      case hook::mixer_out:
      case hook::attn_out:
        // The output of a mixer can only differ from its hook_z on. Zamba2's MLP belongs to its attention.
        here.stage = fork_stage::z;
        here.mixer = edit.point == hook::z ? edit.mixer
                     : layer.shares_block && (edit.point == hook::mlp_out || edit.point == hook::attn_out)
                         ? mixer_kind::attention
                         : layer.mixers.back().kind;
        break;
      default:
        here.stage = fork_stage::resid_pre;
        break;  // the stream, or a state, which the layer still reads
    }
    if (order(here) < order(f)) {
      f.layer = here.layer;
      f.stage = here.stage;
      f.mixer = here.mixer;
    }
    using kind = position_choice::kind;
    if (edit.positions.which == kind::all) f.first_position = 0;
    if (edit.positions.which == kind::one) f.first_position = std::min(f.first_position, edit.positions.at);
  }
  return f;
}

/// True if the host can fork, now: hosts chosen at run time say so through `can_fork()`.
template <class Host>
bool can_fork(const Host& h) {
  if constexpr (requires {
                  { h.can_fork() } -> std::convertible_to<bool>;
                })
    return h.can_fork();
  else
    return forkable_host<Host>;
}

inline void check_variants(const model_spec& spec, prompt_batch prompts, std::span<const variant> variants) {
  check_prompts(spec, prompts);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const variant& v = variants[i];
    const auto fail = [i](const std::string& what) {
      throw argument_error("variant " + std::to_string(i) + ": " + what);
    };
    if (v.prompt < 0 || static_cast<std::size_t>(v.prompt) >= prompts.size())
      fail("there is no prompt " + std::to_string(v.prompt) + " among " + std::to_string(prompts.size()));
    const auto length = static_cast<index>(prompts[static_cast<std::size_t>(v.prompt)].size());
    for (const intervention& edit : v.edits) {
      check(spec, edit);
      if (edit.positions.which == position_choice::kind::one &&
          (edit.positions.at < 0 || edit.positions.at >= length))
        fail("position " + std::to_string(edit.positions.at) + " is outside the prompt of " +
             std::to_string(length) + " tokens");
    }
  }
}

/// Hooks that see the sequence under another number.
template <class H>
struct renumbered {
  H inner;
  int sequence;

  static constexpr bool observes(hook point) { return H::observes(point); }
  static constexpr bool edits(hook point) { return H::edits(point); }
  bool wants(site s) const {
    s.sequence = sequence;
    return inner.wants(s);
  }
  void fire(site s, activation_view view) {
    s.sequence = sequence;
    inner.fire(s, view);
  }
};

/// Takes prompts and their variants in groups of at most `row_limit` rows: whole prompts with all their
/// variants as long as they fit, and a prompt with too many variants in several goes.
template <class Host, class Take>
void sweep_by_forks(Host& h, prompt_batch prompts, std::span<const variant> variants,
                    const sweep_options& options, const Take& take) {
  const auto length = [&](std::size_t p) {
    return static_cast<index>(prompts[p].size()) + h.spec().prefix_rows;
  };
  std::vector<std::vector<std::size_t>> of_prompt(prompts.size());
  for (std::size_t v = 0; v < variants.size(); ++v)
    of_prompt[static_cast<std::size_t>(variants[v].prompt)].push_back(v);

  std::vector<token_sequence> group;       // the prompts of one go
  std::vector<std::size_t> group_prompt;   // their indices
  std::vector<std::size_t> group_variant;  // the variants of one go
  std::vector<fork> forks;
  index rows = 0;
  const auto flush = [&] {
    if (group.empty()) return;
    const int first_fork = static_cast<int>(group.size());
    intervention_hooks hook_functions([&](int sequence) -> std::span<const intervention> {
      if (sequence < first_fork) return {};
      return variants[group_variant[static_cast<std::size_t>(sequence - first_fork)]].edits;
    });
    h.run_forked(group, forks, hook_functions, [&](index first, const const_matrix_ref& logits) {
      for (index r = 0; r < logits.rows(); ++r) {
        const auto sequence = static_cast<std::size_t>(first + r);
        const bool is_prompt = sequence < group.size();
        const std::size_t v = is_prompt ? 0 : group_variant[sequence - group.size()];
        const std::size_t prompt =
            is_prompt ? group_prompt[sequence] : static_cast<std::size_t>(variants[v].prompt);
        take(is_prompt ? prompt : prompts.size() + v, static_cast<int>(prompt), logits.middleRows(r, 1));
      }
    });
    group.clear();
    group_prompt.clear();
    group_variant.clear();
    forks.clear();
    rows = 0;
  };
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    std::size_t next = 0;
    do {
      if (rows > 0 && rows + length(p) >= options.row_limit) flush();
      group.push_back(prompts[p]);
      group_prompt.push_back(p);
      rows += length(p);
      const std::size_t begun = next;
      for (; next < of_prompt[p].size(); ++next) {
        fork f = fork_of(h.spec(), variants[of_prompt[p][next]], static_cast<index>(prompts[p].size()));
        const index own = static_cast<index>(prompts[p].size()) - f.first_position;
        if (rows + own > options.row_limit && next > begun) break;
        f.parent = static_cast<int>(group.size()) - 1;
        forks.push_back(f);
        group_variant.push_back(of_prompt[p][next]);
        rows += own;
      }
      if (next < of_prompt[p].size()) flush();
    } while (next < of_prompt[p].size());
  }
  flush();
}

}  // namespace detail

/// Every variant as a run of its own, on any host: the plain way that `sweep` is held to.
template <host Host, logit_reduction Reduce>
auto sweep_by_loop(Host& h, prompt_batch prompts, std::span<const variant> variants, Reduce reduce) {
  using T = std::invoke_result_t<Reduce&, int, const const_matrix_ref&>;
  detail::check_variants(h.spec(), prompts, variants);
  sweep_result<T> result;
  std::span<const intervention> edits;
  intervention_hooks hook_functions([&edits](int) { return edits; });
  const auto run = [&](int prompt) {
    const row_matrix logits =
        h.run(prompts.subspan(static_cast<std::size_t>(prompt), 1), hook_functions, logit_rows::last);
    return reduce(prompt, logits);
  };
  for (std::size_t p = 0; p < prompts.size(); ++p) result.prompts.push_back(run(static_cast<int>(p)));
  for (const variant& v : variants) {
    edits = v.edits;
    result.variants.push_back(run(v.prompt));
  }
  return result;
}

/// Runs all variants and returns `reduce(prompt, logits)` of each, and of each prompt unchanged.
/// @throws argument_error for a variant that names a prompt, place or position that does not exist.
template <class Host, logit_reduction Reduce>
auto sweep(Host& h, prompt_batch prompts, std::span<const variant> variants, Reduce reduce,
           const sweep_options& options = {}) {
  require_host<Host>();
  using T = std::invoke_result_t<Reduce&, int, const const_matrix_ref&>;
  if constexpr (requires(no_hooks & n) {
                  h.run_forked(prompts, std::span<const fork>{}, n, detail::archetype_sink{});
                }) {
    if (detail::can_fork(h)) {
      detail::check_variants(h.spec(), prompts, variants);
      sweep_result<T> result;
      result.prompts.resize(prompts.size());
      result.variants.resize(variants.size());
      detail::sweep_by_forks(h, prompts, variants, options,
                             [&](std::size_t sequence, int prompt, const const_matrix_ref& logits) {
                               if (sequence < prompts.size())
                                 result.prompts[sequence] = reduce(prompt, logits);
                               else
                                 result.variants[sequence - prompts.size()] = reduce(prompt, logits);
                             });
      return result;
    }
  }
  return sweep_by_loop(h, prompts, variants, reduce);
}

/// Runs prompts and variants for the sake of `watch`, which sees prompt p as sequence p and variant v as
/// sequence prompts.size() + v, behind the interventions.
/// @throws argument_error for prompts the model cannot take, and variants that do not fit.
template <class Host, hooks Watch>
void sweep_observed(Host& h, prompt_batch prompts, std::span<const variant> variants, Watch watch) {
  require_host<Host>();
  detail::check_variants(h.spec(), prompts, variants);
  if (detail::can_fork(h)) {
    if constexpr (requires(no_hooks & n) {
                    h.run_forked(prompts, std::span<const fork>{}, n, detail::archetype_sink{});
                  }) {
      std::vector<fork> forks;
      for (const variant& v : variants)
        forks.push_back(detail::fork_of(
            h.spec(), v, static_cast<index>(prompts[static_cast<std::size_t>(v.prompt)].size())));
      hook_set both(intervention_hooks([&](int sequence) -> std::span<const intervention> {
                      const auto s = static_cast<std::size_t>(sequence);
                      if (s < prompts.size()) return {};
                      return variants[s - prompts.size()].edits;
                    }),
                    hooks_ref(watch));
      h.run_forked(prompts, forks, both, detail::archetype_sink{});
      return;
    }
  }
  const auto run = [&](std::size_t sequence, std::size_t prompt, std::span<const intervention> edits) {
    hook_set both(intervention_hooks([&](int) { return edits; }),
                  detail::renumbered<hooks_ref<Watch>>{hooks_ref(watch), static_cast<int>(sequence)});
    h.run(prompts.subspan(prompt, 1), both, logit_rows::none);
  };
  for (std::size_t p = 0; p < prompts.size(); ++p) run(p, p, {});
  for (std::size_t v = 0; v < variants.size(); ++v)
    run(prompts.size() + v, static_cast<std::size_t>(variants[v].prompt), variants[v].edits);
}

}  // namespace iclmech

#endif  // ICLMECH_SWEEP_HPP
