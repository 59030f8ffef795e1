#include "iclmech/io/tensor_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/file_builders.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using iclmech::test::append;
using iclmech::test::temporary_folder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

static_assert(!std::is_copy_constructible_v<tensor_file>);
static_assert(std::is_nothrow_move_constructible_v<tensor_file>);

class tensors : public testing::Test {
 protected:
  /// A file whose whole content is one tensor, named "x".
  template <typename T>
  tensor_file holding(dtype type, std::vector<index> shape, const std::vector<T>& values) const {
    std::string bytes;
    for (const T value : values) append(bytes, value);
    mapped_file file(path_ = folder_.write("x.bin", bytes));
    std::vector<tensor_entry> entries{{"x", type, std::move(shape), file.bytes(), 0}};
    return tensor_file(std::move(file), std::move(entries));
  }

  temporary_folder folder_;
  mutable std::string path_;
};

TEST_F(tensors, are_found_by_name_and_shape) {
  const tensor_file file = holding<float>(dtype::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(file.find("x"), &file.entries().front());
  EXPECT_EQ(file.find("y"), nullptr);
  EXPECT_EQ(&file.require("x"), file.find("x"));
  EXPECT_EQ(&file.require("x", {2, 3}), file.find("x"));
  EXPECT_EQ(file.find("x")->size(), 6);
  EXPECT_EQ(file.path(), path_);
}

TEST_F(tensors, that_are_missing_are_named_with_their_nearest_neighbours) {
  const std::string path = folder_.write("x.bin", "abc");
  mapped_file file(path);
  std::vector<tensor_entry> entries;
  for (const char* const name : {"blk.0.attn_q", "blk.0.attn_k", "blk.0.ffn_up"}) {
    entries.push_back({name, dtype::u8, {1}, file.bytes().first(1), 0});
  }
  const tensor_file model(std::move(file), std::move(entries));
  EXPECT_THAT([&] { model.require("blk.0.attn_k.weight"); },
              ThrowsMessage<file_error>(
                  path + ": tensor 'blk.0.attn_k.weight': is missing; the nearest of the 3 names: "
                         "'blk.0.attn_k', 'blk.0.attn_q', 'blk.0.ffn_up'"));
  const tensor_file empty({}, {}, {});
  EXPECT_THAT([&] { empty.require("x"); },
              ThrowsMessage<file_error>(HasSubstr("there are no tensors at all")));
}

TEST_F(tensors, of_another_shape_are_refused_with_both_shapes) {
  const tensor_file file = holding<float>(dtype::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(
      [&] {
        file.require("x", {3, 2});
      },
      ThrowsMessage<file_error>(path_ + ": tensor 'x' (byte 0): has the shape [2, 3], but the model's "
                                        "description asks for [3, 2]"));
  EXPECT_THAT(
      [&] {
        file.require("x", {2, 3, 1});
      },
      ThrowsMessage<file_error>(HasSubstr("asks for [2, 3, 1]")));
  EXPECT_THAT([&] { file.require("x", {}); }, ThrowsMessage<file_error>(HasSubstr("asks for []")));
}

TEST_F(tensors, read_as_vector_and_matrix) {
  const tensor_file file = holding<float>(dtype::f32, {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(file.read(file.require("x")), ElementsAre(1, 2, 3, 4, 5, 6));
  const row_matrix matrix = file.read_matrix(file.require("x"));
  ASSERT_EQ(matrix.rows(), 2);
  ASSERT_EQ(matrix.cols(), 3);
  EXPECT_EQ(matrix(1, 0), 4);
}

TEST_F(tensors, of_rank_one_and_zero_are_one_row) {
  const tensor_file vector = holding<double>(dtype::f64, {2}, {1, 2});
  EXPECT_EQ(vector.read_matrix(vector.require("x")).rows(), 1);
  EXPECT_EQ(vector.read_matrix(vector.require("x")).cols(), 2);
  const tensor_file scalar = holding<double>(dtype::f64, {}, {1});
  EXPECT_EQ(scalar.read_matrix(scalar.require("x")).size(), 1);
}

TEST_F(tensors, without_elements_are_fine) {
  const tensor_file file = holding<float>(dtype::f32, {3, 0}, {});
  EXPECT_THAT(file.read(file.require("x")), IsEmpty());
  EXPECT_EQ(file.read_matrix(file.require("x")).size(), 0);
}

TEST_F(tensors, of_integers_read_in_64_bits) {
  const auto check = [&](dtype type, auto first, auto second) {
    const tensor_file file = holding<decltype(first)>(type, {2}, {first, second});
    EXPECT_THAT(file.read_integers(file.require("x")),
                ElementsAre(static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)))
        << name(type);
  };
  check(dtype::i64, std::numeric_limits<std::int64_t>::min(), std::int64_t{5});
  check(dtype::i32, std::numeric_limits<std::int32_t>::min(), std::int32_t{5});
  check(dtype::i16, std::int16_t{-32768}, std::int16_t{5});
  check(dtype::i8, std::int8_t{-128}, std::int8_t{5});
  check(dtype::u64, std::uint64_t{1} << 62, std::uint64_t{5});
  check(dtype::u32, std::numeric_limits<std::uint32_t>::max(), std::uint32_t{5});
  check(dtype::u16, std::numeric_limits<std::uint16_t>::max(), std::uint16_t{5});
  check(dtype::u8, std::uint8_t{255}, std::uint8_t{5});
  check(dtype::boolean, std::uint8_t{0}, std::uint8_t{1});
}

TEST_F(tensors, of_the_wrong_kind_are_refused) {
  const tensor_file integers = holding<std::int64_t>(dtype::i64, {1}, {1});
  const auto& i = integers.require("x");
  EXPECT_THAT([&] { integers.read(i); },
              ThrowsMessage<file_error>(
                  path_ + ": tensor 'x' (byte 0): holds i64, but real numbers are needed here"));
  EXPECT_THAT([&] { integers.read_matrix(i); },
              ThrowsMessage<file_error>(HasSubstr("holds i64, but real numbers")));
  const tensor_file reals = holding<float>(dtype::f32, {1}, {1});
  EXPECT_THAT([&] { reals.read_integers(reals.require("x")); },
              ThrowsMessage<file_error>(HasSubstr("holds f32, but whole numbers are needed here")));
}

TEST_F(tensors, of_integers_above_63_bits_are_refused) {
  const tensor_file file = holding<std::uint64_t>(dtype::u64, {2}, {1, std::uint64_t{1} << 63});
  EXPECT_THAT([&] { file.read_integers(file.require("x")); },
              ThrowsMessage<file_error>(AllOf(HasSubstr("tensor 'x' (byte 8): holds 9223372036854775808"),
                                              HasSubstr("does not fit a signed 64-bit number"))));
}

TEST_F(tensors, that_do_not_fit_their_shape_are_an_error_of_the_caller) {
  EXPECT_THAT(
      [&] {
        holding<float>(dtype::f32, {3}, {1, 2});
      },
      ThrowsMessage<argument_error>("tensor_file: the data of tensor 'x' does not fit its shape [3]"));
  EXPECT_THAT([&] { holding<float>(dtype::f32, {-2, -1}, {1, 2}); }, testing::Throws<argument_error>());
  EXPECT_THAT(
      [&] {
        holding<float>(dtype::q4_0, {32, 1}, std::vector<float>(144));
      },
      testing::Throws<argument_error>());
}

TEST_F(tensors, of_one_name_in_two_files_are_refused) {
  std::vector<mapped_file> files;
  files.emplace_back(folder_.write("1", "a"));
  files.emplace_back(folder_.write("2", "bc"));
  std::vector<tensor_entry> entries{{"x", dtype::u8, {1}, files[0].bytes(), 0},
                                    {"x", dtype::u8, {1}, files[1].bytes().subspan(1), 1}};
  const std::string folder = folder_.path().string();
  EXPECT_THAT(
      [&] { tensor_file(folder, std::move(files), std::move(entries)); },
      ThrowsMessage<file_error>(folder + "/2: tensor 'x' (byte 1): is stored twice; the other one is in " +
                                folder + "/1 at byte 0"));
}

TEST_F(tensors, stay_valid_when_their_file_object_moves) {
  tensor_file first = holding<float>(dtype::f32, {2}, {1, 2});
  const tensor_file second = std::move(first);
  EXPECT_THAT(second.read(second.require("x")), ElementsAre(1, 2));
  EXPECT_EQ(second.file_of(second.require("x")), path_);
}

TEST(stored_bytes, is_overflow_safe) {
  using detail::stored_bytes;
  const auto bytes = [](dtype type, std::vector<index> shape) { return stored_bytes(type, shape); };
  constexpr index largest = std::numeric_limits<index>::max();
  EXPECT_EQ(bytes(dtype::f32, {2, 3}), 24u);
  EXPECT_EQ(bytes(dtype::f32, {}), 4u);
  EXPECT_EQ(bytes(dtype::q4_0, {2, 64}), 2u * 36);
  EXPECT_EQ(bytes(dtype::q4_0, {64, 2}), std::nullopt);
  EXPECT_EQ(bytes(dtype::q4_0, {}), std::nullopt);
  EXPECT_EQ(bytes(dtype::q6_k, {3, 256}), 630u);
  EXPECT_EQ(bytes(dtype::u8, {largest}), static_cast<std::uint64_t>(largest));
  EXPECT_EQ(bytes(dtype::u8, {largest, 2}), std::nullopt);
  EXPECT_EQ(bytes(dtype::f64, {largest}), std::nullopt);
  EXPECT_EQ(bytes(dtype::u8, {largest, largest, 0}), std::nullopt);
  EXPECT_EQ(bytes(dtype::u8, {0, largest, largest}), 0u);
  EXPECT_EQ(bytes(dtype::f32, {-1}), std::nullopt);
}

}  // namespace
}  // namespace iclmech
