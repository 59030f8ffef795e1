#include "iclmech/io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/file_builders.hpp"
#include "support/temporary_folder.hpp"

namespace {

using iclmech::dtype;
using iclmech::file_error;
using iclmech::read_safetensors;
using iclmech::tensor_file;
using iclmech::test::float_bytes;
using iclmech::test::read_text;
using iclmech::test::safetensors_bytes;
using iclmech::test::temporary_folder;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

const std::string models = ICLMECH_TEST_DATA "/models/";

class golden_models : public testing::TestWithParam<const char*> {};

TEST_P(golden_models, open_and_agree_with_their_activations) {
  const tensor_file model = read_safetensors(models + GetParam());
  const tensor_file golden = read_safetensors(models + GetParam() + "/golden.safetensors");
  const auto ids = golden.read_integers(golden.require("input_ids"));
  const auto logits = golden.read_matrix(golden.require("logits"));
  const std::string prefix = model.find("backbone.norm_f.weight") ? "backbone." : "model.";
  const auto* embedding = model.find(prefix + "embed_tokens.weight");
  if (embedding == nullptr) embedding = &model.require(prefix + "embeddings.weight");

  ASSERT_EQ(logits.rows(), static_cast<iclmech::index>(ids.size()));
  ASSERT_EQ(logits.cols(), embedding->shape[0]);
  for (const std::int64_t id : ids) EXPECT_TRUE(id >= 0 && id < logits.cols()) << id;

  // Logits are the final norm's output times the (tied) embedding. Both sides are float32 products of a few
  // dozen terms; 5e-5 of the largest is the limit that the activations are good for.
  const iclmech::row_matrix normed = golden.read_matrix(golden.require("final_normed"));
  const iclmech::row_matrix table = model.read_matrix(*embedding);
  const iclmech::row_matrix expected = normed.bottomRows(logits.rows()) * table.transpose();
  EXPECT_LE((expected - logits).cwiseAbs().maxCoeff(), 5e-5f * std::max(1.0f, logits.cwiseAbs().maxCoeff()));
}

INSTANTIATE_TEST_SUITE_P(every_architecture, golden_models,
                         testing::Values("llama", "llama_bf16", "qwen2", "gemma3_text", "mamba", "mamba2",
                                         "zamba2", "hymba"),
                         [](const auto& model) { return std::string(model.param); });

TEST(read_safetensors, halves_its_precision_in_bf16) {
  const tensor_file wide = read_safetensors(models + "llama");
  const tensor_file narrow = read_safetensors(models + "llama_bf16");
  ASSERT_EQ(wide.entries().size(), narrow.entries().size());
  for (const auto& entry : wide.entries()) {
    const auto& other = narrow.require(entry.name, entry.shape);
    EXPECT_EQ(other.type, dtype::bf16);
    const iclmech::row_matrix exact = wide.read_matrix(entry);
    const iclmech::row_matrix rounded = narrow.read_matrix(other);
    // bfloat16 keeps 8 significant bits: rounding moves a number by at most 2^-9 of itself.
    EXPECT_TRUE(((exact - rounded).array().abs() <= exact.array().abs() * 0x1p-8f).all()) << entry.name;
    EXPECT_GT((exact - rounded).cwiseAbs().maxCoeff(), 0) << entry.name;
  }
}

TEST(read_safetensors, joins_shards) {
  const tensor_file model = read_safetensors(models + "qwen2");
  EXPECT_THAT(model.entries(), SizeIs(38));
  EXPECT_THAT(model.file_of(model.require("model.embed_tokens.weight")),
              EndsWith("model-00001-of-00002.safetensors"));
  EXPECT_THAT(model.file_of(model.require("model.norm.weight")),
              EndsWith("model-00002-of-00002.safetensors"));
  EXPECT_THAT(read_safetensors(models + "qwen2/model.safetensors.index.json").entries(), SizeIs(38));
  EXPECT_THAT(model.path(), EndsWith("qwen2/model.safetensors.index.json"));
}

class read_one_file : public testing::Test {
 protected:
  tensor_file read(const std::string& bytes) const {
    return read_safetensors(folder_.write("x.safetensors", bytes));
  }

