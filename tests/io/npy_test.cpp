#include "iclmech/io/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::argument_error;
using iclmech::file_error;
using iclmech::npy_array;
using iclmech::read_npy;
using iclmech::row_matrix;
using iclmech::write_npy;
using iclmech::test::read_text;
using iclmech::test::temporary_folder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

/// A version 1 file with that dict.
std::string npy_bytes(const std::string& dict, const std::string& data = "") {
  const auto length = static_cast<char>(dict.size());
  return "\x93NUMPY" + std::string{'\1', '\0', length, '\0'} + dict + data;
}

TEST(write_npy, writes_the_bytes_that_numpy_writes) {
  const temporary_folder folder;
  const auto path = folder.path() / "x.npy";
  write_npy(path, {2, 1}, std::vector<std::int32_t>{7, -1});
  // numpy.save of the same array, NumPy 2.4.6
  std::string expected = npy_bytes("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }");
  expected[8] = 118;
  expected += std::string(127 - expected.size(), ' ') + "\n" + std::string("\7\0\0\0\xff\xff\xff\xff", 8);
  EXPECT_EQ(read_text(path), expected);
}

TEST(write_npy, round_trips_every_type_and_rank) {
  const temporary_folder folder;
  const auto path = folder.path() / "x.npy";
  const auto check = [&](std::vector<iclmech::index> shape, auto values) {
    using element = typename decltype(values)::value_type;
    write_npy<element>(path, shape, values);
    const npy_array<element> read = read_npy<element>(path);
    EXPECT_EQ(read.shape, shape);
    EXPECT_EQ(read.values, values);
    EXPECT_EQ((read_text(path).size() - values.size() * sizeof(element)) % 64, 0u);
  };
  check({}, std::vector<double>{0.1});
  check({3}, std::vector<float>{1, -2, 1e-40f});
  check({2, 2}, std::vector<std::int64_t>{1, -1, INT64_MAX, INT64_MIN});
  check({1, 2, 1, 2}, std::vector<std::int32_t>{1, 2, 3, 4});
  check({0, 5}, std::vector<float>{});
  check(std::vector<iclmech::index>(40, 1), std::vector<float>{1});
}

TEST(write_npy, takes_a_matrix) {
  const temporary_folder folder;
  row_matrix matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  write_npy(folder.path() / "x.npy", matrix);
  const auto read = read_npy<float>(folder.path() / "x.npy");
  EXPECT_THAT(read.shape, ElementsAre(2, 3));
  EXPECT_THAT(read.values, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(write_npy, refuses_a_shape_that_does_not_fit) {
  const temporary_folder folder;
  const std::vector<float> values(6);
  EXPECT_THAT(
      [&] {
        write_npy(folder.path() / "x.npy", {2, 2}, values);
      },
      ThrowsMessage<argument_error>("write_npy: 6 values do not fill the shape [2, 2]"));
  EXPECT_THAT(
      [&] {
        write_npy(folder.path() / "x.npy", {-2, -3}, values);
      },
      ThrowsMessage<argument_error>(HasSubstr("do not fill the shape [-2, -3]")));
  EXPECT_THAT(
      [&] {
        write_npy(folder.path() / "x.npy", {1ll << 62, 4}, values);
      },
      testing::Throws<argument_error>());
}

TEST(read_npy, accepts_members_in_any_order_and_the_later_versions) {
  const temporary_folder folder;
  const std::string dict = "{'shape': (2,), 'descr': '<i4', 'fortran_order': False}  \n";
  const std::string data("\1\0\0\0\2\0\0\0", 8);
  EXPECT_THAT(read_npy<std::int32_t>(folder.write("a", npy_bytes(dict, data))).values, ElementsAre(1, 2));
  std::string later = npy_bytes(dict, data);
  later.insert(10, 2, '\0');
  for (const char version : {'\2', '\3'}) {
    later[6] = version;
    EXPECT_THAT(read_npy<std::int32_t>(folder.write("b", later)).values, ElementsAre(1, 2));
  }
}

TEST(read_npy, names_what_is_wrong_and_where) {
  const temporary_folder folder;
  const auto expect = [&](const std::string& bytes, const std::string& message) {
    const std::string path = folder.write("x.npy", bytes);
    EXPECT_THAT([&] { read_npy<float>(path); }, ThrowsMessage<file_error>(HasSubstr(path + ": " + message)));
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  expect("", "magic (byte 0): is not that of a .npy file");
  expect("PK\3\4........", "magic (byte 0): is not that of a .npy file");
  expect("\x93NUMPY\4" + std::string(20, '\0'), "version (byte 6): is 4; 1 to 3 are read");
  expect(npy_bytes(good).substr(0, 40), "header (byte 10): needs 57 bytes, but the file ends after 30");
  expect(npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
         "descr (byte 10): is '<f8', but '<f4' is needed here");
  expect(npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234"),
         "header (byte 44): says fortran_order: save the array in C order");
  expect(npy_bytes(good, "123"), "shape (byte 10): is [1], which does not fit the 3 bytes of data");
  expect(npy_bytes(good, "12345678"), "shape (byte 10): is [1], which does not fit the 8 bytes of data");
  expect(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905, 4), }", "1234"),
         "shape (byte 10): is [4611686018427387905, 4], which does not fit the 4 bytes of data");
  expect(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
         "header (byte 61): has a bad number");
  expect(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
         "header (byte 61): has a bad number");
  expect(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }"),
         "header (byte 63): lacks a ')'");
  expect(npy_bytes("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }"),
         "header (byte 44): has a fortran_order that is neither True nor False");
  expect(npy_bytes("{'descr': '<f4', 'shape': (1,), }"),
         "header (byte 43): lacks descr, fortran_order or shape");
  expect(npy_bytes("{'descr': '<f4', 'descr': '<f4', }"),
         "header (byte 35): has the member 'descr', which is unknown or");
  expect(npy_bytes("{'order': 'C', }"),
         "header (byte 19): has the member 'order', which is unknown or there twice");
  expect(npy_bytes("{'descr': '<f4"), "header (byte 21): has text without an end");
  expect(npy_bytes("{'descr' '<f4'}"), "header (byte 19): lacks a ':'");
  expect(npy_bytes("["), "header (byte 10): lacks a '{'");
  expect(npy_bytes(""), "header (byte 10): lacks a '{'");
  expect(npy_bytes(good + "x"), "header (byte 67): goes on after the dict");
}

}  // namespace
