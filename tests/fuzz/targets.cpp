#include "fuzz/targets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/engine/gguf_config.hpp"
#include "iclmech/engine/hf_config.hpp"
#include "iclmech/error.hpp"
#include "iclmech/io/dequantize.hpp"
#include "iclmech/io/dtype.hpp"
#include "iclmech/io/gguf.hpp"
#include "iclmech/io/npy.hpp"
#include "iclmech/io/safetensors.hpp"
#include "iclmech/io/tokenizer.hpp"
#include "iclmech/io/utf8.hpp"
#include "iclmech/task/load.hpp"
#include "support/temporary_folder.hpp"

namespace iclmech::test {
namespace {

// The readers map files, so the bytes become one.
std::string as_file(const std::string& name, const std::string& bytes) {
  static const temporary_folder folder;
  return folder.write(name, bytes);
}

// Goes on after errors that the library throws on purpose: one file serves several readers.
template <class F>
void attempt(F&& f) {
  try {
    f();
  } catch (const iclmech::error&) {
  }
}

void read_every_tensor(const iclmech::tensor_file& file) {
  for (const iclmech::tensor_entry& entry : file.entries()) {
    attempt([&] { file.read(entry); });
    attempt([&] { file.read_integers(entry); });
  }
}

void read_every_value(const iclmech::gguf_file& file) {
  for (const iclmech::gguf_value& value : file.metadata()) {
    attempt([&] { file.get<std::int8_t>(value.key); });
    attempt([&] { file.get<float>(value.key); });
    attempt([&] { file.get<bool>(value.key); });
    attempt([&] { file.get<std::string>(value.key); });
    attempt([&] { file.get<std::vector<std::uint64_t>>(value.key); });
    attempt([&] { file.get<std::vector<double>>(value.key); });
    attempt([&] { file.get<std::vector<std::string_view>>(value.key); });
  }
}

void gguf(const std::string& bytes) {
  const iclmech::gguf_file file(as_file("fuzz.gguf", bytes));
  read_every_tensor(file.tensors());
  read_every_value(file);
  attempt([&] { iclmech::read_gguf_config(file); });
  const iclmech::tokenizer words = iclmech::read_tokenizer_gguf(file);
  words.decode(words.encode("Hello, w\xC3\xB6rld! 123\n\n  <s>", words.bos().has_value()));
}

void safetensors(const std::string& bytes) {
  read_every_tensor(iclmech::read_safetensors(as_file("fuzz.safetensors", bytes)));
}

void safetensors_index(const std::string& bytes) {
  iclmech::read_safetensors(as_file("model.safetensors.index.json", bytes));
}

void npy(const std::string& bytes) {
  const std::string path = as_file("fuzz.npy", bytes);
  attempt([&] { iclmech::read_npy<float>(path); });
  iclmech::read_npy<std::int32_t>(path);
}

// The first byte chooses the type, the rest are blocks of it. Decoding them one by one must give the same
// bits.
void dequantize(const std::string& bytes) {
  if (bytes.empty()) return;
  const auto type = static_cast<iclmech::dtype>(static_cast<unsigned char>(bytes[0]) % 12);
  const auto* const source = reinterpret_cast<const std::byte*>(bytes.data()) + 1;
  const iclmech::index blocks = static_cast<iclmech::index>(bytes.size() - 1) / block_bytes(type);
  std::vector<float> together(static_cast<std::size_t>(blocks * block_elements(type)));
  iclmech::dequantize(type, source, blocks * block_elements(type), together.data());
  for (iclmech::index i = 0; i < blocks; ++i) {
    std::vector<float> alone(static_cast<std::size_t>(block_elements(type)));
    iclmech::dequantize(type, source + i * block_bytes(type), block_elements(type), alone.data());
    if (std::memcmp(alone.data(), &together[static_cast<std::size_t>(i) * alone.size()],
                    alone.size() * sizeof(float)) != 0)
      throw std::logic_error("block " + std::to_string(i) + " decodes differently on its own");
  }
}

// Everything up to the first zero byte is the tokenizer, the rest a text for it.
void tokenizer_json(const std::string& bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const iclmech::tokenizer words = iclmech::parse_tokenizer_json("fuzz.json", bytes.substr(0, end));
  words.decode(words.encode(bytes.substr(end), words.bos().has_value()));
}

// The first byte chooses one of the small tokenizers, the rest is a text for it.
void tokenize(const std::string& bytes) {
  constexpr std::array names{"smollm2",    "llama3", "qwen2", "neox.gguf", "gemma",
                             "gemma.gguf", "llama2", "flags", "words"};
  static const std::vector<iclmech::tokenizer> tokenizers = [&] {
    std::vector<iclmech::tokenizer> all;
    for (const char* const name : names)
      all.push_back(iclmech::load_tokenizer(std::string(ICLMECH_TEST_DATA "/tokenizers/small/") + name));
    return all;
  }();
  if (bytes.empty()) return;
  const std::size_t chosen = static_cast<unsigned char>(bytes[0]) % names.size();
  const std::string text = bytes.substr(1);
  const std::string back = tokenizers[chosen].decode(tokenizers[chosen].encode(text));
  // The first two have a token for every byte and no normalizer.
  if (chosen < 2 && back != iclmech::repair_utf8(text)) throw std::logic_error("the text does not come back");
}

void hf_config(const std::string& bytes) { iclmech::read_hf_config(as_file("config.json", bytes)); }

// The first byte chooses the format.
void task(const std::string& bytes) {
  using enum iclmech::task_format;
  constexpr std::array formats{json, json_lines, csv, tsv};
  if (bytes.empty()) return;
  iclmech::parse_task(std::string_view(bytes).substr(1), formats[static_cast<unsigned char>(bytes[0]) % 4],
                      "fuzz");
}

constexpr std::array<fuzz_target, 9> targets{{{"gguf", gguf},
                                              {"dequantize", dequantize},
                                              {"safetensors", safetensors},
                                              {"safetensors_index", safetensors_index},
                                              {"npy", npy},
                                              {"tokenizer_json", tokenizer_json},
                                              {"tokenize", tokenize},
                                              {"hf_config", hf_config},
                                              {"task", task}}};

}  // namespace

std::span<const fuzz_target> fuzz_targets() { return targets; }

void run(const fuzz_target& target, const std::string& bytes) {
  attempt([&] { target.read(bytes); });
}

}  // namespace iclmech::test
