#include "iclmech/state_space.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <string>

#include "support/scan_cases.hpp"

namespace {

using iclmech::channel_attention;
using iclmech::effective_attention;
using iclmech::head_scan;
using iclmech::index;
using iclmech::row_matrix;
using iclmech::row_vector;
using iclmech::step_factor;
using iclmech::test::random_matrix;
using iclmech::test::random_rates;
using iclmech::test::random_steps;
using iclmech::test::relative_error;

struct head_case {
  head_scan scan;
  row_matrix x, initial;
  row_vector D;

  static head_case mamba1(index positions, index channels, index states) {
    return {random_steps(positions, channels, 1), random_rates(channels, states, 2), states, channels};
  }
  static head_case mamba2(index positions, index channels, index states) {
    return {random_steps(positions, 1, 1), row_matrix::Constant(1, 1, -0.7F), states, channels};
  }

  // The recurrence as it is written down, in double precision; D skip included.
  row_matrix scan_output() const {
    Eigen::MatrixXd S = initial.cast<double>();
    row_matrix y(x.rows(), x.cols());
    for (index t = 0; t < x.rows(); ++t) {
      for (index c = 0; c < x.cols(); ++c) {
        double sum = static_cast<double>(D[c]) * x(t, c);
        for (index n = 0; n < scan.states(); ++n) {
          const double step = scan.shared() ? scan.dt(t, 0) : scan.dt(t, c);
          const double rate = scan.shared() ? scan.A(0, 0) : scan.A(c, n);
          S(c, n) = std::exp(step * rate) * S(c, n) + step * x(t, c) * scan.B(t, n);
          sum += S(c, n) * scan.C(t, n);
        }
        y(t, c) = static_cast<float>(sum);
      }
    }
    return y;
  }

