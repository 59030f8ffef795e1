#include "iclmech/label_subspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "support/random_matrix.hpp"

namespace {

using iclmech::argument_error;
using iclmech::index;
using iclmech::label_set;
using iclmech::label_subspace;
using iclmech::row_matrix;
using iclmech::token_id;
using iclmech::tsla_score;
using iclmech::vector;
using iclmech::test::random_matrix;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

label_set numbered_labels(index count) {
  std::vector<token_id> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 100);
  return label_set(tokens);
}

// The definitions of methods and paper, word for word, in double: P = W^T (W W^T)^-1 W.
tsla_score by_definition(const row_matrix& rows, const vector& write, index answer) {
  const Eigen::MatrixXd w = rows.cast<double>();
  const Eigen::VectorXd a = write.cast<double>();
  const Eigen::MatrixXd projector = w.transpose() * (w * w.transpose()).inverse() * w;
  double differences = 0;
  for (index y = 0; y < w.rows(); ++y)
    if (y != answer) differences += a.dot(w.row(answer) - w.row(y));
  const double norm = (projector * a).norm();
  return {norm, differences / static_cast<double>(w.rows() - 1) / norm};
}

TEST(label_subspace, scores_a_case_done_by_hand) {
  // The rows span the xy plane: P a = (3, 4, 0), a.(w0 - w1) = -4.
  row_matrix rows(2, 3);
  rows << 1, 0, 0, 1, 1, 0;
  const label_subspace labels(rows, numbered_labels(2));
  const Eigen::Vector3f write(3, 4, 5);
  EXPECT_NEAR(labels.score(write, 0).tr, 5, 1e-6);
  EXPECT_NEAR(labels.score(write, 0).tl, -0.8, 1e-6);
  EXPECT_NEAR(labels.score(write, 1).tl, 0.8, 1e-6);
  EXPECT_THAT(labels.coordinates(write), ElementsAre(3.0F, 7.0F));
}

TEST(label_subspace, agrees_with_the_definitions_for_sets_of_every_size) {
  for (const index count : {2, 3, 5, 9, 40}) {
    const row_matrix rows = random_matrix(count, 64, 1);
    const label_subspace labels(rows, numbered_labels(count));
    ASSERT_EQ(labels.rank(), count);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const vector write = random_matrix(64, 1, 100 + seed);
      const index answer = static_cast<index>(seed) % count;
      const tsla_score expected = by_definition(rows, write, answer);
      const tsla_score score = labels.score(write, answer);
      // float32 dot products of length 64: relative rounding of some 1e-7, against differences of order 10.
      EXPECT_NEAR(score.tr, expected.tr, 2e-6 * expected.tr);
      EXPECT_NEAR(score.tl, expected.tl, 1e-5);
      EXPECT_NEAR(labels.projection_norm(write), expected.tr, 2e-6 * expected.tr);
    }
  }
}

TEST(label_subspace, has_an_orthonormal_basis_that_rebuilds_the_rows) {
  const row_matrix rows = random_matrix(5, 48, 3);
  const label_subspace labels(rows, numbered_labels(5));
  const row_matrix& basis = labels.basis();
  EXPECT_TRUE((basis * basis.transpose()).isIdentity(1e-6F));
  EXPECT_TRUE((labels.loadings() * basis.cast<double>()).isApprox(rows.cast<double>(), 1e-6));
  EXPECT_EQ(labels.rows(), rows);
}

TEST(label_subspace, scores_the_same_from_label_coordinates) {
  const row_matrix rows = random_matrix(6, 64, 5);
  const label_subspace labels(rows, numbered_labels(6));
  const vector write = random_matrix(64, 1, 6);
  const vector c = labels.coordinates(write);
  EXPECT_TRUE(c.isApprox(rows * write, 1e-6F));
  const Eigen::VectorXd wide = c.cast<double>();
  const Eigen::MatrixXd gram = rows.cast<double>() * rows.cast<double>().transpose();
  EXPECT_NEAR(labels.tr(c), std::sqrt(wide.dot(gram.ldlt().solve(wide))), 1e-9 * labels.tr(c));
  const tsla_score score = labels.score(write, 2);
  EXPECT_NEAR(labels.tr(c), score.tr, 1e-5 * score.tr);
  EXPECT_NEAR(labels.tl(c, 2), score.tl, 1e-5);
}

