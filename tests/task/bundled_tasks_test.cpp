// The bundled task files themselves: sizes, balance, and facts that can be checked by rule.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "iclmech/io/utf8.hpp"
#include "iclmech/task/prompt.hpp"
#include "iclmech/task/registry.hpp"
#include "iclmech/task/sampling.hpp"

namespace {

using iclmech::bundled_task;
using iclmech::label_kind;
using iclmech::task;
using iclmech::task_family;
using iclmech::task_pair;
using ::testing::Each;
using ::testing::IsSubsetOf;

const std::vector<std::string> parametric{"antonym",           "capitalize",     "country-capital",
                                          "country-continent", "english-french", "present-past",
                                          "singular-plural",   "word-category"};
const std::vector<std::string> contextual{"emotion",       "entailment", "news-topic",  "offensive-language",
                                          "question-type", "sentiment",  "subjectivity"};

std::vector<std::string> all_names() {
  std::vector<std::string> names = parametric;
  names.insert(names.end(), contextual.begin(), contextual.end());
  return names;
}

bool starts_upper(const std::string& text) {
  return std::isupper(static_cast<unsigned char>(text.front())) != 0;
}

std::string first_word(const std::string& label) { return label.substr(0, label.find_first_of(" -")); }

class bundled_task_file : public ::testing::TestWithParam<std::string> {
 protected:
  const task subject_ = bundled_task(GetParam());
};

INSTANTIATE_TEST_SUITE_P(all, bundled_task_file, ::testing::ValuesIn(all_names()), [](const auto& name) {
  std::string text = name.param;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

TEST_P(bundled_task_file, has_60_to_150_items_a_name_and_a_description) {
  EXPECT_GE(subject_.pairs.size(), 60U);
  EXPECT_LE(subject_.pairs.size(), 150U);
  EXPECT_EQ(subject_.name, GetParam());
  EXPECT_FALSE(subject_.description.empty());
}

TEST_P(bundled_task_file, belongs_to_its_family) {
  const bool is_parametric = std::find(parametric.begin(), parametric.end(), GetParam()) != parametric.end();
  EXPECT_EQ(subject_.family, is_parametric ? task_family::parametric : task_family::contextual);
  if (!is_parametric) {
    EXPECT_EQ(subject_.kind, label_kind::classification);
  }
}

TEST_P(bundled_task_file, has_no_input_twice) {
  std::set<std::string> inputs;
  for (const task_pair& pair : subject_.pairs) EXPECT_TRUE(inputs.insert(pair.input).second) << pair.input;
}

TEST_P(bundled_task_file, has_tidy_texts) {
  for (const task_pair& pair : subject_.pairs)
    for (const std::string& text : {pair.input, pair.output}) {
      EXPECT_TRUE(iclmech::is_utf8(text)) << text;
      EXPECT_NE(text.front(), ' ') << text;
      EXPECT_NE(text.back(), ' ') << text;
      EXPECT_EQ(text.find("  "), std::string::npos) << text;
      EXPECT_EQ(text.find_first_of("\n\t"), std::string::npos) << text;
    }
}

TEST_P(bundled_task_file, balances_labels_that_are_single_different_words) {
  if (subject_.kind != label_kind::classification) {
    EXPECT_EQ(subject_.labels().size(), subject_.pairs.size()) << "open answers should all be different";
    return;
  }
  std::map<std::string, int> count;
  for (const task_pair& pair : subject_.pairs) ++count[pair.output];
  const auto [fewest, most] =
      std::minmax_element(count.begin(), count.end(), [](auto& a, auto& b) { return a.second < b.second; });
  EXPECT_EQ(fewest->second, most->second) << fewest->first << ' ' << most->first;
  for (const auto& [label, seen] : count) EXPECT_EQ(first_word(label), label);
}

TEST_P(bundled_task_file, is_large_enough_for_32_demonstrations) {
  const iclmech::episode_sampler sampler(subject_, {.demonstrations = 32});
  for (std::uint64_t number = 0; number < sampler.queries(); ++number)
    EXPECT_EQ(sampler.draw(number).demonstrations.size(), 32U);
}

TEST(bundled_tasks, are_all_listed_and_all_files_can_be_sampled) {
  const std::vector<std::string> names = iclmech::bundled_task_names();
  EXPECT_THAT(all_names(), IsSubsetOf(names));
  for (const std::string& name : names) {
    const task subject = bundled_task(name);
    EXPECT_FALSE(render(subject.layout, iclmech::episode_sampler(subject).draw(0)).text.empty()) << name;
  }
}

TEST(capitalize, changes_the_first_letter_alone) {
  for (const task_pair& pair : bundled_task("capitalize").pairs) {
    std::string expected = pair.input;
    expected.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(expected.front())));
    EXPECT_NE(pair.input, pair.output);
    EXPECT_EQ(pair.output, expected);
  }
}

TEST(country_capital, pairs_proper_names) {
  for (const task_pair& pair : bundled_task("country-capital").pairs) {
    EXPECT_TRUE(starts_upper(pair.input)) << pair.input;
    EXPECT_TRUE(starts_upper(pair.output)) << pair.output;
    EXPECT_NE(pair.input, pair.output);
  }
}

TEST(country_capital, agrees_with_country_continent_on_how_countries_are_written) {
  std::set<std::string> countries;
  for (const task_pair& pair : bundled_task("country-capital").pairs) countries.insert(pair.input);
  int shared = 0;
  for (const task_pair& pair : bundled_task("country-continent").pairs)
    shared += countries.count(pair.input) ? 1 : 0;
  EXPECT_GE(shared, 75);
}

TEST(present_past, makes_regular_forms_by_the_rules) {
  // A form in -ed is the verb with -ed, less a final e, with a doubled consonant, or with y turned into i;
  // "feed" and the like are irregular and end otherwise.
  for (const task_pair& pair : bundled_task("present-past").pairs) {
    EXPECT_NE(pair.input, pair.output);
    if (!pair.output.ends_with("ed") || pair.output.size() <= pair.input.size()) continue;
    const std::string& verb = pair.input;
    const std::vector<std::string> forms{verb + "ed", verb + "d", verb + verb.back() + "ed",
                                         verb.substr(0, verb.size() - 1) + "ied"};
    EXPECT_THAT(forms, ::testing::Contains(pair.output)) << verb;
  }
}

TEST(singular_plural, makes_regular_forms_by_the_rules) {
  for (const task_pair& pair : bundled_task("singular-plural").pairs) {
    EXPECT_NE(pair.input, pair.output);
    if (!pair.output.ends_with("s")) continue;
    const std::string& noun = pair.input;
    const std::string stem = noun.substr(0, noun.size() - 1);
    const std::vector<std::string> forms{noun + "s", noun + "es", stem + "ies", stem + "ves",
                                         noun.substr(0, noun.size() - 2) + "ves"};
    EXPECT_THAT(forms, ::testing::Contains(pair.output)) << noun;
  }
}

TEST(antonym, uses_no_word_twice_so_that_no_pair_gives_another_away) {
  std::set<std::string> words;
  for (const task_pair& pair : bundled_task("antonym").pairs) {
    EXPECT_TRUE(words.insert(pair.input).second) << pair.input;
    EXPECT_TRUE(words.insert(pair.output).second) << pair.output;
  }
}

TEST(english_french, translates_lower_case_words_into_others) {
  for (const task_pair& pair : bundled_task("english-french").pairs) {
    EXPECT_NE(pair.input, pair.output);
    EXPECT_FALSE(starts_upper(pair.input));
    EXPECT_FALSE(starts_upper(pair.output));
  }
}

}  // namespace
