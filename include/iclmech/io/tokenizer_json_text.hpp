#ifndef ICLMECH_IO_TOKENIZER_JSON_TEXT_HPP
#define ICLMECH_IO_TOKENIZER_JSON_TEXT_HPP
// Parses a tokenizer.json: its vocabulary and merges, hundreds of thousands of entries, straight into lists,
// and the rest into a JSON value.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/json_file.hpp"

namespace iclmech::detail {

/// A tokenizer.json in parts. In `rest` the two lists are null.
struct tokenizer_json_text {
  std::vector<std::pair<std::string, token_id>> tokens;     ///< model.vocab
  std::vector<std::pair<std::string, std::string>> merges;  ///< model.merges
  nlohmann::json rest;
};

class tokenizer_json_events : public json_builder {
 public:
  using json_builder::json_builder;

  bool start_object(std::size_t size) {
    if (list_ == list::none && at_model_key("vocab")) return begin(list::vocabulary);
    if (list_ != list::none) unexpected("an object");
    ++depth_;
    return json_builder::start_object(size);
  }

  bool end_object() {
    if (list_ == list::vocabulary) return end();
    --depth_;
    return json_builder::end_object();
  }

  bool start_array(std::size_t size) {
    if (list_ == list::none && at_model_key("merges")) return begin(list::merges);
    if (list_ == list::vocabulary || in_pair_) unexpected("an array");
    if (list_ == list::merges) {
      in_pair_ = true;
      return true;
    }
    ++depth_;
    return json_builder::start_array(size);
  }

  bool end_array() {
    if (in_pair_) {
      if (pair_.size() != 2)
        fail_merge("is a list of " + std::to_string(pair_.size()) + " parts instead of 2");
      contents_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
      pair_.clear();
      in_pair_ = false;
      return true;
    }
    if (list_ == list::merges) return end();
    --depth_;
    return json_builder::end_array();
  }

  bool key(std::string& name) {
    if (list_ == list::vocabulary) {
      token_ = std::move(name);
      return true;
    }
    if (depth_ == 1) section_ = name;
    if (depth_ == 2) field_of_section_ = name;
    return json_builder::key(name);
  }

  bool string(std::string& value) {
    if (list_ == list::none) return json_builder::string(value);
    if (list_ == list::vocabulary) unexpected("the text " + in_quotes(value));
    if (in_pair_) {
      pair_.push_back(std::move(value));
      return true;
    }
    // Older files write a merge as one text: neither part can hold a space there.
    const std::size_t space = value.find(' ');
    if (space == std::string::npos || value.find(' ', space + 1) != std::string::npos)
      fail_merge("is " + in_quotes(value) + " instead of two tokens with one space between");
    contents_.merges.emplace_back(value.substr(0, space), value.substr(space + 1));
    return true;
  }

  bool number_unsigned(std::uint64_t value) {
    if (list_ == list::none) return json_builder::number_unsigned(value);
    if (list_ == list::merges) unexpected("the number " + std::to_string(value));
    if (!std::in_range<token_id>(value))
      fail("model.vocab", position(),
           "gives the token " + in_quotes(token_) + " the id " + std::to_string(value) +
               ", which is too large");
    contents_.tokens.emplace_back(std::move(token_), static_cast<token_id>(value));
    return true;
  }

  bool null() { return list_ == list::none ? json_builder::null() : json_events::null(); }
  bool boolean(bool v) { return list_ == list::none ? json_builder::boolean(v) : json_events::boolean(v); }
  bool number_integer(std::int64_t v) {
    return list_ == list::none ? json_builder::number_integer(v) : json_events::number_integer(v);
  }
  bool number_float(double v, const std::string& digits) {
    return list_ == list::none ? json_builder::number_float(v, digits) : json_events::number_float(v, digits);
  }

  tokenizer_json_text take_contents() {
    contents_.rest = take();
    return std::move(contents_);
  }

 private:
  enum class list { none, vocabulary, merges };

  bool at_model_key(std::string_view name) const {
    return depth_ == 2 && section_ == "model" && field_of_section_ == name;
  }

  bool begin(list which) {
    list_ = which;
    field_ = which == list::vocabulary ? "model.vocab" : "model.merges";
    return json_builder::null();
  }

  bool end() {
    list_ = list::none;
    field_ = "JSON text";
    return true;
  }

  std::size_t position() const { return place_ == 0 ? 0 : place_ - 1; }

  [[noreturn]] void fail_merge(const std::string& problem) const {
    fail("model.merges[" + std::to_string(contents_.merges.size()) + "]", position(), problem);
  }

  tokenizer_json_text contents_;
  list list_ = list::none;
  std::size_t depth_ = 0;
  std::string section_;           ///< the last key of the outermost object
  std::string field_of_section_;  ///< the last key of the object below it
  std::string token_;
  std::vector<std::string> pair_;
  bool in_pair_ = false;
};

/// Parses `text`, the content of the file `path`. Throws file_error with the byte of the fault.
inline tokenizer_json_text parse_tokenizer_json(const std::string& path, std::string_view text) {
  tokenizer_json_events events(path, "JSON text", text, 0);
  json_events::parse(events);
  return events.take_contents();
}

}  // namespace iclmech::detail

#endif  // ICLMECH_IO_TOKENIZER_JSON_TEXT_HPP
