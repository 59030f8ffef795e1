#ifndef ICLMECH_ADAPTERS_LLAMA_CPP_NODES_HPP
#define ICLMECH_ADAPTERS_LLAMA_CPP_NODES_HPP
// Which nodes of llama.cpp's compute graphs are which hook points.

#include <ggml.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/engine/model_config.hpp"
#include "iclmech/hook/name.hpp"

namespace iclmech {

/// The versions whose graphs the rules below were written for and tested with.
inline constexpr std::string_view tested_llama_cpp_versions = "0.5.0 (llama-cpp-python 0.3.36)";

/// How to recognise the node of a hook point. Without an operation, by its own name: `name` or, in a layer,
/// `name-<layer>`. With an operation, by the weight that is reached from the node through `path`, a row of
/// operand numbers: the weight is called blk.<layer>.<name>, as in the file, whatever the nodes are called.
struct llama_node_rule {
  hook point = hook::embed;
  std::string_view name;
  ggml_op op = GGML_OP_NONE;
  std::string_view path = {};
};

/// In words, for messages: "node kqv_out-3", "the product with blk.3.ssm_out.weight".
inline std::string to_string(const llama_node_rule& rule, int layer) {
  const std::string number = std::to_string(layer), name(rule.name);
  if (rule.op == GGML_OP_NONE) return "node " + name + (layer < 0 ? "" : "-" + number);
  return "a node " + std::string(ggml_op_name(rule.op)) + " of blk." + number + "." + name;
}

/// The rules for a model; `attention_bias` if its output projections of attention have a bias.
/// @throws unsupported_error for architectures that llama.cpp does not run.
inline std::vector<llama_node_rule> llama_node_rules(const model_config& config, bool attention_bias) {
  const bool gemma = config.arch == architecture::gemma3;
  std::vector<llama_node_rule> rules{{hook::embed, gemma ? "inp_scaled" : "embd"},
                                     {hook::ln1_normalized, "attn_norm"}};
  switch (config.arch) {
    case architecture::llama:
    case architecture::qwen2:
    case architecture::gemma3: {
      rules.push_back({hook::pattern, "kq_soft_max"});
      rules.push_back({hook::z, "kqv_out"});
      const llama_node_rule out =
          attention_bias ? llama_node_rule{hook::mixer_out, "attn_output.bias", GGML_OP_ADD, "1"}
                         : llama_node_rule{hook::mixer_out, "attn_output.weight", GGML_OP_MUL_MAT, "0"};
      rules.push_back(out);
      if (gemma) {
        rules.push_back({hook::write_scale, out.name, out.op, out.path});
        rules.push_back({hook::attn_out, "attn_post_norm"});
      } else {
        rules.push_back({hook::attn_out, out.name, out.op, out.path});
      }
      rules.push_back({hook::resid_mid, gemma ? "sa_out" : "ffn_inp"});
      rules.push_back({hook::ln2_normalized, "ffn_norm"});
      rules.push_back({hook::mlp_post, gemma ? "ffn_geglu" : "ffn_swiglu"});
      rules.push_back({hook::mlp_out, gemma ? "ffn_post_norm" : "ffn_out"});
      break;
    }
    case architecture::mamba:
    case architecture::mamba2:
      rules.push_back({hook::in_proj, "ssm_in.weight", GGML_OP_MUL_MAT, "0"});
      rules.push_back({hook::conv, "ssm_conv1d.bias", GGML_OP_UNARY, "01"});
      rules.push_back({hook::recurrence_out, "ssm_d", GGML_OP_ADD, "11"});
      // Behind the gate; Mamba-2 has a norm there.
      rules.push_back(config.arch == architecture::mamba
                          ? llama_node_rule{hook::z, "ssm_d", GGML_OP_GLU, "111"}
                          : llama_node_rule{hook::z, "ssm_norm.weight", GGML_OP_MUL, "1"});
      rules.push_back({hook::mixer_out, "ssm_out.weight", GGML_OP_MUL_MAT, "0"});
      break;
    default:
      throw unsupported_error("llama.cpp does not run models of the kind " +
                              std::string(to_string(config.arch)));
  }
  rules.push_back({hook::resid_post, "l_out"});
  rules.push_back({hook::final_normalized, "result_norm"});
  return rules;
}

namespace detail {

inline std::optional<int> whole_number(std::string_view digits) {
  int value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// The layer in which the node is what the rule describes (-1: outside the layers), or nothing.
inline std::optional<int> layer_of(const ggml_tensor* node, const llama_node_rule& rule) {
  if (rule.op == GGML_OP_NONE) {
    const std::string_view name = node->name;
    if (!name.starts_with(rule.name)) return std::nullopt;
    const std::string_view rest = name.substr(rule.name.size());
    if (rest.empty()) return belongs_to_model(rule.point) ? std::optional(-1) : std::nullopt;
    return rest.front() == '-' && !belongs_to_model(rule.point) ? whole_number(rest.substr(1)) : std::nullopt;
  }
  if (node->op != rule.op) return std::nullopt;
  for (const char operand : rule.path) {
    node = node->src[operand - '0'];
    if (node == nullptr) return std::nullopt;
  }
  std::string_view name = node->name;
  constexpr std::string_view block = "blk.";
  if (!name.starts_with(block) || !name.ends_with(rule.name)) return std::nullopt;
  name = name.substr(block.size(), name.size() - block.size() - rule.name.size());
  return name.ends_with('.') ? whole_number(name.substr(0, name.size() - 1)) : std::nullopt;
}

}  // namespace detail

/// Finds the hook points in a graph.
class llama_nodes {
 public:
  llama_nodes(std::vector<llama_node_rule> rules, const model_spec& spec)
      : rules_(std::move(rules)), mixers_(static_cast<std::size_t>(spec.layer_count())) {
    for (const mixer_id id : spec.mixer_ids()) mixers_[static_cast<std::size_t>(id.layer)] = id.mixer;
  }

