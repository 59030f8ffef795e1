#ifndef ICLMECH_IO_JSON_FIELDS_HPP
#define ICLMECH_IO_JSON_FIELDS_HPP
// Typed reading of a parsed JSON file's objects, with errors that name the file and the path of the field.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"

namespace iclmech::detail {

/// One object of a parsed file, read field by field; errors name the path of the field. A view.
class json_fields {
 public:
  /// `where` is the path of `value` in the file, empty for the whole of it.
  json_fields(const std::string& path, std::string where, const nlohmann::json& value)
      : path_(path), where_(std::move(where)), value_(value) {
    if (!value.is_object())
      throw file_error(path_, where_.empty() ? "JSON text" : where_,
                       std::string("is ") + value.type_name() + ", but an object is needed here");
  }

  /// The field, or nullptr if it is missing or null.
  const nlohmann::json* find(const char* key) const {
    const auto found = value_.find(key);
    return found == value_.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text(const char* key) const {
    const nlohmann::json& value = require(key);
    if (!value.is_string()) fail_kind(key, value, "a text");
    return value.get<std::string>();
  }

  bool flag(const char* key, bool otherwise) const {
    const nlohmann::json* const value = find(key);
    if (value && !value->is_boolean()) fail_kind(key, *value, "true or false");
    return value ? value->get<bool>() : otherwise;
  }

  /// A whole number from 0 to `most`.
  std::int64_t number(const char* key, std::int64_t most) const {
    const nlohmann::json& value = require(key);
    if (!value.is_number_integer() || value < 0) fail_kind(key, value, "a whole number from 0 up");
    if (value > most) fail(key, "is " + value.dump() + "; at most " + std::to_string(most) + " is allowed");
    return value.get<std::int64_t>();
  }

  json_fields object(const char* key) const { return {path_, name(key), require(key)}; }

  /// The objects of a list.
  std::vector<json_fields> objects(const char* key) const {
    const nlohmann::json& value = require(key);
    if (!value.is_array()) fail_kind(key, value, "a list");
    std::vector<json_fields> all;
    for (std::size_t i = 0; i < value.size(); ++i)
      all.emplace_back(path_, name(key) + "[" + std::to_string(i) + "]", value[i]);
    return all;
  }

  /// The path of a field of this object.
  std::string name(const char* key) const { return where_.empty() ? key : where_ + "." + key; }

  const std::string& path() const { return path_; }

  [[noreturn]] void fail(const char* key, const std::string& problem) const {
    throw file_error(path_, name(key), problem);
  }

 private:
  const nlohmann::json& require(const char* key) const {
    const nlohmann::json* const value = find(key);
    if (!value) fail(key, "is missing");
    return *value;
  }

  [[noreturn]] void fail_kind(const char* key, const nlohmann::json& value, const char* wanted) const {
    fail(key, std::string("is ") + value.type_name() + ", but " + wanted + " is needed here");
  }

  const std::string& path_;
  std::string where_;
  const nlohmann::json& value_;
};

}  // namespace iclmech::detail

#endif  // ICLMECH_IO_JSON_FIELDS_HPP
