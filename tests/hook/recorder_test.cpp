#include "iclmech/hook/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iclmech {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class recording : public ::testing::Test {
 protected:
  const_activation_view numbers(int rank, const activation_view::extents& shape) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<float>(i);
    return activation_view::contiguous(memory_.data(), rank, shape);
  }
  std::vector<float> memory_ = std::vector<float>(64);
};

TEST_F(recording, keeps_copies_by_name) {
  activation_recorder recorder({{hook::z, 1, mixer_kind::attention}, {hook::embed}});
  const auto view = numbers(3, {2, 2, 2});
  recorder.fire({hook::z, 1}, view);
  recorder.fire({hook::z, 2}, view);
  memory_[0] = 100.0F;
  const auto seen = recorder.take();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_THAT(seen.at("blocks.1.attn.hook_z").shape, ElementsAre(2, 2, 2));
  EXPECT_THAT(seen.at("blocks.1.attn.hook_z").values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(recorder.take(), IsEmpty());
}

TEST_F(recording, packs_rows_that_are_apart) {
  activation_recorder recorder({{hook::resid_pre, 0}});
  numbers(1, {1});
  recorder.fire({hook::resid_pre, 0}, const_activation_view(memory_.data(), 2, {3, 2}, 10));
  EXPECT_THAT(recorder.take().at("blocks.0.hook_resid_pre").values, ElementsAre(0, 1, 10, 11, 20, 21));
}

TEST_F(recording, one_sequence_of_the_batch) {
  activation_recorder recorder({{hook::embed}}, 1);
  EXPECT_FALSE(recorder.wants({hook::embed, -1, mixer_kind::attention, 0}));
  EXPECT_TRUE(recorder.wants({hook::embed, -1, mixer_kind::attention, 1}));
  recorder.fire({hook::embed, -1, mixer_kind::attention, 0}, numbers(2, {1, 2}));
  EXPECT_THAT(recorder.take(), IsEmpty());
}

TEST_F(recording, states_of_chosen_positions_get_an_axis) {
  const auto state = [](index position, bool last) {
    return site{hook::ssm_state, 0, mixer_kind::mamba2, 0, position, last};
  };
  activation_recorder some({{hook::ssm_state, 0, mixer_kind::mamba2}}, 0, {2, 4});
  for (index p = 0; p < 6; ++p) some.fire(state(p, p == 5), numbers(3, {1, 1, 2}));
  const auto two = some.take();
  EXPECT_THAT(two.at("blocks.0.mixer.hook_ssm_state").shape, ElementsAre(2, 1, 1, 2));
  EXPECT_THAT(two.at("blocks.0.mixer.hook_ssm_state").values, ElementsAre(0, 1, 0, 1));
  activation_recorder last({{hook::ssm_state, 0, mixer_kind::mamba2}});
  for (index p = 0; p < 6; ++p) EXPECT_EQ(last.wants(state(p, p == 5)), p == 5);
}

}  // namespace
}  // namespace iclmech