  void expect_error(const std::string& bytes, const std::string& message) const {
    EXPECT_THAT([&] { read(bytes); },
                ThrowsMessage<file_error>(AllOf(
                    StartsWith((folder_.path() / "x.safetensors").string() + ": "), HasSubstr(message))));
  }

  void expect_header_error(const std::string& header, const std::string& message) const {
    expect_error(safetensors_bytes(header, "12345678"), message);
  }

  temporary_folder folder_;
};

TEST_F(read_one_file, reads_every_type_in_place) {
  const std::string header =
      R"({"__metadata__": {"format": "pt", "dtype": "x"},)"
      R"( "f32": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},)"
      R"( "i64": {"shape": [1], "data_offsets": [8, 16], "dtype": "I64"},)"
      R"( "f16": {"dtype": "F16", "shape": [1], "data_offsets": [16, 18]},)"
      R"( "none": {"dtype": "F32", "shape": [3, 0], "data_offsets": [18, 18]},)"
      R"( "scalar": {"dtype": "U8", "shape": [], "data_offsets": [18, 19]},)"
      R"( "t\u0022\u00e9": {"dtype": "BOOL", "shape": [1], "data_offsets": [19, 20]}}   )";
  const tensor_file file = read(safetensors_bytes(
      header, float_bytes({1.5f, -2}) + std::string("\xfe\xff\xff\xff\xff\xff\xff\xff\0\x3c\7\1", 12)));
  ASSERT_THAT(file.entries(), SizeIs(6));
  EXPECT_EQ(file.entries().front().name, "f32");
  EXPECT_THAT(file.read(file.require("f32", {2, 1})), ElementsAre(1.5f, -2));
  EXPECT_EQ(file.byte_of(file.require("f32")), 8 + header.size());
  EXPECT_THAT(file.read_integers(file.require("i64")), ElementsAre(-2));
  EXPECT_THAT(file.read(file.require("f16")), ElementsAre(1));
  EXPECT_THAT(file.read(file.require("none")), IsEmpty());
  EXPECT_THAT(file.read_integers(file.require("scalar")), ElementsAre(7));
  EXPECT_THAT(file.read_integers(file.require("t\"\u00e9")), ElementsAre(1));
}

TEST_F(read_one_file, accepts_a_file_without_tensors) {
  EXPECT_THAT(read(safetensors_bytes("{}")).entries(), IsEmpty());
  EXPECT_THAT(read(safetensors_bytes(R"({"__metadata__":{}})")).entries(), IsEmpty());
}

TEST_F(read_one_file, refuses_a_header_that_is_not_there) {
  expect_error("", "header length (byte 0): needs 8 bytes, but the file ends after 0");
  expect_error("1234567", "header length (byte 0): needs 8 bytes, but the file ends after 7");
  expect_error(safetensors_bytes("{}").substr(0, 9),
               "header length (byte 0): is 2, more than the remaining 1 bytes");
  expect_error(std::string(8, '\xff'),
               "header length (byte 0): is 18446744073709551615, more than the remaining 0");
  expect_error(std::string(8, '\0'), "header (byte 8): is not valid JSON");
}

TEST_F(read_one_file, refuses_a_header_that_is_not_an_object_of_tensors) {
  expect_header_error("not json", "header (byte 9): is not valid JSON near 'no'");
  expect_header_error("{\"a\"", "header (byte 11): is not valid JSON");
  expect_header_error("{}x", "header (byte 10): is not valid JSON near '{}x'");
  expect_header_error("[]", "header (byte 8): holds an array in a place where it does not belong");
  expect_header_error("12", "header (byte 9): holds the number 12 in a place where it does not belong");
  expect_header_error(R"("text")", "holds the text 'text' in a place where it does not belong");
  expect_header_error(R"({"a": 1})", "holds the number 1 in a place where it does not belong");
  expect_header_error(R"({"a": []})", "holds an array in a place where it does not belong");
  expect_header_error(R"({"a": null})", "holds null in a place where it does not belong");
  expect_header_error(R"({"a": {"dtype": {}}})", "holds an object in a place where it does not belong");
  expect_header_error(R"({"a": {"dtype": true}})", "holds a truth value in a place where it does not belong");
  expect_header_error(R"({"a": {"dtype": ["F32"]}})", "holds an array in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": "2"}})", "holds the text '2' in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": 2}})", "holds the number 2 in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": [[2]]}})", "holds an array in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": [-2]}})", "holds the number -2 in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": [2.0]}})",
                      "holds the number 2.0 in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": ["2"]}})", "holds the text '2' in a place where it does not belong");
  expect_header_error(R"({"a": {"shape": [NaN]}})", "holds an object in a place where it does not belong");
  expect_header_error(R"({"__metadata__": {"a": 1}})",
                      "holds the number 1 in a place where it does not belong");
  expect_header_error(R"({"__metadata__": {"a": {}}})",
                      "holds an object in a place where it does not belong");
  expect_header_error(R"({"__metadata__": "a"})", "holds the text 'a' in a place where it does not belong");
  expect_header_error("{\"a\": " + std::string(100000, '['), "header (byte 14): holds an array");
  expect_header_error("{\"a\": {\"shape\": " + std::string(100000, '['), "header (byte 25): holds an array");
}

