#include "iclmech/io/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::file_error;
using iclmech::write_file_atomically;
using iclmech::test::read_text;
using iclmech::test::temporary_folder;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto count_files(const temporary_folder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

TEST(write_file_atomically, creates_and_replaces) {
  const temporary_folder folder;
  const auto path = folder.path() / "results.json";
  write_file_atomically(path, "first");
  EXPECT_EQ(read_text(path), "first");
  write_file_atomically(path, std::string("second\0one", 10));
  EXPECT_EQ(read_text(path), std::string("second\0one", 10));
  write_file_atomically(path, "");
  EXPECT_EQ(read_text(path), "");
  EXPECT_EQ(count_files(folder), 1);
}

TEST(write_file_atomically, gives_the_rights_that_any_new_file_has) {
  const temporary_folder folder;
  write_file_atomically(folder.path() / "ours", "x");
  folder.write("theirs", "x");
  EXPECT_EQ(std::filesystem::status(folder.path() / "ours").permissions(),
            std::filesystem::status(folder.path() / "theirs").permissions());
}

TEST(write_file_atomically, names_the_file_and_leaves_nothing_behind_when_it_fails) {
  const temporary_folder folder;
  const auto nowhere = folder.path() / "missing" / "file";
  EXPECT_THAT(
      [&] { write_file_atomically(nowhere, "x"); },
      ThrowsMessage<file_error>(nowhere.string() + ": file: cannot be created: No such file or directory"));
  const auto taken = folder.path() / "taken";
  std::filesystem::create_directory(taken);
  EXPECT_THAT([&] { write_file_atomically(taken, "x"); },
              ThrowsMessage<file_error>(HasSubstr(taken.string() + ": file: cannot be replaced: ")));
  EXPECT_EQ(count_files(folder), 1);
}

TEST(write_file_atomically, a_reader_beside_many_writers_sees_whole_files_only) {
  const temporary_folder folder;
  const auto path = folder.path() / "file";
  const auto content = [](char c) { return std::string(100000, c); };
  write_file_atomically(path, content('a'));
  std::jthread first([&] {
    for (int i = 0; i < 20; ++i) write_file_atomically(path, content('b'));
  });
  std::jthread second([&] {
    for (int i = 0; i < 20; ++i) write_file_atomically(path, content('c'));
  });
  for (int i = 0; i < 200; ++i) {
    const std::string seen = read_text(path);
    ASSERT_EQ(seen.size(), 100000u);
    ASSERT_EQ(seen, content(seen.front()));
  }
}

}  // namespace
