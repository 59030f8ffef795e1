#include "iclmech/io/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/tokenizer_goldens.hpp"

namespace {

using iclmech::load_tokenizer;
using iclmech::token_id;
using iclmech::tokenizer;
using iclmech::test::golden_texts;
using iclmech::test::temporary_folder;
using iclmech::test::tokenizer_data;
using ::testing::HasSubstr;

/// Compares ids and decoded texts with those of Hugging Face's `tokenizers`
/// (scripts/make_tokenizer_goldens.py).
void expect_golden(const tokenizer& words, const std::string& golden_name) {
  const nlohmann::json golden = iclmech::test::read_json(tokenizer_data() / "ids" / (golden_name + ".json"));
  const std::vector<std::string> texts = golden_texts();
  ASSERT_EQ(golden.at("ids").size(), texts.size());
  ASSERT_GE(texts.size(), 300u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto expected = golden.at("ids").at(i).get<std::vector<token_id>>();
    EXPECT_EQ(words.encode(texts[i]), expected)
        << golden_name << " on text " << i << ": " << nlohmann::json(texts[i]);
    EXPECT_EQ(words.decode(expected), golden.at("decoded").value(std::to_string(i), texts[i]))
        << golden_name << " decoding text " << i;
  }
}

/// The ones under tests/golden/tokenizers/small.
class small_tokenizer : public ::testing::TestWithParam<const char*> {};

TEST_P(small_tokenizer, json_gives_hugging_face_ids) {
  const std::string name = GetParam();
  expect_golden(load_tokenizer((tokenizer_data() / "small" / name).string()), "small-" + name);
}

INSTANTIATE_TEST_SUITE_P(tokenizer, small_tokenizer,
                         ::testing::Values("llama3", "qwen2", "smollm2", "neox", "gemma", "llama2",
                                           "metaspace", "flags", "words", "blanks"),
                         [](const auto& test) { return std::string(test.param); });

class small_gguf_tokenizer : public ::testing::TestWithParam<const char*> {};

TEST_P(small_gguf_tokenizer, gives_hugging_face_ids) {
  const std::string name = GetParam();
  expect_golden(load_tokenizer((tokenizer_data() / "small" / (name + ".gguf")).string()), "small-" + name);
}

INSTANTIATE_TEST_SUITE_P(tokenizer, small_gguf_tokenizer,
                         ::testing::Values("llama3", "qwen2", "smollm2", "neox", "gemma", "llama2"),
                         [](const auto& test) { return std::string(test.param); });

/// Real ones, where they have been fetched.
struct real_case {
  const char* file;    ///< in the cache folder
  const char* golden;  ///< whose ids it must give
};

class real_tokenizer : public ::testing::TestWithParam<real_case> {};

TEST_P(real_tokenizer, gives_hugging_face_ids) {
  const std::filesystem::path file = iclmech::test::real_files() / GetParam().file;
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " is not there; scripts/fetch_real_files.sh fetches it";
  expect_golden(load_tokenizer(file.string()), GetParam().golden);
}

INSTANTIATE_TEST_SUITE_P(tokenizer, real_tokenizer,
                         ::testing::Values(real_case{"llama3", "llama3"}, real_case{"qwen3", "qwen3"},
                                           real_case{"gemma3", "gemma3"}, real_case{"llama2", "llama2"},
                                           real_case{"smollm2.gguf", "smollm2"},
                                           real_case{"gemma3.gguf", "gemma3"}),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

tokenizer small(const std::string& name) {
  return load_tokenizer((tokenizer_data() / "small" / name).string());
}

template <class Error>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}

TEST(tokenizer, loads_a_folder_a_file_and_a_gguf) {
  const std::string text = "The committee's results";
  const std::vector<token_id> ids = small("llama3").encode(text);
  EXPECT_EQ(small("llama3/tokenizer.json").encode(text), ids);
  EXPECT_EQ(small("llama3.gguf").encode(text), ids);
}

TEST(tokenizer, says_what_is_missing) {
  const temporary_folder folder;
  EXPECT_THAT(message_of<iclmech::file_error>([&] { load_tokenizer(folder.path().string()); }),
              HasSubstr(folder.path().string() +
                        ": folder: has no tokenizer.json; if it has another tokenizer file"));
  EXPECT_THAT(message_of<iclmech::file_error>([&] { load_tokenizer((folder.path() / "none").string()); }),
              HasSubstr("none: file: cannot be opened"));
  EXPECT_THAT(message_of<iclmech::file_error>([&] { load_tokenizer(folder.write("text", "words")); }),
              HasSubstr("text: JSON text (byte 0): is not valid JSON"));
  EXPECT_THAT(message_of<iclmech::file_error>([&] { load_tokenizer(folder.write("empty.gguf", "GGUF")); }),
              HasSubstr("empty.gguf"));
}

TEST(tokenizer, knows_its_special_tokens_alike_from_both_formats) {
  for (const char* const name : {"llama3", "qwen2", "smollm2", "neox", "gemma", "llama2"}) {
    const tokenizer json = small(name), gguf = small(std::string(name) + ".gguf");
    EXPECT_EQ(json.bos(), gguf.bos()) << name;
    EXPECT_EQ(json.eos(), gguf.eos()) << name;
    EXPECT_EQ(json.adds_bos(), gguf.adds_bos()) << name;
    EXPECT_EQ(json.vocabulary_size(), gguf.vocabulary_size()) << name;
    EXPECT_TRUE(json.eos()) << name;
  }
  EXPECT_EQ(small("llama2").bos(), 1);
  EXPECT_EQ(small("llama2").token(1), "<s>");
  EXPECT_FALSE(small("qwen2").bos());
}

TEST(tokenizer, puts_the_begin_of_sequence_token_in_front_when_asked) {
  const tokenizer words = small("llama2");
  std::vector<token_id> ids = words.encode("the results", true);
  EXPECT_EQ(ids.front(), 1);
  ids.erase(ids.begin());
  EXPECT_EQ(ids, words.encode("the results"));
  EXPECT_EQ(message_of<iclmech::argument_error>([] { small("qwen2").encode("a", true); }),
            "this tokenizer has no begin-of-sequence token; encode without it");
}

TEST(tokenizer, maps_tokens_and_ids_both_ways) {
  const tokenizer words = small("flags");
  for (token_id id = 0; id < words.vocabulary_size(); ++id) EXPECT_EQ(words.find_token(words.token(id)), id);
  EXPECT_EQ(words.find_token("no such token"), std::nullopt);
  const std::string last = std::to_string(words.vocabulary_size() - 1),
                    next = std::to_string(words.vocabulary_size());
  EXPECT_EQ(message_of<iclmech::argument_error>(
                [&] { words.token(static_cast<token_id>(words.vocabulary_size())); }),
            "there is no token with the id " + next + "; the vocabulary goes from 0 to " + last);
  EXPECT_EQ(message_of<iclmech::argument_error>([&] { words.decode(std::vector<token_id>{-1}); }),
            "there is no token with the id -1; the vocabulary goes from 0 to " + last);
}

TEST(tokenizer, bytes_that_are_not_utf8_count_as_replacement_characters) {
  const std::vector<std::string> broken = {"\xFF",         "a\xC3",        "\xE2\x82z",
                                           "\xF0\x9F\x98", "\xED\xA0\x80", "ok \x80 ok"};
  for (const char* const name : {"llama3", "qwen2", "gemma", "llama2.gguf", "neox.gguf", "words"}) {
    const tokenizer words = small(name);
    for (const std::string& text : broken)
      EXPECT_EQ(words.encode(text), words.encode(iclmech::repair_utf8(text))) << name;
  }
}

// Every byte-level tokenizer without a normalizer gives any valid text back.
TEST(tokenizer, byte_level_round_trip) {
  for (const char* const name : {"llama3", "smollm2"}) {
    const tokenizer words = small(name);
    for (const std::string& text : golden_texts()) EXPECT_EQ(words.decode(words.encode(text)), text) << name;
  }
}

// Each text is as long as it gets in practice and made to be worst for something: one piece, one character,
// patterns that backtrack, marks to sort, tokens that begin but do not end. Quadratic handling would
// take the test past its time limit.
TEST(tokenizer, long_hostile_texts_take_no_longer_than_others) {
  const auto repeated = [](const std::string& part) {
    std::string text;
    while (text.size() < 50000) text += part;
    return text;
  };
  for (const char* const name :
       {"llama3", "qwen2", "smollm2", "neox", "gemma", "llama2", "gemma.gguf", "flags", "words"}) {
    const tokenizer words = small(name);
    for (const char* const part : {"a", " ", "\n", " \t", "'", "1", "<|im_start|", "<s>", "\xCC\x80\xCC\x96",
                                   "\xE2\x96\x81", "\xFF", "a ", "<left> "})
      EXPECT_FALSE(words.encode(repeated(part) + "x").empty()) << name;
  }
}

TEST(tokenizer, refuses_texts_that_are_longer_than_any_prompt) {
  EXPECT_EQ(
      message_of<iclmech::argument_error>([] { small("words").encode(std::string((1 << 26) + 1, ' ')); }),
      "the text has 67108865 bytes; encode it in parts of at most 67108864");
}

TEST(tokenizer, can_be_used_from_several_threads) {
  const tokenizer words = small("qwen2");
  const std::vector<std::string> texts = golden_texts();
  std::vector<std::vector<token_id>> expected;
  for (const std::string& text : texts) expected.push_back(words.encode(text));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, copy = words] {
      for (std::size_t i = 0; i < texts.size(); ++i) wrong += copy.encode(texts[i]) == expected[i] ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
