#ifndef ICLMECH_TESTING_HOST_CONFORMANCE_SUITE_HPP
#define ICLMECH_TESTING_HOST_CONFORMANCE_SUITE_HPP
// The conformance checks as a GoogleTest suite over any type that makes hosts.
//
//   struct my_hosts {
//     static my_host make() { return my_host("model.bin"); }
//     static iclmech::conformance_options options() { return {}; }
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(mine, host_conformance, my_hosts);   // in namespace iclmech

#include <gtest/gtest.h>

#include "iclmech/testing/host_conformance.hpp"

namespace iclmech {

template <class Maker>
class host_conformance : public ::testing::Test {};

TYPED_TEST_SUITE_P(host_conformance);

TYPED_TEST_P(host_conformance, keeps_what_hosts_promise) {
  auto h = TypeParam::make();
  for (const std::string& complaint : check_host(h, TypeParam::options())) ADD_FAILURE() << complaint;
}

TYPED_TEST_P(host_conformance, a_second_host_agrees_with_the_first) {
  auto first = TypeParam::make();
  auto second = TypeParam::make();
  const std::vector<token_sequence> prompt{{0, 1, 0}};
  no_hooks none;
  EXPECT_EQ(distance(second.run(prompt, none, logit_rows::all), first.run(prompt, none, logit_rows::all)),
            0.0F)
      << "two hosts of one model share something that they change, or begin with memory they have not set";
}

REGISTER_TYPED_TEST_SUITE_P(host_conformance, keeps_what_hosts_promise, a_second_host_agrees_with_the_first);

}  // namespace iclmech

#endif  // ICLMECH_TESTING_HOST_CONFORMANCE_SUITE_HPP
