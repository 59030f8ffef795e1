#ifndef ICLMECH_ENGINE_CONFIG_HF_FIELDS_HPP
#define ICLMECH_ENGINE_CONFIG_HF_FIELDS_HPP
// Fields of a Hugging Face config.json, read with errors that name the file, the field and its value.

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "iclmech/engine/model_config.hpp"
#include "iclmech/error.hpp"

namespace iclmech::detail {

/// One JSON object. A field that is null counts as absent.
class hf_fields {
 public:
  /// `prefix` is put before the names of fields in errors.
  hf_fields(std::string path, nlohmann::json object, std::string prefix = "")
      : path_(std::move(path)), prefix_(std::move(prefix)), object_(std::move(object)) {
    if (!object_.is_object())
      throw file_error(path_, prefix_.empty() ? "whole file" : prefix_, "must be a JSON object");
  }

  bool has(const char* name) const { return object_.contains(name) && !object_.at(name).is_null(); }
  const nlohmann::json& raw(const char* name) const { return object_.at(name); }
  const std::string& path() const { return path_; }

  /// The name of a field as messages have it, with the objects it is in.
  std::string full_name(const char* name) const { return prefix_ + name; }

  /// The object `name`, or an empty one.
  hf_fields object(const char* name) const {
    if (!has(name)) return {path_, nlohmann::json::object(), prefix_ + name + "."};
    if (!raw(name).is_object()) fail(name, "must be an object, it is " + raw(name).dump());
    return {path_, raw(name), prefix_ + name + "."};
  }

  int integer(const char* name) const { return convert<int>(name, required(name)); }
  int integer(const char* name, int otherwise) const { return has(name) ? integer(name) : otherwise; }

  /// A number of things that there must be at least one of.
  int size(const char* name) const { return checked_size(prefix_ + name, integer(name)); }
  int size(const char* name, int otherwise) const { return has(name) ? size(name) : otherwise; }

  /// A number of things that there may be none of.
  int count(const char* name, int otherwise) const {
    const int value = integer(name, otherwise);
    if (value < 0) fail(name, "must not be negative, it is " + std::to_string(value));
    return value == 0 ? 0 : checked_size(prefix_ + name, value);
  }
  int layer_count(const char* name) const {
    const int value = size(name);
    if (value > max_layers) fail(name, "is " + std::to_string(value) + ", more than any model's");
    return value;
  }

  double real(const char* name) const { return convert<double>(name, required(name)); }
  double real(const char* name, double otherwise) const { return has(name) ? real(name) : otherwise; }
  double positive(const char* name) const {
    const double value = real(name);
    if (!(value > 0.0)) fail(name, "must be positive, it is " + raw(name).dump());
    return value;
  }
  double positive(const char* name, double otherwise) const { return has(name) ? positive(name) : otherwise; }

  bool flag(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (!raw(name).is_boolean()) fail(name, "must be true or false, it is " + raw(name).dump());
    return raw(name).get<bool>();
  }
  std::string text(const char* name, const std::string& otherwise) const {
    if (!has(name)) return otherwise;
    if (!raw(name).is_string()) fail(name, "must be a string, it is " + raw(name).dump());
    return raw(name).get<std::string>();
  }
  std::vector<int> integers(const char* name) const {
    std::vector<int> values;
    for (const auto& value : array(name)) values.push_back(convert<int>(name, value));
    return values;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> values;
    for (const auto& value : array(name)) {
      if (!value.is_string()) fail(name, "must be a list of strings, it holds " + value.dump());
      values.push_back(value.get<std::string>());
    }
    return values;
  }
  const nlohmann::json& array(const char* name) const {
    const nlohmann::json& value = required(name);
    if (!value.is_array()) fail(name, "must be a list, it is " + value.dump());
    return value;
  }

  /// `value` as a number of type T. Integers may be written as 2.0, infinities as {"__float__": "Infinity"}.
  template <class T>
  T convert(const char* name, const nlohmann::json& value) const {
    if constexpr (std::is_integral_v<T>) {
      constexpr double limit = 1 << 30;
      const double number = value.is_number() ? value.get<double>() : limit + 1;
      if (number == std::floor(number) && std::abs(number) <= limit) return static_cast<T>(number);
      fail(name, value.is_number() && std::abs(number) > limit
                     ? "is " + value.dump() + ", out of any range"
                     : "must be a whole number, it is " + value.dump());
    } else {
      if (value.is_number()) return value.get<T>();
      if (value.is_object() && value.contains("__float__")) {
        const auto& inner = value.at("__float__");
        if (inner == "Infinity") return std::numeric_limits<T>::infinity();
        if (inner == "-Infinity") return -std::numeric_limits<T>::infinity();
      }
      fail(name, "must be a number, it is " + value.dump());
    }
  }

  [[noreturn]] void fail(const std::string& name, const std::string& problem) const {
    throw file_error(path_, prefix_ + name, problem);
  }

  /// Refuses a value that other models may have but none that is supported.
  void require_supported(const char* name, bool supported, const std::string& what) const {
    if (!supported) fail(name, "is " + raw(name).dump() + ": only " + what + " is supported");
  }

  /// The size `value`, computed from the fields that `name` names. Larger ones are damage.
  int checked_size(const std::string& name, index value) const {
    if (value <= 0) throw file_error(path_, name, "must be positive, it is " + std::to_string(value));
    if (value > max_size)
      throw file_error(path_, name, "is " + std::to_string(value) + ", more than any model's");
    return static_cast<int>(value);
  }

  /// file_error naming both fields and values unless they are equal.
  void require_equal(const std::string& a, index value_a, const std::string& b, index value_b) const {
    if (value_a != value_b)
      throw file_error(path_, a + " and " + b,
                       "contradict each other: " + a + " is " + std::to_string(value_a) + ", " + b + " is " +
                           std::to_string(value_b));
  }
  void require_divides(const std::string& small, index a, const std::string& large, index b) const {
    if (a <= 0 || b <= 0 || b % a != 0)
      throw file_error(path_, small + " and " + large,
                       "do not fit: " + small + " (" + std::to_string(a) + ") must divide " + large + " (" +
                           std::to_string(b) + ")");
  }

 private:
  const nlohmann::json& required(const char* name) const {
    if (!has(name)) fail(name, "is missing");
    return raw(name);
  }

  std::string path_;
  std::string prefix_;
  nlohmann::json object_;
};

/// The name under which `f` has a field that older files call otherwise. Where both are there, they must
/// agree.
inline const char* present_name(const hf_fields& f, const char* name, const char* older) {
  if (f.has(name) && f.has(older)) f.require_equal(name, f.integer(name), older, f.integer(older));
  return f.has(older) && !f.has(name) ? older : name;
}

}  // namespace iclmech::detail

#endif  // ICLMECH_ENGINE_CONFIG_HF_FIELDS_HPP