TEST(label_subspace, tr_depends_on_the_span_alone) {
  const row_matrix rows = random_matrix(4, 32, 7);
  Eigen::Matrix4f mix;
  mix << 2, 1, 0, 0, 0, 1, 0, -1, 0, 0, 3, 1, 1, 0, 0, 1;
  const label_subspace labels(rows, numbered_labels(4));
  const label_subspace mixed(mix * rows, numbered_labels(4));
  const vector write = random_matrix(32, 1, 8);
  EXPECT_NEAR(mixed.score(write, 0).tr, labels.score(write, 0).tr, 1e-5);
}

TEST(label_subspace, obeys_the_invariances_of_its_definition) {
  const row_matrix rows = random_matrix(4, 32, 9);
  const label_subspace labels(rows, numbered_labels(4));
  const vector write = random_matrix(32, 1, 10);
  const tsla_score score = labels.score(write, 1);

  const tsla_score longer = labels.score(write * 8, 1);  // a power of two: the same arithmetic
  EXPECT_DOUBLE_EQ(longer.tr, 8 * score.tr);
  EXPECT_DOUBLE_EQ(longer.tl, score.tl);
  const tsla_score reversed = labels.score(-write, 1);
  EXPECT_DOUBLE_EQ(reversed.tr, score.tr);
  EXPECT_DOUBLE_EQ(reversed.tl, -score.tl);

  const vector noise = random_matrix(32, 1, 11);
  const vector outside = noise - labels.basis().transpose() * (labels.basis() * noise);
  const tsla_score shifted = labels.score(write + 10 * outside, 1);
  EXPECT_NEAR(shifted.tr, score.tr, 1e-4);
  EXPECT_NEAR(shifted.tl, score.tl, 1e-4);

  double sum = 0;
  for (index answer = 0; answer < 4; ++answer) sum += labels.score(write, answer).tl;
  EXPECT_NEAR(sum, 0, 1e-12);  // the mean differences of all labels cancel
}

TEST(label_subspace, reads_spans_rows_columns_and_expressions_alike) {
  const row_matrix rows = random_matrix(3, 16, 12);
  const label_subspace labels(rows, numbered_labels(3));
  const label_subspace from_span(std::span(rows.data(), 48), numbered_labels(3));
  const row_matrix writes = random_matrix(2, 16, 13);
  const std::vector<float> plain(writes.data() + 16, writes.data() + 32);
  const tsla_score expected = labels.score(plain, 2);
  EXPECT_EQ(from_span.score(plain, 2).tr, expected.tr);
  EXPECT_EQ(labels.score(writes.row(1), 2).tl, expected.tl);
  EXPECT_EQ(labels.score(vector(writes.row(1)), 2).tl, expected.tl);
  EXPECT_EQ(labels.score(writes.row(1) * 1.0F, 2).tl, expected.tl);
  EXPECT_EQ(labels.score(writes.transpose().col(1), 2).tl, expected.tl);
  const label_subspace doubles(rows.cast<double>(), numbered_labels(3));
  EXPECT_EQ(doubles.score(plain, 2).tr, expected.tr);
}

TEST(label_subspace, a_gain_folded_into_the_rows_acts_on_the_write) {
  const row_matrix rows = random_matrix(3, 16, 14);
  const vector gain = random_matrix(16, 1, 15);
  const vector write = random_matrix(16, 1, 16);
  const label_subspace raw(rows, numbered_labels(3));
  const label_subspace folded(rows * gain.asDiagonal(), numbered_labels(3));
  EXPECT_TRUE(folded.coordinates(write).isApprox(raw.coordinates(gain.cwiseProduct(write)), 1e-5F));
}

TEST(label_subspace, stays_exact_on_near_parallel_labels) {
  const row_matrix one = random_matrix(1, 64, 17);
  const row_matrix other = random_matrix(1, 64, 18);
  const vector write = random_matrix(64, 1, 19);
  for (const float apart : {1e-2F, 1e-3F, 1e-4F}) {
    row_matrix rows(3, 64);
    rows << one, one + apart * other, random_matrix(1, 64, 20);
    const label_subspace labels(rows, numbered_labels(3));
    ASSERT_EQ(labels.rank(), 3);
    // The reference is orthonormalised in long double; an inverse Gram matrix fed with float32 coordinates
    // would be wrong by up to 1e-7 / apart, relative.
    using exact = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    const exact w = rows.cast<long double>();
    const exact q = w.transpose().householderQr().householderQ() * exact::Identity(64, 3);
    const auto expected = static_cast<double>((q.transpose() * write.cast<long double>()).norm());
    EXPECT_NEAR(labels.score(write, 0).tr, expected, 1e-6 * expected) << "labels apart by " << apart;
  }
}

