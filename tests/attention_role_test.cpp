#include "iclmech/attention_role.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/random_matrix.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function
using iclmech::test::random_matrix;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<token_role> roles{token_role::first,     token_role::demonstration, token_role::separator,
                                    token_role::label,     token_role::demonstration, token_role::label,
                                    token_role::separator, token_role::query};

TEST(role_shares, add_up_the_weights_of_each_role) {
  vector row(8);
  row << 0.25F, 0.125F, 0, 0.125F, 0.125F, 0.25F, 0.0625F, 0.0625F;
  const role_shares shares = role_shares::of(row, roles);
  EXPECT_DOUBLE_EQ(shares[token_role::first], 0.25);
  EXPECT_DOUBLE_EQ(shares[token_role::demonstration], 0.25);
  EXPECT_DOUBLE_EQ(shares[token_role::label], 0.375);
  EXPECT_DOUBLE_EQ(shares[token_role::query], 0.0625);
  EXPECT_DOUBLE_EQ(shares[token_role::separator], 0.0625);
  EXPECT_THAT(shares.values(), ElementsAre(0.25, 0.25, 0.375, 0.0625, 0.0625));
}

TEST(role_shares, of_weights_of_either_sign_and_any_sum_add_up_to_one) {
  const row_matrix rows = random_matrix(5, 8, 1);
  for (index i = 0; i < rows.rows(); ++i) {
    const role_shares shares = role_shares::of(rows.row(i), roles);
    EXPECT_NEAR(std::accumulate(shares.values().begin(), shares.values().end(), 0.0), 1, 1e-15);
    EXPECT_NEAR(shares[token_role::query], std::abs(rows(i, 7)) / rows.row(i).cast<double>().cwiseAbs().sum(),
                1e-15);
  }
}

TEST(role_shares, of_a_row_without_weight_are_zero) {
  EXPECT_THAT(role_shares::of(vector(vector::Zero(8)), roles).values(), testing::Each(0.0));
}

TEST(role_shares, need_a_role_for_each_position) {
  EXPECT_THAT([] { (void)role_shares::of(vector(vector::Ones(7)), roles); },
              ThrowsMessage<argument_error>(HasSubstr("a row over 7 positions with 8 roles")));
}

TEST(group_shares, tell_the_demonstrations_apart) {
  vector row(8);
  row << 0.25F, 0.125F, 0.125F, 0.25F, 0.125F, 0.0625F, 0, 0.0625F;
  const std::vector<std::int32_t> demonstrations{-1, 0, 0, 0, 1, 1, -1, -1};
  EXPECT_THAT(group_shares(row, demonstrations, 3), ElementsAre(0.5, 0.1875, 0));
}

TEST(group_shares, refuse_groups_that_are_not_there) {
  const vector row = vector::Ones(3);
  EXPECT_THAT(
      [&] {
        (void)group_shares(row, std::vector<std::int32_t>{0, 2, 1}, 2);
      },
      ThrowsMessage<argument_error>(HasSubstr("position 1 is in group 2, but there are 2")));
  EXPECT_THAT([&] { (void)group_shares(row, std::vector<std::int32_t>{0}, 2); },
              ThrowsMessage<argument_error>(HasSubstr("a row over 3 positions with 1 group numbers")));
}

}  // namespace
