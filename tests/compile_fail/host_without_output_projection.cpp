// must not compile: not a host: it lacks `iclmech::row_matrix output_projection
#include "complete_host.hpp"

struct subject : complete_host {
#ifndef ICLMECH_CONTROL
  iclmech::row_matrix output_projection(int layer, int head);  // by head, not by mixer
#endif
};

void check() { iclmech::require_host<subject>(); }
