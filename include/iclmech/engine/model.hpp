#ifndef ICLMECH_ENGINE_MODEL_HPP
#define ICLMECH_ENGINE_MODEL_HPP
// A model in memory: its description, its blocks in order, its embeddings. Built from a configuration and
// weights.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "iclmech/engine/block/attention_block.hpp"
#include "iclmech/engine/block/hymba_block.hpp"
#include "iclmech/engine/block/mamba1_block.hpp"
#include "iclmech/engine/block/mamba2_block.hpp"
#include "iclmech/engine/block/shared_attention_block.hpp"
#include "iclmech/engine/weight_source.hpp"
#include "iclmech/host/model_spec.hpp"

namespace iclmech {

using model_block =
    std::variant<attention_block, mlp_block, mamba1_block, mamba2_block, shared_attention_block, hymba_block>;

/// Immutable once built; engines share it.
struct model {
  model_config config;
  model_spec spec;
  weight_matrix embedding;    ///< [vocab x d_model]
  weight_matrix unembedding;  ///< [vocab x d_model], the same memory if tied
  row_matrix memory;          ///< [memory_tokens x d_model] (Hymba)
  vector final_norm;
  std::vector<rope_config> ropes;
  std::vector<std::vector<model_block>> layers;
};

/// Builds a model. The configuration is checked before any weight is read.
class model_builder {
 public:
  model_builder(model_config config, weight_source source) : source_(std::move(source)) {
    check(config);
    model_.config = std::move(config);
  }

  model build() && {
    const model_config& c = model_.config;
    require_shared_blocks();
    const bool state_space = c.arch == architecture::mamba || c.arch == architecture::mamba2;
    const std::string root = state_space ? "backbone."
                             : source_.has("model.embed_tokens.weight") || source_.how().gguf
                                 ? "model."
                                 : "language_model.model.";
    require_biases(root);
    const std::string embedding =
        state_space ? source_.any_of({root + "embeddings.weight", root + "embedding.weight"})
                    : root + "embed_tokens.weight";
    model_.embedding = source_.weight(embedding, c.vocab_size, c.d_model);
    model_.unembedding =
        c.tied_embeddings ? model_.embedding : source_.weight("lm_head.weight", c.vocab_size, c.d_model);
    model_.final_norm = source_.values(
        source_.any_of({root + "norm.weight", root + "norm_f.weight", root + "final_layernorm.weight"}),
        c.d_model);
    if (c.memory_tokens > 0)
      model_.memory = source_.matrix(root + "memory_tokens", c.memory_tokens, c.d_model);
    for (std::size_t l = 0; l < c.layers.size(); ++l)
      add_layer(root + "layers." + std::to_string(l) + ".", l);
    model_.spec = describe_model(c);
    return std::move(model_);
  }

  /// The host's view of a configuration.
  static model_spec describe_model(const model_config& c) {
    model_spec spec;
    spec.name = c.name;
    spec.architecture = to_string(c.arch);
    spec.d_model = c.d_model;
    spec.vocab_size = c.vocab_size;
    spec.context_length = c.context_length;
    spec.prefix_rows = c.memory_tokens;
    spec.observable = spec.editable = hook_mask::all();
    // Norms have used these by the time they are shown.
    for (const hook point : {hook::ln1_scale, hook::ln2_scale, hook::final_scale, hook::write_scale})
      spec.editable.remove(point);
    const bool parallel = c.arch == architecture::hymba;
    for (const layer_config& layer : c.layers) {
      layer_spec described;
      described.d_mlp = layer.d_mlp;
      described.shares_block = layer.shared_block >= 0;
      described.has_mlp = layer.d_mlp > 0 && !described.shares_block;
      if (const auto& a = layer.attention)
        described.mixers.push_back({mixer_kind::attention, a->heads, a->d_value,
                                    described.shares_block     ? write_path::measured
                                    : parallel || c.post_norms ? write_path::frozen_norm
                                                               : write_path::linear,
                                    a->kv_heads, a->d_key, 0, 0, a->kv_source >= 0});
      if (const auto& s = layer.state_space) {
        const mixer_kind kind = s->dt_rank > 0 ? mixer_kind::mamba1 : mixer_kind::mamba2;
        described.mixers.push_back({kind, s->heads, s->d_inner / s->heads,
                                    parallel ? write_path::frozen_norm : write_path::linear, 0, 0,
                                    kind == mixer_kind::mamba2 ? s->groups : 1, s->d_state});
      }
      spec.layers.push_back(std::move(described));
    }
    return spec;
  }

 private:
  const model_config& config() const { return model_.config; }

