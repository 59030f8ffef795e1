#include "iclmech/io/gguf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "iclmech/io/safetensors.hpp"
#include "support/file_builders.hpp"
#include "support/temporary_folder.hpp"

namespace {

using iclmech::dtype;
using iclmech::file_error;
using iclmech::gguf_file;
using iclmech::gguf_type;
using iclmech::tensor_file;
using iclmech::test::float_bytes;
using iclmech::test::gguf_builder;
using iclmech::test::temporary_folder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

static_assert(!std::is_copy_constructible_v<gguf_file>);
static_assert(std::is_nothrow_move_constructible_v<gguf_file>);

constexpr auto u8 = static_cast<std::uint32_t>(gguf_type::u8);
constexpr auto u32 = static_cast<std::uint32_t>(gguf_type::u32);
constexpr auto f32 = static_cast<std::uint32_t>(gguf_type::f32);
constexpr auto boolean = static_cast<std::uint32_t>(gguf_type::boolean);
constexpr auto text = static_cast<std::uint32_t>(gguf_type::string);
constexpr auto array = static_cast<std::uint32_t>(gguf_type::array);
constexpr auto u64 = static_cast<std::uint32_t>(gguf_type::u64);

class gguf : public testing::Test {
 protected:
  gguf_file open(const gguf_builder& builder) const { return open(builder.bytes()); }
  gguf_file open(const std::string& bytes) const { return gguf_file(folder_.write("x.gguf", bytes)); }

  template <typename Bytes>
  void expect_error(const Bytes& bytes, const std::string& message) const {
    EXPECT_THAT([&] { open(bytes); },
                ThrowsMessage<file_error>(
                    AllOf(StartsWith((folder_.path() / "x.gguf").string() + ": "), HasSubstr(message))));
  }

