#include "iclmech/hook/any_hooks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace iclmech {
namespace {

TEST(any_hooks, forward_to_the_set_they_refer_to) {
  std::vector<float> memory(2, 1.0F);
  float seen = 0.0F;
  hook_set set(edit<hook::resid_pre>(at_layer(1), [](const site&, activation_view x) { x.row(0) *= 3.0F; }),
               observe<hook::resid_pre>(
                   at_layer(1), [&seen](const site&, const_activation_view x) { seen = x.row(0)[1]; }));
  any_hooks erased(set);
  static_assert(hooks<any_hooks>);
  EXPECT_TRUE(erased.wants({hook::resid_pre, 1}));
  EXPECT_FALSE(erased.wants({hook::resid_pre, 2}));
  EXPECT_FALSE(erased.wants({hook::z, 1}));
  erased.fire({hook::resid_pre, 1}, activation_view::contiguous(memory.data(), 2, {1, 2}));
  EXPECT_EQ(seen, 3.0F);
  EXPECT_EQ(memory[0], 3.0F);
}

// Points that the set cannot want are refused without asking it.
TEST(any_hooks, ask_only_about_points_of_the_set) {
  struct picky {
    mutable int asked = 0;
    static constexpr bool observes(hook point) { return point == hook::z; }
    static constexpr bool edits(hook) { return false; }
    bool wants(const site&) const { return ++asked, true; }
    void fire(const site&, const_activation_view) {}
  } set;
  any_hooks erased(set);
  EXPECT_FALSE(erased.wants({hook::q, 0}));
  EXPECT_EQ(set.asked, 0);
  EXPECT_TRUE(erased.wants({hook::z, 0}));
  EXPECT_EQ(set.asked, 1);
}

TEST(any_hooks, of_none_want_nothing) {
  no_hooks none;
  const any_hooks erased(none);
  for (std::size_t i = 0; i < hook_count; ++i) EXPECT_FALSE(erased.wants({static_cast<hook>(i), 0}));
}

}  // namespace
}  // namespace iclmech
