#include "iclmech/io/text_normalizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/tokenizer_goldens.hpp"

namespace {

using iclmech::normalize;
using iclmech::normalizer_step;
using iclmech::prepend_normalizer;
using iclmech::replace_normalizer;
using iclmech::unicode_form;
using iclmech::unicode_regex;

TEST(text_normalizer, does_what_hugging_face_does) {
  const std::map<std::string, normalizer_step> steps = {
      {"nfc", unicode_form::nfc},
      {"nfd", unicode_form::nfd},
      {"nfkc", unicode_form::nfkc},
      {"nfkd", unicode_form::nfkd},
      {"prepend", prepend_normalizer{"\xE2\x96\x81"}},
      {"replace", replace_normalizer{"a", "<a>"}},
      {"replace regex", replace_normalizer{unicode_regex(R"(\s+)"), "_"}},
  };
  const nlohmann::json golden = iclmech::test::read_json(iclmech::test::tokenizer_data() / "stages.json");
  const auto texts = golden.at("texts").get<std::vector<std::string>>();
  ASSERT_EQ(golden.at("normalizers").size(), steps.size());
  for (const auto& [name, expected] : golden.at("normalizers").items())
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(normalize({steps.at(name)}, texts[i]), expected.at(i))
          << name << " on " << nlohmann::json(texts[i]);
}

TEST(text_normalizer, takes_steps_in_order) {
  EXPECT_EQ(normalize({prepend_normalizer{"b"}, replace_normalizer{"ba", "c"}}, "a"), "c");
  EXPECT_EQ(normalize({replace_normalizer{"ba", "c"}, prepend_normalizer{"b"}}, "a"), "ba");
  EXPECT_EQ(normalize({}, "a"), "a");
}

TEST(text_normalizer, leaves_empty_text_empty) {
  EXPECT_EQ(normalize({prepend_normalizer{"b"}, unicode_form::nfc, replace_normalizer{"a", "b"}}, ""), "");
}

// A run of 200000 marks, each out of order with the next: sorted by insertion it would take minutes.
TEST(text_normalizer, sorts_long_runs_of_marks) {
  std::string marks, sorted;
  const std::string grave = "\xCC\x80", grave_below = "\xCC\x96";  // combining classes 230 and 220
  for (int i = 0; i < 100000; ++i) marks += grave + grave_below;
  for (int i = 0; i < 100000; ++i) sorted += grave_below;
  for (int i = 0; i < 100000; ++i) sorted += grave;
  EXPECT_EQ(normalize({unicode_form::nfc}, marks), sorted);
}

}  // namespace
