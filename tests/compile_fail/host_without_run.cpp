// must not compile: not a host: it lacks `iclmech::row_matrix run\(iclmech::prompt_batch, Hooks&
#include "complete_host.hpp"

// `run` must be a template over the hooks: taking none is not enough.
struct subject : complete_host {
#ifndef ICLMECH_CONTROL
  iclmech::row_matrix run(iclmech::prompt_batch prompts, iclmech::no_hooks& hooks, iclmech::logit_rows rows);
#endif
};

void check() { iclmech::require_host<subject>(); }
