#include "iclmech/host/model_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mixed_spec.hpp"

namespace iclmech {
namespace {

using ::testing::HasSubstr;

class model_spec_of_mixed_layers : public ::testing::Test {
 protected:
  /// The message of the error that parsing a head ends with.
  std::string message(std::string_view text) const {
    try {
      spec_.parse_head(text);
    } catch (const argument_error& e) {
      return e.what();
    }
    return "no error";
  }
  model_spec spec_ = test::mixed_spec();
};

TEST_F(model_spec_of_mixed_layers, counts_and_orders_its_heads) {
  EXPECT_EQ(spec_.layer_count(), 4);
  EXPECT_EQ(spec_.head_count(), 4 + 3 + 2 + 5 + 2 + 3);
  const auto heads = spec_.heads();
  ASSERT_EQ(heads.size(), 19U);
  EXPECT_TRUE(std::is_sorted(heads.begin(), heads.end()));
  EXPECT_EQ(heads[7], (head_id{2, mixer_kind::attention, 0}));
  EXPECT_EQ(heads[9], (head_id{2, mixer_kind::mamba1, 0}));
  EXPECT_EQ(spec_.mixer_ids().size(), 6U);
  EXPECT_EQ(spec_.mixer(2, mixer_kind::mamba1).width(), 30);
}

TEST_F(model_spec_of_mixed_layers, names_each_kind_of_mixer_once) {
  EXPECT_EQ(spec_.mixer_kinds(),
            (std::vector{mixer_kind::attention, mixer_kind::mamba1, mixer_kind::mamba2}));
  spec_.layers.resize(2);
  EXPECT_EQ(spec_.mixer_kinds(), (std::vector{mixer_kind::attention, mixer_kind::mamba2}));
}

TEST_F(model_spec_of_mixed_layers, reads_the_labels_it_writes) {
  for (const head_id id : spec_.heads()) EXPECT_EQ(spec_.parse_head(spec_.label(id)), id) << spec_.label(id);
  EXPECT_EQ(spec_.label({0, mixer_kind::attention, 1}), "L0H1");
  EXPECT_EQ(spec_.label({1, mixer_kind::mamba2, 1}), "L1H1");
  EXPECT_EQ(spec_.label({2, mixer_kind::mamba1, 4}), "L2.mamba.H4");
  EXPECT_EQ(spec_.parse_head("L3.mamba2.H0"), (head_id{3, mixer_kind::mamba2, 0}));
}

TEST_F(model_spec_of_mixed_layers, says_why_a_head_is_none) {
  EXPECT_THAT(message("head5"), HasSubstr("'head5' is not a head: write L<layer>H<head>"));
  EXPECT_THAT(message("L4H0"), HasSubstr("layer 4 does not exist: the model has layers 0 to 3"));
  EXPECT_THAT(message("L0H4"), HasSubstr("head L0.attention.H4 does not exist: that mixer has heads 0 to 3"));
  EXPECT_THAT(message("L2H1"),
              HasSubstr("does not say which mixer: layer 2 has 2; write for example L2.attention.H1"));
  EXPECT_THAT(message("L0.mamba.H1"), HasSubstr("layer 0 has no mamba1 mixer: it has attention"));
  EXPECT_THAT(message("L2.conv.H1"), HasSubstr("'conv' in 'L2.conv.H1' is not a mixer"));
}

TEST_F(model_spec_of_mixed_layers, checks_heads) {
  EXPECT_NO_THROW(spec_.check({2, mixer_kind::mamba1, 4}));
  EXPECT_THROW(spec_.check({2, mixer_kind::mamba1, 5}), argument_error);
  EXPECT_THROW(spec_.check({2, mixer_kind::mamba1, -1}), argument_error);
  EXPECT_THROW(spec_.check({-1, mixer_kind::attention, 0}), argument_error);
}

TEST(write_path, names) {
  EXPECT_EQ(to_string(write_path::linear), "linear");
  EXPECT_EQ(to_string(write_path::frozen_norm), "frozen_norm");
  EXPECT_EQ(to_string(write_path::measured), "measured");
}

}  // namespace
}  // namespace iclmech
