#include "iclmech/engine/ssd_scan.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <utility>

#include "support/scan_cases.hpp"

namespace {

using iclmech::index;
using iclmech::row_matrix;
using iclmech::ssd_shape;
using iclmech::test::random_matrix;
using iclmech::test::random_rates;
using iclmech::test::random_steps;
using iclmech::test::relative_error;

struct ssd_case {
  ssd_shape shape;
  row_matrix x, dt, A, B, C, D, state;

  ssd_case(index rows, const ssd_shape& sizes) : shape(sizes) {
    x = random_matrix(rows, shape.heads * shape.head_size, 1);
    dt = random_steps(rows, shape.heads, 2);
    A = random_rates(1, shape.heads, 3);
    B = random_matrix(rows, shape.groups * shape.state_size, 4);
    C = random_matrix(rows, shape.groups * shape.state_size, 5);
    D = random_matrix(1, shape.heads, 6);
    state = random_matrix(shape.heads * shape.head_size, shape.state_size, 7);
  }

  // The recurrence as it is written down, in double precision.
  row_matrix reference(Eigen::MatrixXd& S) const {
    Eigen::MatrixXd y(x.rows(), x.cols());
    S = state.cast<double>();
    const index heads_in_group = shape.heads / shape.groups;
    for (index t = 0; t < x.rows(); ++t) {
      for (index channel = 0; channel < x.cols(); ++channel) {
        const index h = channel / shape.head_size, g = h / heads_in_group;
        const double step = dt(t, h), input = x(t, channel);
        y(t, channel) = D(0, h) * input;
        for (index n = 0; n < shape.state_size; ++n) {
          double& s = S(channel, n);
          s = std::exp(step * A(0, h)) * s + step * input * B(t, g * shape.state_size + n);
          y(t, channel) += s * C(t, g * shape.state_size + n);
        }
      }
    }
    return y.cast<float>();
  }

  row_matrix scan(row_matrix& S, index first, index count, index chunk = 64) const {
    row_matrix y(count, x.cols());
    iclmech::ssd_scan(shape, x.middleRows(first, count), dt.middleRows(first, count), A.data(),
                      B.middleRows(first, count), C.middleRows(first, count), D.data(), S.data(), y, chunk);
    return y;
  }

