#include <cstdio>

#include "iclmech/error.hpp"
#include "open_host.hpp"

#ifdef ICLMECH_WITH_LLAMA_CPP
#include "iclmech/adapters/llama_cpp.hpp"
#endif

namespace iclmech::cli {

#ifdef ICLMECH_WITH_LLAMA_CPP
any_host open_llama_cpp(const std::string& path, const model_options& options) {
  // Its log tells a lot; what went wrong is enough here.
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_cpp_options load;
  load.threads = options.threads;
  load.mamba1_heads = options.mamba_groups;
  return any_host(llama_cpp_host(path, load));
}
#else
any_host open_llama_cpp(const std::string&, const model_options&) {
  throw unsupported_error(
      "--host llama.cpp: this program was built without llama.cpp. Run scripts/setup_llama.sh, configure "
      "with the "
      "CMAKE_PREFIX_PATH that it prints and build again (docs/llama_cpp.md)");
}
#endif

}  // namespace iclmech::cli
