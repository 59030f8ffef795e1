#ifndef ICLMECH_IO_JSON_FILE_HPP
#define ICLMECH_IO_JSON_FILE_HPP
// JSON from untrusted files: every error names the byte; duplicate keys and bottomless nesting are refused.
//
// Python writes infinities and NaN bare, which is not JSON. They are read as the object that newer versions
// of transformers write instead: {"__float__": "Infinity"}, {"__float__": "-Infinity"}, {"__float__": "NaN"}.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/mapped_file.hpp"

namespace iclmech {
namespace detail {

/// Feeds JSON text to the parser, keeps its place in `*place`, and puts objects where Python put bare
/// infinities and NaNs.
class json_characters {
 public:
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  json_characters(std::string_view text, std::size_t start, std::size_t* place)
      : text_(text), position_(start), place_(place) {
    substitute();
  }

  reference operator*() const { return substitute_.empty() ? text_[position_] : substitute_.front(); }

  json_characters& operator++() {
    if (substitute_.empty()) {
      const char c = text_[position_++];
      if (in_string_ && c == '\\') {
        escaped_ = !escaped_;
      } else {
        if (c == '"' && !escaped_) in_string_ = !in_string_;
        escaped_ = false;
      }
    } else {
      substitute_.remove_prefix(1);
      if (!substitute_.empty()) return *this;
      position_ += text_[position_] == 'N' ? 3 : text_[position_] == 'I' ? 8 : 9;
    }
    substitute();
    *place_ = position_;
    return *this;
  }

  json_characters operator++(int) {
    json_characters before = *this;
    ++*this;
    return before;
  }

  friend bool operator==(const json_characters& a, const json_characters& b) {
    return a.position_ == b.position_;
  }

 private:
  void substitute() {
    if (in_string_ || position_ >= text_.size()) return;
    const char c = text_[position_];
    if (c != 'N' && c != 'I' && c != '-') return;
    const std::string_view rest = text_.substr(position_);
    if (rest.starts_with("NaN")) substitute_ = R"({"__float__": "NaN"})";
    if (rest.starts_with("Infinity")) substitute_ = R"({"__float__": "Infinity"})";
    if (rest.starts_with("-Infinity")) substitute_ = R"({"__float__": "-Infinity"})";
  }

  std::string_view text_;
  std::size_t position_;
  std::size_t* place_;
  std::string_view substitute_;
  bool in_string_ = false;
  bool escaped_ = false;
};

/// What the parser reports to, with everything refused. A reader of one kind of file derives from it and
/// hides the events that this kind may contain.
class json_events {
 public:
  /// `text` is the part of `path` that starts at `first_byte`; `field` names it in messages.
  json_events(const std::string& path, std::string field, std::string_view text, std::uint64_t first_byte)
      : path_(path), field_(std::move(field)), text_(text), first_byte_(first_byte) {}

  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("a truth value"); }
  bool number_integer(std::int64_t value) { unexpected("the number " + std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) { unexpected("the number " + std::to_string(value)); }
  bool number_float(double, const std::string& digits) { unexpected("the number " + digits); }
  bool string(std::string& value) { unexpected("the text " + in_quotes(value)); }
  bool binary(std::vector<std::uint8_t>&) { unexpected("binary data"); }
  bool start_object(std::size_t) { unexpected("an object"); }
  bool end_object() { unexpected("the end of an object"); }
  bool start_array(std::size_t) { unexpected("an array"); }
  bool end_array() { unexpected("the end of an array"); }
  bool key(std::string& name) { unexpected("the key " + in_quotes(name)); }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::json::exception& problem) {
    const std::string_view what = problem.what();
    const auto reason = what.rfind("; ");
    fail(field_, place_ == 0 ? 0 : place_ - 1,
         "is not valid JSON near " + in_quotes(token.substr(token.size() < 16 ? 0 : token.size() - 16)) +
             " (" + std::string(reason == std::string_view::npos ? what : what.substr(reason + 2)) + ")");
  }

  /// Runs the parser over the text; `events` is the most derived object.
  template <typename Events>
  static void parse(Events& events) {
    const json_characters first(events.text_, 0, &events.place_);
    const json_characters last(events.text_, events.text_.size(), &events.place_);
    nlohmann::json::sax_parse(first, last, &events);
  }

 protected:
  [[noreturn]] void fail(const std::string& field, std::size_t place, const std::string& problem) const {
    throw file_error(path_, field, first_byte_ + place, problem);
  }

  [[noreturn]] void unexpected(const std::string& found) const {
    fail(field_, place_ == 0 ? 0 : place_ - 1, "holds " + found + " in a place where it does not belong");
  }

  /// Where the key that was just reported starts, in bytes of the text.
  std::size_t key_place() const {
    std::size_t quote = text_.rfind('"', place_ - 2);
    const auto escaped = [this](std::size_t i) {
      std::size_t backslashes = 0;
      while (backslashes < i && text_[i - 1 - backslashes] == '\\') ++backslashes;
      return backslashes % 2 == 1;
    };
    while (escaped(quote)) quote = text_.rfind('"', quote - 1);
    return quote;
  }

  const std::string& path_;
  std::string field_;
  std::string_view text_;
  std::uint64_t first_byte_;
  std::size_t place_ = 0;
};

/// Builds the value.
class json_builder : public json_events {
 public:
  using json_events::json_events;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool start_object(std::size_t) { return open(nlohmann::json::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(nlohmann::json::array()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    const auto [member, added] = open_.back()->emplace(std::move(name), nullptr);
    if (!added) fail("key " + in_quotes(member.key()), key_place(), "is there twice in one object");
    member_ = &*member;
    return true;
  }

  nlohmann::json take() { return std::move(root_); }

 private:
  static constexpr std::size_t deepest = 128;

  bool add(nlohmann::json value) {
    place_value(std::move(value));
    return true;
  }

  bool open(nlohmann::json container) {
    if (open_.size() == deepest) {
      fail(field_, place_ - 1, "is nested more than " + std::to_string(deepest) + " levels deep");
    }
    open_.push_back(place_value(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  nlohmann::json* place_value(nlohmann::json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    return &(*member_ = std::move(value));
  }

  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;
  nlohmann::json* member_ = nullptr;
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace detail

/// The JSON value that a file holds. Throws file_error if there is no such file or it is not valid JSON, has
/// an object with two equal keys, or is nested more than 128 levels deep.
inline nlohmann::json read_json_file(std::string path) {
  const mapped_file file(std::move(path));
  detail::json_builder builder(file.path(), "JSON text", detail::as_text(file.bytes()), 0);
  detail::json_events::parse(builder);
  return builder.take();
}

}  // namespace iclmech

#endif  // ICLMECH_IO_JSON_FILE_HPP
