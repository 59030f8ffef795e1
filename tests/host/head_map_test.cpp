#include "iclmech/host/head_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/mixed_spec.hpp"

namespace iclmech {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(head_map, has_a_place_for_every_head) {
  const model_spec spec = test::mixed_spec();
  head_map<int> map(spec, 7);
  EXPECT_THAT(map.values(), ::testing::Each(7));
  const auto heads = spec.heads();
  EXPECT_TRUE(std::equal(map.ids().begin(), map.ids().end(), heads.begin(), heads.end()));
  std::iota(map.values().begin(), map.values().end(), 0);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    EXPECT_EQ(map[heads[i]], static_cast<int>(i));
    EXPECT_EQ(map.position(heads[i]), i);
  }
}

TEST(head_map, gives_a_mixer_as_a_span) {
  head_map<int> map(test::mixed_spec());
  for (int& value : map.mixer({2, mixer_kind::mamba1})) value = 1;
  EXPECT_EQ(std::accumulate(map.values().begin(), map.values().end(), 0), 5);
  map[{2, mixer_kind::mamba1, 3}] = 9;
  EXPECT_THAT(std::as_const(map).mixer({2, mixer_kind::mamba1}), ElementsAre(1, 1, 1, 9, 1));
}

TEST(head_map, says_which_head_it_lacks) {
  head_map<int> map(test::mixed_spec());
  const auto message = [&map](head_id id) -> std::string {
    try {
      map[id] = 1;
    } catch (const argument_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message({0, mixer_kind::attention, 4}), HasSubstr("head map has no head L0.attention.H4"));
  EXPECT_THAT(message({0, mixer_kind::attention, -1}), HasSubstr("head map has no head"));
  EXPECT_THAT(message({1, mixer_kind::mamba1, 0}), HasSubstr("head map has no mamba1 mixer in layer 1"));
  EXPECT_THAT(message({4, mixer_kind::mamba1, 0}), HasSubstr("head map has no mamba1 mixer in layer 4"));
}

TEST(head_map, without_a_model_is_empty) {
  const head_map<double> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.size(), 0U);
}

}  // namespace
}  // namespace iclmech