  temporary_folder folder_;
};

/// Two tensors and one pair.
gguf_builder small_model(std::uint32_t version = 3) {
  gguf_builder builder(2, 1, version);
  builder.key("general.architecture", text).text("llama");
  builder.tensor("a", {3, 2}, 0, 0).tensor("b", {32, 1, 2}, 8, 32).pad();
  return builder.data(float_bytes({1, 2, 3, 4, 5, 6})).pad().data(std::string(68, '\0'));
}

TEST_F(gguf, reads_both_versions) {
  for (const std::uint32_t version : {2u, 3u}) {
    const gguf_file file = open(small_model(version));
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.require<std::string>("general.architecture"), "llama");
    const tensor_file& tensors = file.tensors();
    ASSERT_THAT(tensors.entries(), SizeIs(2));
    // The file lists the fastest dimension first, we list it last.
    EXPECT_THAT(tensors.read(tensors.require("a", {2, 3})), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(tensors.require("b", {2, 1, 32}).type, dtype::q8_0);
    EXPECT_EQ(file.path(), (folder_.path() / "x.gguf").string());
  }
}

TEST_F(gguf, accepts_padding_after_the_last_tensor) { EXPECT_EQ(open(small_model().pad()).version(), 3u); }

TEST_F(gguf, opens_a_vocabulary_without_weights) {
  gguf_builder builder(0, 2);
  builder.key("tokenizer.ggml.tokens", array)
      .number(text)
      .number<std::uint64_t>(3)
      .text("a")
      .text("")
      .text("\xe2\x96\x81");
  builder.key("tokenizer.ggml.scores", array).number(f32).number<std::uint64_t>(2).number(-1.5f).number(2.0f);
  for (const std::string& bytes : {builder.bytes(), gguf_builder(builder).pad().bytes()}) {
    const gguf_file file = open(bytes);
    EXPECT_THAT(file.tensors().entries(), IsEmpty());
    EXPECT_THAT(file.require<std::vector<std::string_view>>("tokenizer.ggml.tokens"),
                ElementsAre("a", "", "\xe2\x96\x81"));
    EXPECT_THAT(file.require<std::vector<std::string>>("tokenizer.ggml.tokens"), SizeIs(3));
    EXPECT_THAT(file.require<std::vector<float>>("tokenizer.ggml.scores"), ElementsAre(-1.5f, 2));
    EXPECT_THAT(file.require<std::vector<double>>("tokenizer.ggml.scores"), ElementsAre(-1.5, 2));
  }
}

TEST_F(gguf, text_stays_where_it_is_when_the_object_moves) {
  gguf_file first = open(small_model());
  const auto view = first.require<std::string_view>("general.architecture");
  const gguf_file second = std::move(first);
  EXPECT_EQ(second.require<std::string_view>("general.architecture").data(), view.data());
  EXPECT_EQ(second.find("general.architecture")->key, "general.architecture");
  gguf_file third = open(small_model());
  const tensor_file tensors = std::move(third).tensors();
  EXPECT_THAT(tensors.read(tensors.require("a")), SizeIs(6));
}

TEST_F(gguf, converts_numbers_of_one_kind_only) {
  gguf_builder builder(0, 6);
  builder.key("u8", u8).number<std::uint8_t>(200);
  builder.key("u64", u64).number(std::uint64_t{1} << 63);
  builder.key("i8", 1).number<std::int8_t>(-3);
  builder.key("f64", 12).number(0.5);
  builder.key("bool", boolean).number(true);
  builder.key("list", array).number<std::uint32_t>(5).number<std::uint64_t>(2).number(7).number(-8);
  const gguf_file file = open(builder);
  EXPECT_THAT(file.get<int>("u8"), Optional(200));
  EXPECT_THAT(file.get<std::uint64_t>("u64"), Optional(std::uint64_t{1} << 63));
  EXPECT_THAT(file.get<std::int64_t>("i8"), Optional(-3));
  EXPECT_THAT(file.get<float>("f64"), Optional(0.5f));
  EXPECT_THAT(file.get<bool>("bool"), Optional(true));
  EXPECT_THAT(file.get<std::vector<std::int64_t>>("list"), Optional(ElementsAre(7, -8)));
  EXPECT_EQ(file.get<int>("missing"), std::nullopt);
  EXPECT_THAT(file.metadata(), SizeIs(6));

  const auto expect = [&](const auto& read, const std::string& message) {
    EXPECT_THAT(read, ThrowsMessage<file_error>(file.path() + ": metadata " + message));
  };
  expect([&] { file.require<int>("missing"); }, "'missing': is missing");
  expect([&] { file.get<std::int8_t>("u8"); }, "'u8' (byte 38): is 200, which is out of range here");
  expect([&] { file.get<std::int64_t>("u64"); },
         "'u64' (byte 54): is 9223372036854775808, which is out of range here");
  expect([&] { file.get<std::uint32_t>("i8"); }, "'i8' (byte 76): is -3, which is out of range here");
  expect([&] { file.get<float>("u8"); },
         "'u8' (byte 38): is of type u8, but a real number type is needed here");
  expect([&] { file.get<int>("f64"); },
         "'f64' (byte 92): is of type f64, but a whole number type is needed here");
  expect([&] { file.get<bool>("u8"); }, "'u8' (byte 38): is of type u8, but bool is needed here");
  expect([&] { file.get<int>("bool"); },
         "'bool' (byte 116): is of type bool, but a whole number type is needed here");
  expect([&] { file.get<std::string>("u8"); }, "'u8' (byte 38): is of type u8, but string is needed here");
  expect([&] { file.get<std::vector<int>>("u8"); },
         "'u8' (byte 38): is of type u8, but an array of a whole number type is needed here");
  expect([&] { file.get<int>("list"); },
         "'list' (byte 145): is of type an array of i32, but a whole number type is needed here");
  expect([&] { file.get<std::vector<float>>("list"); },
         "'list' (byte 145): is of type an array of i32, but an array of a real number type is needed here");
  expect([&] { file.get<std::vector<std::string_view>>("list"); },
         "'list' (byte 145): is of type an array of i32, but an array of string is needed here");
  expect([&] { file.get<std::vector<std::uint32_t>>("list"); },
         "'list' (byte 149): is -8, which is out of range here");
}

TEST_F(gguf, keeps_nested_arrays_but_does_not_decode_them) {
  gguf_builder builder(0, 1);
  builder.key("nested", array).number(array).number<std::uint64_t>(2);
  builder.number(u8).number<std::uint64_t>(1).number<std::uint8_t>(9);
  builder.number(text).number<std::uint64_t>(1).text("x");
  const gguf_file file = open(builder);
  EXPECT_EQ(file.find("nested")->count, 2u);
  EXPECT_THAT([&] { file.get<std::vector<int>>("nested"); },
              ThrowsMessage<file_error>(HasSubstr("is of type an array of array")));
}

TEST_F(gguf, honours_the_alignment_of_the_file) {
  const auto with = [](std::uint32_t alignment, std::uint64_t second) {
    gguf_builder builder(2, 1);
    builder.key("general.alignment", u32).number(alignment);
    builder.tensor("a", {1}, 0, 0).tensor("b", {1}, 0, second).pad(alignment ? alignment : 1);
    return builder.data(float_bytes({1})).pad(second).data(float_bytes({2}));
  };
  for (const std::uint32_t alignment : {8u, 64u, 4096u}) {
    const gguf_file file = open(with(alignment, alignment));
    EXPECT_THAT(file.tensors().read(file.tensors().require("b")), ElementsAre(2)) << alignment;
  }
  expect_error(with(64, 32), "tensor 'b' offset (byte 115): is 32, not a multiple of the alignment 64");
  expect_error(with(0, 32), "metadata 'general.alignment' (byte 53): is 0, which is not a power of two");
  expect_error(with(48, 48), "metadata 'general.alignment' (byte 53): is 48, which is not a power of two");
  expect_error(
      gguf_builder(0, 1).key("general.alignment", text).text("32"),
      "metadata 'general.alignment' (byte 53): is of type string, but a whole number type is needed here");
  EXPECT_THAT(open(gguf_builder(0, 1).key("general.alignment", u32).number(0x80000000u)).tensors().entries(),
              IsEmpty());
}

TEST_F(gguf, refuses_other_files_and_versions) {
  expect_error("", "magic (byte 0): is not 'GGUF'; this is not a GGUF file");
  expect_error("GGU", "magic (byte 0): is not 'GGUF'");
  expect_error("PK\3\4 and so on", "magic (byte 0): is not 'GGUF'");
  expect_error("GGUF", "version (byte 4): needs 4 bytes, but the file ends after 0");
  expect_error(gguf_builder(0, 0, 1), "version (byte 4): is 1; versions 2 and 3 are read");
  expect_error(gguf_builder(0, 0, 4), "version (byte 4): is 4; versions 2 and 3 are read");
  expect_error(gguf_builder(0, 0, 0x03000000),
               "version (byte 4): shows a big-endian file; only little-endian");
}

TEST_F(gguf, refuses_counts_that_the_file_cannot_hold) {
  expect_error(gguf_builder(~std::uint64_t{0}, 0),
               "tensor count (byte 8): is 18446744073709551615, more than the");
  expect_error(gguf_builder(0, ~std::uint64_t{0}),
               "metadata count (byte 16): is 18446744073709551615, more than the");
  expect_error(gguf_builder(0, 1),
               "metadata count (byte 16): is 1, more than the remaining 0 bytes of the file can hold");
  for (const std::uint32_t type : {u8, u64, text, array}) {
    gguf_builder builder(0, 1);
    builder.key("list", array).number(type).number<std::uint64_t>(1ull << 61).data(std::string(100, '\0'));
    expect_error(
        builder,
        "metadata 'list' length (byte 44): is 2305843009213693952, more than the remaining 100 bytes");
  }
}

TEST_F(gguf, refuses_bad_pairs) {
  expect_error(gguf_builder(0, 1).key("a", 13).number<std::uint64_t>(0),
               "metadata 'a' (byte 33): has the unknown value type 13");
  expect_error(gguf_builder(0, 1).key("a", array).number<std::uint32_t>(13).number<std::uint64_t>(0),
               "metadata 'a' (byte 37): has the unknown value type 13");
  expect_error(gguf_builder(0, 1).key("a", u64).number<std::uint8_t>(0),
               "metadata 'a' (byte 37): needs 8 bytes");
  expect_error(gguf_builder(0, 1).number<std::uint64_t>(1000).data("key and more"),
               "metadata key (byte 24): claims 1000 bytes of text, but only 12 follow");
  expect_error(gguf_builder(0, 1).key("a", text).number(~std::uint64_t{0}),
               "metadata 'a' (byte 37): claims 18446744073709551615 bytes of text, but only 0 follow");
  expect_error(gguf_builder(0, 2).key("a", u8).number<std::uint8_t>(0).key("a", u8).number<std::uint8_t>(0),
               "metadata 'a' (byte 38): is there twice");
  expect_error(gguf_builder(0, 1).key("a", boolean).number<std::uint8_t>(2),
               "metadata 'a' (byte 37): holds the truth value 2 instead of 0 or 1");
  expect_error(gguf_builder(0, 1).key("a", array).number(boolean).number<std::uint64_t>(3).data("\1\1\3"),
               "metadata 'a' (byte 51): holds the truth value 3 instead of 0 or 1");
  gguf_builder nest(0, 1);
  nest.key("a", array);
  for (int i = 0; i < 1000; ++i) nest.number(array).number<std::uint64_t>(1);
  expect_error(nest, "metadata 'a' (byte 145): nests arrays more than 8 deep");
}

TEST_F(gguf, refuses_bad_tensors) {
  const auto with = [](const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                       std::uint64_t offset) {
    return gguf_builder(1, 0).tensor("t", dimensions, type, offset).pad().data(std::string(64, '\0'));
  };
  EXPECT_NO_THROW(open(with({16}, 0, 0)));
  EXPECT_NO_THROW(open(with({2, 2, 2, 2}, 0, 0)));
  expect_error(with({2, 2, 2, 2, 1}, 0, 0), "tensor 't' rank (byte 33): is 5; at most 4 is allowed");
  expect_error(with({~std::uint64_t{0}}, 0, 0),
               "tensor 't' dimension (byte 37): is 18446744073709551615, which no");
  expect_error(with({1ull << 32, 1ull << 32}, 0, 0),
               "tensor 't' dimensions (byte 37): are [4294967296, 4294967296], which");
  expect_error(with({1ull << 62}, 0, 0), "which is too large or has rows that are not whole blocks of f32");
  expect_error(with({33}, 2, 0),
               "tensor 't' dimensions (byte 37): are [33], which is too large or has rows that are not "
               "whole blocks of q4_0");
  expect_error(with({1, 32}, 2, 0),
               "are [32, 1], which is too large or has rows that are not whole blocks of q4_0");
  expect_error(with({16}, 4, 0),
               "tensor 't' type (byte 45): is ggml's number 4, which is not read; f32, f16, bf16, q4_0");
  expect_error(with({16}, 99, 0), "is ggml's number 99");
  expect_error(with({16}, 0, 32),
               "tensor 't' offset (byte 49): is 32, from where 64 bytes are more than the data "
               "section's 64; the file is truncated or damaged");
  expect_error(with({16}, 0, ~std::uint64_t{31}), "is 18446744073709551584, from where 64 bytes are more");
  expect_error(with({16}, 0, 16), "tensor 't' offset (byte 49): is 16, not a multiple of the alignment 32");
  expect_error(with({8}, 0, 0), "data section (byte 96): goes on for 32 bytes that belong to no tensor");
  expect_error(with({8}, 0, 32), "is 32, which leaves a gap of 32 bytes that belong to no tensor");
  gguf_builder twice(2, 0);
  twice.tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).pad().data(std::string(64, '\0'));
  expect_error(twice, "tensor 't' (byte 57): is there twice");
  gguf_builder overlapping(2, 0);
  overlapping.tensor("t", {16}, 0, 0).tensor("u", {8}, 0, 32).pad().data(std::string(64, '\0'));
  expect_error(overlapping, "tensor 'u' offset (byte 82): is 32, inside another tensor, which ends at 64");
}

