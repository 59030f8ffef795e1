#include "iclmech/io/mapped_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <type_traits>
#include <utility>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::file_error;
using iclmech::mapped_file;
using iclmech::test::temporary_folder;
using testing::HasSubstr;
using testing::ThrowsMessage;

static_assert(!std::is_copy_constructible_v<mapped_file>);
static_assert(std::is_nothrow_move_constructible_v<mapped_file>);
static_assert(std::is_nothrow_move_assignable_v<mapped_file>);

std::string text_of(const mapped_file& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(mapped_file, shows_the_content_and_stays_in_place_when_moved) {
  const temporary_folder folder;
  const std::string path = folder.write("a", "hello");
  mapped_file first(path);
  EXPECT_EQ(text_of(first), "hello");
  EXPECT_EQ(first.path(), path);

  const std::byte* const address = first.bytes().data();
  mapped_file second(std::move(first));
  EXPECT_EQ(second.bytes().data(), address);
  EXPECT_EQ(second.path(), path);

  mapped_file third(folder.write("b", "other"));
  third = std::move(second);
  EXPECT_EQ(third.bytes().data(), address);
  EXPECT_EQ(text_of(third), "hello");
}

TEST(mapped_file, outlives_the_name_of_its_file) {
  const temporary_folder folder;
  const std::string path = folder.write("a", "hello");
  const mapped_file file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(file), "hello");
}

TEST(mapped_file, can_be_read_after_its_pages_were_released) {
  const temporary_folder folder;
  const std::string content(100'000, 'x');
  const mapped_file file(folder.write("a", content));
  file.release(file.bytes());
  file.release(file.bytes().subspan(5, 10));
  file.release({});
  EXPECT_EQ(text_of(file), content);
}

TEST(mapped_file, accepts_an_empty_file) {
  const temporary_folder folder;
  EXPECT_TRUE(mapped_file(folder.write("a", "")).bytes().empty());
}

TEST(mapped_file, names_the_path_and_the_reason_when_it_cannot_be_read) {
  const temporary_folder folder;
  const std::string missing = (folder.path() / "missing").string();
  EXPECT_THAT([&] { mapped_file{missing}; },
              ThrowsMessage<file_error>(missing + ": file: cannot be opened: No such file or directory"));
  EXPECT_THAT([&] { mapped_file{folder.path().string()}; },
              ThrowsMessage<file_error>(folder.path().string() + ": file: is a folder; name a file in it"));
  EXPECT_THAT([&] { mapped_file{""}; }, ThrowsMessage<file_error>(HasSubstr("cannot be opened")));
}

TEST(mapped_file, does_not_wait_for_a_pipe) {
  const temporary_folder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { mapped_file{pipe}; }, ThrowsMessage<file_error>(HasSubstr("is not a regular file")));
}

}  // namespace
