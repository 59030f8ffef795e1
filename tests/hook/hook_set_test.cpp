#include "iclmech/hook/hook_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace iclmech {
namespace {

using ::testing::ElementsAre;

constexpr auto ignore = [](const site&, const_activation_view) {};

TEST(hook_table, is_in_the_order_of_the_enum) {
  for (std::size_t i = 0; i < hook_count; ++i) {
    EXPECT_EQ(static_cast<std::size_t>(hook_table[i].point), i) << hook_table[i].name;
    EXPECT_TRUE(hook_table[i].name.starts_with("hook_")) << hook_table[i].name;
    EXPECT_FALSE(hook_table[i].axes[0].empty()) << hook_table[i].name;
  }
}

TEST(hook_mask, adds_and_removes) {
  hook_mask mask{hook::z, hook::final_normalized};
  EXPECT_TRUE(mask.contains(hook::final_normalized));
  EXPECT_FALSE(mask.contains(hook::embed));
  mask.remove(hook::z);
  mask.remove(hook::embed);
  EXPECT_EQ(mask, hook_mask{hook::final_normalized});
  mask.remove(hook::final_normalized);
  EXPECT_TRUE(mask.empty());
  for (std::size_t i = 0; i < hook_count; ++i) EXPECT_TRUE(hook_mask::all().contains(static_cast<hook>(i)));
}

TEST(hook_set, knows_at_compile_time_what_can_fire) {
  using set = decltype(hook_set(observe<hook::z>(ignore),
                                edit<hook::resid_pre>([](const site&, activation_view) {})));
  static_assert(set::observes(hook::z) && !set::edits(hook::z));
  static_assert(set::edits(hook::resid_pre) && !set::observes(hook::resid_pre));
  static_assert(can_fire<set, hook::z> && !can_fire<set, hook::q>);
  static_assert(!can_fire<no_hooks, hook::z>);
  static_assert(hooks<set> && hooks<no_hooks> && hooks<hooks_ref<set>>);
}

class firing_once : public ::testing::Test {
 protected:
  std::vector<float> memory_ = std::vector<float>(6, 1.0F);
  activation_view view_ = activation_view::contiguous(memory_.data(), 2, {2, 3});
};

TEST_F(firing_once, an_observer_behind_an_editor_sees_what_it_wrote) {
  std::vector<float> seen;
  const auto look = [&seen](const site&, const_activation_view x) { seen.push_back(x.row(1)[2]); };
  hook_set set(observe<hook::mlp_out>(look),
               edit<hook::mlp_out>([](const site&, activation_view x) { x.last_row() *= 5.0F; }),
               observe<hook::mlp_out>(look));
  const site here{hook::mlp_out, 3};
  ASSERT_TRUE(set.wants(here));
  set.fire(here, view_);
  EXPECT_THAT(seen, ElementsAre(1, 5));
  EXPECT_THAT(memory_, ElementsAre(1, 1, 1, 5, 5, 5));
}

TEST_F(firing_once, filters_choose_sites) {
  int times = 0;
  const auto count = [&times](const site&, const_activation_view) { ++times; };
  hook_set set(observe<hook::z>(at_layer(2), count),
               observe<hook::z>(at_mixer({4, mixer_kind::mamba2}), count),
               observe<hook::ssm_state>(at_position(7), count));
  const auto fires = [&](const site& s) {
    times = 0;
    set.fire(s, view_);
    EXPECT_EQ(set.wants(s), times > 0);
    return times;
  };
  EXPECT_EQ(fires({hook::z, 2}), 1);
  EXPECT_EQ(fires({hook::z, 3}), 0);
  EXPECT_EQ(fires({hook::z, 4}), 0);
  EXPECT_EQ(fires({hook::z, 4, mixer_kind::mamba2}), 1);
  EXPECT_EQ(fires({hook::q, 2}), 0);
  EXPECT_EQ(fires({hook::ssm_state, 0, mixer_kind::mamba2, 0, 7, false}), 1);
  EXPECT_EQ(fires({hook::ssm_state, 0, mixer_kind::mamba2, 0, 8, true}), 0);
}

TEST_F(firing_once, only_the_last_state_unless_asked_otherwise) {
  auto last = observe<hook::ssm_state>(ignore);
  EXPECT_TRUE(last.wants({hook::ssm_state, 0, mixer_kind::mamba1, 0, 5, true}));
  EXPECT_FALSE(last.wants({hook::ssm_state, 0, mixer_kind::mamba1, 0, 4, false}));
}

TEST_F(firing_once, a_reference_leaves_the_state_with_its_owner) {
  struct counter {
    int times = 0;
    static constexpr bool observes(hook) { return true; }
    static constexpr bool edits(hook) { return false; }
    bool wants(const site&) const { return times < 2; }
    void fire(const site&, const_activation_view) { ++times; }
  };
  counter mine;
  hook_set set{hooks_ref(mine)};
  while (set.wants({})) set.fire({}, view_);
  EXPECT_EQ(mine.times, 2);
}

TEST(tensor_view, rows_and_strides) {
  std::vector<float> memory(12);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const activation_view view(memory.data() + 1, 3, {2, 2, 2}, 6);
  EXPECT_EQ(view.row_size(), 4);
  EXPECT_THAT(std::vector<float>(view.row(1).begin(), view.row(1).end()), ElementsAre(7, 8, 9, 10));
  EXPECT_EQ(view.matrix()(0, 3), 4.0F);
  EXPECT_EQ(const_activation_view(view).last_row()[0], 7.0F);
  EXPECT_EQ(activation_view::contiguous(memory.data(), 3, {2, 2, 3}).row_stride(), 6);
}

}  // namespace
}  // namespace iclmech
