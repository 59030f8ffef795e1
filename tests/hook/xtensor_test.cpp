#include "iclmech/hook/xtensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xview.hpp>
#endif

namespace iclmech {
namespace {

using ::testing::ElementsAre;

// Two heads of width 3 at 4 positions, in rows that are 10 floats apart.
class as_xtensor_of : public ::testing::Test {
 protected:
  as_xtensor_of() : memory_(40), view_(memory_.data(), 3, {4, 2, 3}, 10) {
    std::iota(memory_.begin(), memory_.end(), 0.0F);
  }
  std::vector<float> memory_;
  activation_view view_;
};

TEST_F(as_xtensor_of, reads_every_element_where_it_is) {
  const auto z = as_xtensor(const_activation_view(view_));
  EXPECT_THAT(z.shape(), ElementsAre(4U, 2U, 3U));
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(z(p, h, c), static_cast<float>(10 * p + 3 * h + c));
}

TEST_F(as_xtensor_of, writes_through) {
  auto z = as_xtensor(view_);
  xt::view(z, 2, 1, xt::all()) = 0.0F;
  EXPECT_THAT((std::vector<float>(memory_.begin() + 20, memory_.begin() + 30)),
              ElementsAre(20, 21, 22, 0, 0, 0, 26, 27, 28, 29));
}

TEST_F(as_xtensor_of, reduces_over_an_axis_by_name) {
  const auto z = as_xtensor(view_);
  const xt::xarray<float> mean = xt::mean(z, {axis_of(hook::z, mixer_kind::attention, "position")});
  EXPECT_THAT(mean, ElementsAre(15, 16, 17, 18, 19, 20));
}

TEST_F(as_xtensor_of, axes_of_length_one) {
  const activation_view one(memory_.data(), 3, {4, 1, 3}, 10);
  const auto z = as_xtensor(one);
  EXPECT_EQ(z(3, 0, 2), 32.0F);
  EXPECT_EQ(xt::sum(z)(), 3 * (0 + 10 + 20 + 30) + 4 * 3.0F);
}

TEST_F(as_xtensor_of, a_vector_and_nothing) {
  const auto scale = as_xtensor(activation_view(memory_.data(), 1, {4}, 10));
  EXPECT_THAT(scale, ElementsAre(0, 10, 20, 30));
  EXPECT_EQ(as_xtensor(activation_view(memory_.data(), 2, {0, 6}, 10)).size(), 0U);
}

TEST(axes, have_names) {
  EXPECT_THAT(axes_of(hook::z, mixer_kind::attention), ElementsAre("position", "head", "d_head"));
  EXPECT_THAT(axes_of(hook::final_scale, mixer_kind::attention), ElementsAre("position"));
  EXPECT_THAT(axes_of(hook::ssm_write, mixer_kind::mamba1),
              ElementsAre("position", "head", "d_head", "d_state"));
  EXPECT_EQ(axis_of(hook::pattern, mixer_kind::attention, "key"), 2);
  EXPECT_EQ(axis_of(hook::pattern, mixer_kind::attention, "position"), -1);
  EXPECT_THAT(axes_of(hook::log_decay, mixer_kind::mamba1), ElementsAre("position", "channel", "d_state"));
  EXPECT_THAT(axes_of(hook::log_decay, mixer_kind::mamba2), ElementsAre("position", "head"));
  EXPECT_EQ(axis_of(hook::dt, mixer_kind::mamba2, "head"), 1);
}

}  // namespace
}  // namespace iclmech
