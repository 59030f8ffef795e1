#include "iclmech/io/byte_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "support/file_builders.hpp"

namespace {

using iclmech::file_error;
using iclmech::detail::byte_reader;
using iclmech::detail::checked_product;
using iclmech::detail::in_quotes;
using iclmech::test::append;
using iclmech::test::append_text;
using testing::ThrowsMessage;

const std::string path = "some.file";

byte_reader reader_of(const std::string& bytes) { return {path, std::as_bytes(std::span(bytes))}; }

TEST(byte_reader, reads_numbers_and_text_in_order) {
  std::string bytes;
  append<std::uint16_t>(bytes, 513);
  append<float>(bytes, -0.5f);
  append_text(bytes, "abc");
  byte_reader reader = reader_of(bytes);
  EXPECT_EQ(reader.read<std::uint16_t>("a"), 513);
  EXPECT_EQ(reader.read<float>("b"), -0.5f);
  EXPECT_EQ(reader.position(), 6u);
  EXPECT_EQ(reader.read_string("c"), "abc");
  EXPECT_EQ(reader.bytes_since(6).size(), 11u);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(byte_reader, names_field_and_byte_where_the_file_ends) {
  const std::string bytes(5, '\0');
  byte_reader reader = reader_of(bytes);
  reader.read<std::uint16_t>("start");
  EXPECT_THAT([&] { reader.read<std::uint32_t>("version"); },
              ThrowsMessage<file_error>(
                  "some.file: version (byte 2): needs 4 bytes, but the file ends after 3; it is "
                  "truncated or damaged"));
  EXPECT_EQ(reader.position(), 2u);
  EXPECT_THAT([&] { reader.read_bytes(std::numeric_limits<std::uint64_t>::max(), "data"); },
              ThrowsMessage<file_error>(
                  "some.file: data (byte 2): needs 18446744073709551615 bytes, but the file ends "
                  "after 3; it is truncated or damaged"));
}

TEST(byte_reader, refuses_lengths_and_counts_that_the_file_cannot_hold) {
  std::string bytes;
  append<std::uint64_t>(bytes, 3);
  bytes += "ab";
  byte_reader text = reader_of(bytes);
  EXPECT_THAT([&] { text.read_string("name"); },
              ThrowsMessage<file_error>(
                  "some.file: name (byte 0): claims 3 bytes of text, but only 2 follow; the file "
                  "is truncated or damaged"));

  bytes.clear();
  append<std::uint64_t>(bytes, std::numeric_limits<std::uint64_t>::max());
  bytes += std::string(24, '\0');
  byte_reader count = reader_of(bytes);
  EXPECT_THAT(
      [&] { count.read_count(8, "tensor count"); },
      ThrowsMessage<file_error>("some.file: tensor count (byte 0): is 18446744073709551615, more than the "
                                "remaining 24 bytes of the file can hold"));
  bytes.replace(0, 8, std::string("\3\0\0\0\0\0\0\0", 8));
  byte_reader fits = reader_of(bytes);
  EXPECT_EQ(fits.read_count(8, "tensor count"), 3u);
}

TEST(checked_product, knows_where_64_bits_end) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(checked_product(0, largest), 0u);
  EXPECT_EQ(checked_product(largest, 1), largest);
  EXPECT_EQ(checked_product(1ull << 32, (1ull << 32) - 1), largest - (1ull << 32) + 1);
  EXPECT_EQ(checked_product(1ull << 32, 1ull << 32), std::nullopt);
  EXPECT_EQ(checked_product(3, largest / 3 + 1), std::nullopt);
}

TEST(in_quotes, makes_hostile_names_harmless_and_short) {
  EXPECT_EQ(in_quotes("blk.0"), "'blk.0'");
  EXPECT_EQ(in_quotes(std::string("\x1b[2J\n\0\xff", 7)), "'\\x1b[2J\\x0a\\x00\\xff'");
  EXPECT_EQ(in_quotes(std::string(81, 'a')), "'" + std::string(80, 'a') + "...'");
}

}  // namespace
