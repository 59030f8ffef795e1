// must not compile: not a host: it lacks `iclmech::row_matrix unembedding
#include "complete_host.hpp"

struct subject : complete_host {
#ifndef ICLMECH_CONTROL
  iclmech::row_matrix unembedding(iclmech::token_id id);  // one row at a time
#endif
};

void check() { iclmech::require_host<subject>(); }
