#ifndef ICLMECH_IO_TOKENIZER_HPP
#define ICLMECH_IO_TOKENIZER_HPP
// Loads the tokenizer of a model, in whichever form the model has it.

#include <cstring>
#include <filesystem>
#include <string>

#include "iclmech/error.hpp"
#include "iclmech/io/gguf.hpp"
#include "iclmech/io/mapped_file.hpp"
#include "iclmech/io/tokenizer_gguf.hpp"
#include "iclmech/io/tokenizer_json.hpp"
#include "iclmech/io/tokenizer_pipeline.hpp"

namespace iclmech {

/// The tokenizer at `path`: a Hugging Face folder with a tokenizer.json, that file itself, or a GGUF file
/// (which may hold a vocabulary and no weights).
///
///     const iclmech::tokenizer words = iclmech::load_tokenizer("smollm2.gguf");
///     const std::vector<iclmech::token_id> ids = words.encode("Hello, world!");
///
/// Throws file_error if there is none or it is damaged, unsupported_error if it is of a kind that is not
/// read.
inline tokenizer load_tokenizer(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    const std::filesystem::path file = std::filesystem::path(path) / "tokenizer.json";
    if (!std::filesystem::exists(file))
      throw file_error(
          path, "folder",
          "has no tokenizer.json; if it has another tokenizer file, save the tokenizer again with "
          "transformers' AutoTokenizer.save_pretrained");
    return read_tokenizer_json(file.string());
  }
  const bool is_gguf = [&] {
    const mapped_file file(path);
    return file.bytes().size() >= 4 && std::memcmp(file.bytes().data(), "GGUF", 4) == 0;
  }();
  return is_gguf ? read_tokenizer_gguf(gguf_file(path)) : read_tokenizer_json(path);
}

}  // namespace iclmech

#endif  // ICLMECH_IO_TOKENIZER_HPP