struct stored_twice {
  const char* name;
  const char* model;
  const char* embedding;
  float error;  // of the encoding, relative to the largest element of a row
};

class golden_gguf : public testing::TestWithParam<stored_twice> {};

TEST_P(golden_gguf, holds_the_weights_and_a_vocabulary_for_them) {
  const gguf_file file(std::string(ICLMECH_TEST_DATA "/gguf/") + GetParam().name + ".gguf");
  const tensor_file model =
      iclmech::read_safetensors(std::string(ICLMECH_TEST_DATA "/models/") + GetParam().model);
  const auto& expected = model.require(GetParam().embedding);
  const auto& actual = file.tensors().require("token_embd.weight", expected.shape);
  const iclmech::row_matrix difference = model.read_matrix(expected) - file.tensors().read_matrix(actual);
  EXPECT_LE(difference.cwiseAbs().maxCoeff(),
            GetParam().error * model.read_matrix(expected).cwiseAbs().maxCoeff());
  EXPECT_EQ(file.require<std::vector<std::string_view>>("tokenizer.ggml.tokens").size(),
            static_cast<std::size_t>(expected.shape[0]));
}

// f16 keeps 11 significant bits. q8_0 rounds to steps of 1/127 of the largest element, and rounds the step to
// f16.
INSTANTIATE_TEST_SUITE_P(
    every_file, golden_gguf,
    testing::Values(stored_twice{"llama", "llama", "model.embed_tokens.weight", 0},
                    stored_twice{"llama-f16", "llama", "model.embed_tokens.weight", 0x1p-11f},
                    stored_twice{"llama-q8_0", "llama", "model.embed_tokens.weight", 0.57f / 127},
                    stored_twice{"qwen2", "qwen2", "model.embed_tokens.weight", 0},
                    stored_twice{"gemma3_text", "gemma3_text", "model.embed_tokens.weight", 0},
                    stored_twice{"mamba", "mamba", "backbone.embeddings.weight", 0},
                    stored_twice{"mamba-q8_0", "mamba", "backbone.embeddings.weight", 0.57f / 127},
                    stored_twice{"mamba2", "mamba2", "backbone.embeddings.weight", 0}),
    [](const auto& file) {
      std::string name = file.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST_F(gguf, refuses_the_file_wherever_it_is_cut) {
  const std::string bytes = small_model().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT([&] { open(bytes.substr(0, size)); }, testing::Throws<file_error>()) << size << " bytes";
  }
}

}  // namespace
