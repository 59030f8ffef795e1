#ifndef ICLMECH_TOOLS_STUDY_PROMPT_MAKER_HPP
#define ICLMECH_TOOLS_STUDY_PROMPT_MAKER_HPP
// A task's prompts in all the forms that a study needs: plain, without demonstrations, perturbed, lying.

#include <memory>
#include <string>
#include <vector>

#include "iclmech/method/attention_profile.hpp"
#include "iclmech/task/task.hpp"
#include "prompts.hpp"

namespace iclmech::cli {

class task_prompts;

/// What is wrong with a prompt's demonstrations.
enum class perturbation : unsigned char {
  random_texts,      ///< texts replaced by random words
  unrelated_labels,  ///< labels, the answer too, replaced consistently by other words
  shuffled_labels,   ///< labels permuted among the demonstrations
  synonym_labels     ///< labels, the answer too, replaced by the task's synonyms
};

/// All lists hold the same queries in the same order.
class prompt_maker {
 public:
  prompt_maker(const std::string& model, const model_spec& spec, const prompt_options& options);

  task_family family() const;
  label_kind kind() const;

  /// The names of the labels in play in the first prompt.
  std::vector<std::string> label_names() const;

  /// @throws argument_error where the task or the context has no room for so many demonstrations.
  std::vector<labelled_prompt> shown(std::size_t demonstrations) const;
  std::vector<labelled_prompt> perturbed(perturbation how) const;

  bool has_synonyms() const;
  /// The same prompts, told to have so many more labels, which occur nowhere in them.
  /// @throws argument_error if there are not as many words that begin with tokens of their own.
  std::vector<labelled_prompt> with_more_labels(std::size_t more) const;

  /// The prompts without demonstrations, as text to go on from, and what should follow.
  struct open_prompts {
    std::vector<token_sequence> ids;
    std::vector<std::string> queries, answers;
  };
  open_prompts to_continue(std::size_t count) const;
  std::vector<tagged_prompt> tagged() const;

  /// Clean prompts, the first `corrupted` of them with shuffled labels, and all without demonstrations.
  effect_prompts effects(std::size_t corrupted) const;

  /// The first `count` prompts with that share of right labels; a negative share means random labels.
  std::vector<labelled_prompt> with_noise(std::size_t demonstrations, double share_right,
                                          std::size_t count) const;

  /// Prompts that follow a wrong mapping consistently, and the same expecting what was right before.
  struct flipped_prompts {
    std::vector<labelled_prompt> flipped;
    std::vector<token_id> original_answers;
  };
  flipped_prompts flipped(std::size_t demonstrations, std::size_t count) const;

  std::string text(const std::vector<token_id>& ids) const;

 private:
  std::shared_ptr<const task_prompts> source_;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_STUDY_PROMPT_MAKER_HPP
