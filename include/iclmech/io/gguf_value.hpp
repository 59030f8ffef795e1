#ifndef ICLMECH_IO_GGUF_VALUE_HPP
#define ICLMECH_IO_GGUF_VALUE_HPP
// Typed metadata values of a GGUF file: they stay encoded in the mapped file until somebody asks for one.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/dequantize.hpp"

namespace iclmech {

/// The types of metadata values, numbered as in the file.
enum class gguf_type : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// The lower-case name, as in "u32".
inline std::string_view name(gguf_type type) {
  constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<std::size_t>(type)];
}

/// One metadata pair. `key` and `data` lie in the mapped file.
struct gguf_value {
  std::string_view key;
  gguf_type type = gguf_type::u8;
  gguf_type element_type = gguf_type::u8;  ///< of an array; otherwise the same as `type`
  std::uint64_t count = 1;                 ///< how many elements an array has
  std::span<const std::byte> data;         ///< the value, or the elements one after the other
  std::uint64_t byte = 0;                  ///< where `data` starts in the file
};

namespace detail {

template <typename T>
struct vector_element {
  using type = void;
};
template <typename T>
struct vector_element<std::vector<T>> {
  using type = T;
};

template <typename T>
concept gguf_scalar =
    std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, std::string_view>;

/// The fewest bytes a value of this type takes: a string has a length, a nested array a type and a length.
constexpr std::uint64_t least_bytes(gguf_type type) {
  switch (type) {
    case gguf_type::u8:
    case gguf_type::i8:
    case gguf_type::boolean:
      return 1;
    case gguf_type::u16:
    case gguf_type::i16:
      return 2;
    case gguf_type::u32:
    case gguf_type::i32:
    case gguf_type::f32:
      return 4;
    case gguf_type::u64:
    case gguf_type::i64:
    case gguf_type::f64:
    case gguf_type::string:
      return 8;
    case gguf_type::array:
      return 12;
  }
  return 1;
}

/// Calls `use` with the number that is stored at `source`, in its own C++ type.
template <typename Use>
auto visit_number(gguf_type type, const std::byte* source, const Use& use) {
  switch (type) {
    case gguf_type::u8:
      return use(load<std::uint8_t>(source));
    case gguf_type::i8:
      return use(load<std::int8_t>(source));
    case gguf_type::u16:
      return use(load<std::uint16_t>(source));
    case gguf_type::i16:
      return use(load<std::int16_t>(source));
    case gguf_type::u32:
      return use(load<std::uint32_t>(source));
    case gguf_type::i32:
      return use(load<std::int32_t>(source));
    case gguf_type::f32:
      return use(load<float>(source));
    case gguf_type::u64:
      return use(load<std::uint64_t>(source));
    case gguf_type::i64:
      return use(load<std::int64_t>(source));
    case gguf_type::f64:
      return use(load<double>(source));
    default:
      return use(load<std::uint8_t>(source) != 0);
  }
}

/// Reads the pairs of a file and steps over their values, checking every length.
class gguf_metadata_reader {
 public:
  explicit gguf_metadata_reader(byte_reader& reader) : reader_(reader) {}

  gguf_value read_pair() {
    gguf_value value;
    value.key = reader_.read_string("metadata key");
    field_ = "metadata " + in_quotes(value.key);
    value.type = value.element_type = read_type();
    if (value.type == gguf_type::array) {
      value.element_type = read_type();
      value.count = reader_.read_count(least_bytes(value.element_type), field_ + " length");
    }
    value.byte = reader_.position();
    skip(value.element_type, value.count, 0);
    value.data = reader_.bytes_since(value.byte);
    return value;
  }

 private:
  static constexpr int deepest = 8;

  gguf_type read_type() {
    const auto start = reader_.position();
    const auto number = reader_.read<std::uint32_t>(field_);
    if (number > static_cast<std::uint32_t>(gguf_type::f64)) {
      reader_.fail(field_, start, "has the unknown value type " + std::to_string(number));
    }
    return static_cast<gguf_type>(number);
  }