  void add_layer(const std::string& at, std::size_t l) {
    const layer_config& layer = config().layers[l];
    std::vector<model_block>& blocks = model_.layers.emplace_back();
    const index d = config().d_model;
    switch (config().arch) {
      case architecture::llama:
      case architecture::qwen2:
      case architecture::gemma3: {
        const bool post = config().post_norms;
        blocks.push_back(
            attention_block{*layer.attention, attention(at + "self_attn.", *layer.attention, d),
                            source_.values(at + "input_layernorm.weight", d),
                            post ? source_.values(at + "post_attention_layernorm.weight", d) : vector{}});
        blocks.push_back(mlp_block{
            mlp(at + "mlp.", layer.d_mlp),
            source_.values(
                at + (post ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight"), d),
            post ? source_.values(at + "post_feedforward_layernorm.weight", d) : vector{}});
        return;
      }
      case architecture::mamba:
        blocks.push_back(mamba1_block{*layer.state_space, mamba1(at + "mixer.", "", *layer.state_space),
                                      projection(at + "mixer.in_proj", 2 * layer.state_space->d_inner, d),
                                      projection(at + "mixer.out_proj", d, layer.state_space->d_inner),
                                      source_.values(at + "norm.weight", d)});
        return;
      case architecture::mamba2:
        blocks.push_back(mamba2(at + "mixer.", at + "norm.weight", *layer.state_space, false));
        return;
      case architecture::zamba2:
        if (layer.attention) {
          blocks.push_back(shared_block(at, l));
          blocks.push_back(mamba2(at + "mamba_decoder.mamba.", at + "mamba_decoder.input_layernorm.weight",
                                  *layer.state_space, true));
        } else {
          blocks.push_back(mamba2(at + "mamba.", at + "input_layernorm.weight", *layer.state_space, false));
        }
        return;
      case architecture::hymba:
        blocks.push_back(hymba(at, l));
        blocks.push_back(mlp_block{
            mlp(at + "moe.experts.0.", layer.d_mlp), source_.values(at + "pre_moe_layernorm.weight", d), {}});
        return;
    }
  }

  linear projection(const std::string& name, index out, index in) const {
    return {source_.weight(name + ".weight", out, in), source_.optional_values(name + ".bias", out), {}, {}};
  }

  // Biases that contradict the description are noticed before anything is read.
  void require_biases(const std::string& root) const {
    const bias_rules& rules = config().biases;
    const auto require = [this](const bias_rule& rule, const std::string& at,
                                std::initializer_list<const char*> weights) {
      if (!rule.expected) return;
      for (const char* weight : weights)
        source_.require_presence(at + weight + ".bias", *rule.expected, rule.reason);
    };
    const auto require_mixer = [&](const std::string& at) {
      require(rules.convolution, at, {"conv1d"});
      require(rules.mixer, at, {"in_proj", "out_proj"});
    };
    const auto require_attention = [&](const std::string& at) {
      require(rules.attention_input, at, {"q_proj", "k_proj", "v_proj"});
      require(rules.attention_output, at, {"o_proj"});
    };
    for (std::size_t l = 0; l < config().layers.size(); ++l) {
      const std::string at = root + "layers." + std::to_string(l) + ".";
      switch (config().arch) {
        case architecture::llama:
        case architecture::qwen2:
        case architecture::gemma3:
          require_attention(at + "self_attn.");
          require(rules.mlp, at + "mlp.", {"gate_proj", "up_proj", "down_proj"});
          break;
        case architecture::mamba:
        case architecture::mamba2:
          require_mixer(at + "mixer.");
          break;
        case architecture::zamba2:
          require_mixer(at + (config().layers[l].attention ? "mamba_decoder.mamba." : "mamba."));
          if (!config().layers[l].attention) break;
          require(rules.attention_output, at, {"linear"});
          require_attention(shared_home(l) + "self_attn.");
          require(rules.mlp, shared_home(l) + "feed_forward.", {"gate_up_proj", "down_proj"});
          break;
        case architecture::hymba:
          require_mixer(at + "mamba.");
          require(rules.mlp, at + "moe.experts.0.", {"gate_proj", "up_proj", "down_proj"});
          break;
      }
    }
  }

  int rope(const attention_config& a) {
    if (!a.rope) return -1;
    const auto same = [&a](const rope_config& r) { return rope_frequencies(r) == rope_frequencies(*a.rope); };
    auto& ropes = model_.ropes;
    auto it = std::find_if(ropes.begin(), ropes.end(), same);
    if (it == ropes.end()) it = ropes.insert(ropes.end(), *a.rope);
    return static_cast<int>(it - ropes.begin());
  }

  attention_weights attention(const std::string& at, const attention_config& a, index inputs) {
    const index q = index{a.heads} * a.d_key, k = index{a.kv_heads} * a.d_key,
                v = index{a.kv_heads} * a.d_value;
    attention_weights w;
    w.q = {source_.weight(at + "q_proj.weight", q, inputs, a.d_key),
           source_.head_bias(at + "q_proj.bias", q, a.d_key),
           {},
           {}};
    w.k = {source_.weight(at + "k_proj.weight", k, inputs, a.d_key),
           source_.head_bias(at + "k_proj.bias", k, a.d_key),
           {},
           {}};
    w.v = projection(at + "v_proj", v, inputs);
    w.o = projection(at + "o_proj", config().d_model, index{a.heads} * a.d_value);
    if (config().qk_norm) {
      w.q_norm = source_.values(at + "q_norm.weight", a.d_key);
      w.k_norm = source_.values(at + "k_norm.weight", a.d_key);
    }
    w.rope = rope(a);
    return w;
  }

  mlp_weights mlp(const std::string& at, index width) const {
    const index d = config().d_model;
    mlp_weights w;
    if (config().gated_mlp) w.gate = projection(at + "gate_proj", width, d);
    w.up = projection(at + "up_proj", width, d);
    w.down = projection(at + "down_proj", d, width);
    w.act = config().mlp_activation;
    return w;
  }

  // A = -exp(A_log), which GGUF files hold ready-made.
  row_matrix decay_rates(const std::string& name, index rows, index cols) const {
    row_matrix a = source_.matrix(name, rows, cols);
    if (!source_.how().gguf) a = -a.array().exp();
    return a;
  }

  /// `list` is ".0" where the checkpoint keeps lists of length one (Hymba).
  mamba1_weights mamba1(const std::string& at, const std::string& list, const state_space_config& s) const {
    mamba1_weights w;
    w.conv_weight = source_.matrix(at + "conv1d.weight", s.d_inner, s.d_conv);
    w.conv_bias = source_.optional_values(at + "conv1d.bias", s.d_inner);
    w.x_proj = projection(at + "x_proj" + list, s.dt_rank + index{2} * s.d_state, s.d_inner);
    w.dt_proj = projection(at + "dt_proj" + list, s.d_inner, s.dt_rank);
    if (w.dt_proj.bias.size() == 0)
      source_.values(at + "dt_proj" + list + ".bias", s.d_inner);  // throws: it must be there
    w.A = decay_rates(at + "A_log" + list, s.d_inner, s.d_state);
    w.D = source_.values(at + "D" + list, s.d_inner);
    if (s.inner_norms) {
      w.dt_norm = source_.values(at + "dt_layernorm.weight", s.dt_rank);
      w.B_norm = source_.values(at + "B_layernorm.weight", s.d_state);
      w.C_norm = source_.values(at + "C_layernorm.weight", s.d_state);
    }
    return w;
  }

  mamba2_block mamba2(const std::string& at, const std::string& norm, const state_space_config& s,
                      bool side) const {
    const index d = config().d_model, mixed = s.d_inner + index{2} * s.groups * s.d_state;
    mamba2_weights w;
    w.conv_weight = source_.matrix(at + "conv1d.weight", mixed, s.d_conv);
    w.conv_bias = source_.optional_values(at + "conv1d.bias", mixed);
    w.dt_bias = source_.values(at + "dt_bias", s.heads);
    w.A = decay_rates(at + "A_log", s.heads, 1).col(0);
    w.D = source_.values(at + "D", s.heads);
    w.gated_norm = source_.values(at + "norm.weight", s.d_inner);
    return {s,
            std::move(w),
            projection(at + "in_proj", s.d_inner + mixed + s.heads, d),
            projection(at + "out_proj", d, s.d_inner),
            source_.values(norm, d),
            side};
  }

  hymba_block hymba(const std::string& at, std::size_t l) {
    const layer_config& layer = config().layers[l];
    const attention_config& a = *layer.attention;
    const state_space_config& s = *layer.state_space;
    const index d = config().d_model;
    const index kv = a.kv_source >= 0 ? 0 : index{a.kv_heads} * (a.d_key + a.d_value);
    hymba_block b;
    b.attention = a;
    b.shape = s;
    b.mamba = mamba1(at + "mamba.", ".0", s);
    b.in_proj = projection(at + "mamba.in_proj", index{a.heads} * a.d_key + kv + index{2} * s.d_inner, d);
    b.out_proj = projection(at + "mamba.out_proj", d, s.d_inner);
    b.norm = source_.values(at + "input_layernorm.weight", d);
    b.attention_norm = source_.values(at + "mamba.pre_avg_layernorm1.weight", s.d_inner);
    b.mamba_norm = source_.values(at + "mamba.pre_avg_layernorm2.weight", s.d_inner);
    b.rope = rope(a);
    b.lends_keys =
        std::any_of(config().layers.begin(), config().layers.end(), [l](const layer_config& other) {
          return other.attention && other.attention->kv_source == static_cast<int>(l);
        });
    return b;
  }

  // Where the shared block of layer l is stored: with the layer itself, if the file has a copy there, else
  // with the block's first user.
  std::string shared_home(std::size_t l) const {
    const auto at = [](std::ptrdiff_t layer) {
      return "model.layers." + std::to_string(layer) + ".shared_transformer.";
    };
    const std::string own = at(static_cast<std::ptrdiff_t>(l));
    if (source_.has(own + "input_layernorm.weight")) return own;
    const auto& layers = config().layers;
    const int block = layers[l].shared_block;
    return at(std::find_if(layers.begin(), layers.end(),
                           [block](const layer_config& other) { return other.shared_block == block; }) -
              layers.begin());
  }

  // A shared block that is missing is noticed before anything is read.
  void require_shared_blocks() const {
    int blocks = 0;
    std::string hybrids;
    for (std::size_t l = 0; l < config().layers.size(); ++l) {
      if (config().layers[l].shared_block < 0) continue;
      blocks = std::max(blocks, config().layers[l].shared_block + 1);
      hybrids += (hybrids.empty() ? "" : ",") + std::to_string(l);
    }
    for (std::size_t l = 0; l < config().layers.size(); ++l) {
      const int block = config().layers[l].shared_block;
      if (block < 0) continue;
      source_.require_presence(shared_home(l) + "input_layernorm.weight", true,
                               "layer " + std::to_string(l) + " uses shared block " + std::to_string(block) +
                                   ", which the first layer that uses it must hold: num_mem_blocks is " +
                                   std::to_string(blocks) + ", hybrid_layer_ids (or the hybrid layers of " +
                                   "layers_block_type) are [" + hybrids + "]");
    }
  }

  shared_attention_block shared_block(const std::string& at, std::size_t l) {
    const layer_config& layer = config().layers[l];
    const attention_config& a = *layer.attention;
    const index d = config().d_model;
    const std::string home = shared_home(l);
    const index f = layer.d_mlp;
    shared_attention_block b;
    b.shape = a;
    if (const auto known = shared_.find(home); known != shared_.end()) {
      b.attention = known->second.attention;
      b.mlp = known->second.mlp;
    } else {
      b.attention = attention(home + "self_attn.", a, 2 * d);
      const row_matrix both = source_.matrix(home + "feed_forward.gate_up_proj.weight", 2 * f, d);
      const vector bias = source_.optional_values(home + "feed_forward.gate_up_proj.bias", 2 * f);
      b.mlp.gate = {weight_matrix(row_matrix(both.topRows(f))),
                    bias.size() > 0 ? vector(bias.head(f)) : vector{},
                    {},
                    {}};
      b.mlp.up = {weight_matrix(row_matrix(both.bottomRows(f))),
                  bias.size() > 0 ? vector(bias.tail(f)) : vector{},
                  {},
                  {}};
      b.mlp.down = projection(home + "feed_forward.down_proj", d, f);
      b.mlp.act = config().mlp_activation;
      shared_[home] = {b.attention, b.mlp};
    }
    add_adapters(b, home, std::to_string(layer.shared_use), f);
    b.out = projection(at + "linear", d, d);
    b.norm = source_.values(home + "input_layernorm.weight", 2 * d);
    b.mlp_norm = source_.values(home + "pre_ff_layernorm.weight", d);
    return b;
  }

  // The adapters of one use of a shared block; gate and up share the first half of theirs.
  void add_adapters(shared_attention_block& b, const std::string& home, const std::string& slot,
                    index f) const {
    const index rank = config().adapter_rank;
    const auto add = [&](linear& to, const std::string& list) {
      const std::string at = home + "self_attn." + list + "." + slot + ".";
      to.adapter_in = source_.weight(at + "0.weight", rank, to.inputs());
      to.adapter_out = source_.weight(at + "1.weight", to.outputs(), rank);
    };
    if (config().attention_adapters) {
      add(b.attention.q, "linear_q_adapter_list");
      add(b.attention.k, "linear_k_adapter_list");
      add(b.attention.v, "linear_v_adapter_list");
    }
    const std::string at = home + "feed_forward.gate_up_proj_adapter_list." + slot + ".";
    b.mlp.gate.adapter_in = b.mlp.up.adapter_in = source_.weight(at + "0.weight", rank, b.mlp.gate.inputs());
    const row_matrix out = source_.matrix(at + "1.weight", 2 * f, rank);
    b.mlp.gate.adapter_out = weight_matrix(row_matrix(out.topRows(f)));
    b.mlp.up.adapter_out = weight_matrix(row_matrix(out.bottomRows(f)));
  }

  struct shared_weights {
    attention_weights attention;
    mlp_weights mlp;
  };

  weight_source source_;
  model model_;
  std::map<std::string, shared_weights> shared_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_MODEL_HPP
