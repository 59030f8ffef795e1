#ifndef ICLMECH_ENGINE_LOAD_HPP
#define ICLMECH_ENGINE_LOAD_HPP
// From a path to a model in memory: Hugging Face folders and GGUF files.

#include <filesystem>
#include <memory>
#include <string>

#include "iclmech/engine/gguf_config.hpp"
#include "iclmech/engine/hf_config.hpp"
#include "iclmech/engine/model.hpp"
#include "iclmech/io/safetensors.hpp"

namespace iclmech {

struct load_options {
  weight_storage storage = weight_storage::dense;
  int mamba1_heads = default_channel_groups;  ///< channel groups of a Mamba-1 mixer that count as its heads
};

/// Reads the configuration of the model at `path`, a .gguf file or a folder with config.json.
inline model_config read_model_config(const std::string& path, const load_options& options = {}) {
  namespace fs = std::filesystem;
  const bool gguf = fs::is_regular_file(path) && fs::path(path).extension() == ".gguf";
  if (!gguf && !fs::is_directory(path))
    throw file_error(
        path, "model",
        fs::exists(path) ? "is neither a .gguf file nor a folder with config.json" : "does not exist");
  model_config config =
      gguf ? read_gguf_config(gguf_file(path)) : read_hf_config((fs::path(path) / "config.json").string());
  config.name = fs::path(path).filename().empty() ? fs::path(path).parent_path().filename().string()
                                                  : fs::path(path).filename().string();
  if (config.arch == architecture::mamba)
    for (layer_config& layer : config.layers) {
      const int channels = layer.state_space->d_inner, heads = options.mamba1_heads;
      if (heads <= 0 || channels % heads != 0)
        throw argument_error("mamba1_heads (--mamba-groups on the command line) is " + std::to_string(heads) +
                             ": the mixers of " + path + " have " + std::to_string(channels) +
                             " inner channels, set it to a divisor of that");
      layer.state_space->heads = heads;
    }
  check(config);
  return config;
}

/// Loads the model at `path`.
/// @throws file_error naming the file and field (config.json, tensor) that is missing or does not fit.
inline std::shared_ptr<const model> load_model(const std::string& path, const load_options& options = {}) {
  const model_config config = read_model_config(path, options);
  const bool gguf = std::filesystem::path(path).extension() == ".gguf";
  weight_source::options how{options.storage, gguf, config.arch == architecture::gemma3,
                             gguf && config.arch == architecture::llama};
  tensor_file tensors = gguf ? gguf_file(path).tensors() : read_safetensors(path);
  return std::make_shared<const model>(model_builder(config, weight_source(std::move(tensors), how)).build());
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_LOAD_HPP