 private:
  head_case(const row_matrix& dt, const row_matrix& A, index states, index channels)
      : scan{dt, A, random_matrix(dt.rows(), states, 3), random_matrix(dt.rows(), states, 4)},
        x(random_matrix(dt.rows(), channels, 5)),
        initial(row_matrix::Zero(channels, states)),
        D(random_matrix(1, channels, 6)) {}
};

row_matrix without_skip(const head_case& head) {
  return head.scan_output() - row_matrix(head.x * head.D.asDiagonal());
}

TEST(effective_attention, rebuilds_the_scan_output_of_a_mamba2_head) {
  for (const index positions : {1, 5, 64, 150}) {
    const head_case head = head_case::mamba2(positions, 12, 16);
    EXPECT_LT(relative_error(effective_attention(head.scan) * head.x, without_skip(head)), 1e-5);
    const row_matrix dt_x = head.scan.dt.col(0).asDiagonal() * head.x;
    EXPECT_LT(
        relative_error(effective_attention(head.scan, step_factor::left_out) * dt_x, without_skip(head)),
        1e-5);
  }
}

TEST(channel_attention, rebuilds_the_scan_output_of_each_mamba1_channel) {
  const head_case head = head_case::mamba1(50, 6, 8);
  row_matrix with_dt(50, 6), without_dt(50, 6);
  const row_matrix dt_x = head.scan.dt.cwiseProduct(head.x);
  for (index t = 0; t < 50; ++t) {
    const row_matrix alpha = channel_attention(head.scan, t);
    with_dt.row(t) = alpha.cwiseProduct(head.x.topRows(t + 1)).colwise().sum();
    const row_matrix bare = channel_attention(head.scan, t, step_factor::left_out);
    without_dt.row(t) = bare.cwiseProduct(dt_x.topRows(t + 1)).colwise().sum();
  }
  EXPECT_LT(relative_error(with_dt, without_skip(head)), 1e-5);
  EXPECT_LT(relative_error(without_dt, without_skip(head)), 1e-5);
}

TEST(effective_attention, is_the_mean_over_the_channels_of_a_mamba1_head) {
  for (const index positions : {1, 63, 64, 65, 150}) {
    for (const step_factor factor : {step_factor::included, step_factor::left_out}) {
      const head_case head = head_case::mamba1(positions, 6, 8);
      row_matrix expected = row_matrix::Zero(positions, positions);
      for (index t = 0; t < positions; ++t) {
        expected.row(t).head(t + 1) = channel_attention(head.scan, t, factor).rowwise().mean().transpose();
      }
      EXPECT_LT(relative_error(effective_attention(head.scan, factor), expected), 1e-5)
          << positions << " positions";
    }
  }
}

TEST(effective_attention, forgets_under_strong_decay_and_remembers_without) {
  head_case head = head_case::mamba1(130, 4, 8);
  head.scan.dt.setConstant(0.5F);
  head.scan.A.setConstant(-1e6F);
  EXPECT_TRUE(effective_attention(head.scan).isDiagonal());
  head.scan.A.setZero();
  const row_matrix all = 0.5F * head.scan.C * head.scan.B.transpose();
  EXPECT_LT(
      relative_error(effective_attention(head.scan), all.triangularView<Eigen::Lower>().toDenseMatrix()),
      1e-5);
}

TEST(attribute_to_sources, adds_up_to_the_scan_output_at_every_position) {
  for (head_case head : {head_case::mamba1(40, 6, 8), head_case::mamba2(40, 6, 8)}) {
    head.initial = random_matrix(6, 8, 7);
    const row_matrix expected = head.scan_output();
    row_matrix total(40, 6);
    for (index t = 0; t < 40; ++t) {
      const auto parts = iclmech::attribute_to_sources(head.scan, t, head.x, head.D, head.initial);
      EXPECT_EQ(parts.sources.rows(), t + 1);
      total.row(t) = parts.total();
    }
    EXPECT_LT(relative_error(total, expected), 1e-5);
  }
}

TEST(attribute_to_sources, gives_a_position_what_is_lost_when_it_does_not_write) {
  for (head_case head : {head_case::mamba1(20, 6, 8), head_case::mamba2(20, 6, 8)}) {
    const auto parts = iclmech::attribute_to_sources(head.scan, 19, head.x, head.D);
    const row_matrix whole = head.scan_output();
    head.x.row(7).setZero();
    EXPECT_LT(relative_error(parts.sources.row(7), (whole - head.scan_output()).row(19)), 1e-5);
    EXPECT_EQ(parts.initial, row_vector::Zero(6));
  }
}

TEST(state_attribution, keeps_adding_up_through_gates_and_projections) {
  head_case head = head_case::mamba1(30, 6, 8);
  head.initial = random_matrix(6, 8, 7);
  const row_vector gate = random_matrix(1, 6, 8);
  const row_matrix projection = random_matrix(11, 6, 9);
  const auto parts = iclmech::attribute_to_sources(head.scan, 29, head.x, head.D, head.initial);
  const auto write = parts.scaled(gate).mapped(projection);
  const row_matrix expected = head.scan_output().row(29).cwiseProduct(gate) * projection.transpose();
  EXPECT_EQ(write.sources.rows(), 30);
  EXPECT_EQ(write.sources.cols(), 11);
  EXPECT_LT(relative_error(write.total(), expected), 1e-5);
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const iclmech::argument_error& e) {
    return e.what();
  }
  return "no error";
}

TEST(state_space, names_what_does_not_fit) {
  head_case head = head_case::mamba1(10, 6, 8);
  EXPECT_EQ(message_of([&] { channel_attention(head.scan, 10); }),
            "channel_attention: position 10 is outside [0, 10)");
  EXPECT_EQ(message_of([&] { iclmech::attribute_to_sources(head.scan, 9, head.x.leftCols(5), head.D); }),
            "attribute_to_sources: x is 10x5 but should be 10x6 to fit the other arguments");
  head.scan.A.resize(5, 8);
  EXPECT_EQ(message_of([&] { effective_attention(head.scan); }),
            "head scan: A is 5x8 but should be 6x8 to fit the other arguments");
}

}  // namespace
