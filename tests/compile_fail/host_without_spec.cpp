// must not compile: not a host: it lacks `const iclmech::model_spec& spec\(\) const`
#include "complete_host.hpp"

struct subject : complete_host {
#ifndef ICLMECH_CONTROL
  const iclmech::model_spec& spec() const = delete;
#endif
};

void check() { iclmech::require_host<subject>(); }
