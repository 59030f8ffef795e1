#ifndef ICLMECH_HOST_HOST_HPP
#define ICLMECH_HOST_HOST_HPP
// The host concept: the few things an inference engine must offer so that every method of the library runs on
// it.
//
// Required members of a host `h` (docs/writing_a_host.md builds one step by step):
//   h.spec()                         -> const model_spec&
//   h.run(prompts, hooks, rows)      -> row_matrix of logits: one row per prompt (logit_rows::last), one row
//   per
//                                       token of every prompt in order (all), or none. Fires the hooks.
//   h.unembedding(ids)               -> rows of the unembedding matrix, [ids x d_model]
//   h.output_projection(mixer_id)    -> [d_model x heads*d_head]: maps hook_z to the write, static gains
//   folded in
// Optional:
//   h.run_forked(prompts, forks, hooks, sink)  shares computation between variants of a prompt (see fork.hpp)
//   h.final_norm_gain()                        -> [d_model], what the final norm multiplies by

#include <concepts>
#include <span>

#include "iclmech/hook/hook_set.hpp"
#include "iclmech/host/fork.hpp"
#include "iclmech/host/model_spec.hpp"

namespace iclmech {

/// Which rows of logits a run returns.
enum class logit_rows : unsigned char { last, all, none };

/// Prompts of a batch: token ids, of different lengths.
using prompt_batch = std::span<const token_sequence>;

namespace detail {

/// Takes logits of consecutive sequences, [n x vocabulary], the first one being `first_sequence`.
struct archetype_sink {
  void operator()(index first_sequence, const_matrix_ref logits) const {
    static_cast<void>(first_sequence);
    static_cast<void>(logits);
  }
};

/// Any observer will do for checking that `run` is a template over hooks.
inline auto archetype_hooks() {
  return observe<hook::z>([](const site&, const_activation_view) {});
}

}  // namespace detail

/// \concept host_with_spec
template <class H>
concept host_with_spec = requires(const H& h) {
  { h.spec() } -> std::convertible_to<const model_spec&>;
};

/// \concept host_with_run
template <class H>
concept host_with_run = requires(H& h, prompt_batch prompts, no_hooks& none,
                                 decltype(detail::archetype_hooks())& some) {
  { h.run(prompts, none, logit_rows::last) } -> std::convertible_to<row_matrix>;
  { h.run(prompts, some, logit_rows::last) } -> std::convertible_to<row_matrix>;
};

/// \concept host_with_unembedding
template <class H>
concept host_with_unembedding = requires(H& h, std::span<const token_id> ids) {
  { h.unembedding(ids) } -> std::convertible_to<row_matrix>;
};

/// \concept host_with_output_projection
template <class H>
concept host_with_output_projection = requires(H& h, mixer_id mixer) {
  { h.output_projection(mixer) } -> std::convertible_to<row_matrix>;
};

/// \concept host
/// Any inference engine that the methods can run on.
template <class H>
concept host =
    host_with_spec<H> && host_with_run<H> && host_with_unembedding<H> && host_with_output_projection<H>;

/// \concept forkable_host
/// A host that shares the computation of a prompt between its variants.
template <class H>
concept forkable_host = host<H> && requires(H& h, prompt_batch prompts, std::span<const fork> forks,
                                            no_hooks& none, detail::archetype_sink sink) {
  h.run_forked(prompts, forks, none, sink);
};

/// \concept host_with_final_norm
template <class H>
concept host_with_final_norm = host<H> && requires(const H& h) {
  { h.final_norm_gain() } -> std::convertible_to<row_vector>;
};

/// Instantiate to learn in a sentence what keeps H from being a host; every method does so.
template <class H>
constexpr void require_host() {
  static_assert(host_with_spec<H>,
                "iclmech: this type is not a host: it lacks `const iclmech::model_spec& spec() const`");
  static_assert(
      host_with_run<H>,
      "iclmech: this type is not a host: it lacks `iclmech::row_matrix run(iclmech::prompt_batch, Hooks&, "
      "iclmech::logit_rows)`, a template that accepts any iclmech::hooks");
  static_assert(host_with_unembedding<H>,
                "iclmech: this type is not a host: it lacks `iclmech::row_matrix "
                "unembedding(std::span<const iclmech::token_id>)`");
  static_assert(host_with_output_projection<H>,
                "iclmech: this type is not a host: it lacks `iclmech::row_matrix "
                "output_projection(iclmech::mixer_id)`");
}

/// argument_error unless every prompt is non-empty, fits the context and holds tokens of the vocabulary.
/// Hosts call this first in `run`.
inline void check_prompts(const model_spec& spec, prompt_batch prompts) {
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const token_sequence& ids = prompts[p];
    const std::string name = "prompt " + std::to_string(p);
    if (ids.empty()) throw argument_error(name + " is empty: a prompt needs at least one token");
    if (spec.context_length > 0 && ids.size() > static_cast<std::size_t>(spec.context_length))
      throw argument_error(name + " has " + std::to_string(ids.size()) +
                           " tokens, the model's context holds " + std::to_string(spec.context_length) +
                           ": use fewer or shorter demonstrations");
    for (std::size_t t = 0; t < ids.size(); ++t)
      if (ids[t] < 0 || ids[t] >= spec.vocab_size)
        throw argument_error(name + ", token " + std::to_string(t) + ": id " + std::to_string(ids[t]) +
                             " is outside the vocabulary of " + std::to_string(spec.vocab_size) + " tokens");
  }
}

}  // namespace iclmech

#endif  // ICLMECH_HOST_HOST_HPP
