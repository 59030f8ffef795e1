#include "iclmech/task/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::argument_error;
using iclmech::bundled_task;
using iclmech::bundled_task_names;
using iclmech::data_directories;
using iclmech::find_task;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Sets the search path for one test and puts back what was there.
class data_directory_variable {
 public:
  explicit data_directory_variable(const std::string& value) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  data_directory_variable(const data_directory_variable&) = delete;
  data_directory_variable& operator=(const data_directory_variable&) = delete;
  ~data_directory_variable() {
    if (before_)
      ::setenv(name, before_->c_str(), 1);
    else
      ::unsetenv(name);
  }

 private:
  static constexpr const char* name = "ICLMECH_DATA_DIR";
  std::optional<std::string> before_;
};

class task_registry : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* directory : {"first/tasks", "second/tasks"})
      std::filesystem::create_directories(folder_.path() / directory);
    folder_.write("first/tasks/verbs.json", R"([{"input": "go", "output": "went"}])");
    folder_.write("first/tasks/readme.txt", "not a task");
    folder_.write("second/tasks/verbs.json", R"([{"input": "go", "output": "second"}])");
    folder_.write("second/tasks/nouns.json", R"([{"input": "cat", "output": "cats"}])");
  }

  iclmech::test::temporary_folder folder_;
  data_directory_variable variable_{(folder_.path() / "first").string() +
                                    "::" + (folder_.path() / "second").string()};
};

TEST_F(task_registry, searches_the_variable_before_the_built_in_directories) {
  const std::vector<std::filesystem::path> found = data_directories();
  ASSERT_GE(found.size(), 3U);
  EXPECT_EQ(found[0], folder_.path() / "first");
  EXPECT_EQ(found[1], folder_.path() / "second");
  EXPECT_TRUE(std::filesystem::exists(found[2] / "tasks" / "country-capital.json"));
}

TEST(data_directories, are_what_the_variable_and_the_program_say) {
  const data_directory_variable variable("one::two:");
  const std::vector<std::filesystem::path> found = data_directories();
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0], "one");
  EXPECT_EQ(found[1], "two");
}

TEST_F(task_registry, lists_the_tasks_of_all_directories) {
  EXPECT_THAT(bundled_task_names(), Contains("verbs"));
  EXPECT_THAT(bundled_task_names(), Contains("nouns"));
  EXPECT_THAT(bundled_task_names(), Contains("country-capital"));
  EXPECT_THAT(bundled_task_names(), ::testing::Not(Contains("readme")));
}

TEST_F(task_registry, takes_a_task_from_the_first_directory_that_has_it) {
  EXPECT_EQ(bundled_task("verbs").pairs.front().output, "went");
  EXPECT_EQ(bundled_task("nouns").pairs.front().output, "cats");
}

TEST_F(task_registry, names_the_nearest_tasks) {
  EXPECT_THAT(
      [] { bundled_task("verb"); },
      ThrowsMessage<argument_error>(HasSubstr("there is no task \"verb\"; the nearest names are: verbs, ")));
  EXPECT_THAT([] { bundled_task("../tasks/verbs"); },
              ThrowsMessage<argument_error>(HasSubstr("there is no task \"../tasks/verbs\"")));
}

TEST_F(task_registry, finds_names_and_files) {
  EXPECT_EQ(find_task("nouns").name, "nouns");
  EXPECT_EQ(find_task(folder_.write("mine.csv", "input,output\na,b\n")).name, "mine");
}

}  // namespace
