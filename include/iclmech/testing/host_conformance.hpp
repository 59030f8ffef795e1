#ifndef ICLMECH_TESTING_HOST_CONFORMANCE_HPP
#define ICLMECH_TESTING_HOST_CONFORMANCE_HPP
// Whether a host keeps what hosts promise, found out by running it: what an adapter's author runs first.

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "iclmech/testing/host_checks.hpp"

namespace iclmech {
namespace detail {

/// A host by reference, so that it can be run as an any_host without giving it away.
template <host H>
class host_reference {
 public:
  explicit host_reference(H& h) : host_(&h) {}
  const model_spec& spec() const { return host_->spec(); }
  row_matrix run(prompt_batch prompts, any_hooks& hook_functions, logit_rows rows) {
    return host_->run(prompts, hook_functions, rows);
  }
  // Only any_hooks ever arrive; the concept asks for a template.
  template <hooks Other>
  row_matrix run(prompt_batch prompts, Other& hook_functions, logit_rows rows) {
    any_hooks erased(hook_functions);
    return host_->run(prompts, erased, rows);
  }
  template <hooks Any, class Sink>
  requires forkable_host<H>
  void run_forked(prompt_batch prompts, std::span<const fork> forks, Any& hook_functions, Sink&& sink) {
    host_->run_forked(prompts, forks, hook_functions, sink);
  }
  row_matrix unembedding(std::span<const token_id> ids) { return host_->unembedding(ids); }
  row_matrix output_projection(mixer_id id) { return host_->output_projection(id); }

 private:
  H* host_;
};

}  // namespace detail

/// Runs the host through everything that the methods rely on; a sentence for each thing that is wrong, none
/// if all is well. The host's spec says which points are checked. Costs about three short runs for every
/// place where a hook can fire. What is wrong at the root (plain runs, the firing of hooks) is reported
/// alone, because the rest would follow.
/// @throws argument_error if options.prompts cannot be used.
template <class Host>
std::vector<std::string> check_host(Host& h, const conformance_options& options = {}) {
  require_host<Host>();
  if constexpr (std::same_as<Host, any_host>) {
    return detail::host_checks(h, options).run();
  } else {
    any_host erased{detail::host_reference<Host>(h)};
    detail::host_checks checks(erased, options);
    std::vector<std::string> complaints = checks.run();
    if (!complaints.empty() || !h.spec().observable.contains(hook::z)) return complaints;
    // Hooks known at compile time take another path through a host than those chosen at run time.
    index fired = 0;
    auto count = observe<hook::z>([&fired](const site&, const_activation_view) { ++fired; });
    const row_matrix logits = h.run(std::span(&checks.prompt(), 1), count, logit_rows::all);
    if (fired != static_cast<index>(h.spec().mixer_ids().size()) || distance(logits, checks.logits()) > 0.0F)
      complaints.push_back("With hooks known at compile time the host fires hook_z " + std::to_string(fired) +
                           " times, or gives other logits, than with hooks chosen at run time.");
    return complaints;
  }
}

}  // namespace iclmech

#endif  // ICLMECH_TESTING_HOST_CONFORMANCE_HPP
