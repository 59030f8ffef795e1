#include "iclmech/io/tokenizer_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::file_error;
using iclmech::parse_tokenizer_json;
using iclmech::read_tokenizer_json;
using iclmech::token_id;
using iclmech::tokenizer;
using iclmech::unsupported_error;
using iclmech::test::temporary_folder;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A tokenizer of the letters a to c, "ab" and "<s>" (id 5).
json letters() {
  return json::parse(
      R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"?":4},"merges":["a b"],"unk_token":"?"},
                         "added_tokens":[{"id":5,"content":"<s>","special":true}]})");
}

tokenizer parse(const json& file) { return parse_tokenizer_json("t.json", file.dump()); }

template <class Error>
std::string message_of(const json& file) {
  try {
    parse(file);
  } catch (const Error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}

/// `letters()` with one section replaced.
json with(const char* section, const json& value) {
  json file = letters();
  file[section] = value;
  return file;
}

/// `letters()` with one field of the model replaced.
json with_model(const char* field, const json& value) {
  json file = letters();
  file["model"][field] = value;
  return file;
}

TEST(tokenizer_json, reads_a_whole_tokenizer) {
  const tokenizer words = parse(letters());
  EXPECT_THAT(words.encode("cab<s>x"), ElementsAre(2, 3, 5, 4));
  EXPECT_EQ(words.vocabulary_size(), 6);
  EXPECT_EQ(words.token(5), "<s>");
  EXPECT_EQ(words.bos(), std::nullopt);
  EXPECT_EQ(words.eos(), std::nullopt);
  EXPECT_FALSE(words.adds_bos());
}

TEST(tokenizer_json, reads_nested_sequences_of_every_stage) {
  json file = letters();
  file["normalizer"] = json::parse(
      R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"Regex":"x+"},"content":" "}]}]})");
  file["pre_tokenizer"] = json::parse(
      R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":true},{"type":"Split","pattern":{"String":"c"},"behavior":"Removed","invert":false}]})");
  file["decoder"] = json::parse(
      R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"ab"},"content":" ba"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})");
  const tokenizer words = parse(file);
  EXPECT_THAT(words.encode("abcbxxaxb"), ElementsAre(3, 1, 0, 1));
  EXPECT_EQ(words.decode(std::vector<token_id>{3, 3}), "ba ba");
}

TEST(tokenizer_json, a_template_gives_the_begin_of_sequence_token) {
  const json of_template = json::parse(
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}})");
  for (const json& processor :
       {of_template, json{{"type", "Sequence"}, {"processors", {{{"type", "ByteLevel"}}, of_template}}}}) {
    const tokenizer words = parse(with("post_processor", processor));
    EXPECT_EQ(words.bos(), 5);
    EXPECT_TRUE(words.adds_bos());
    EXPECT_THAT(words.encode("a", true), ElementsAre(5, 0));
    EXPECT_THAT(words.encode("a"), ElementsAre(0));
  }
  json other = of_template;
  other["single"][0]["SpecialToken"]["id"] = "<x>";
  EXPECT_EQ(
      message_of<file_error>(with("post_processor", other)),
      "t.json: post_processor.single: begins with the special token '<x>', which is not in the vocabulary");
  // One that only appends says nothing about the beginning.
  other["single"] = json::array({{{"Sequence", {{"id", "A"}}}}});
  EXPECT_EQ(parse(with("post_processor", other)).bos(), std::nullopt);
}

TEST(tokenizer_json, the_config_beside_it_names_special_tokens) {
  const temporary_folder folder;
  const std::string path = folder.write("tokenizer.json", letters().dump());
  const auto read_with = [&](const char* config) {
    folder.write("tokenizer_config.json", config);
    return read_tokenizer_json(path);
  };
  const tokenizer plain = read_with(R"({"bos_token":"<s>","eos_token":{"content":"c"}})");
  EXPECT_EQ(plain.bos(), 5);
  EXPECT_EQ(plain.eos(), 2);
  EXPECT_FALSE(plain.adds_bos());
  EXPECT_TRUE(read_with(R"({"bos_token":"<s>","add_bos_token":true})").adds_bos());
  EXPECT_FALSE(read_with(R"({"bos_token":null,"add_bos_token":true})").adds_bos());
  EXPECT_THROW(
      {
        try {
          read_with(R"({"bos_token":"<x>"})");
        } catch (const file_error& problem) {
          EXPECT_THAT(
              problem.what(),
              HasSubstr("tokenizer_config.json: bos_token: is '<x>', which is not in the vocabulary"));
          throw;
        }
      },
      file_error);
}

