#include "open_host.hpp"

#include "iclmech/detail/parallel.hpp"
#include "iclmech/engine/load_host.hpp"
#include "iclmech/task/bundled_models.hpp"

namespace iclmech::cli {

void add_model_options(CLI::App& command, model_options& options) {
  command
      .add_option("model", options.model,
                  "Hugging Face folder, .gguf file, or bundled model (see `iclmech models`)")
      ->required();
  add_run_options(command, options);
}

void add_run_options(CLI::App& command, model_options& options) {
  command
      .add_option("--host", options.host,
                  "What runs the model: this library's engine, or llama.cpp (.gguf files)")
      ->check(CLI::IsMember({"reference", "llama.cpp"}))
      ->capture_default_str();
  command.add_flag("--low-memory", options.low_memory,
                   "Keep weights as the file has them, widen them as they are used");
  command
      .add_option("--mamba-groups", options.mamba_groups,
                  "Channel groups of a Mamba-1 mixer that count as its heads")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads; 0: all cores, one for tiny models")
      ->check(CLI::NonNegativeNumber);
}

any_host open_host(const model_options& options) {
  set_thread_count(options.threads);
  if (options.host == "llama.cpp") return open_llama_cpp(find_model(options.model), options);
  load_options load;
  load.storage = options.low_memory ? weight_storage::packed : weight_storage::dense;
  load.mamba1_heads = options.mamba_groups;
  any_host host = load_host(find_model(options.model), load);
  // Products of several prompts at once pay for a second thread, but in tiny models only where nothing else
  // wants the core: a waiting thread costs more than it saves.
  constexpr int tiny = 256;
  if (options.threads == 0 && host.spec().d_model < tiny) set_thread_count(1);
  return host;
}

}  // namespace iclmech::cli
