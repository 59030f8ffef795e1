#include "iclmech/io/tokenizer_gguf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/file_builders.hpp"
#include "support/temporary_folder.hpp"

namespace {

using iclmech::file_error;
using iclmech::gguf_file;
using iclmech::read_tokenizer_gguf;
using iclmech::token_id;
using iclmech::tokenizer;
using iclmech::unsupported_error;
using iclmech::test::append;
using iclmech::test::append_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Numbers of the value types in the file.
enum gguf_number : std::uint32_t { u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9 };

/// tokenizer.ggml.* fields; one that is set again replaces the first.
class fields {
 public:
  fields& text(const std::string& name, const std::string& value) {
    std::string& bytes = start(name, string);
    append_text(bytes, value);
    return *this;
  }
  fields& id(const std::string& name, std::uint32_t value) {
    append(start(name, u32), value);
    return *this;
  }
  fields& flag(const std::string& name, bool value) {
    append<std::uint8_t>(start(name, boolean), value ? 1 : 0);
    return *this;
  }
  fields& texts(const std::string& name, const std::vector<std::string>& values) {
    std::string& bytes = start_array(name, string, values.size());
    for (const std::string& value : values) append_text(bytes, value);
    return *this;
  }
  template <class Number>
  fields& numbers(const std::string& name, const std::vector<Number>& values) {
    std::string& bytes = start_array(name, std::is_same_v<Number, float> ? f32 : i32, values.size());
    for (const Number value : values) append(bytes, value);
    return *this;
  }
  fields& without(const std::string& name) {
    pairs_.erase(name);
    return *this;
  }
  std::string file() const {
    iclmech::test::gguf_builder builder(0, pairs_.size());
    for (const auto& [name, bytes] : pairs_) builder.text("tokenizer.ggml." + name).data(bytes);
    return builder.bytes();
  }

