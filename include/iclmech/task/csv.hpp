#ifndef ICLMECH_TASK_CSV_HPP
#define ICLMECH_TASK_CSV_HPP
// Reads comma- or tab-separated text with RFC 4180 quoting into rows of fields.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"

namespace iclmech {

/// One record and the line (from 1) on which it begins.
struct csv_row {
  std::size_t line = 1;
  std::vector<std::string> fields;
};

/// Splits `text` into records at line ends (LF or CRLF) and into fields at `delimiter`. A field that begins
/// with a quote ends at the next single quote; inside it "" is a quote, and delimiters and line ends are
/// text. A quote elsewhere is itself. Empty lines are left out. Throws file_error, naming `path` and the
/// line, for a quoted field that does not end or is followed by text.
inline std::vector<csv_row> read_csv(std::string_view text, char delimiter, const std::string& path) {
  std::vector<csv_row> rows;
  std::size_t line = 1;
  std::size_t at = 0;
  const auto ends_record = [&] {
    return at == text.size() || text[at] == '\n' || text.substr(at, 2) == "\r\n";
  };

  const auto quoted_field = [&] {
    const std::size_t opening_line = line;
    std::string field;
    for (++at; at < text.size(); ++at) {
      if (text[at] == '"') {
        if (at + 1 == text.size() || text[at + 1] != '"') break;
        ++at;
      }
      if (text[at] == '\n') ++line;
      field += text[at];
    }
    if (at == text.size())
      throw file_error(path, "line " + std::to_string(opening_line),
                       "a quoted field begins here and never ends: close it with a quote");
    ++at;
    if (!ends_record() && text[at] != delimiter)
      throw file_error(path, "line " + std::to_string(line),
                       "text follows a closing quote: write a quote inside a quoted field twice");
    return field;
  };
  const auto plain_field = [&] {
    const std::size_t begin = at;
    while (!ends_record() && text[at] != delimiter) ++at;
    return std::string(text.substr(begin, at - begin));
  };

  while (at < text.size()) {
    csv_row row{line, {}};
    while (true) {
      row.fields.push_back(at < text.size() && text[at] == '"' ? quoted_field() : plain_field());
      if (ends_record()) break;
      ++at;
    }
    if (at < text.size()) {
      at += text[at] == '\r' ? 2U : 1U;
      ++line;
    }
    if (row.fields.size() > 1 || !row.fields.front().empty()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_CSV_HPP
