#include "iclmech/task/load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

using iclmech::file_error;
using iclmech::label_kind;
using iclmech::label_mapping;
using iclmech::load_task;
using iclmech::parse_task;
using iclmech::prompt_template;
using iclmech::task;
using iclmech::task_family;
using iclmech::task_format;
using iclmech::task_pair;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

task json(std::string_view text) { return parse_task(text, task_format::json, "dir/toy.json"); }
task lines(std::string_view text) { return parse_task(text, task_format::json_lines, "toy.jsonl"); }
task csv(std::string_view text) { return parse_task(text, task_format::csv, "toy.csv"); }
task tsv(std::string_view text) { return parse_task(text, task_format::tsv, "toy.tsv"); }

template <typename Read>
void expect_error(Read read, std::string_view text, const std::string& message) {
  EXPECT_THAT([&] { read(text); }, ThrowsMessage<file_error>(HasSubstr(message))) << text;
}

TEST(parse_task, reads_a_json_list_and_infers_the_rest) {
  const task open = json(R"([{"input": "go", "output": "went"}, {"output": "saw", "input": "see"}])");
  EXPECT_THAT(open.pairs, ElementsAre(task_pair{"go", "went"}, task_pair{"see", "saw"}));
  EXPECT_EQ(open.name, "toy");
  EXPECT_EQ(open.kind, label_kind::open);
  EXPECT_EQ(open.family, task_family::parametric);
  EXPECT_EQ(open.layout, prompt_template{});

  const task classes = json(R"([{"input": "a", "output": 1}, {"input": "b", "output": 0},
                                {"input": "c", "output": 1}, {"input": "d", "output": 0}])");
  EXPECT_THAT(classes.labels(), ElementsAre("1", "0"));
  EXPECT_EQ(classes.kind, label_kind::classification);
  EXPECT_EQ(classes.family, task_family::contextual);
}

TEST(parse_task, reads_everything_a_json_object_says) {
  const task full = json(R"({
    "name": "animals", "description": "What is it?", "family": "parametric", "labels": "classification",
    "template": {"input_prefix": "", "output_prefix": " :", "separator": " ; "},
    "mappings": [{"pet": "foo", "farm": "bar"}, {"farm": "foo", "pet": "baz"}],
    "synonyms": {"pet": "companion", "farm": "livestock"},
    "pairs": [{"input": "cat", "output": "pet"}, {"input": "cow", "output": "farm"}]})");
  EXPECT_EQ(full.name, "animals");
  EXPECT_EQ(full.description, "What is it?");
  EXPECT_EQ(full.family, task_family::parametric);
  EXPECT_EQ(full.kind, label_kind::classification);
  EXPECT_EQ(full.layout, iclmech::word_level_template());
  EXPECT_THAT(full.mappings, ElementsAre(label_mapping{{{"pet", "foo"}, {"farm", "bar"}}},
                                         label_mapping{{{"farm", "foo"}, {"pet", "baz"}}}));
  EXPECT_EQ(full.synonyms, (label_mapping{{{"pet", "companion"}, {"farm", "livestock"}}}));
}

TEST(parse_task, reads_json_lines_and_skips_blank_ones) {
  EXPECT_THAT(
      lines("{\"input\":\"go\",\"output\":\"went\"}\r\n\n{\"input\":\"see\",\"output\":\"saw\"}").pairs,
      ElementsAre(task_pair{"go", "went"}, task_pair{"see", "saw"}));
}

TEST(parse_task, reads_csv_and_tsv_by_column_names) {
  EXPECT_THAT(csv("id,output,input\n1,went,go\n2,\"s,aw\",see\n").pairs,
              ElementsAre(task_pair{"go", "went"}, task_pair{"see", "s,aw"}));
  EXPECT_THAT(tsv("input\toutput\r\ngo, now\twent\r\n").pairs, ElementsAre(task_pair{"go, now", "went"}));
}

TEST(parse_task, skips_a_byte_order_mark) {
  EXPECT_EQ(csv("\xEF\xBB\xBFinput,output\na,b\n").pairs.size(), 1U);
  EXPECT_EQ(json("\xEF\xBB\xBF[{\"input\": \"a\", \"output\": \"b\"}]").pairs.size(), 1U);
}

TEST(parse_task, says_where_json_breaks_off) {
  expect_error(json, "[{\"input\": \"a\",\n  \"output\": }]",
               "dir/toy.json: line 2, column 13: is not JSON: syntax error");
  expect_error(lines, "{\"input\": \"a\", \"output\": \"b\"}\n{\"input\" 3}",
               "toy.jsonl: line 2, column 10: is not JSON");
  expect_error(json, "", "line 1, column 1: is not JSON");
  expect_error(json, "[{\"input\": \"\xFF\", \"output\": \"b\"}]",
               "line 1, column 13: is not JSON: syntax error");
}

TEST(parse_task, refuses_an_object_with_two_equal_keys) {
  expect_error(lines, "{\"input\": \"a\", \"output\": \"b\"}\n{\"input\": \"a\", \"input\": \"b\"}",
               "toy.jsonl: line 2 or later: the key \"input\" is twice in one object");
}