  /// The points that have a rule. What enters a layer is what left the layer before.
  hook_mask points() const {
    hook_mask mask;
    for (const llama_node_rule& rule : rules_) mask.add(rule.point);
    if (mask.contains(hook::resid_post) && mask.contains(hook::embed)) mask.add(hook::resid_pre);
    return mask;
  }

  /// The places that a node stands for, in the order in which hooks fire; appended to `places`.
  void find(const ggml_tensor* node, std::vector<hook_place>& places) const {
    for (const llama_node_rule& rule : rules_) {
      const std::optional<int> layer = detail::layer_of(node, rule);
      if (!layer || *layer >= static_cast<int>(mixers_.size())) continue;
      places.push_back({rule.point, *layer, mixer_of(rule.point, *layer)});
      const bool ends_block = rule.point == hook::embed || rule.point == hook::resid_post;
      if (ends_block && *layer + 1 < static_cast<int>(mixers_.size()))
        places.push_back({hook::resid_pre, *layer + 1});
    }
  }

  /// What a place is recognised by, in words.
  std::string describe(const hook_place& place) const {
    hook_place at = place;
    if (place.point == hook::resid_pre)
      at = {place.layer == 0 ? hook::embed : hook::resid_post, place.layer - 1};
    for (const llama_node_rule& rule : rules_)
      if (rule.point == at.point) return to_string(rule, at.layer);
    return "no node";
  }

 private:
  mixer_kind mixer_of(hook point, int layer) const {
    return belongs_to_mixer(point) ? mixers_[static_cast<std::size_t>(layer)] : mixer_kind::attention;
  }

  std::vector<llama_node_rule> rules_;
  std::vector<mixer_kind> mixers_;  // by layer; the models have one each
};

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_LLAMA_CPP_NODES_HPP
