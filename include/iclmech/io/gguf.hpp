#ifndef ICLMECH_IO_GGUF_HPP
#define ICLMECH_IO_GGUF_HPP
// GGUF model files, versions 2 and 3: typed metadata and tensors, both read in place.
//
// Layout: magic, version, number of tensors, number of metadata pairs; the pairs (key, type, value); the tensor
// list (name, dimensions with the fastest first, type, offset); padding; the tensors' data.

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "iclmech/error.hpp"
#include "iclmech/io/byte_reader.hpp"
#include "iclmech/io/dequantize.hpp"
#include "iclmech/io/dtype.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tensor_file.hpp"

namespace iclmech {

/// The types of metadata values, numbered as in the file.
enum class gguf_type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// The lower-case name, as in "u32".
inline std::string_view name(gguf_type type) {
  constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<std::size_t>(type)];
}

/// One metadata pair. The value stays encoded in the file; `gguf_file::get` decodes it.
struct gguf_value {
  std::string_view key;
  gguf_type type = gguf_type::u8;
  gguf_type element_type = gguf_type::u8;  ///< of an array; otherwise equal to type
  std::uint64_t count = 1;                 ///< elements of an array
  std::span<const std::byte> data;         ///< the encoded value: of an array, its elements
  std::uint64_t byte = 0;                  ///< where `data` starts in the file
};

namespace detail {

/// Bytes of a number, 0 for strings and arrays.
constexpr std::uint64_t fixed_size(gguf_type type) {
  switch (type) {
    case gguf_type::u8:
    case gguf_type::i8:
    case gguf_type::boolean: return 1;
    case gguf_type::u16:
    case gguf_type::i16: return 2;
    case gguf_type::u32:
    case gguf_type::i32:
    case gguf_type::f32: return 4;
    case gguf_type::u64:
    case gguf_type::i64:
    case gguf_type::f64: return 8;
    case gguf_type::string:
    case gguf_type::array: return 0;
  }
  return 0;
}

/// Calls `use` with the stored number at `source`, in its own C++ type.
template <typename Use>
decltype(auto) visit_number(gguf_type type, const std::byte* source, Use&& use) {
  switch (type) {
    case gguf_type::u8: return use(load<std::uint8_t>(source));
    case gguf_type::i8: return use(load<std::int8_t>(source));
    case gguf_type::u16: return use(load<std::uint16_t>(source));
    case gguf_type::i16: return use(load<std::int16_t>(source));
    case gguf_type::u32: return use(load<std::uint32_t>(source));
    case gguf_type::i32: return use(load<std::int32_t>(source));
    case gguf_type::f32: return use(load<float>(source));
    case gguf_type::u64: return use(load<std::uint64_t>(source));
    case gguf_type::i64: return use(load<std::int64_t>(source));
    case gguf_type::f64: return use(load<double>(source));
    default: return use(load<std::uint8_t>(source) != 0);
  }
}

template <typename T>
struct vector_element {
  using type = void;
};
template <typename T>
struct vector_element<std::vector<T>> {
  using type = T;
};

template <typename T>
concept gguf_scalar = std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, std::string_view>;

}  // namespace detail

/// What a metadata value can be read as: a number, text, or a std::vector of these.
template <typename T>
concept gguf_readable = detail::gguf_scalar<T> || detail::gguf_scalar<typename detail::vector_element<T>::type>;

/// A mapped GGUF file. String views it hands out, and those of `metadata()`, live as long as the object or the
/// tensor_file moved out of it.
class gguf_file {
 public:
  /// Reads and checks everything but the tensors' values. A file with metadata and no tensors is fine.
  /// Throws file_error.
  explicit gguf_file(std::string path) : gguf_file(mapped_file(std::move(path))) {}

  /// Format version: 2 or 3.
  std::uint32_t version() const noexcept { return contents_.version; }

  /// All metadata pairs, in the order of the file.
  const std::vector<gguf_value>& metadata() const noexcept { return contents_.metadata; }

  /// The pair of that key, or nullptr.
  const gguf_value* find(std::string_view key) const {
    const auto position = contents_.by_key.find(key);
    return position == contents_.by_key.end() ? nullptr : &contents_.metadata[position->second];
  }

