#ifndef ICLMECH_TASK_TASK_JSON_HPP
#define ICLMECH_TASK_TASK_JSON_HPP
// Reads the parts of a task from JSON, checked field by field. Needs nlohmann-json.

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/nearest_names.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/task.hpp"

namespace iclmech::detail {

/// Keeps the order of keys, which is the order of a mapping's labels.
using task_json = nlohmann::ordered_json;

/// Turns JSON values into parts of a task. Every member throws file_error naming the file and the field.
class task_json_reader {
 public:
  explicit task_json_reader(std::string path) : path_(std::move(path)) {}

  /// `first_line` is the line of the file on which `text` begins.
  task_json parse(std::string_view text, std::size_t first_line) const {
    // The parser itself would keep the last of two equal keys and say nothing.
    std::vector<std::set<std::string>> keys_of_open_objects;
    const auto refuse_duplicates = [&](int, task_json::parse_event_t event, const task_json& value) {
      if (event == task_json::parse_event_t::object_start) keys_of_open_objects.emplace_back();
      if (event == task_json::parse_event_t::object_end) keys_of_open_objects.pop_back();
      if (event == task_json::parse_event_t::key && !keys_of_open_objects.back().insert(value).second)
        fail("line " + std::to_string(first_line) + " or later",
             "the key \"" + value.get<std::string>() + "\" is twice in one object: drop one of the two");
      return true;
    };
    try {
      return task_json::parse(text, refuse_duplicates);
    } catch (const task_json::parse_error& problem) {
      const std::string_view before = text.substr(0, problem.byte == 0 ? 0 : problem.byte - 1);
      const auto line = first_line + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
      const std::size_t column = before.size() - (before.find_last_of('\n') + 1) + 1;  // npos + 1 is 0
      const std::string_view message = problem.what();
      fail("line " + std::to_string(line) + ", column " + std::to_string(column),
           "is not JSON: " + std::string(message.substr(message.rfind(": ", message.find(" - ")) + 2)));
    } catch (const task_json::exception& problem) {
      fail("line " + std::to_string(first_line), problem.what());
    }
  }

  task_pair pair(const task_json& value, const std::string& field) const {
    require_object(value, field, {"input", "output"});
    task_pair result;
    for (const auto& [key, target] :
         {std::pair("input", &result.input), std::pair("output", &result.output)}) {
      if (!value.contains(key)) fail(field, std::string("has no \"") + key + '"');
      *target = word(value.at(key), field + "." + key);
    }
    return result;
  }

  std::vector<task_pair> pairs(const task_json& value, const std::string& field) const {
    if (!value.is_array()) fail_type(value, field, "a list of pairs");
    std::vector<task_pair> result;
    for (std::size_t place = 0; place < value.size(); ++place)
      result.push_back(pair(value[place], field + "[" + std::to_string(place) + "]"));
    return result;
  }

  prompt_template layout(const task_json& value, const std::string& field) const {
    require_object(value, field, {"input_prefix", "output_prefix", "label_prefix", "separator"});
    prompt_template result;
    for (const auto& [key, target] :
         {std::pair("input_prefix", &result.input_prefix), std::pair("output_prefix", &result.output_prefix),
          std::pair("label_prefix", &result.label_prefix), std::pair("separator", &result.separator)})
      if (value.contains(key)) *target = text(value.at(key), field + "." + key);
    return result;
  }

  /// `outputs` are those of the pairs, which the mappings' keys must be among.
  std::vector<label_mapping> mappings(const task_json& value, const std::string& field,
                                      const std::vector<std::string>& outputs) const {
    if (!value.is_array()) fail_type(value, field, "a list of objects");
    std::vector<label_mapping> result;
    for (std::size_t place = 0; place < value.size(); ++place)
      result.push_back(mapping(value[place], field + "[" + std::to_string(place) + "]", outputs));
    return result;
  }

  /// The same for one mapping.
  label_mapping mapping(const task_json& value, const std::string& field,
                        const std::vector<std::string>& outputs) const {
    require_object(value, field, outputs);
    label_mapping result;
    std::vector<std::string> labels;
    for (const auto& [output, label] : value.items()) {
      labels.push_back(word(label, field + "." + output));
      result.entries.emplace_back(output, labels.back());
    }
    std::sort(labels.begin(), labels.end());
    if (labels.size() < 2 || std::adjacent_find(labels.begin(), labels.end()) != labels.end())
      fail(field, "must give two or more outputs a label each, all different");
    return result;
  }

  std::string text(const task_json& value, const std::string& field) const {
    if (!value.is_string()) fail_type(value, field, "text");
    return value.get<std::string>();
  }

  /// The place in `choices` of what `value` says.
  std::size_t choice(const task_json& value, const std::string& field,
                     const std::vector<std::string>& choices) const {
    const auto found = std::find(choices.begin(), choices.end(), text(value, field));
    if (found == choices.end())
      fail(field, "is \"" + text(value, field) + "\", but must be one of: " + joined(choices));
    return static_cast<std::size_t>(found - choices.begin());
  }

  void require_object(const task_json& value, const std::string& field,
                      const std::vector<std::string>& keys) const {
    if (!value.is_object())
      fail_type(value, field, "an object with keys among: " + joined(nearest_names("", keys, 8)));
    for (const auto& [key, item] : value.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fail(field, "has an unknown key \"" + key +
                        "\"; the nearest known ones: " + joined(nearest_names(key, keys, 4)));
  }

  [[noreturn]] void fail(const std::string& field, const std::string& problem) const {
    throw file_error(path_, field, problem);
  }

 private:
  [[noreturn]] void fail_type(const task_json& value, const std::string& field,
                              const std::string& wanted) const {
    fail(field, std::string("is of type ") + value.type_name() + ", but must be " + wanted);
  }

  /// An input or output: text, or a whole number (labels 0 and 1 are common).
  std::string word(const task_json& value, const std::string& field) const {
    const std::string result = value.is_number_integer() ? value.dump() : text(value, field);
    if (result.empty()) fail(field, "is empty: give it some text or leave the pair out");
    return result;
  }

  std::string path_;
};

}  // namespace iclmech::detail

#endif  // ICLMECH_TASK_TASK_JSON_HPP
