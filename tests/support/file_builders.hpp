#ifndef ICLMECH_TESTS_SUPPORT_FILE_BUILDERS_HPP
#define ICLMECH_TESTS_SUPPORT_FILE_BUILDERS_HPP
// Model files put together byte by byte, right or wrong as a test needs them.

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace iclmech::test {

/// Appends the little-endian bytes of a number.
template <typename T>
requires std::is_arithmetic_v<T>
void append(std::string& bytes, T value) {
  char encoded[sizeof(T)];
  std::memcpy(encoded, &value, sizeof(T));
  bytes.append(encoded, sizeof(T));
}

/// Appends a 64-bit length and the text, GGUF's form of a string.
inline void append_text(std::string& bytes, std::string_view text) {
  append<std::uint64_t>(bytes, text.size());
  bytes += text;
}

/// The bytes of floats.
inline std::string float_bytes(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) append(bytes, value);
  return bytes;
}

/// A safetensors file of that header and data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data = "") {
  std::string bytes;
  append_text(bytes, header);
  return bytes += data;
}

/// Builds a GGUF file; `text()` gives the bytes as far as they are.
class gguf_builder {
 public:
  explicit gguf_builder(std::uint64_t tensors, std::uint64_t pairs, std::uint32_t version = 3) {
    bytes_ = "GGUF";
    append(bytes_, version);
    append(bytes_, tensors);
    append(bytes_, pairs);
  }

  /// A pair's key and type; its value is to follow.
  gguf_builder& key(std::string_view name, std::uint32_t type) {
    append_text(bytes_, name);
    append(bytes_, type);
    return *this;
  }

  template <typename T>
  gguf_builder& number(T value) {
    append(bytes_, value);
    return *this;
  }

  gguf_builder& text(std::string_view value) {
    append_text(bytes_, value);
    return *this;
  }

  /// A tensor's entry, dimensions in the file's order: fastest first.
  gguf_builder& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                       std::uint32_t type, std::uint64_t offset) {
    append_text(bytes_, name);
    append(bytes_, static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t extent : dimensions) append(bytes_, extent);
    append(bytes_, type);
    append(bytes_, offset);
    return *this;
  }

  /// Zeros up to the next multiple of the alignment.
  gguf_builder& pad(std::size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }

  gguf_builder& data(std::string_view content) {
    bytes_ += content;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_FILE_BUILDERS_HPP