TEST(label_subspace, names_near_parallel_labels) {
  row_matrix rows = random_matrix(3, 64, 21);
  rows.row(2) = -2 * rows.row(0);
  rows(2, 5) += 0.01F;
  const label_subspace labels(rows, label_set({1, 2, 3}, {"yes", "no", "si"}));
  EXPECT_EQ(labels.rank(), 3);
  const auto pairs = labels.parallel_pairs();
  ASSERT_THAT(pairs, SizeIs(1));
  EXPECT_EQ(pairs[0].first, 0);
  EXPECT_EQ(pairs[0].second, 2);
  EXPECT_NEAR(pairs[0].cosine, -1, 1e-5);
  EXPECT_THAT(labels.warnings(),
              ElementsAre(AllOf(HasSubstr("label \"yes\" (token 1) and label \"si\" (token 3)"),
                                HasSubstr("nearly parallel unembedding rows (cosine -"))));
}

TEST(label_subspace, drops_a_label_whose_row_repeats_another) {
  row_matrix rows = random_matrix(3, 64, 22);
  rows.row(1) = 3 * rows.row(0);
  const label_subspace labels(rows, label_set({1, 2, 3}, {"a", "b", "c"}));
  EXPECT_EQ(labels.rank(), 2);
  ASSERT_THAT(labels.dropped(), SizeIs(1));
  EXPECT_THAT(labels.warnings(), ElementsAre(HasSubstr("adds no direction to the label subspace"),
                                             HasSubstr("\"a\" (token 1) and label \"b\" (token 2)")));
  // TR is the one of the remaining two, and TL still compares all three.
  row_matrix kept(2, 64);
  kept << rows.row(0), rows.row(2);
  const vector write = random_matrix(64, 1, 23);
  const tsla_score two = by_definition(kept, write, 0);
  const tsla_score three = labels.score(write, 1);
  EXPECT_NEAR(three.tr, two.tr, 1e-5 * two.tr);
  const vector c = rows * write;
  EXPECT_NEAR(three.tl, (c(1) - (c(0) + c(2)) / 2) / two.tr, 1e-5);
  EXPECT_NEAR(labels.tr(c), two.tr, 1e-5 * two.tr);
}

TEST(label_subspace, drops_a_label_in_the_span_of_several_others) {
  row_matrix rows = random_matrix(3, 64, 24);
  rows.row(0) = rows.row(1) + rows.row(2);
  const label_subspace labels(rows, numbered_labels(3));
  EXPECT_EQ(labels.rank(), 2);
  EXPECT_THAT(labels.dropped(), SizeIs(1));
  EXPECT_THAT(labels.parallel_pairs(), IsEmpty());
  EXPECT_THAT(labels.warnings(), SizeIs(1));
}

TEST(label_subspace, tolerance_decides_what_is_a_direction) {
  row_matrix rows = row_matrix::Zero(2, 8);
  rows(0, 0) = 1;
  rows(1, 0) = 1;
  rows(1, 1) = 1e-3F;
  EXPECT_EQ(label_subspace(rows, numbered_labels(2)).rank(), 2);
  EXPECT_EQ(label_subspace(rows, numbered_labels(2), 1e-2).rank(), 1);
  EXPECT_THAT([&] { label_subspace(rows, numbered_labels(2), 0); },
              ThrowsMessage<argument_error>(HasSubstr("is not between 0 and 1")));
}

TEST(label_subspace, a_short_row_is_no_dependent_row) {
  row_matrix rows = random_matrix(3, 32, 25);
  rows.row(1) *= 1e-12F;
  EXPECT_EQ(label_subspace(rows, numbered_labels(3)).rank(), 3);
}