 private:
  std::string& start(const std::string& name, std::uint32_t type) {
    pairs_[name].clear();
    append(pairs_[name], type);
    return pairs_[name];
  }
  std::string& start_array(const std::string& name, std::uint32_t type, std::size_t count) {
    std::string& bytes = start(name, array);
    append(bytes, type);
    append<std::uint64_t>(bytes, count);
    return bytes;
  }
  std::map<std::string, std::string> pairs_;
};

tokenizer read(const fields& metadata) {
  const iclmech::test::temporary_folder folder;
  return read_tokenizer_gguf(gguf_file(folder.write("words.gguf", metadata.file())));
}

template <class Error>
std::string message_of(const fields& metadata) {
  try {
    read(metadata);
  } catch (const Error& problem) {
    const std::string message = problem.what();
    return message.substr(message.find("words.gguf"));
  }
  return "nothing was thrown";
}

fields byte_level() {
  return fields()
      .text("model", "gpt2")
      .text("pre", "gpt-2")
      .texts("tokens", {"a", "b", "\xC4\xA0",
                        "\xC4\xA0"
                        "a",
                        "<s>"})
      .numbers<std::int32_t>("token_type", {1, 1, 1, 1, 3})
      .texts("merges", {"\xC4\xA0 a"});
}

fields sentencepiece() {
  return fields()
      .text("model", "llama")
      .texts("tokens", {"<unk>", "<s>", "\xE2\x96\x81", "a",
                        "\xE2\x96\x81"
                        "a",
                        "  ", "<x>"})
      .numbers<std::int32_t>("token_type", {2, 3, 1, 1, 1, 4, 4})
      .numbers<float>("scores", {0, 0, -3, -2, -1, -1000, -1000})
      .id("unknown_token_id", 0);
}

TEST(tokenizer_gguf, reads_byte_level_vocabularies) {
  const tokenizer words = read(byte_level());
  EXPECT_THAT(words.encode("a ab<s>"), ElementsAre(0, 3, 1, 4));
  EXPECT_EQ(words.decode(std::vector<token_id>{0, 3, 1, 4}), "a ab<s>");
  EXPECT_EQ(words.vocabulary_size(), 5);
  EXPECT_EQ(words.bos(), std::nullopt);
}

TEST(tokenizer_gguf, reads_scored_vocabularies) {
  const tokenizer words = read(sentencepiece().flag("add_space_prefix", false));
  EXPECT_THAT(words.encode("a a<x>y"), ElementsAre(3, 4, 6, 0));
  EXPECT_THAT(words.encode("a  a"), ElementsAre(3, 5, 3));  // a run of spaces is joined before " a"
  EXPECT_EQ(words.decode(std::vector<token_id>{3, 4, 5, 3}), "a a  a");
}

TEST(tokenizer_gguf, puts_a_space_in_front_unless_told_otherwise) {
  EXPECT_THAT(read(sentencepiece()).encode("a"), ElementsAre(4));
  EXPECT_EQ(read(sentencepiece()).decode(std::vector<token_id>{4, 4}), "a a");
  EXPECT_THAT(read(sentencepiece().flag("add_space_prefix", true)).encode("a"), ElementsAre(4));
  EXPECT_THAT(read(sentencepiece().flag("add_space_prefix", false)).encode("a"), ElementsAre(3));
}

TEST(tokenizer_gguf, reads_special_tokens) {
  const tokenizer words = read(byte_level().id("bos_token_id", 4).id("eos_token_id", 1));
  EXPECT_EQ(words.bos(), 4);
  EXPECT_EQ(words.eos(), 1);
  EXPECT_THAT(words.encode("a", true), ElementsAre(4, 0));
  EXPECT_FALSE(words.adds_bos());
  EXPECT_TRUE(read(byte_level().id("bos_token_id", 4).flag("add_bos_token", true)).adds_bos());
  EXPECT_TRUE(read(byte_level().text("pre", "llama-bpe").id("bos_token_id", 4)).adds_bos());
  EXPECT_TRUE(read(sentencepiece().id("bos_token_id", 1)).adds_bos());
  EXPECT_FALSE(read(sentencepiece().id("bos_token_id", 1).flag("add_bos_token", false)).adds_bos());
  EXPECT_FALSE(read(sentencepiece()).adds_bos());
}

TEST(tokenizer_gguf, refuses_what_it_does_not_do_and_lists_what_it_does) {
  EXPECT_EQ(
      message_of<unsupported_error>(byte_level().text("model", "bert")),
      "words.gguf: metadata 'tokenizer.ggml.model': is 'bert'; iclmech reads gpt2 (byte-level BPE) and llama "
      "(SentencePiece BPE)");
  EXPECT_EQ(
      message_of<unsupported_error>(byte_level().text("pre", "bloom")),
      "words.gguf: metadata 'tokenizer.ggml.pre': is 'bloom'; iclmech reads llama-bpe, llama3, llama-v3, "
      "qwen2, "
      "deepseek-r1-qwen, smollm, gpt-2, mpt, olmo; convert the model again or use its Hugging Face folder");
  EXPECT_THAT(
      message_of<unsupported_error>(byte_level().without("pre")),
      HasSubstr("'tokenizer.ggml.pre': is missing, so that the split pattern is not known; iclmech reads"));
}

TEST(tokenizer_gguf, names_the_field_that_is_wrong) {
  EXPECT_EQ(message_of<file_error>(fields()), "words.gguf: metadata 'tokenizer.ggml.model': is missing");
  EXPECT_EQ(message_of<file_error>(byte_level().without("tokens")),
            "words.gguf: metadata 'tokenizer.ggml.tokens': is missing");
  EXPECT_EQ(message_of<file_error>(byte_level().without("merges")),
            "words.gguf: metadata 'tokenizer.ggml.merges': is missing");
  EXPECT_EQ(message_of<file_error>(sentencepiece().without("scores")),
            "words.gguf: metadata 'tokenizer.ggml.scores': is missing");
  EXPECT_EQ(message_of<file_error>(byte_level().numbers<std::int32_t>("token_type", {1})),
            "words.gguf: metadata 'tokenizer.ggml.token_type': has 1 entries for 5 tokens");
  EXPECT_EQ(message_of<file_error>(byte_level().numbers<std::int32_t>("token_type", {1, 1, 1, 1, 9})),
            "words.gguf: metadata 'tokenizer.ggml.token_type': has the entry 9; types go from 1 to 6");
  EXPECT_EQ(message_of<file_error>(byte_level().texts("merges", {"\xC4\xA0 a", "ab"})),
            "words.gguf: metadata 'tokenizer.ggml.merges': has in place 1 'ab' instead of two tokens with "
            "one space "
            "between");
  EXPECT_THAT(message_of<file_error>(byte_level().texts("merges", {"a b"})),
              HasSubstr("merge 0 joins 'a' and 'b', but 'ab' is not in the vocabulary"));
  EXPECT_THAT(message_of<file_error>(byte_level().texts("tokens", {"a", "b", "c", "a", "<s>"})),
              HasSubstr("'tokenizer.ggml.tokens': the token 'a' has both the id 0 and the id 3"));
  EXPECT_THAT(message_of<file_error>(sentencepiece().numbers<float>("scores", {0})),
              HasSubstr("there are 7 tokens, but 1 scores"));
  EXPECT_THAT(message_of<file_error>(sentencepiece().id("unknown_token_id", 7)),
              HasSubstr("'tokenizer.ggml.unknown_token_id': is 7, outside the vocabulary of 7 tokens"));
  EXPECT_THAT(message_of<file_error>(byte_level().id("bos_token_id", 5)),
              HasSubstr("the special token id 5 is outside the vocabulary of 5 tokens"));
  EXPECT_THAT(message_of<file_error>(byte_level().id("eos_token_id", 4294967295u)),
              HasSubstr("'tokenizer.ggml.eos_token_id'"));
}

}  // namespace