TEST_F(read_one_file, refuses_wrong_members_and_names_their_byte) {
  expect_header_error(R"({"a": {"dtype": "F32", "shape": [2]}})", "tensor 'a' (byte 9): has no data_offsets");
  expect_header_error(R"({"a": {"shape": [2], "data_offsets": [0, 8]}})",
                      "tensor 'a' (byte 9): has no dtype");
  expect_header_error(R"({"a": {"dtype": "F32", "data_offsets": [0, 8]}})",
                      "tensor 'a' (byte 9): has no shape");
  expect_header_error(R"({"a": {"type": "F32"}})",
                      "tensor 'a' (byte 15): has the member 'type'; dtype, shape and data_offsets are known");
  expect_header_error(R"({"a": {"shape": [2], "shape": [2]}})", "tensor 'a' shape (byte 15): is there twice");
  expect_header_error(R"({"a": {"dtype": "F8_E4M3"}})",
                      "tensor 'a' dtype (byte 15): is 'F8_E4M3', which is not read; F64");
  expect_header_error(R"({"a": {"dtype": "f32"}})",
                      "tensor 'a' dtype (byte 15): is 'f32', which is not read");
  expect_header_error(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}})",
                      "tensor 'a' data_offsets (byte 45): has 1 numbers instead of 2");
  expect_header_error(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8, 8]}})",
                      "has 3 numbers instead of 2");
}

TEST_F(read_one_file, refuses_shapes_that_do_not_fit_their_data) {
  const std::string rest = R"(, "dtype": "F32", "data_offsets": [0, 8]}})";
  expect_header_error(R"({"a": {"shape": [3])" + rest,
                      "tensor 'a' data_offsets (byte 45): is [0, 8], but [3] elements of f32 take 12 bytes");
  expect_header_error(R"({"a": {"shape": [])" + rest, "is [0, 8], but [] elements of f32 take 4 bytes");
  expect_header_error(
      R"({"a": {"shape": [4294967296, 4294967296, 2])" + rest,
      "tensor 'a' shape (byte 15): is [4294967296, 4294967296, 2], which is too large to be true");
  expect_header_error(R"({"a": {"shape": [4611686018427387904])" + rest, "which is too large to be true");
  expect_header_error(R"({"a": {"shape": [9223372036854775808])" + rest,
                      "tensor 'a' shape (byte 15): holds the impossible number 9223372036854775808");
  expect_header_error(R"({"a": {"shape": [99999999999999999999])" + rest,
                      "holds the number 99999999999999999999");
  expect_header_error(R"({"a": {"shape": [2], "dtype": "F32", "data_offsets": [8, 0]}})",
                      "is [8, 0], but [2]");
}

