// Two translation units that include the same headers are one program: functions and states exist once.

#include <gtest/gtest.h>

#include "iclmech/detail/parallel.hpp"
#include "iclmech/tsla.hpp"

namespace second_unit {
void set_thread_count(int count);
int requested_threads();
double recognition(const iclmech::row_matrix& label_rows, const iclmech::vector& write);
}  // namespace second_unit

TEST(two_units, share_the_thread_count) {
  iclmech::set_thread_count(3);
  EXPECT_EQ(second_unit::requested_threads(), 3);
  second_unit::set_thread_count(0);
  EXPECT_EQ(iclmech::detail::requested_threads().load(), 0);
}

TEST(two_units, catch_each_others_exceptions) {
  const iclmech::row_matrix rows = iclmech::row_matrix::Identity(2, 3);
  EXPECT_THROW(second_unit::recognition(rows, iclmech::vector::Ones(4)), iclmech::argument_error);
}

TEST(two_units, score_alike) {
  const iclmech::row_matrix rows = iclmech::row_matrix::Identity(2, 3);
  const iclmech::vector write = iclmech::vector::LinSpaced(3, 1, 3);
  const iclmech::label_subspace labels(rows, iclmech::label_set({5, 7}));
  EXPECT_EQ(second_unit::recognition(rows, write), labels.score(write, 0).tr);
}