  void skip(gguf_type type, std::uint64_t count, int depth) {
    if (type == gguf_type::string) {
      for (std::uint64_t i = 0; i < count; ++i) reader_.read_string(field_);
    } else if (type == gguf_type::array) {
      if (depth == deepest) {
        reader_.fail(field_, reader_.position(),
                     "nests arrays more than " + std::to_string(deepest) + " deep");
      }
      for (std::uint64_t i = 0; i < count; ++i) {
        const gguf_type inner = read_type();
        skip(inner, reader_.read_count(least_bytes(inner), field_ + " length"), depth + 1);
      }
    } else {
      const auto start = reader_.position();
      const auto data = reader_.read_bytes(count * least_bytes(type), field_);
      if (type == gguf_type::boolean) check_truth_values(data, start);
    }
  }

  void check_truth_values(std::span<const std::byte> data, std::uint64_t start) const {
    const auto wrong = std::ranges::find_if(data, [](std::byte b) { return b > std::byte{1}; });
    if (wrong == data.end()) return;
    reader_.fail(
        field_, start + static_cast<std::uint64_t>(wrong - data.begin()),
        "holds the truth value " + std::to_string(std::to_integer<int>(*wrong)) + " instead of 0 or 1");
  }

  byte_reader& reader_;
  std::string field_;
};

/// Decodes values: whole numbers convert between integer types as far as they fit, reals between float and
/// double.
class gguf_decoder {
 public:
  gguf_decoder(const std::string& path, const gguf_value& value) : path_(path), value_(value) {}

  template <gguf_scalar T>
  T scalar() {
    if (value_.type == gguf_type::array) fail_kind<T>("");
    return next<T>();
  }

  template <gguf_scalar T>
  std::vector<T> array() {
    if (value_.type != gguf_type::array) fail_kind<T>("an array of ");
    std::vector<T> elements;
    elements.reserve(static_cast<std::size_t>(value_.count));
    for (std::uint64_t i = 0; i < value_.count; ++i) elements.push_back(next<T>());
    return elements;
  }

 private:
  template <typename T>
  T next() {
    const bool is_text = value_.element_type == gguf_type::string;
    if (is_text == std::is_arithmetic_v<T> || value_.element_type == gguf_type::array) {
      fail_kind<T>(value_.type == gguf_type::array ? "an array of " : "");
    }
    const std::byte* const source = value_.data.data() + position_;
    if constexpr (std::is_arithmetic_v<T>) {
      const T number =
          visit_number(value_.element_type, source, [this](auto stored) { return this->convert<T>(stored); });
      position_ += static_cast<std::size_t>(least_bytes(value_.element_type));
      return number;
    } else {
      const auto length = static_cast<std::size_t>(load<std::uint64_t>(source));
      position_ += 8 + length;
      return T(reinterpret_cast<const char*>(source + 8), length);
    }
  }

  template <typename T, typename Stored>
  T convert(Stored number) const {
    if constexpr (std::is_same_v<T, bool> != std::is_same_v<Stored, bool> ||
                  std::is_floating_point_v<T> != std::is_floating_point_v<Stored>) {
      fail_kind<T>(value_.type == gguf_type::array ? "an array of " : "");
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!std::in_range<T>(number)) fail("is " + std::to_string(number) + ", which is out of range here");
    }
    return static_cast<T>(number);
  }

  template <typename T>
  [[noreturn]] void fail_kind(const std::string& article) const {
    const char* const wanted = std::is_same_v<T, bool>       ? "bool"
                               : std::is_integral_v<T>       ? "a whole number type"
                               : std::is_floating_point_v<T> ? "a real number type"
                                                             : "string";
    const std::string found = (value_.type == gguf_type::array ? "an array of " : "") +
                              std::string(iclmech::name(value_.element_type));
    fail("is of type " + found + ", but " + article + wanted + " is needed here");
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw file_error(path_, "metadata " + in_quotes(value_.key), value_.byte + position_, problem);
  }

  const std::string& path_;
  const gguf_value& value_;
  std::size_t position_ = 0;
};

}  // namespace detail

/// What a metadata value can be read as: a number, text, or a std::vector of these.
template <typename T>
concept gguf_readable =
    detail::gguf_scalar<T> || detail::gguf_scalar<typename detail::vector_element<T>::type>;

}  // namespace iclmech

#endif  // ICLMECH_IO_GGUF_VALUE_HPP
