#ifndef ICLMECH_TOOLS_PROMPTS_HPP
#define ICLMECH_TOOLS_PROMPTS_HPP
// Prompts for the commands: drawn from a task with the model's tokenizer, or read from a file of token ids.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "iclmech/host/model_spec.hpp"
#include "iclmech/method/indirect_effect.hpp"
#include "iclmech/method/score_heads.hpp"

namespace iclmech::cli {

/// Where a command's prompts come from.
struct prompt_options {
  std::string task;
  std::string file;
  std::size_t demonstrations = 8;
  std::size_t prompts = 50;
  std::uint64_t seed = 0;
};

void add_prompt_options(CLI::App& command, prompt_options& options);

/// What a task or file is called in results.
std::string source_name(const prompt_options& options);

/// Prompts with labels, for scores and ablation.
std::vector<labelled_prompt> labelled_prompts(const std::string& model, const model_spec& spec,
                                              const prompt_options& options);

/// Clean prompts, the same with their labels shuffled, and the same without demonstrations.
struct effect_prompts {
  std::vector<answered_prompt> clean;
  std::vector<answered_prompt> shuffled;
  std::vector<labelled_prompt> zero_shot;
};
effect_prompts effect_prompts_of(const std::string& model, const model_spec& spec,
                                 const prompt_options& options, std::size_t corrupted);

/// Token ids as the tokenizer spells them, for reports; ids where there is no tokenizer.
std::vector<std::string> token_texts(const std::string& model, const std::vector<token_id>& ids);

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_PROMPTS_HPP
