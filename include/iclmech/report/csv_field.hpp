#ifndef ICLMECH_REPORT_CSV_FIELD_HPP
#define ICLMECH_REPORT_CSV_FIELD_HPP
// A text as one field of a CSV file.

#include <string>

namespace iclmech {

/// In quotes where it has a comma, a quote or a line break, as RFC 4180 says.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace iclmech

#endif  // ICLMECH_REPORT_CSV_FIELD_HPP
