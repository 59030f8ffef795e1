#include "iclmech/task/bundled_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace iclmech {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::ThrowsMessage;

TEST(bundled_models, one_for_every_kind_of_mixer) {
  EXPECT_THAT(bundled_model_names(), IsSupersetOf({"hymba", "llama", "mamba", "mamba2", "zamba2"}));
  EXPECT_FALSE(bundled_model("").has_value());
  EXPECT_FALSE(bundled_model("tasks").has_value());
}

TEST(find_model, takes_paths_as_they_are_and_names_what_there_is_instead) {
  const std::string folder = *bundled_model("mamba");
  EXPECT_EQ(find_model(folder), folder);
  EXPECT_EQ(find_model("mamba"), folder);
  EXPECT_THAT([] { find_model("lama.gguf"); },
              ThrowsMessage<argument_error>(AllOf(HasSubstr("'lama.gguf'"), HasSubstr("llama"))));
}

TEST(find_model, is_not_misled_by_a_folder_without_a_model) {
  const auto before = std::filesystem::current_path();
  const auto folder = std::filesystem::path(testing::TempDir()) / "iclmech_find_model";
  std::filesystem::create_directories(folder / "mamba");
  std::filesystem::current_path(folder);
  EXPECT_EQ(find_model("mamba"), *bundled_model("mamba"));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(find_any_task, finds_those_of_the_bundled_models_too) {
  EXPECT_EQ(find_any_task("contextual-2").name, "contextual-2");
  EXPECT_EQ(find_any_task("sentiment").name, "sentiment");
}

}  // namespace
}  // namespace iclmech
