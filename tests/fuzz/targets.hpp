#ifndef ICLMECH_TESTS_FUZZ_TARGETS_HPP
#define ICLMECH_TESTS_FUZZ_TARGETS_HPP
// The readers as functions of bytes. Any bytes must give a result or an iclmech::error; everything else is a
// bug.

#include <span>
#include <string>
#include <string_view>

namespace iclmech::test {

struct fuzz_target {
  std::string_view name;
  void (*read)(const std::string& bytes);
};

/// All targets; the folder corpus/<name> holds inputs for each.
std::span<const fuzz_target> fuzz_targets();

/// Runs one target; swallows what the library throws on purpose and lets everything else through.
void run(const fuzz_target& target, const std::string& bytes);

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_FUZZ_TARGETS_HPP
