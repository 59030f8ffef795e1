#include "iclmech/engine/selective_scan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>

#include "support/scan_cases.hpp"

namespace {

using iclmech::index;
using iclmech::row_matrix;
using iclmech::test::random_matrix;
using iclmech::test::random_rates;
using iclmech::test::random_steps;
using iclmech::test::relative_error;

struct selective_case {
  row_matrix x, dt, A, B, C, D, state;

  selective_case(index rows, index channels, index states) {
    x = random_matrix(rows, channels, 1);
    dt = random_steps(rows, channels, 2);
    A = random_rates(channels, states, 3);
    B = random_matrix(rows, states, 4);
    C = random_matrix(rows, states, 5);
    D = random_matrix(1, channels, 6);
    state = random_matrix(channels, states, 7);
  }

  // The recurrence as it is written down, in double precision.
  row_matrix reference(Eigen::MatrixXd& S) const {
    Eigen::MatrixXd y(x.rows(), x.cols());
    S = state.cast<double>();
    for (index t = 0; t < x.rows(); ++t) {
      for (index c = 0; c < x.cols(); ++c) {
        const double step = dt(t, c), input = x(t, c);
        y(t, c) = D(0, c) * input;
        for (index n = 0; n < A.cols(); ++n) {
          S(c, n) = std::exp(step * A(c, n)) * S(c, n) + step * input * B(t, n);
          y(t, c) += S(c, n) * C(t, n);
        }
      }
    }
    return y.cast<float>();
  }

  row_matrix scan(row_matrix& S, index first, index count) const {
    row_matrix y(count, x.cols());
    iclmech::selective_scan(x.middleRows(first, count), dt.middleRows(first, count), A,
                            B.middleRows(first, count), C.middleRows(first, count), D.data(), S.data(), y);
    return y;
  }

  void expect_matches_reference() const {
    row_matrix S = state;
    Eigen::MatrixXd expected_state;
    const row_matrix expected = reference(expected_state);
    EXPECT_LT(relative_error(scan(S, 0, x.rows()), expected), 1e-5);
    EXPECT_LT(relative_error(S, expected_state.cast<float>()), 1e-5);
  }
};

TEST(selective_scan, equals_the_recurrence_for_any_length_and_width) {
  for (const index rows : {1, 2, 7, 33, 200}) {
    for (const index channels : {1, 15, 16, 17, 70}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << channels << " channels");
      selective_case(rows, channels, 8).expect_matches_reference();
    }
  }
}

TEST(selective_scan, equals_the_recurrence_for_any_state_size) {
  for (const index states : {1, 5, 16, 32}) selective_case(40, 20, states).expect_matches_reference();
}

TEST(selective_scan, survives_decays_that_wipe_or_keep_the_state) {
  selective_case wiped(50, 18, 8);
  wiped.A.setConstant(-80.0F / 0.1F);
  wiped.dt.setConstant(0.1F);
  wiped.expect_matches_reference();
  selective_case beyond_float = wiped;
  beyond_float.A.setConstant(-1e5F);
  beyond_float.expect_matches_reference();
  selective_case kept(3000, 18, 8);
  kept.A.setConstant(-1e-4F);  // about 1e-5 a step; below 6e-8 a float32 decay is 1 or its neighbour
  kept.expect_matches_reference();
}

// Step sizes are positive in every model, but a hook may write others.
TEST(selective_scan, takes_step_sizes_of_either_sign) {
  selective_case run(40, 18, 8);
  run.dt.row(3) *= -1.0F;
  run.dt.row(17).setZero();
  run.expect_matches_reference();
}

TEST(selective_scan, gives_the_same_bits_in_pieces) {
  const selective_case run(37, 35, 8);
  row_matrix whole_state = run.state, state = run.state;
  const row_matrix whole = run.scan(whole_state, 0, 37);
  row_matrix pieces(37, 35);
  for (const auto& [first, count] : {std::pair<index, index>{0, 1}, {1, 20}, {21, 1}, {22, 15}}) {
    pieces.middleRows(first, count) = run.scan(state, first, count);
  }
  EXPECT_EQ(pieces, whole);
  EXPECT_EQ(state, whole_state);
}

TEST(selective_scan, takes_columns_of_wider_matrices) {
  const selective_case run(20, 24, 8);
  row_matrix wide(20, 24 + 24 + 8 + 8 + 24);
  wide << run.x, run.dt, run.B, run.C, row_matrix::Zero(20, 24);
  row_matrix expected_state = run.state, state = run.state;
  const row_matrix expected = run.scan(expected_state, 0, 20);
  iclmech::selective_scan(wide.leftCols(24), wide.middleCols(24, 24), run.A, wide.middleCols(48, 8),
                          wide.middleCols(56, 8), run.D.data(), state.data(), wide.rightCols(24));
  EXPECT_EQ(wide.rightCols(24), expected);
  EXPECT_EQ(state, expected_state);
}

TEST(selective_step_from, equals_a_scan_of_each_row_alone_and_leaves_the_state) {
  const selective_case run(9, 35, 8);
  const row_matrix state = run.state;
  row_matrix y(9, 35);
  iclmech::selective_step_from(state.data(), run.x, run.dt, run.A, run.B, run.C, run.D.data(), y);
  EXPECT_EQ(state, run.state);
  for (index row = 0; row < 9; ++row) {
    row_matrix S = run.state;
    EXPECT_EQ(y.row(row), run.scan(S, row, 1)) << "row " << row;
  }
}

TEST(selective_scan_explicit, rebuilds_the_scan_from_decays_and_writes) {
  const selective_case run(30, 20, 8);
  row_matrix log_decay(30, 160), writes(30, 160), y(30, 20), S = run.state;
  iclmech::selective_log_decay(run.dt, run.A, log_decay);
  iclmech::selective_writes(run.x, run.dt, run.B, writes);
  EXPECT_FLOAT_EQ(log_decay(3, 2 * 8 + 5), run.dt(3, 2) * run.A(2, 5));
  EXPECT_FLOAT_EQ(writes(3, 2 * 8 + 5), run.dt(3, 2) * run.x(3, 2) * run.B(3, 5));
  iclmech::selective_scan_explicit(log_decay, writes, run.C, run.x, run.D.data(), S.data(), y);
  Eigen::MatrixXd expected_state;
  EXPECT_LT(relative_error(y, run.reference(expected_state)), 1e-5);
  EXPECT_LT(relative_error(S, expected_state.cast<float>()), 1e-5);
}

TEST(selective_scan, names_the_matrix_that_does_not_fit) {
  selective_case run(4, 6, 8);
  row_matrix y(4, 6);
  try {
    iclmech::selective_scan(run.x, run.dt, run.A, run.B.leftCols(7), run.C, run.D.data(), run.state.data(),
                            y);
    FAIL() << "no error";
  } catch (const iclmech::argument_error& e) {
    EXPECT_STREQ(e.what(), "selective scan: B is 4x7 but should be 4x8 to fit the other arguments");
  }
}

}  // namespace
