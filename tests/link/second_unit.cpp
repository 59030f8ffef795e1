// The other half of first_unit_test.cpp: it includes the same headers in the other order.

#include "iclmech/tsla.hpp"

#include "iclmech/detail/parallel.hpp"

namespace second_unit {

void set_thread_count(int count) { iclmech::set_thread_count(count); }

int requested_threads() { return iclmech::detail::requested_threads().load(); }

double recognition(const iclmech::row_matrix& label_rows, const iclmech::vector& write) {
  return iclmech::label_subspace(label_rows, iclmech::label_set({5, 7})).score(write, 0).tr;
}

}  // namespace second_unit
