#include "iclmech/io/tokenizer_json_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using iclmech::file_error;
using iclmech::detail::parse_tokenizer_json;
using iclmech::detail::tokenizer_json_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string message_of(std::string_view text) {
  const std::string path = "t.json";
  try {
    parse_tokenizer_json(path, text);
  } catch (const file_error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}

TEST(tokenizer_json_text, takes_the_two_lists_out) {
  const std::string path = "t.json";
  const tokenizer_json_text contents = parse_tokenizer_json(
      path,
      R"({"version":"1","model":{"type":"BPE","vocab":{"a":0,"b c":1},"merges":["a b",["b c","d"]],"x":{"vocab":{}}}})");
  EXPECT_THAT(contents.tokens, ElementsAre(Pair("a", 0), Pair("b c", 1)));
  EXPECT_THAT(contents.merges, ElementsAre(Pair("a", "b"), Pair("b c", "d")));
  EXPECT_EQ(contents.rest.dump(),
            R"({"model":{"merges":null,"type":"BPE","vocab":null,"x":{"vocab":{}}},"version":"1"})");
}

TEST(tokenizer_json_text, lists_of_the_same_name_elsewhere_stay) {
  const std::string path = "t.json";
  const tokenizer_json_text contents =
      parse_tokenizer_json(path, R"({"vocab":{"a":0},"other":{"vocab":{"b":1},"merges":["x"]}})");
  EXPECT_THAT(contents.tokens, IsEmpty());
  EXPECT_EQ(contents.rest.at("other").at("merges").at(0), "x");
}

TEST(tokenizer_json_text, names_the_merge_that_is_wrong) {
  EXPECT_THAT(
      message_of(R"({"model":{"merges":["a b","ab"]}})"),
      HasSubstr("t.json: model.merges[1] (byte 29): is 'ab' instead of two tokens with one space between"));
  EXPECT_THAT(message_of(R"({"model":{"merges":["a b c"]}})"), HasSubstr("model.merges[0]"));
  EXPECT_THAT(message_of(R"({"model":{"merges":[["a"]]}})"), HasSubstr("is a list of 1 parts instead of 2"));
  EXPECT_THAT(message_of(R"({"model":{"merges":[["a","b","c"]]}})"),
              HasSubstr("is a list of 3 parts instead of 2"));
  EXPECT_THAT(message_of(R"({"model":{"merges":[1]}})"), HasSubstr("t.json: model.merges (byte"));
  EXPECT_THAT(message_of(R"({"model":{"merges":[[["a"]]]}})"), HasSubstr("holds an array"));
  EXPECT_THAT(message_of(R"({"model":{"merges":[{}]}})"), HasSubstr("holds an object"));
  EXPECT_THAT(message_of(R"({"model":{"merges":[null]}})"), HasSubstr("holds null"));
}

TEST(tokenizer_json_text, names_the_token_that_is_wrong) {
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":4294967296}}})"),
              HasSubstr("gives the token 'a' the id 4294967296, which is too large"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":-1}}})"), HasSubstr("model.vocab (byte"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":1.5}}})"), HasSubstr("holds the number 1.5"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":"b"}}})"), HasSubstr("holds the text 'b'"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":true}}})"), HasSubstr("holds a truth value"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":[]}}})"), HasSubstr("holds an array"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":{}}}})"), HasSubstr("holds an object"));
}

TEST(tokenizer_json_text, names_the_byte_of_broken_json) {
  EXPECT_THAT(message_of(""), HasSubstr("t.json: JSON text (byte 0): is not valid JSON"));
  EXPECT_THAT(message_of(R"({"model":{"vocab":{"a":0)"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(message_of("{\"model\":{\"vocab\":{\"\xFF\":0}}}"), HasSubstr("model.vocab (byte"));
  EXPECT_THAT(message_of(R"({"model":{},"model":{}})"),
              HasSubstr("key 'model' (byte 12): is there twice in one object"));
  EXPECT_THAT(message_of(std::string(200, '[')), HasSubstr("nested more than 128 levels deep"));
}

}  // namespace
