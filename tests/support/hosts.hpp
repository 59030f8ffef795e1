#ifndef ICLMECH_TESTS_SUPPORT_HOSTS_HPP
#define ICLMECH_TESTS_SUPPORT_HOSTS_HPP
// Ready hosts for tests. The engine behind them is compiled once, in hosts.cpp.

#include <string>
#include <vector>

#include "iclmech/host/any_host.hpp"

namespace iclmech::test {

/// The tiny checkpoints in tests/golden/models, one for every architecture and storage.
inline const std::vector<std::string> golden_models{"llama", "llama_bf16", "qwen2",  "gemma3_text",
                                                    "mamba", "mamba2",     "zamba2", "hymba"};

/// A reference engine with one of them; `packed` keeps the weights as the file has them.
any_host golden_host(const std::string& model, bool packed = false);

/// A reference engine with any model file.
any_host file_host(const std::string& path, bool packed = false);

/// Logits of a golden model that is given the first `together` tokens at once and then one token at a time:
/// one row for each step.
row_matrix golden_decoded(const std::string& model, const token_sequence& ids, std::size_t together);
row_matrix golden_decoded(const std::string& model, const token_sequence& ids, std::size_t together,
                          any_hooks& hook_functions);

/// The folder of a golden model.
std::string golden_folder(const std::string& model);

/// Tokens that are valid for every golden model: `count` of them, from a seed.
token_sequence some_tokens(const model_spec& spec, std::size_t count, std::uint64_t seed);

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_HOSTS_HPP