  /// The value of that key, or nothing if the file has no such key. Whole numbers convert between integer types
  /// as far as they fit, reals between float and double. Throws file_error for a value of another kind.
  template <gguf_readable T>
  std::optional<T> get(std::string_view key) const {
    const gguf_value* const value = find(key);
    if (value == nullptr) return std::nullopt;
    if constexpr (detail::gguf_scalar<T>) {
      if (value->type == gguf_type::array) fail_kind<T>(*value);
      std::uint64_t position = 0;
      return decode<T>(*value, position);
    } else {
      using element = typename detail::vector_element<T>::type;
      if (value->type != gguf_type::array) fail_kind<element>(*value);
      T elements;
      elements.reserve(static_cast<std::size_t>(value->count));
      for (std::uint64_t i = 0, position = 0; i < value->count; ++i) {
        elements.push_back(decode<element>(*value, position));
      }
      return elements;
    }
  }

  /// The value of that key. Throws file_error if the file has no such key, or a value of another kind.
  template <gguf_readable T>
  T require(std::string_view key) const {
    std::optional<T> value = get<T>(key);
    if (!value) throw file_error(path(), "metadata " + detail::quoted(key), "is missing");
    return *std::move(value);
  }

  /// The tensors; none for a file that holds a vocabulary only.
  const tensor_file& tensors() const& noexcept { return tensors_; }
  tensor_file tensors() && { return std::move(tensors_); }

  /// The path as it was given.
  const std::string& path() const noexcept { return tensors_.path(); }

 private:
  struct contents {
    std::uint32_t version = 0;
    std::vector<gguf_value> metadata;
    std::map<std::string_view, std::size_t> by_key;
    std::vector<tensor_entry> tensors;
  };

  explicit gguf_file(mapped_file file)
      : contents_(parse(file)), tensors_(make_tensors(std::move(file), std::move(contents_.tensors))) {}

  static tensor_file make_tensors(mapped_file file, std::vector<tensor_entry> entries) {
    std::string path = file.path();
    std::vector<mapped_file> files;
    files.push_back(std::move(file));
    return tensor_file(std::move(path), std::move(files), std::move(entries));
  }

  static contents parse(const mapped_file& file) {
    detail::byte_reader reader(file.path(), file.bytes());
    if (reader.remaining() < 4 || reader.read<std::uint32_t>("magic") != 0x46554747) {
      reader.fail("magic", 0, "is not 'GGUF'; this is not a GGUF file");
    }
    contents result;
    result.version = reader.read<std::uint32_t>("version");
    if (result.version == 0x02000000 || result.version == 0x03000000) {
      reader.fail("version", 4, "shows a big-endian file; only little-endian ones are read");
    }
    if (result.version != 2 && result.version != 3) {
      reader.fail("version", 4, "is " + std::to_string(result.version) + "; versions 2 and 3 are read");
    }
    // A tensor takes at least an empty name, no dimensions, type and offset; a pair an empty key, type and a byte.
    const auto tensor_count = reader.read_count(8 + 4 + 4 + 8, "tensor count");
    const auto pair_count = reader.read_count(8 + 4 + 1, "metadata count");
    for (std::uint64_t i = 0; i < pair_count; ++i) parse_pair(reader, result);
    parse_tensors(reader, file, tensor_count, result);
    return result;
  }

  static void parse_pair(detail::byte_reader& reader, contents& result) {
    const auto start = reader.position();
    gguf_value value;
    value.key = reader.read_string("metadata key");
    const std::string field = "metadata " + detail::quoted(value.key);
    if (!result.by_key.emplace(value.key, result.metadata.size()).second) {
      reader.fail(field, start, "is there twice");
    }
    value.type = value.element_type = read_type(reader, field);
    if (value.type == gguf_type::array) {
      value.element_type = read_type(reader, field);
      value.count = read_array_count(reader, value.element_type, field);
    }
    value.byte = reader.position();
    skip(reader, value.element_type, value.count, field, 0);
    value.data = reader.bytes().subspan(static_cast<std::size_t>(value.byte),
                                        static_cast<std::size_t>(reader.position() - value.byte));
    result.metadata.push_back(value);
  }

