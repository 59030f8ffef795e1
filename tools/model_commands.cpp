// models, inspect, trace, tokenize

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "commands.hpp"
#include "iclmech/hook/recorder.hpp"
#include "iclmech/io/npy.hpp"
#include "iclmech/io/tokenizer.hpp"
#include "iclmech/task/bundled_models.hpp"
#include "open_host.hpp"
#include "output.hpp"

namespace iclmech::cli {
namespace {

void list_models() {
  for (const std::string& name : bundled_model_names())
    std::cout << name << '\t' << *bundled_model(name) << '\n';
}

std::string shape_of(const mixer_spec& m) {
  std::ostringstream text;
  text << to_string(m.kind) << ": " << m.heads << " heads of " << m.d_head << ", writes "
       << to_string(m.write);
  if (m.kind == mixer_kind::attention)
    text << ", " << m.kv_heads << " key/value heads of " << m.d_key
         << (m.reuses_keys ? " (an earlier layer's)" : "");
  else
    text << ", state " << m.d_state << ", " << m.groups << (m.groups == 1 ? " group" : " groups");
  return text.str();
}

void inspect(const model_options& options) {
  const any_host host = open_host(options);
  const model_spec& spec = host.spec();
  std::cout << spec.name << ": " << spec.architecture << ", " << spec.layer_count() << " layers, d_model "
            << spec.d_model << ", vocabulary " << spec.vocab_size << ", " << spec.head_count() << " heads";
  if (spec.context_length > 0) std::cout << ", context " << spec.context_length;
  if (spec.prefix_rows > 0)
    std::cout << ", " << spec.prefix_rows << " memory tokens in front of every prompt";
  std::cout << "\n\nlayers\n";
  for (int l = 0; l < spec.layer_count(); ++l) {
    const layer_spec& layer = spec.layers[static_cast<std::size_t>(l)];
    std::cout << "  " << l << "  ";
    for (std::size_t m = 0; m < layer.mixers.size(); ++m)
      std::cout << (m > 0 ? " | " : "") << shape_of(layer.mixers[m]);
    if (layer.d_mlp > 0)
      std::cout << " | mlp " << layer.d_mlp << (layer.shares_block ? " (shared block)" : "");
    std::cout << '\n';
  }
  std::cout << "\nhook points\n";
  for (const hook_place& place : hook_places(spec)) {
    std::cout << "  " << hook_name(place) << "  [";
    const auto axes = axes_of(place.point, place.mixer);
    for (std::size_t a = 0; a < axes.size(); ++a) std::cout << (a > 0 ? ", " : "") << axes[a];
    std::cout << "]\n";
  }
}

struct trace_options {
  model_options model;
  std::vector<token_id> ids;
  std::string hook_names;
  std::string state_positions;
  std::string out;
};

std::vector<index> positions_of(const std::string& text, std::size_t length) {
  std::vector<index> positions;
  if (text == "all") {
    for (std::size_t p = 0; p < length; ++p) positions.push_back(static_cast<index>(p));
    return positions;
  }
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    std::size_t used = 0;
    index position = -1;
    try {
      position = std::stol(item, &used);
    } catch (const std::exception&) {
    }
    if (used != item.size() || position < 0 || position >= static_cast<index>(length))
      throw argument_error("--state-positions: '" + item + "' is not a position of a prompt of " +
                           std::to_string(length) + " tokens; write a list such as 0,5 or 'all'");
    positions.push_back(position);
  }
  return positions;
}

void trace(const trace_options& options) {
  prepare_output(options.out);
  any_host host = open_host(options.model);
  const std::vector<token_sequence> prompt{options.ids};
  activation_recorder recorder(options.hook_names.empty() ? std::vector<hook_place>{}
                                                          : find_hook_places(host.spec(), options.hook_names),
                               0, positions_of(options.state_positions, options.ids.size()));
  const row_matrix logits = host.run(prompt, recorder, logit_rows::all);
  const std::filesystem::path out(options.out);
  write_npy(out / "logits.npy", logits);
  std::size_t count = 1;
  for (const auto& [name, value] : recorder.take()) {
    write_npy(out / (name + ".npy"), value.shape, std::span<const float>(value.values));
    ++count;
  }
  std::cout << "wrote " << count << " arrays to " << out.string() << '\n';
}

struct tokenize_arguments {
  std::string model;
  std::string text;
  bool bos = false;
};

void print_tokens(const tokenize_arguments& options) {
  const tokenizer words = load_tokenizer(find_model(options.model));
  const std::vector<token_id> ids = words.encode(options.text, options.bos);
  for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i > 0 ? "," : "") << ids[i];
  std::cout << '\n';
}

}  // namespace

void add_model_commands(CLI::App& app) {
  app.add_subcommand("models", "List the bundled tiny models")->callback(list_models);

  static model_options inspected;
  CLI::App* inspect_command =
      app.add_subcommand("inspect", "Layers, mixers, heads and hook points of a model");
  add_model_options(*inspect_command, inspected);
  inspect_command->callback([] { inspect(inspected); });

  static trace_options traced;
  CLI::App* trace_command =
      app.add_subcommand("trace", "Run a prompt of token ids and write logits and activations as .npy");
  add_model_options(*trace_command, traced.model);
  trace_command->add_option("--ids", traced.ids, "Token ids, separated by commas")
      ->delimiter(',')
      ->required();
  trace_command->add_option("--hooks", traced.hook_names, "Hook points, separated by commas; * and ? match");
  trace_command->add_option(
      "--state-positions", traced.state_positions,
      "Positions at which hook_ssm_state is kept: 0,5 or 'all' (the last one if not given)");
  trace_command->add_option("--out", traced.out, "Folder for the arrays")->required();
  trace_command->callback([] { trace(traced); });

  static tokenize_arguments tokenized;
  CLI::App* tokenize_command = app.add_subcommand("tokenize", "Token ids of a text, on one line");
  tokenize_command->add_option("model", tokenized.model, "Model folder, tokenizer.json or .gguf file")
      ->required();
  tokenize_command->add_option("--text", tokenized.text, "The text; special tokens in it are parsed")
      ->required();
  tokenize_command->add_flag("--bos", tokenized.bos, "Put the begin-of-sequence token in front");
  tokenize_command->callback([] { print_tokens(tokenized); });
}

}  // namespace iclmech::cli
