#ifndef ICLMECH_ADAPTERS_LLAMA_CPP_NODES_HPP
#define ICLMECH_ADAPTERS_LLAMA_CPP_NODES_HPP
// Which nodes of llama.cpp's compute graphs are which hook points.

#include <ggml.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/adapters/gguf_description.hpp"
#include "iclmech/hook/name.hpp"

namespace iclmech {

/// The versions whose graphs the rules below were written for and tested with.
inline constexpr std::string_view tested_llama_cpp_versions = "0.5.0 (llama-cpp-python 0.3.36)";

/// How to recognise the node of a hook point. Without an operation, by its own name: `name` or, in a layer,
/// `name-<layer>`. With an operation, by the weight that is reached from the node through `path`, a row of
/// operand numbers: the weight is called blk.<layer>.<name>, as in the file, whatever the nodes are called.
/// A choice of rows on the way (of those that give logits) is no step of the path.
struct llama_node_rule {
  hook point = hook::embed;
  std::string_view name;
  ggml_op op = GGML_OP_NONE;
  std::string_view path = {};
  mixer_kind mixer = mixer_kind::attention;  ///< whose point it is, if points belong to a mixer
};

/// In words, for messages: "node kqv_out-3", "the product with blk.3.ssm_out.weight".
inline std::string to_string(const llama_node_rule& rule, int layer) {
  const std::string number = std::to_string(layer), name(rule.name);
  if (rule.op == GGML_OP_NONE) return "node " + name + (layer < 0 ? "" : "-" + number);
  return "a node " + std::string(ggml_op_name(rule.op)) + " of blk." + number + "." + name;
}

namespace detail {

/// The rules of one model's graph, part by part.
class llama_rule_list {
 public:
  explicit llama_rule_list(const gguf_description& described)
      : described_(described), gemma_(described.post_norms) {}

  std::vector<llama_node_rule> build() && {
    bool parallel = false, mlp = false;
    for (const layer_spec& layer : described_.spec.layers) {
      parallel = parallel || layer.mixers.size() > 1;
      mlp = mlp || layer.has_mlp;
    }
    add(hook::embed, gemma_ ? "inp_scaled" : "embd");
    // Parallel mixers have a norm node each, of the same stream: no single one is what the layer's norm puts
    // out.
    if (!parallel) add(hook::ln1_normalized, "attn_norm");
    for (const mixer_kind kind : described_.spec.mixer_kinds()) {
      add_mixer(kind);
      if (!parallel) add_output(kind);
    }
    if (parallel) add(hook::mixer_out, "layer_out");
    if (mlp) add_mlp();
    add(hook::resid_post, "l_out");
    add(hook::final_normalized, "result_norm");
    return std::move(rules_);
  }

 private:
  void add(hook point, std::string_view name) { rules_.push_back({point, name}); }

  void add_mixer(mixer_kind kind) {
    if (kind == mixer_kind::attention) {
      add(hook::pattern, "kq_soft_max");
      add(hook::z, "kqv_out");
      return;
    }
    rules_.push_back({hook::in_proj, "ssm_in.weight", GGML_OP_MUL_MAT, "0", kind});
    rules_.push_back({hook::conv, "ssm_conv1d.bias", GGML_OP_UNARY, "01", kind});
    rules_.push_back({hook::recurrence_out, "ssm_d", GGML_OP_ADD, "11", kind});
    // Behind the gate; Mamba-2 may have a norm there.
    rules_.push_back(described_.gated_norm
                         ? llama_node_rule{hook::z, "ssm_norm.weight", GGML_OP_MUL, "1", kind}
                         : llama_node_rule{hook::z, "ssm_d", GGML_OP_GLU, "111", kind});
  }

  void add_output(mixer_kind kind) {
    if (is_state_space(kind)) {
      rules_.push_back(scaled({hook::mixer_out, "ssm_out.weight", GGML_OP_MUL_MAT, "0"}));
      return;
    }
    llama_node_rule out{hook::mixer_out, "attn_output.weight", GGML_OP_MUL_MAT, "0"};
    if (described_.attention_output_bias) out = {hook::mixer_out, "attn_output.bias", GGML_OP_ADD, "1"};
    rules_.push_back(out = scaled(out));
    out.point = gemma_ ? hook::write_scale : hook::attn_out;
    rules_.push_back(out);
    if (gemma_) add(hook::attn_out, "attn_post_norm");
  }

  void add_mlp() {
    add(hook::resid_mid, gemma_ ? "sa_out" : "ffn_inp");
    add(hook::ln2_normalized, "ffn_norm");
    add(hook::mlp_post, gemma_ ? "ffn_geglu" : "ffn_swiglu");
    if (described_.residual_scale)
      rules_.push_back(scaled({hook::mlp_out, "ffn_down.weight", GGML_OP_MUL_MAT, "0"}));
    else
      add(hook::mlp_out, gemma_ ? "ffn_post_norm" : "ffn_out");
  }

  // The node behind the one that the rule describes, if the model scales what goes into the stream.
  llama_node_rule scaled(llama_node_rule rule) const {
    if (!described_.residual_scale) return rule;
    rule.path = rule.op == GGML_OP_ADD ? "01" : "00";
    rule.op = GGML_OP_SCALE;
    return rule;
  }

  const gguf_description& described_;
  bool gemma_;
  std::vector<llama_node_rule> rules_;
};

}  // namespace detail

/// The rules for a model.
inline std::vector<llama_node_rule> llama_node_rules(const gguf_description& described) {
  return detail::llama_rule_list(described).build();
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
    if (node != nullptr && node->op == GGML_OP_GET_ROWS) node = node->src[0];
    if (node == nullptr) return std::nullopt;
  }
  std::string_view name = node->name;
  constexpr std::string_view block = "blk.";
  if (!name.starts_with(block) || !name.ends_with(rule.name)) return std::nullopt;
  name = name.substr(block.size(), name.size() - block.size() - rule.name.size());
  return name.ends_with('.') ? whole_number(name.substr(0, name.size() - 1)) : std::nullopt;
}

}  // namespace detail

/// Finds the hook points in a graph. Refers to the spec.
class llama_nodes {
 public:
  llama_nodes(std::vector<llama_node_rule> rules, const model_spec& spec)
      : rules_(std::move(rules)), spec_(spec) {}

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
      if (!layer || *layer >= spec_.layer_count() ||
          (belongs_to_mixer(rule.point) && !has(*layer, rule.mixer)))
        continue;
      places.push_back({rule.point, *layer, rule.mixer});
      const bool ends_block = rule.point == hook::embed || rule.point == hook::resid_post;
      if (ends_block && *layer + 1 < spec_.layer_count()) places.push_back({hook::resid_pre, *layer + 1});
    }
  }

  /// What a place is recognised by, in words.
  std::string describe(const hook_place& place) const {
    hook_place at = place;
    if (place.point == hook::resid_pre)
      at = {place.layer == 0 ? hook::embed : hook::resid_post, place.layer - 1};
    std::string words;
    for (const llama_node_rule& rule : rules_)
      if (rule.point == at.point && (!belongs_to_mixer(at.point) || rule.mixer == at.mixer))
        words += (words.empty() ? "" : " or ") + to_string(rule, at.layer);
    return words.empty() ? "no node" : words;
  }

 private:
  bool has(int layer, mixer_kind kind) const {
    return layer >= 0 && spec_.layers[static_cast<std::size_t>(layer)].find(kind) != nullptr;
  }

  std::vector<llama_node_rule> rules_;
  const model_spec& spec_;
};

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_LLAMA_CPP_NODES_HPP