  static gguf_type read_type(detail::byte_reader& reader, const std::string& field) {
    const auto start = reader.position();
    const auto number = reader.read<std::uint32_t>(field);
    if (number > static_cast<std::uint32_t>(gguf_type::f64)) {
      reader.fail(field, start, "has the unknown value type " + std::to_string(number));
    }
    return static_cast<gguf_type>(number);
  }

  static std::uint64_t read_array_count(detail::byte_reader& reader, gguf_type type, const std::string& field) {
    // A string takes at least its length, a nested array its type and count.
    const std::uint64_t least = type == gguf_type::string ? 8 : type == gguf_type::array ? 12 : detail::fixed_size(type);
    return reader.read_count(least, field + " array length");
  }

  /// Steps over `count` values and checks them.
  static void skip(detail::byte_reader& reader, gguf_type type, std::uint64_t count, const std::string& field,
                   int depth) {
    if (type == gguf_type::string) {
      for (std::uint64_t i = 0; i < count; ++i) reader.read_string(field);
    } else if (type == gguf_type::array) {
      if (depth == 8) reader.fail(field, reader.position(), "nests arrays more than 8 deep");
      for (std::uint64_t i = 0; i < count; ++i) {
        const gguf_type inner = read_type(reader, field);
        const std::uint64_t inner_count = read_array_count(reader, inner, field);
        skip(reader, inner, inner_count, field, depth + 1);
      }
    } else {
      const auto start = reader.position();
      const auto data = reader.read_bytes(count * detail::fixed_size(type), field);
      if (type != gguf_type::boolean) return;
      const auto wrong = std::ranges::find_if(data, [](std::byte b) { return b > std::byte{1}; });
      if (wrong != data.end()) {
        reader.fail(field, start + static_cast<std::uint64_t>(wrong - data.begin()),
                    "holds a truth value that is neither 0 nor 1");
      }
    }
  }

  static dtype read_dtype(detail::byte_reader& reader, const std::string& field) {
    const auto start = reader.position();
    const auto number = reader.read<std::uint32_t>(field);
    switch (number) {
      case 0: return dtype::f32;
      case 1: return dtype::f16;
      case 2: return dtype::q4_0;
      case 3: return dtype::q4_1;
      case 6: return dtype::q5_0;
      case 7: return dtype::q5_1;
      case 8: return dtype::q8_0;
      case 12: return dtype::q4_k;
      case 13: return dtype::q5_k;
      case 14: return dtype::q6_k;
      case 24: return dtype::i8;
      case 25: return dtype::i16;
      case 26: return dtype::i32;
      case 27: return dtype::i64;
      case 28: return dtype::f64;
      case 30: return dtype::bf16;
      default:
        reader.fail(field, start,
                    "has the tensor type " + std::to_string(number) +
                        ", which is not read; f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k and q6_k are");
    }
  }