TEST(label_subspace, more_labels_than_dimensions_span_everything) {
  const label_subspace labels(random_matrix(7, 4, 26), numbered_labels(7));
  EXPECT_EQ(labels.rank(), 4);
  EXPECT_THAT(labels.dropped(), SizeIs(3));
  const vector write = random_matrix(4, 1, 27);
  EXPECT_NEAR(labels.projection_norm(write), write.norm(), 1e-6 * write.norm());
}

TEST(label_subspace, a_write_outside_the_span_scores_zero) {
  row_matrix rows = row_matrix::Zero(2, 4);
  rows(0, 0) = 1;
  rows(1, 1) = 1;
  const label_subspace labels(rows, numbered_labels(2));
  const tsla_score score = labels.score(Eigen::Vector4f(0, 0, 2, 3), 0);
  EXPECT_EQ(score.tr, 0);
  EXPECT_EQ(score.tl, 0);
  EXPECT_EQ(labels.tl(Eigen::Vector2f(0, 0), 0), 0);
}

TEST(label_subspace, passes_on_what_is_not_finite_in_a_write) {
  const label_subspace labels(random_matrix(3, 8, 28), numbered_labels(3));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    vector write = random_matrix(8, 1, 29);
    write(3) = bad;
    EXPECT_FALSE(std::isfinite(labels.score(write, 0).tr));
    EXPECT_TRUE(std::isnan(labels.score(write, 0).tl));
  }
}

TEST(label_subspace, a_single_label_has_tr_and_no_tl) {
  row_matrix rows(1, 3);
  rows << 0, 2, 0;
  const label_subspace labels(rows, label_set({9}, {"only"}));
  const Eigen::Vector3f write(1, -3, 1);
  EXPECT_EQ(labels.projection_norm(write), 3);
  EXPECT_NEAR(labels.tr(labels.coordinates(write)), 3, 1e-6);
  const auto names_the_label = ThrowsMessage<argument_error>(
      AllOf(HasSubstr("label \"only\" (token 9) is the only one"), HasSubstr("projection_norm")));
  EXPECT_THAT([&] { (void)labels.score(write, 0); }, names_the_label);
  EXPECT_THAT([&] { (void)labels.tl(labels.coordinates(write), 0); }, names_the_label);
}

TEST(label_subspace, refuses_rows_that_do_not_fit) {
  EXPECT_THAT([] { label_subspace(row_matrix::Ones(3, 4), numbered_labels(2)); },
              ThrowsMessage<argument_error>(HasSubstr("3 unembedding rows for 2 labels")));
  const std::vector<float> seven(7, 1.0F);
  EXPECT_THAT([&] { label_subspace(seven, numbered_labels(2)); },
              ThrowsMessage<argument_error>(HasSubstr("7 floats do not divide into 2 rows")));
  EXPECT_THAT([] { label_subspace(row_matrix::Zero(2, 4), numbered_labels(2)); },
              ThrowsMessage<argument_error>(HasSubstr("rows of all 2 labels are zero or empty")));
  EXPECT_THAT([] { label_subspace(row_matrix(2, 0), numbered_labels(2)); },
              ThrowsMessage<argument_error>(HasSubstr("zero or empty")));
  row_matrix rows = row_matrix::Ones(2, 4);
  rows(1, 2) = std::numeric_limits<float>::infinity();
  EXPECT_THAT([&] { label_subspace(rows, numbered_labels(2)); },
              ThrowsMessage<argument_error>(HasSubstr("row of label 1 (token 101) holds NaN or infinity")));
}

TEST(label_subspace, refuses_writes_and_answers_that_do_not_fit) {
  const label_subspace labels(random_matrix(2, 8, 30), numbered_labels(2));
  EXPECT_THAT(
      [&] { (void)labels.score(vector(vector::Ones(7)), 0); },
      ThrowsMessage<argument_error>(AllOf(HasSubstr("write has 7 values"), HasSubstr("have 8 (d_model)"))));
  for (const index answer : {-1, 2})
    EXPECT_THAT([&] { (void)labels.score(vector(vector::Ones(8)), answer); },
                ThrowsMessage<argument_error>(HasSubstr("answer " + std::to_string(answer) +
                                                        " is not a position in a set of 2 labels")));
  EXPECT_THAT([&] { (void)labels.tr(Eigen::Vector3f(1, 2, 3)); },
              ThrowsMessage<argument_error>(HasSubstr("3 label coordinates for 2 labels")));
}

}  // namespace