  void expect_matches_reference(index chunk = 64) const {
    row_matrix S = state;
    Eigen::MatrixXd expected_state;
    const row_matrix expected = reference(expected_state);
    EXPECT_LT(relative_error(scan(S, 0, x.rows(), chunk), expected), 1e-5);
    EXPECT_LT(relative_error(S, expected_state.cast<float>()), 1e-5);
  }
};

constexpr ssd_shape one_group{4, 12, 1, 16};
constexpr ssd_shape three_groups{6, 5, 3, 7};

TEST(ssd_scan, equals_the_recurrence_for_any_length) {
  for (const index rows : {1, 2, 7, 63, 64, 65, 129, 300}) {
    SCOPED_TRACE(testing::Message() << rows << " rows");
    ssd_case(rows, one_group).expect_matches_reference();
    ssd_case(rows, three_groups).expect_matches_reference();
  }
}

TEST(ssd_scan, equals_the_recurrence_for_any_chunk) {
  const ssd_case run(50, three_groups);
  for (const index chunk : {1, 2, 7, 16, 50, 256}) {
    SCOPED_TRACE(testing::Message() << "chunk " << chunk);
    run.expect_matches_reference(chunk);
  }
}

TEST(ssd_scan, survives_decays_that_wipe_or_keep_the_state) {
  ssd_case wiped(150, one_group);
  wiped.A.setConstant(-800.0F);
  wiped.dt.setConstant(0.1F);
  wiped.expect_matches_reference();
  wiped.A.setConstant(-1e6F);
  wiped.expect_matches_reference();
  ssd_case kept(3000, one_group);
  kept.A.setConstant(-1e-4F);  // about 1e-5 a step; below 6e-8 a float32 decay is 1 or its neighbour
  kept.expect_matches_reference();
}

// Cumulative sums of log decays reach -4000 here; their differences in float32 would be wrong in the fourth
// digit.
TEST(ssd_scan, is_exact_for_slow_decays_after_strong_ones) {
  ssd_case run(128, one_group);
  run.A.setConstant(-1.0F);
  run.dt.topRows(50).setConstant(80.0F);
  run.dt.bottomRows(78).setConstant(0.01F);
  run.x.topRows(50) *= 1e-3F;
  run.expect_matches_reference(128);
}

// Step sizes are positive in every model, but a hook may write others.
TEST(ssd_scan, takes_step_sizes_of_either_sign) {
  ssd_case run(40, three_groups);
  run.dt.row(3) *= -1.0F;
  run.dt.row(17).setZero();
  run.expect_matches_reference();
}

TEST(ssd_scan, gives_the_same_numbers_in_pieces) {
  const ssd_case run(100, three_groups);
  row_matrix whole_state = run.state, state = run.state;
  const row_matrix whole = run.scan(whole_state, 0, 100);
  row_matrix pieces(100, 30);
  for (const auto& [first, count] : {std::pair<index, index>{0, 1}, {1, 70}, {71, 28}, {99, 1}}) {
    pieces.middleRows(first, count) = run.scan(state, first, count);
  }
  EXPECT_LT(relative_error(pieces, whole), 1e-5);
  EXPECT_LT(relative_error(state, whole_state), 1e-5);
}

TEST(ssd_scan, takes_columns_of_wider_matrices) {
  const ssd_case run(20, three_groups);
  row_matrix wide(20, 30 + 21 + 21 + 6 + 30);
  wide << run.x, run.B, run.C, run.dt, row_matrix::Zero(20, 30);
  row_matrix expected_state = run.state, state = run.state;
  const row_matrix expected = run.scan(expected_state, 0, 20);
  iclmech::ssd_scan(run.shape, wide.leftCols(30), wide.middleCols(72, 6), run.A.data(),
                    wide.middleCols(30, 21), wide.middleCols(51, 21), run.D.data(), state.data(),
                    wide.rightCols(30));
  EXPECT_EQ(wide.rightCols(30), expected);
  EXPECT_EQ(state, expected_state);
}

TEST(ssd_step_from, equals_a_scan_of_each_row_alone_and_leaves_the_state) {
  for (const ssd_shape& shape : {one_group, three_groups}) {
    const ssd_case run(9, shape);
    const row_matrix state = run.state;
    row_matrix y(9, shape.heads * shape.head_size);
    iclmech::ssd_step_from(shape, state.data(), run.x, run.dt, run.A.data(), run.B, run.C, run.D.data(), y);
    EXPECT_EQ(state, run.state);
    for (index row = 0; row < 9; ++row) {
      row_matrix S = run.state;
      EXPECT_LT(relative_error(y.row(row), run.scan(S, row, 1)), 1e-5) << "row " << row;
    }
  }
}

TEST(ssd_scan_explicit, rebuilds_the_scan_from_decays_and_writes) {
  const ssd_case run(30, three_groups);
  row_matrix log_decay(30, 6), writes(30, 6 * 5 * 7), y(30, 30), S = run.state;
  iclmech::ssd_log_decay(run.dt, run.A.data(), log_decay);
  iclmech::ssd_writes(run.shape, run.x, run.dt, run.B, writes);
  EXPECT_FLOAT_EQ(log_decay(3, 4), run.dt(3, 4) * run.A(0, 4));
  // head 4, channel 2 of it, state 6; head 4 belongs to group 2
  EXPECT_FLOAT_EQ(writes(3, (4 * 5 + 2) * 7 + 6), run.dt(3, 4) * run.x(3, 4 * 5 + 2) * run.B(3, 2 * 7 + 6));
  iclmech::ssd_scan_explicit(run.shape, log_decay, writes, run.C, run.x, run.D.data(), S.data(), y);
  Eigen::MatrixXd expected_state;
  EXPECT_LT(relative_error(y, run.reference(expected_state)), 1e-5);
  EXPECT_LT(relative_error(S, expected_state.cast<float>()), 1e-5);
}

TEST(ssd_scan, names_the_matrix_that_does_not_fit) {
  ssd_case run(4, three_groups);
  row_matrix y(4, 30);
  try {
    iclmech::ssd_scan(run.shape, run.x, run.dt.leftCols(5), run.A.data(), run.B, run.C, run.D.data(),
                      run.state.data(), y);
    FAIL() << "no error";
  } catch (const iclmech::argument_error& e) {
    EXPECT_STREQ(e.what(), "ssd scan: dt is 4x5 but should be 4x6 to fit the other arguments");
  }
}

}  // namespace