TEST_F(read_one_file, refuses_tensors_that_do_not_fill_the_data_exactly) {
  const auto entry = [](const char* name, int begin, int end) {
    return "\"" + std::string(name) + R"(": {"dtype": "U8", "shape": [)" + std::to_string(end - begin) +
           R"(], "data_offsets": [)" + std::to_string(begin) + ", " + std::to_string(end) + "]}";
  };
  EXPECT_THAT(
      read(safetensors_bytes("{" + entry("b", 4, 8) + "," + entry("a", 0, 4) + "}", "12345678")).entries(),
      SizeIs(2));
  expect_header_error("{" + entry("a", 0, 9) + "}",
                      "tensor 'a' data_offsets (byte 44): is 0, from where 9 bytes are more "
                      "than the data section's 8; the file is truncated or damaged");
  expect_header_error("{" + entry("a", 9, 9) + "}",
                      "is 9, from where 0 bytes are more than the data section's 8");
  expect_header_error("{" + entry("a", 0, 4) + "," + entry("b", 3, 8) + "}",
                      "tensor 'b' data_offsets (byte 103): is 3, inside another tensor, which ends at 4");
  expect_header_error("{" + entry("a", 0, 8) + "," + entry("b", 0, 8) + "}", "is 0, inside another tensor");
  expect_header_error("{" + entry("a", 0, 3) + "," + entry("b", 4, 8) + "}",
                      "is 4, which leaves a gap of 1 bytes that belong to no tensor");
  expect_header_error("{" + entry("a", 1, 8) + "}", "is 1, which leaves a gap of 1 bytes");
  expect_header_error("{" + entry("a", 0, 7) + "}",
                      "data section (byte 75): goes on for 1 bytes that belong to no tensor");
  expect_header_error("{}", "data section (byte 10): goes on for 8 bytes that belong to no tensor");
  expect_header_error("{" + entry("a", 0, 4) + "," + entry("a", 4, 8) + "}",
                      "tensor 'a' (byte 68): is there twice");
}

class read_folder : public testing::Test {
 protected:
  /// A file with one float tensor for each name.
  static std::string shard(const std::vector<std::string>& names) {
    std::string header = "{";
    for (std::size_t i = 0; i < names.size(); ++i) {
      header += (i > 0 ? ", \"" : "\"") + names[i] +
                R"(": {"dtype": "F32", "shape": [1], "data_offsets": [)" + std::to_string(4 * i) + ", " +
                std::to_string(4 * i + 4) + "]}";
    }
    return safetensors_bytes(header + "}", float_bytes(std::vector<float>(names.size(), 1.0f)));
  }

  tensor_file read(const std::string& index) const {
    folder_.write("model.safetensors.index.json", index);
    return read_safetensors(folder_.path());
  }

  void expect_error(const std::string& index, const std::string& message) const {
    EXPECT_THAT([&] { read(index); },
                ThrowsMessage<file_error>(
                    AllOf(StartsWith((folder_.path() / "model.safetensors.index.json").string() + ": "),
                          HasSubstr(message))));
  }

  temporary_folder folder_;
};

TEST_F(read_folder, prefers_the_single_file) {
  folder_.write("model.safetensors", shard({"only"}));
  EXPECT_THAT(read("not even JSON").entries(), SizeIs(1));
}

TEST_F(read_folder, says_what_it_looked_for) {
  EXPECT_THAT(
      [&] { read_safetensors(folder_.path()); },
      ThrowsMessage<file_error>(folder_.path().string() + ": folder: holds neither model.safetensors nor "
                                                          "model.safetensors.index.json"));
  EXPECT_THAT([&] { read_safetensors(folder_.path() / "missing.safetensors"); },
              ThrowsMessage<file_error>(HasSubstr("missing.safetensors: file: cannot be opened")));
  folder_.write("model.safetensors", "");
  EXPECT_THAT([&] { read_safetensors(folder_.path()); },
              ThrowsMessage<file_error>(HasSubstr("model.safetensors: header length (byte 0)")));
}

TEST_F(read_folder, takes_from_each_shard_what_the_index_says) {
  folder_.write("1.safetensors", shard({"a", "both", "extra"}));
  folder_.write("2.safetensors", shard({"both", "b"}));
  const tensor_file model =
      read(R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors", "both": "2.safetensors"},
                                     "metadata": {"total_size": 12, "more": [[{"x": [null, true, -1, 1.5]}]]}})");
  EXPECT_THAT(model.entries(), SizeIs(3));
  EXPECT_THAT(model.file_of(model.require("both")), EndsWith("2.safetensors"));
  EXPECT_EQ(model.find("extra"), nullptr);
}

TEST_F(read_folder, refuses_a_bad_index) {
  expect_error("", "index (byte 0): is not valid JSON");
  expect_error("[]", "index (byte 0): holds an array in a place where it does not belong");
  expect_error("{}", "index (byte 0): has no weight_map");
  expect_error(R"({"weight_map": []})",
               "index (byte 15): holds an array in a place where it does not belong");
  expect_error(R"({"weight_map": "x"})", "holds text in a place where it does not belong");
  expect_error(R"({"weight_map": {"a": 1}})", "holds a number in a place where it does not belong");
  expect_error(R"({"weight_map": {"a": {}}})",
               "index (byte 21): holds an object in a place where it does not belong");
  expect_error(R"({"weight_map": {"a": null}})", "holds null in a place where it does not belong");
  expect_error(R"({"weight_map": {}, "weight_map": {}})", "weight_map (byte 19): is there twice");
  folder_.write("1", shard({"a"}));
  expect_error(R"({"weight_map": {"a": "1", "a": "1"}})", "weight_map 'a' (byte 26): is there twice");
  expect_error("{\"metadata\": " + std::string(100000, '['), "is not valid JSON");
}

TEST_F(read_folder, refuses_shards_outside_the_folder) {
  for (const char* const name : {"../1.safetensors", "/etc/passwd", "sub/1.safetensors", "..", ".", ""}) {
    expect_error(R"({"weight_map": {"a": ")" + std::string(name) + R"("}})",
                 "weight_map 'a' (byte 16): names the shard '" + std::string(name) +
                     "', which is not a file in the index's own folder");
  }
  expect_error(R"({"weight_map": {"a": "1\u0000"}})", "names the shard '1\\x00', which is not a file");
}

TEST_F(read_folder, refuses_shards_that_are_missing_or_lack_a_tensor) {
  expect_error(R"({"weight_map": {"a": "1.safetensors"}})",
               "weight_map 'a' (byte 16): is in the shard '1.safetensors', and there is no such file");
  folder_.write("1.safetensors", shard({"b"}));
  expect_error(R"({"weight_map": {"b": "1.safetensors", "a": "1.safetensors"}})",
               "weight_map 'a' (byte 38): is said to be in '1.safetensors', which holds no such tensor");
  std::filesystem::create_directory(folder_.path() / "2.safetensors");
  folder_.write("model.safetensors.index.json", R"({"weight_map": {"a": "2.safetensors"}})");
  EXPECT_THAT([&] { read_safetensors(folder_.path()); },
              ThrowsMessage<file_error>(HasSubstr("2.safetensors: file: is a folder; name a file in it")));
}

}  // namespace
