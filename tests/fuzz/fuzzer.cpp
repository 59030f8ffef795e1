// libFuzzer's way into the target called ICLMECH_FUZZ_TARGET.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto& target = *std::ranges::find(iclmech::test::fuzz_targets(), ICLMECH_FUZZ_TARGET,
                                                 &iclmech::test::fuzz_target::name);
  iclmech::test::run(target, std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
