#ifndef ICLMECH_HOST_ANY_HOST_HPP
#define ICLMECH_HOST_ANY_HOST_HPP
// Any host behind one type, chosen at run time. Methods that take it are compiled once, whatever engine runs
// below.

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "iclmech/hook/any_hooks.hpp"
#include "iclmech/host/host.hpp"

namespace iclmech {

/// Owns a host and forwards to it with type-erased hooks. Forking is there if the host below can do it; ask
/// `can_fork()` before `run_forked`.
class any_host {
 public:
  template <host H>
  requires(!std::same_as<std::remove_cvref_t<H>, any_host>) explicit any_host(H h)
      : inner_(std::make_unique<holder<H>>(std::move(h))) {}

  const model_spec& spec() const { return inner_->spec(); }

  template <hooks H>
  row_matrix run(prompt_batch prompts, H& hook_functions, logit_rows rows = logit_rows::last) {
    any_hooks erased(hook_functions);
    return inner_->run(prompts, erased, rows);
  }

  bool can_fork() const { return inner_->can_fork(); }

  /// @throws unsupported_error if the host below cannot fork.
  template <hooks H, class Sink>
  void run_forked(prompt_batch prompts, std::span<const fork> forks, H& hook_functions, Sink&& sink) {
    any_hooks erased(hook_functions);
    inner_->run_forked(prompts, forks, erased,
                       [&sink](index first, const const_matrix_ref& logits) { sink(first, logits); });
  }

  row_matrix unembedding(std::span<const token_id> ids) { return inner_->unembedding(ids); }

  /// Kept after the first call, because methods ask for it once for every label set.
  const row_matrix& output_projection(mixer_id id) {
    auto found = projections_.find(id);
    if (found == projections_.end()) found = projections_.emplace(id, inner_->output_projection(id)).first;
    return found->second;
  }

  /// @throws unsupported_error if the host below does not tell.
  row_vector final_norm_gain() const { return inner_->final_norm_gain(); }

 private:
  using sink_function = std::function<void(index, const const_matrix_ref&)>;

  struct interface {
    virtual ~interface() = default;
    virtual const model_spec& spec() const = 0;
    virtual row_matrix run(prompt_batch, any_hooks&, logit_rows) = 0;
    virtual bool can_fork() const = 0;
    virtual void run_forked(prompt_batch, std::span<const fork>, any_hooks&, const sink_function&) = 0;
    virtual row_matrix unembedding(std::span<const token_id>) = 0;
    virtual row_matrix output_projection(mixer_id) = 0;
    virtual row_vector final_norm_gain() const = 0;
  };

  template <class H>
  struct holder final : interface {
    explicit holder(H h) : host_(std::move(h)) {}
    const model_spec& spec() const override { return host_.spec(); }
    row_matrix run(prompt_batch prompts, any_hooks& hook_functions, logit_rows rows) override {
      return host_.run(prompts, hook_functions, rows);
    }
    bool can_fork() const override { return forkable_host<H>; }
    void run_forked([[maybe_unused]] prompt_batch prompts, [[maybe_unused]] std::span<const fork> forks,
                    [[maybe_unused]] any_hooks& hook_functions,
                    [[maybe_unused]] const sink_function& sink) override {
      if constexpr (forkable_host<H>)
        host_.run_forked(prompts, forks, hook_functions, sink);
      else
        throw unsupported_error("this host cannot fork: run every variant as a prompt of its own");
    }
    row_matrix unembedding(std::span<const token_id> ids) override { return host_.unembedding(ids); }
    row_matrix output_projection(mixer_id id) override { return host_.output_projection(id); }
    row_vector final_norm_gain() const override {
      if constexpr (host_with_final_norm<H>)
        return host_.final_norm_gain();
      else
        throw unsupported_error("this host does not tell the gain of its final norm");
    }
    H host_;
  };

  std::unique_ptr<interface> inner_;
  std::map<mixer_id, row_matrix> projections_;
};

static_assert(host<any_host>);

}  // namespace iclmech

#endif  // ICLMECH_HOST_ANY_HOST_HPP
