// Every saved input, seeds and those that once broke something, through the reader it was made for.

#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>

#include "fuzz/targets.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech::test {

void PrintTo(const fuzz_target& target, std::ostream* stream) { *stream << target.name; }

namespace {

class saved_inputs : public testing::TestWithParam<fuzz_target> {};

TEST_P(saved_inputs, give_a_result_or_an_error) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ICLMECH_SOURCE_DIR) /
                                                               "tests/fuzz/corpus" / GetParam().name)) {
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(run(GetParam(), read_text(entry.path())));
    ++count;
  }
  EXPECT_GT(count, 0) << "the corpus is empty";
}

INSTANTIATE_TEST_SUITE_P(fuzz, saved_inputs, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace iclmech::test
