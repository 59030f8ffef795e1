#ifndef ICLMECH_TESTS_SUPPORT_EDITED_HOST_HPP
#define ICLMECH_TESTS_SUPPORT_EDITED_HOST_HPP
// Another host with an edit in all its runs: activations that no prompt brings about, for methods that only
// take a host.

#include <utility>

#include "iclmech/host/any_host.hpp"

namespace iclmech::test {

/// `spec` may be changed to tell something else of the model.
template <hooks Edit>
class edited_host {
 public:
  edited_host(any_host& inner, Edit edit) : spec_(inner.spec()), inner_(inner), edit_(std::move(edit)) {}

  model_spec& spec() { return spec_; }
  const model_spec& spec() const { return spec_; }

  template <hooks H>
  row_matrix run(prompt_batch prompts, H& hook_functions, logit_rows rows = logit_rows::last) {
    hook_set both{hooks_ref(edit_), hooks_ref(hook_functions)};
    return inner_.run(prompts, both, rows);
  }
  row_matrix unembedding(std::span<const token_id> ids) { return inner_.unembedding(ids); }
  row_matrix output_projection(mixer_id id) { return inner_.output_projection(id); }

 private:
  model_spec spec_;
  any_host& inner_;
  Edit edit_;
};

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_EDITED_HOST_HPP