TEST(parse_task, survives_bottomless_nesting) {
  expect_error(json, std::string(100000, '['), "is not JSON");
  expect_error(json, std::string(100000, '[') + std::string(100000, ']'), "pairs[0]: is of type array");
}

TEST(parse_task, names_the_field_that_is_wrong) {
  expect_error(json, "3", "dir/toy.json: task: is of type number, but must be an object");
  expect_error(json, "{}", "task: has no \"pairs\"");
  expect_error(json, "[]", "dir/toy.json: pairs: there are none");
  expect_error(json, R"({"pairs": 3})", "pairs: is of type number, but must be a list of pairs");
  expect_error(json, R"([{"input": "a", "output": "b"}, 3])", "pairs[1]: is of type number");
  expect_error(json, R"([{"input": "a", "output": "b"}, {"input": "c"}])", "pairs[1]: has no \"output\"");
  expect_error(json, R"([{"input": "a", "output": 1.5}])",
               "pairs[0].output: is of type number, but must be text");
  expect_error(json, R"([{"input": "", "output": "b"}])", "pairs[0].input: is empty");
  expect_error(json, R"([{"input": "a", "output": "b", "outputs": "c"}])",
               "pairs[0]: has an unknown key \"outputs\"; the nearest known ones: output");
  expect_error(lines, "\n{\"input\": \"a\"}", "toy.jsonl: line 2: has no \"output\"");
}

TEST(parse_task, checks_what_an_object_says) {
  const std::string pairs = R"("pairs": [{"input": "a", "output": "x"}, {"input": "b", "output": "y"}]})";
  expect_error(json, R"({"familly": "open", )" + pairs,
               "unknown key \"familly\"; the nearest known ones: family");
  expect_error(json, R"({"family": "open", )" + pairs,
               "family: is \"open\", but must be one of: parametric, contextual");
  expect_error(json, R"({"labels": 3, )" + pairs, "labels: is of type number, but must be text");
  expect_error(json, R"({"template": {"seperator": ""}, )" + pairs,
               "template: has an unknown key \"seperator\"; the nearest known ones: separator");
  expect_error(json, R"({"template": {"separator": 1}, )" + pairs, "template.separator: is of type number");
  expect_error(json, R"({"mappings": [{"x": "p", "z": "q"}], )" + pairs,
               "mappings[0]: has an unknown key \"z\"");
  expect_error(json, R"({"mappings": [{"x": "p", "y": "p"}], )" + pairs,
               "mappings[0]: must give two or more outputs");
  expect_error(json, R"({"mappings": [{"x": "p"}], )" + pairs, "mappings[0]: must give two or more outputs");
  expect_error(json,
               R"({"synonyms": {"x": "p", "y": "q"}, "pairs": [{"input": "a", "output": "x"},
                   {"input": "b", "output": "y"}, {"input": "c", "output": "z"}]})",
               "synonyms: has no word for \"z\"");
  expect_error(json, R"({"synonyms": {"x": "p"}, )" + pairs, "synonyms: must give two or more outputs");
  expect_error(json, R"({"synonyms": {"x": "p", "y": "p"}, )" + pairs,
               "synonyms: must give two or more outputs a label each, all different");
  expect_error(json, R"({"labels": "open", "mappings": [{"x": "p", "y": "q"}], )" + pairs,
               "mappings: need labels of a classification");
  expect_error(json, R"({"labels": "classification", "pairs": [{"input": "a", "output": "x"}]})",
               "labels: a classification needs two labels or more, but all outputs are \"x\"");
}

TEST(parse_task, names_the_line_and_column_of_a_table_that_is_wrong) {
  expect_error(csv, "", "toy.csv: line 1: the file is empty");
  expect_error(csv, "input,answer\na,b\n",
               "line 1: the header has no column \"output\", only: input, answer");
  expect_error(csv, "input,output\n", "toy.csv: pairs: there are none");
  expect_error(csv, "input,output\na,b\n\nc,d,e\n", "toy.csv: line 4: has 3 fields, but the header has 2");
  expect_error(tsv, "input\toutput\na\t\n", "toy.tsv: line 2, column \"output\": is empty");
  expect_error(csv, "input,output\n\xFF,b\n", "toy.csv: text: is not UTF-8");
}

TEST(load_task, takes_the_format_from_the_extension) {
  const iclmech::test::temporary_folder folder;
  EXPECT_EQ(load_task(folder.write("verbs.JSONL", "{\"input\": \"go\", \"output\": \"went\"}\n")).name,
            "verbs");
  EXPECT_EQ(load_task(folder.write("nouns.tsv", "input\toutput\na\tb\n")).name, "nouns");
}

TEST(load_task, says_which_file_cannot_be_read) {
  EXPECT_THAT([] { load_task("no/such.json"); },
              ThrowsMessage<file_error>(HasSubstr("no/such.json: file: cannot be opened")));
  EXPECT_THAT(
      [] { load_task("toy.txt"); },
      ThrowsMessage<file_error>(HasSubstr("the extension \".txt\" says no format of a task: use .json")));
}

}  // namespace
