#ifndef ICLMECH_TASK_LOAD_HPP
#define ICLMECH_TASK_LOAD_HPP
// Reads tasks from JSON, JSON lines, CSV and TSV; every error names the file and the line or the field.
//
// JSON is a list of {"input": ..., "output": ...}, or an object in which all but "pairs" may be left out:
//   {"name": "...", "description": "...",
//    "family": "parametric" | "contextual", "labels": "classification" | "open",
//    "template": {"input_prefix": "Q: ", "output_prefix": "\nA:", "label_prefix": " ", "separator": "\n\n"},
//    "mappings": [{"<output>": "<label>", ...}, ...], "synonyms": {"<output>": "<other word>", ...},
//    "pairs": [{"input": ..., "output": ...}, ...]}
// JSON lines hold a pair each. CSV and TSV begin with a header that has the columns "input" and "output".

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/nearest_names.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/utf8.hpp"
#include "iclmech/task/csv.hpp"
#include "iclmech/task/task.hpp"
#include "iclmech/task/task_json.hpp"

namespace iclmech {

/// The formats that hold a task.
enum class task_format : unsigned char { json, json_lines, csv, tsv };

namespace detail {

/// What a file says of a task; what it leaves out is inferred afterwards.
struct task_parts {
  task known;
  std::optional<label_kind> kind;
  std::optional<task_family> family;
};

inline task_parts read_json_task(std::string_view text, const std::string& path) {
  const task_json_reader reader(path);
  const task_json json = reader.parse(text, 1);
  task_parts parts;
  if (json.is_array()) {
    parts.known.pairs = reader.pairs(json, "pairs");
    return parts;
  }
  reader.require_object(
      json, "task", {"name", "description", "family", "labels", "template", "mappings", "synonyms", "pairs"});
  if (!json.contains("pairs"))
    reader.fail("task", "has no \"pairs\": give a list of {\"input\": ..., \"output\": ...}");
  parts.known.pairs = reader.pairs(json.at("pairs"), "pairs");
  if (json.contains("name")) parts.known.name = reader.text(json.at("name"), "name");
  if (json.contains("description"))
    parts.known.description = reader.text(json.at("description"), "description");
  if (json.contains("template")) parts.known.layout = reader.layout(json.at("template"), "template");
  if (json.contains("labels"))
    parts.kind = reader.choice(json.at("labels"), "labels", {"classification", "open"}) == 0
                     ? label_kind::classification
                     : label_kind::open;
  if (json.contains("family"))
    parts.family = reader.choice(json.at("family"), "family", {"parametric", "contextual"}) == 0
                       ? task_family::parametric
                       : task_family::contextual;
  if (json.contains("mappings"))
    parts.known.mappings = reader.mappings(json.at("mappings"), "mappings", parts.known.labels());
  if (json.contains("synonyms")) {
    const std::vector<std::string> labels = parts.known.labels();
    parts.known.synonyms = reader.mapping(json.at("synonyms"), "synonyms", labels);
    for (const std::string& label : labels)
      if (parts.known.synonyms.find(label) == nullptr)
        reader.fail("synonyms", "has no word for \"" + label + "\": give one for every output, or none");
  }
  return parts;
}

inline task_parts read_json_lines_task(std::string_view text, const std::string& path) {
  const task_json_reader reader(path);
  task_parts parts;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      parts.known.pairs.push_back(reader.pair(reader.parse(line, number), "line " + std::to_string(number)));
    begin = end + 1;
  }
  return parts;
}

inline task_parts read_csv_task(std::string_view text, char delimiter, const std::string& path) {
  if (!is_utf8(text)) throw file_error(path, "text", "is not UTF-8: save the file in that encoding");
  const std::vector<csv_row> rows = read_csv(text, delimiter, path);
  if (rows.empty())
    throw file_error(path, "line 1", "the file is empty: begin with a header that names the columns");
  const std::vector<std::string>& header = rows.front().fields;
  const auto column = [&](const std::string& name) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end())
      throw file_error(path, "line " + std::to_string(rows.front().line),
                       "the header has no column \"" + name + "\", only: " + joined(header));
    return static_cast<std::size_t>(found - header.begin());
  };
  const std::size_t input = column("input");
  const std::size_t output = column("output");
  task_parts parts;
  for (auto row = rows.begin() + 1; row != rows.end(); ++row) {
    const std::string line = "line " + std::to_string(row->line);
    if (row->fields.size() != header.size())
      throw file_error(path, line,
                       "has " + std::to_string(row->fields.size()) + " fields, but the header has " +
                           std::to_string(header.size()) + ": quote fields that hold the delimiter");
    for (const std::size_t field : {input, output})
      if (row->fields[field].empty())
        throw file_error(path, line + ", column \"" + header[field] + "\"",
                         "is empty: give it some text or leave the pair out");
    parts.known.pairs.push_back({row->fields[input], row->fields[output]});
  }
  return parts;
}

}  // namespace detail

/// Reads a task from text. `path` stands for the source in messages, and its stem is the name of a task that
/// gives none. A kind that is not stated is inferred by `infer_label_kind`; a family that is not stated is
/// contextual for classification and parametric for open answers. Throws file_error.
inline task parse_task(std::string_view text, task_format format, const std::filesystem::path& path) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::string source = path.string();
  detail::task_parts parts;
  switch (format) {
    case task_format::json:
      parts = detail::read_json_task(text, source);
      break;
    case task_format::json_lines:
      parts = detail::read_json_lines_task(text, source);
      break;
    case task_format::csv:
      parts = detail::read_csv_task(text, ',', source);
      break;
    case task_format::tsv:
      parts = detail::read_csv_task(text, '\t', source);
      break;
  }
  task result = std::move(parts.known);
  if (result.pairs.empty()) throw file_error(source, "pairs", "there are none: a task needs some");
  if (result.name.empty()) result.name = path.stem().string();
  result.kind = parts.kind.value_or(infer_label_kind(result.pairs));
  result.family = parts.family.value_or(result.kind == label_kind::classification ? task_family::contextual
                                                                                  : task_family::parametric);
  if (result.kind == label_kind::classification && result.labels().size() < 2)
    throw file_error(source, "labels",
                     "a classification needs two labels or more, but all outputs are \"" +
                         result.pairs.front().output + "\"");
  if (result.kind == label_kind::open && !result.mappings.empty())
    throw file_error(source, "mappings", "need labels of a classification, but the answers are open");
  return result;
}

/// The format that a file's extension says: .json, .jsonl, .csv or .tsv. Throws file_error for any other.
inline task_format task_format_of(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& letter : extension) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (extension == ".json") return task_format::json;
  if (extension == ".jsonl") return task_format::json_lines;
  if (extension == ".csv") return task_format::csv;
  if (extension == ".tsv") return task_format::tsv;
  throw file_error(
      path.string(), "name",
      "the extension \"" + extension + "\" says no format of a task: use .json, .jsonl, .csv or .tsv");
}

/// Reads a task from a file; its extension says the format. Throws file_error.
inline task load_task(const std::filesystem::path& path) {
  const task_format format = task_format_of(path);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw file_error(path.string(), "file", "cannot be opened: check that it exists and may be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_task(text, format, path);
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_LOAD_HPP
