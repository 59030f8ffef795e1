#ifndef ICLMECH_TESTS_ADAPTERS_LLAMA_CPP_HOSTS_HPP
#define ICLMECH_TESTS_ADAPTERS_LLAMA_CPP_HOSTS_HPP
// llama.cpp with the tiny models of tests/golden/gguf.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "iclmech/adapters/llama_cpp.hpp"
#include "iclmech/testing/host_conformance.hpp"
#include "support/hosts.hpp"

namespace iclmech::test {

// llama.cpp sums in another order than Eigen and PyTorch do, and its exponential function is an
// approximation; numbers that have passed a few layers in float32 differ by some 1e-5 of the largest. 1e-3
// finds any wrong row, head or scale.
inline constexpr float llama_cpp_parity = 1e-3F;

inline std::string tiny_gguf(const std::string& name) {
  return std::string(ICLMECH_TEST_DATA "/gguf/") + name + ".gguf";
}

/// GoogleTest's names have no dashes.
inline std::string without_dashes(const ::testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

inline llama_cpp_host tiny_llama_cpp(const std::string& name) {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_cpp_options options;
  options.context_limit = 64;
  options.threads = 1;
  return llama_cpp_host(tiny_gguf(name), options);
}

/// A batch of different lengths.
inline std::vector<token_sequence> some_prompts(const model_spec& spec) {
  return {some_tokens(spec, 9, 1), some_tokens(spec, 5, 2), some_tokens(spec, 9, 3)};
}

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_ADAPTERS_LLAMA_CPP_HOSTS_HPP
