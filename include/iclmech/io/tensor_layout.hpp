#ifndef ICLMECH_IO_TENSOR_LAYOUT_HPP
#define ICLMECH_IO_TENSOR_LAYOUT_HPP
// The rule that both model formats share: tensors fill the data section of a file one after the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tensor_file.hpp"

namespace iclmech::detail {

/// Where a file says that a tensor's data is: `offset` counts from the start of the data section; `byte` is
/// the place in the file that says so.
struct tensor_place {
  std::uint64_t offset;
  std::uint64_t byte;
};

/// Points each entry's `data` at its place in the data section, which starts at `data_start` of the file.
/// Throws file_error unless the tensors follow each other at the next multiple of `alignment` (at most 2^32)
/// each, and the last one ends the file but for padding. `field` is the file's word for the offset.
inline void lay_out_tensors(const mapped_file& file, std::uint64_t data_start, std::uint64_t alignment,
                            std::string_view field, std::span<const tensor_place> places,
                            std::vector<tensor_entry>& entries) {
  const std::uint64_t file_size = file.bytes().size();
  const std::uint64_t data_size = data_start < file_size ? file_size - data_start : 0;
  const auto padded = [alignment](std::uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
  const auto stored = [&](std::size_t i) { return *stored_bytes(entries[i].type, entries[i].shape); };

  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(places[i].offset, stored(i)); });

  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    const std::uint64_t offset = places[i].offset;
    const std::uint64_t size = stored(i);
    const auto fail = [&](const std::string& problem) {
      throw file_error(file.path(), "tensor " + in_quotes(entries[i].name) + " " + std::string(field),
                       places[i].byte, "is " + std::to_string(offset) + ", " + problem);
    };
    if (offset % alignment != 0) fail("not a multiple of the alignment " + std::to_string(alignment));
    if (offset > data_size || size > data_size - offset) {
      fail("from where " + std::to_string(size) + " bytes are more than the data section's " +
           std::to_string(data_size) + "; the file is truncated or damaged");
    }
    if (offset < end) fail("inside another tensor, which ends at " + std::to_string(end));
    if (offset > padded(end)) {
      fail("which leaves a gap of " + std::to_string(offset - end) + " bytes that belong to no tensor");
    }
    end = offset + size;
    entries[i].data =
        file.bytes().subspan(static_cast<std::size_t>(data_start + offset), static_cast<std::size_t>(size));
  }
  if (data_size > padded(end)) {
    throw file_error(file.path(), "data section", data_start + end,
                     "goes on for " + std::to_string(data_size - end) + " bytes that belong to no tensor");
  }
}

}  // namespace iclmech::detail

#endif  // ICLMECH_IO_TENSOR_LAYOUT_HPP
