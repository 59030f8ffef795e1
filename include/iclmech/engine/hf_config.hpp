#ifndef ICLMECH_ENGINE_HF_CONFIG_HPP
#define ICLMECH_ENGINE_HF_CONFIG_HPP
// Reads a Hugging Face config.json into a model_config, in all spellings that occur in real checkpoints.

#include <algorithm>
#include <string>

#include "iclmech/engine/config/hf_hymba.hpp"
#include "iclmech/engine/config/hf_mamba.hpp"
#include "iclmech/engine/config/hf_transformer.hpp"
#include "iclmech/engine/config/hf_zamba2.hpp"
#include "iclmech/engine/model_config.hpp"
#include "iclmech/io/json_file.hpp"

namespace iclmech {
namespace detail {

inline architecture hf_architecture(const hf_fields& f) {
  constexpr const char* supported = "llama, qwen2, gemma3_text, mamba, mamba2, zamba2 and hymba are";
  const std::string type = is_state_spaces_config(f) ? state_spaces_model_type(f) : f.text("model_type", "");
  if (type.empty()) f.fail("model_type", std::string("is missing: ") + supported + " supported");
  const auto named = [&type](architecture a) {
    return a == architecture::gemma3 ? type == "gemma3_text" : to_string(a) == type;
  };
  const auto found = std::find_if(all_architectures.begin(), all_architectures.end(), named);
  if (found == all_architectures.end()) f.fail("model_type", "'" + type + "' is not supported: " + supported);
  return *found;
}

/// What a checkpoint of transformers leaves out of its config.json when the output matrix is the embedding.
inline bool ties_embeddings_unless_told(architecture arch) {
  return arch == architecture::gemma3 || arch == architecture::zamba2 || arch == architecture::mamba;
}

}  // namespace detail

/// Reads `path` (a config.json).
/// @throws file_error naming the field, and both fields and values where two contradict each other.
inline model_config read_hf_config(const std::string& path) {
  const detail::hf_fields whole(path, read_json_file(path));
  const detail::hf_fields f = whole.has("text_config") ? whole.object("text_config") : whole;
  model_config c;
  c.arch = detail::hf_architecture(f);
  const bool original = detail::is_state_spaces_config(f);
  c.d_model = f.size(detail::present_name(f, "hidden_size", "d_model"));
  c.vocab_size = f.size("vocab_size");
  if (original) {
    const int multiple = f.size("pad_vocab_size_multiple", 8);
    c.vocab_size = (c.vocab_size + multiple - 1) / multiple * multiple;
  }
  c.tied_embeddings = original ? f.flag("tie_embeddings", true)
                               : f.flag("tie_word_embeddings", detail::ties_embeddings_unless_told(c.arch));
  c.context_length = f.count("max_position_embeddings", 0);
  switch (c.arch) {
    case architecture::llama:
    case architecture::qwen2:
    case architecture::gemma3:
      detail::read_hf_transformer(f, c);
      break;
    case architecture::mamba:
    case architecture::mamba2:
      detail::read_hf_mamba(f, c);
      break;
    case architecture::zamba2:
      detail::read_hf_zamba2(f, c);
      break;
    case architecture::hymba:
      detail::read_hf_hymba(f, c);
      break;
  }
  return c;
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_HF_CONFIG_HPP
