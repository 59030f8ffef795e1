#include "iclmech/io/json_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::file_error;
using iclmech::read_json_file;
using iclmech::test::temporary_folder;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

class read_json : public testing::Test {
 protected:
  json read(const std::string& text) const { return read_json_file(folder_.write("x.json", text)); }

  void expect_error(const std::string& text, const std::string& message) const {
    EXPECT_THAT([&] { read(text); },
                ThrowsMessage<file_error>(
                    AllOf(StartsWith((folder_.path() / "x.json").string() + ": "), HasSubstr(message))));
  }

  temporary_folder folder_;
};

TEST_F(read_json, builds_the_same_value_as_the_library) {
  const std::string text =
      R"( {"a": [1, -2, 3.5, true, false, null, "t\"\u00e9\\"], "b": {"": {}, "c": [[], [{}]]},
                                "big": 18446744073709551615, "e": 1e-5} )";
  EXPECT_EQ(read(text), json::parse(text));
  EXPECT_EQ(read("7"), json(7));
  EXPECT_EQ(read("\"x\""), json("x"));
}

TEST_F(read_json, spells_out_the_infinities_that_python_writes_bare) {
  const json value =
      read(R"({"limit": [0.0, Infinity], "low": -Infinity, "nan":NaN, "text": "Infinity, \"NaN -Infinity"})");
  EXPECT_EQ(value,
            json::parse(R"({"limit": [0.0, {"__float__": "Infinity"}], "low": {"__float__": "-Infinity"},
                                   "nan": {"__float__": "NaN"}, "text": "Infinity, \"NaN -Infinity"})"));
  EXPECT_EQ(read("NaN"), json::parse(R"({"__float__": "NaN"})"));
  EXPECT_EQ(read(R"(["\\", NaN])")[1], json::parse(R"({"__float__": "NaN"})"));
}

TEST_F(read_json, names_the_byte_of_bad_syntax) {
  expect_error("", "JSON text (byte 0): is not valid JSON");
  expect_error("{\"a\": 1,}", "JSON text (byte 8): is not valid JSON near");
  expect_error("{\"a\": 1} x", "JSON text (byte 9): is not valid JSON near");
  expect_error("[1, 2", "is not valid JSON near");
  expect_error("[\"\xff\"]", "JSON text (byte 2): is not valid JSON near '\"\\xff'");
  expect_error("[1e999]", "is not valid JSON near '1e999'");
  expect_error("[NaN, x]", "JSON text (byte 6): is not valid JSON near");
  expect_error("[Infinit]", "JSON text (byte 1): is not valid JSON near");
}

TEST_F(read_json, refuses_two_equal_keys_in_one_object) {
  expect_error(R"({"a": {"b": 1}, "b": 2, "a": 3})", "key 'a' (byte 24): is there twice in one object");
  expect_error(R"({"q\"": 1, "q\"": 2})", "key 'q\"' (byte 11): is there twice in one object");
  expect_error(R"({"": 1, "": 2})", "key '' (byte 8): is there twice in one object");
  EXPECT_EQ(read(R"([{"a": 1}, {"a": 2}])").size(), 2u);
}

TEST_F(read_json, refuses_bottomless_nesting) {
  EXPECT_NO_THROW(read(std::string(128, '[') + std::string(128, ']')));
  expect_error(std::string(129, '['), "JSON text (byte 128): is nested more than 128 levels deep");
  expect_error(std::string(1000000, '['), "JSON text (byte 128): is nested more than 128 levels deep");
}

TEST_F(read_json, names_a_missing_file) {
  EXPECT_THAT([&] { read_json_file((folder_.path() / "none.json").string()); },
              ThrowsMessage<file_error>(HasSubstr("none.json: file: cannot be opened")));
}

}  // namespace
