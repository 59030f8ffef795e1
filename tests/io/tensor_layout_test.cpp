#include "iclmech/io/tensor_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace iclmech {
namespace {

using testing::EndsWith;
using testing::ThrowsMessage;

/// Places byte tensors a, b, ... of the given sizes at the given offsets of a data section that starts at
/// byte 16.
void lay_out(std::size_t data_size, std::uint64_t alignment, const std::vector<index>& sizes,
             const std::vector<std::uint64_t>& offsets) {
  const iclmech::test::temporary_folder folder;
  const mapped_file file(folder.write("x", std::string(16 + data_size, '\0')));
  std::vector<tensor_entry> entries;
  std::vector<detail::tensor_place> places;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    entries.push_back({std::string(1, static_cast<char>('a' + i)), dtype::u8, {sizes[i]}, {}, 0});
    places.push_back({offsets[i], 100 + i});
  }
  detail::lay_out_tensors(file, 16, alignment, "offset", places, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].data.data(), file.bytes().data() + 16 + offsets[i]);
    EXPECT_EQ(entries[i].data.size(), static_cast<std::size_t>(sizes[i]));
  }
}

void expect_error(std::size_t data_size, std::uint64_t alignment, const std::vector<index>& sizes,
                  const std::vector<std::uint64_t>& offsets, const std::string& message) {
  EXPECT_THAT([&] { lay_out(data_size, alignment, sizes, offsets); },
              ThrowsMessage<file_error>(EndsWith("x: " + message)));
}

TEST(lay_out_tensors, accepts_tensors_in_any_order_with_padding_between) {
  lay_out(7, 1, {3, 4}, {4, 0});
  lay_out(7, 1, {4, 3, 0, 0}, {0, 4, 4, 7});
  lay_out(13, 8, {5, 3}, {8, 0});
  lay_out(16, 8, {5, 3}, {8, 0});
  lay_out(0, 8, {}, {});
  lay_out(0, 8, {0}, {0});
}

TEST(lay_out_tensors, names_tensor_and_byte_of_what_does_not_fit) {
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  expect_error(7, 1, {3, 5}, {0, 3},
               "tensor 'b' offset (byte 101): is 3, from where 5 bytes are more than the data section's 7; "
               "the file is "
               "truncated or damaged");
  expect_error(
      8, 8, {4}, {huge - 7},
      "tensor 'a' offset (byte 100): is 18446744073709551608, from where 4 bytes are more than the data "
      "section's 8; the file is truncated or damaged");
  expect_error(16, 8, {4}, {4}, "tensor 'a' offset (byte 100): is 4, not a multiple of the alignment 8");
  expect_error(16, 8, {9, 4}, {0, 8},
               "tensor 'b' offset (byte 101): is 8, inside another tensor, which ends at 9");
  expect_error(16, 8, {4, 9}, {0, 0},
               "tensor 'b' offset (byte 101): is 0, inside another tensor, which ends at 4");
  expect_error(
      24, 8, {4, 8}, {0, 16},
      "tensor 'b' offset (byte 101): is 16, which leaves a gap of 12 bytes that belong to no tensor");
  expect_error(17, 8, {3, 5}, {0, 8}, "data section (byte 29): goes on for 4 bytes that belong to no tensor");
  expect_error(1, 8, {}, {}, "data section (byte 16): goes on for 1 bytes that belong to no tensor");
}

}  // namespace
}  // namespace iclmech
