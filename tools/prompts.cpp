#include "prompts.hpp"

#include "iclmech/io/json_fields.hpp"
#include "iclmech/io/json_file.hpp"
#include "study/prompt_maker.hpp"
#include "task_prompts.hpp"

namespace iclmech::cli {
namespace {

const nlohmann::json& member(const std::string& file, const nlohmann::json& object, const char* name,
                             const std::string& where) {
  if (!object.is_object() || !object.contains(name))
    throw file_error(file, where, std::string("lacks '") + name + "'");
  return object.at(name);
}

token_id token_of(const std::string& file, const nlohmann::json& value, const std::string& where) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > INT32_MAX)
    throw file_error(file, where, "must be a token id, it is " + value.dump());
  return value.get<token_id>();
}

std::vector<token_id> tokens_of(const std::string& file, const nlohmann::json& value,
                                const std::string& where) {
  if (!value.is_array()) throw file_error(file, where, "must be a list of token ids");
  std::vector<token_id> ids;
  for (std::size_t i = 0; i < value.size(); ++i)
    ids.push_back(token_of(file, value[i], where + "[" + std::to_string(i) + "]"));
  return ids;
}

/// Calls `take(item, name)` for each entry of the list `list` of a JSON file.
template <class Take>
void for_each_item(const std::string& file, const char* list, const Take& take) {
  const nlohmann::json root = read_json_file(file);
  const nlohmann::json& items = member(file, root, list, "whole file");
  if (!items.is_array() || items.empty())
    throw file_error(file, list, "must be a list with at least one prompt");
  for (std::size_t i = 0; i < items.size(); ++i)
    take(items[i], std::string(list) + "[" + std::to_string(i) + "]");
}

std::vector<answered_prompt> answered_items(const std::string& file, const char* list) {
  std::vector<answered_prompt> prompts;
  for_each_item(file, list, [&](const nlohmann::json& item, const std::string& at) {
    prompts.push_back({tokens_of(file, member(file, item, "ids", at), at + ".ids"),
                       token_of(file, member(file, item, "answer", at), at + ".answer")});
  });
  return prompts;
}

void check_answers(const model_spec& spec, const std::vector<answered_prompt>& prompts, const char* list) {
  for (std::size_t i = 0; i < prompts.size(); ++i)
    if (prompts[i].answer >= spec.vocab_size)
      throw argument_error(std::string(list) + "[" + std::to_string(i) + "].answer is " +
                           std::to_string(prompts[i].answer) + ", outside the vocabulary of " +
                           std::to_string(spec.vocab_size) + " tokens");
}

}  // namespace

void add_prompt_options(CLI::App& command, prompt_options& options) {
  auto* source = command.add_option_group("prompts");
  source->add_option("--task", options.task,
                     "Task: a bundled one by name, or a .json, .jsonl, .csv or .tsv file");
  source->add_option("--prompts", options.file, "JSON file of prompts as token ids");
  source->require_option(1);
  command.add_option("--shots", options.demonstrations, "Demonstrations per prompt (with --task)")
      ->capture_default_str();
  command.add_option("--count", options.prompts, "Number of prompts (with --task)")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", options.seed, "Seed of the draw (with --task)")->capture_default_str();
}

std::string source_name(const prompt_options& options) {
  return options.task.empty() ? options.file : options.task;
}

std::vector<labelled_prompt> labelled_prompts(const std::string& model, const model_spec& spec,
                                              const prompt_options& options) {
  std::vector<labelled_prompt> prompts;
  if (!options.file.empty()) {
    const std::string& file = options.file;
    for_each_item(file, "items", [&](const nlohmann::json& item, const std::string& at) {
      labelled_prompt p{tokens_of(file, member(file, item, "ids", at), at + ".ids"),
                        tokens_of(file, member(file, item, "labels", at), at + ".labels"),
                        token_of(file, member(file, item, "answer", at), at + ".answer")};
      if (std::find(p.labels.begin(), p.labels.end(), p.answer) == p.labels.end())
        throw file_error(file, at + ".answer",
                         "is " + std::to_string(p.answer) + ", which is none of its labels");
      prompts.push_back(std::move(p));
    });
    return prompts;
  }
  return prompt_maker(model, spec, options).shown(options.demonstrations);
}

effect_prompts effect_prompts_of(const std::string& model, const model_spec& spec,
                                 const prompt_options& options, std::size_t corrupted) {
  effect_prompts prompts;
  if (!options.file.empty()) {
    prompts.clean = answered_items(options.file, "clean");
    prompts.shuffled = answered_items(options.file, "shuffled");
    check_answers(spec, prompts.clean, "clean");
    check_answers(spec, prompts.shuffled, "shuffled");
    return prompts;
  }
  return prompt_maker(model, spec, options).effects(corrupted);
}

std::vector<std::string> token_texts(const std::string& model, const std::vector<token_id>& ids) {
  std::vector<std::string> texts;
  try {
    const tokenizer words = load_tokenizer(find_model(model));
    for (const token_id id : ids) texts.push_back(words.decode(std::span(&id, 1)));
  } catch (const error&) {
    for (const token_id id : ids) texts.push_back(std::to_string(id));
  }
  return texts;
}

}  // namespace iclmech::cli