  static void parse_tensors(detail::byte_reader& reader, const mapped_file& file, std::uint64_t count,
                            contents& result) {
    struct placed {
      std::uint64_t offset, size, byte;
    };
    std::vector<placed> places;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto start = reader.position();
      tensor_entry entry;
      entry.name = reader.read_string("tensor name");
      const std::string field = "tensor " + detail::quoted(entry.name);
      const auto rank = reader.read<std::uint32_t>(field);
      if (rank > 4) reader.fail(field, start, "has " + std::to_string(rank) + " dimensions; at most 4 are allowed");
      for (std::uint32_t d = 0; d < rank; ++d) {
        const auto at = reader.position();
        const auto extent = reader.read<std::uint64_t>(field);
        if (!std::in_range<index>(extent)) reader.fail(field, at, "has an impossible dimension " + std::to_string(extent));
        entry.shape.insert(entry.shape.begin(), static_cast<index>(extent));
      }
      entry.type = read_dtype(reader, field);
      const auto size = detail::stored_bytes(entry.type, entry.shape);
      if (!size) {
        reader.fail(field, start, "has the shape " + detail::shape_text(entry.shape) +
                                      ", which is too large or has rows that are not whole blocks of " +
                                      std::string(iclmech::name(entry.type)));
      }
      const auto at = reader.position();
      places.push_back({reader.read<std::uint64_t>(field), *size, at});
      result.tensors.push_back(std::move(entry));
    }
    place_tensors(reader, file, places, result);
  }

  template <typename Places>
  static void place_tensors(const detail::byte_reader& reader, const mapped_file& file, const Places& places,
                            contents& result) {
    std::uint64_t alignment = 32;
    if (const auto key = result.by_key.find("general.alignment"); key != result.by_key.end()) {
      const gguf_value& value = result.metadata[key->second];
      if (value.type != gguf_type::u32) {
        reader.fail("metadata 'general.alignment'", value.byte, "is not of type u32");
      }
      alignment = detail::load<std::uint32_t>(value.data.data());
      if (!std::has_single_bit(alignment)) {
        reader.fail("metadata 'general.alignment'", value.byte,
                    "is " + std::to_string(alignment) + ", not a power of two");
      }
    }
    const auto padded = [alignment](std::uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
    const std::uint64_t file_size = file.bytes().size();
    const std::uint64_t data_start = padded(reader.position());
    const std::uint64_t data_size = data_start < file_size ? file_size - data_start : 0;

    std::vector<std::size_t> order(places.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(places[i].offset, places[i].size); });
    std::uint64_t end = 0;
    for (const std::size_t i : order) {
      const auto& [offset, size, byte] = places[i];
      tensor_entry& entry = result.tensors[i];
      const std::string field = "tensor " + detail::quoted(entry.name) + " offset";
      if (offset % alignment != 0) {
        reader.fail(field, byte, "is " + std::to_string(offset) + ", not a multiple of the alignment " +
                                     std::to_string(alignment));
      }
      if (offset > data_size || size > data_size - offset) {
        reader.fail(field, byte, "puts " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                                     " of the data section, which has " + std::to_string(data_size) +
                                     "; the file is truncated or damaged");
      }
      if (offset < end) {
        reader.fail(field, byte, "is " + std::to_string(offset) + ", inside another tensor, which ends at " +
                                     std::to_string(end));
      }
      end = offset + size;
      entry.data = file.bytes().subspan(static_cast<std::size_t>(data_start + offset), static_cast<std::size_t>(size));
    }
    if (data_size > padded(end)) {
      reader.fail("data section", data_start + end, "is followed by " + std::to_string(data_size - end) +
                                                        " bytes that belong to no tensor");
    }
  }

  template <typename T>
  T decode(const gguf_value& value, std::uint64_t& position) const {
    if constexpr (std::is_arithmetic_v<T>) {
      if (value.element_type == gguf_type::string || value.element_type == gguf_type::array) fail_kind<T>(value);
      const std::uint64_t at = position;
      position += detail::fixed_size(value.element_type);
      return detail::visit_number(value.element_type, value.data.data() + at, [&](auto number) -> T {
        using stored = decltype(number);
        if constexpr (std::is_same_v<T, bool> != std::is_same_v<stored, bool> ||
                      std::is_floating_point_v<T> != std::is_floating_point_v<stored>) {
          fail_kind<T>(value);
        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          if (!std::in_range<T>(number)) {
            throw file_error(path(), "metadata " + detail::quoted(value.key), value.byte + at,
                             "is " + std::to_string(number) + ", which is out of range here");
          }
        }
        return static_cast<T>(number);
      });
    } else {
      if (value.element_type != gguf_type::string) fail_kind<T>(value);
      const auto length = detail::load<std::uint64_t>(value.data.data() + position);
      const auto text = value.data.subspan(static_cast<std::size_t>(position + 8), static_cast<std::size_t>(length));
      position += 8 + length;
      return T(reinterpret_cast<const char*>(text.data()), text.size());
    }
  }

  template <typename T>
  [[noreturn]] void fail_kind(const gguf_value& value) const {
    const char* const wanted = std::is_same_v<T, bool>           ? "a truth value"
                               : std::is_integral_v<T>           ? "a whole number"
                               : std::is_floating_point_v<T>     ? "a real number"
                                                                 : "text";
    std::string found(iclmech::name(value.type));
    if (value.type == gguf_type::array) found += " of " + std::string(iclmech::name(value.element_type));
    throw file_error(path(), "metadata " + detail::quoted(value.key), value.byte,
                     "is of type " + found + ", but " + wanted + " is needed here");
  }

  contents contents_;
  tensor_file tensors_;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_GGUF_HPP