TEST(tokenizer_json, refuses_what_it_does_not_do_and_lists_what_it_does) {
  EXPECT_EQ(message_of<unsupported_error>(with_model("type", "Unigram")),
            "t.json: model.type: is 'Unigram'; iclmech reads BPE and WordLevel");
  EXPECT_EQ(message_of<unsupported_error>(with("normalizer", {{"type", "Lowercase"}})),
            "t.json: normalizer.type: is 'Lowercase'; iclmech reads Sequence, Prepend, Replace, NFC, NFD, "
            "NFKC and NFKD");
  EXPECT_THAT(
      message_of<unsupported_error>(
          with("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {{{"type", "BertPreTokenizer"}}}}})),
      HasSubstr("t.json: pre_tokenizer.pretokenizers[0].type: is 'BertPreTokenizer'; iclmech reads Sequence, "
                "Split"));
  EXPECT_THAT(message_of<unsupported_error>(with("decoder", {{"type", "WordPiece"}})),
              HasSubstr("t.json: decoder.type: is 'WordPiece'; iclmech reads Sequence, ByteLevel"));
  EXPECT_THAT(message_of<unsupported_error>(with_model("dropout", 0.1)),
              HasSubstr("t.json: model.dropout: is set"));
  EXPECT_THAT(message_of<unsupported_error>(with_model("end_of_word_suffix", "</w>")),
              HasSubstr("t.json: model.end_of_word_suffix: is set"));
  EXPECT_THAT(
      message_of<unsupported_error>(with(
          "pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "[a&&b]"}}}, {"behavior", "Removed"}})),
      HasSubstr("t.json: pre_tokenizer.pattern.Regex: the pattern '[a&&b]' uses an intersection"));
}

TEST(tokenizer_json, names_the_field_that_is_wrong) {
  EXPECT_EQ(message_of<file_error>(json::object()), "t.json: model: is missing");
  EXPECT_EQ(message_of<file_error>(with("added_tokens", {{{"id", 5}}})),
            "t.json: added_tokens[0].content: is missing");
  EXPECT_EQ(message_of<file_error>(with("added_tokens", {{{"id", 5000000}, {"content", "x"}}})),
            "t.json: added_tokens[0].id: is 5000000; at most 4194303 is allowed");
  EXPECT_EQ(message_of<file_error>(with("added_tokens", {{{"id", 7}, {"content", "a"}}})),
            "t.json: added_tokens: the added token 'a' has the id 7, but 0 in the vocabulary");
  EXPECT_EQ(message_of<file_error>(
                with("added_tokens", {{{"id", 7}, {"content", "x"}}, {{"id", 7}, {"content", "y"}}})),
            "t.json: added_tokens: the id 7 belongs to two added tokens, 'x' and 'y'");
  EXPECT_THAT(message_of<file_error>(with_model("merges", {"a c"})),
              HasSubstr("t.json: model: merge 0 joins 'a' and 'c'"));
  EXPECT_THAT(message_of<file_error>(with_model("vocab", {{"a", 0}, {"b", 0}})),
              HasSubstr("t.json: model: the id 0 belongs to both 'a' and 'b'"));
  EXPECT_THAT(
      message_of<file_error>(
          with("pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "("}}}, {"behavior", "Removed"}})),
      HasSubstr("t.json: pre_tokenizer.pattern.Regex: the pattern '(' does not compile"));
  EXPECT_THAT(
      message_of<file_error>(
          with("pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Removed"}})),
      HasSubstr("t.json: pre_tokenizer.pattern.String: is empty"));
  EXPECT_THAT(
      message_of<file_error>(
          with("pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Gone"}})),
      HasSubstr("t.json: pre_tokenizer.behavior: is 'Gone', but must be Removed, Isolated"));
  EXPECT_THAT(
      message_of<file_error>(
          with("pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}})),
      HasSubstr("t.json: pre_tokenizer.prepend_scheme: is 'last', but must be always, first or never"));
  EXPECT_THAT(message_of<file_error>(
                  with("decoder", {{"type", "Strip"}, {"content", "ab"}, {"start", 1}, {"stop", 0}})),
              HasSubstr("t.json: decoder.content: is 'ab' instead of one character"));
}

}  // namespace
