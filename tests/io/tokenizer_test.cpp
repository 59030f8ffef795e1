#include "iclmech/io/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/tokenizer_goldens.hpp"

namespace {

using iclmech::load_tokenizer;
using iclmech::token_id;
using iclmech::tokenizer;
using iclmech_tests::golden_texts;
using iclmech_tests::temporary_folder;
using iclmech_tests::tokenizer_data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Compares ids and decoded texts with those of Hugging Face's `tokenizers`
/// (scripts/make_tokenizer_goldens.py).
void expect_golden(const tokenizer& words, const std::string& golden_name) {
  const nlohmann::json golden = iclmech_tests::read_json(tokenizer_data() / "ids" / (golden_name + ".json"));
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
  const std::filesystem::path file = iclmech_tests::tokenizer_cache() / GetParam().file;
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " is not there; scripts/fetch_tokenizers.sh fetches it";
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

}  // namespace
