#ifndef ICLMECH_ENGINE_MODEL_CONFIG_HPP
#define ICLMECH_ENGINE_MODEL_CONFIG_HPP
// The one description of a model that every file format maps to and every block is built from, and its
// checks.

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/engine/elementwise.hpp"
#include "iclmech/engine/rope.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

enum class architecture : unsigned char { llama, qwen2, gemma3, mamba, mamba2, zamba2, hymba };

inline constexpr std::array all_architectures{architecture::llama, architecture::qwen2,  architecture::gemma3,
                                              architecture::mamba, architecture::mamba2, architecture::zamba2,
                                              architecture::hymba};

constexpr std::string_view to_string(architecture a) {
  constexpr std::array<std::string_view, 7> names{"llama",  "qwen2",  "gemma3", "mamba",
                                                  "mamba2", "zamba2", "hymba"};
  return names[static_cast<std::size_t>(a)];
}

/// Far more layers than any model has, and far wider ones: a larger number in a file is damage, not a reason
/// to allocate.
inline constexpr int max_layers = 1 << 14;
inline constexpr int max_size = 1 << 24;

/// Attention of one layer. Keys that a query sees: `window` of them counting its own position (0: all), and
/// always the first `always_visible` rows.
struct attention_config {
  int heads = 0;
  int kv_heads = 0;
  int d_key = 0;
  int d_value = 0;
  float scale = 1.0F;
  float softcap = 0.0F;  ///< 0: none
  index window = 0;
  index always_visible = 0;
  std::optional<rope_config> rope;
  int kv_source = -1;  ///< the layer whose keys and values are used; -1: its own
};

/// Channel groups that a Mamba-1 mixer is divided into, to be its heads, where the caller does not choose.
/// Mamba-1 has no heads of its own; eight groups are coarse enough to carry a function each and as many as
/// the attention heads of small transformers, so that maps can be compared.
inline constexpr int default_channel_groups = 8;

/// State-space mixer of one layer (Mamba-1 or Mamba-2; fields of the other kind are unused).
struct state_space_config {
  int d_inner = 0;
  int d_state = 0;
  int d_conv = 0;
  int heads = 0;    ///< Mamba-2 heads, or channel groups reported as heads for Mamba-1
  int groups = 1;   ///< Mamba-2: groups sharing B and C
  int dt_rank = 0;  ///< Mamba-1
  float dt_min = 0.0F;
  float dt_max = std::numeric_limits<float>::infinity();
  float norm_eps = 1e-5F;    ///< Mamba-2: gated norm
  bool inner_norms = false;  ///< Hymba: norms of dt, B and C
};

struct layer_config {
  std::optional<attention_config> attention;
  std::optional<state_space_config> state_space;
  int d_mlp = 0;          ///< 0: no MLP; with a shared block: of that block
  int shared_block = -1;  ///< Zamba2 hybrid layers: which shared transformer block runs first
  int shared_use = -1;    ///< and which of its uses this is (the adapter slot)
};

/// Whether weights of one kind have a bias, and what says so.
struct bias_rule {
  std::optional<bool> expected;  ///< unset: a bias is used wherever the weights hold one
  std::string reason;            ///< what expects it, for messages: "config.json says attention_bias: true"
};

/// The rule of each kind of weights.
struct bias_rules {
  bias_rule attention_input;   ///< queries, keys and values
  bias_rule attention_output;  ///< attention's output projection; also what joins a shared block to a layer
  bias_rule mlp;
  bias_rule convolution;  ///< of state-space mixers
  bias_rule mixer;        ///< input and output projection of state-space mixers
};

/// Everything about a model but its weights.
struct model_config {
  architecture arch = architecture::llama;
  std::string name;
  int d_model = 0;
  int vocab_size = 0;
  int context_length = 0;
  float norm_eps = 1e-5F;
  norm_weight norm_form = norm_weight::plain;
  bool tied_embeddings = true;
  float embedding_scale = 1.0F;
  float logit_softcap = 0.0F;  ///< 0: none
  activation mlp_activation = activation::silu;
  bool gated_mlp = true;  ///< false: down(relu(up)^2), Hymba's relu2
  bool qk_norm = false;
  bool post_norms = false;          ///< norms between a block's output and the stream (Gemma 3)
  int memory_tokens = 0;            ///< Hymba
  int adapter_rank = 0;             ///< Zamba2: rank of the adapters of each use of a shared block
  bool attention_adapters = false;  ///< Zamba2: adapters also at queries, keys and values
  bias_rules biases;
  std::vector<layer_config> layers;
};

/// Checks that the numbers of a configuration fit together, before any weight is read.
/// @throws argument_error naming the fields and their values.
inline void check(const model_config& config) {
  const auto fail = [](const std::string& what) { throw argument_error("model configuration: " + what); };
  const auto positive = [&](const char* field, index value) {
    if (value <= 0) fail(std::string(field) + " is " + std::to_string(value) + ", it must be positive");
  };
  const auto divides = [&](const char* small, index a, const char* large, index b) {
    if (a <= 0 || b % a != 0)
      fail(std::string(small) + " (" + std::to_string(a) + ") does not divide " + large + " (" +
           std::to_string(b) + ")");
  };
  positive("hidden_size", config.d_model);
  positive("vocab_size", config.vocab_size);
  positive("number of layers", static_cast<index>(config.layers.size()));
  if (!(config.norm_eps > 0.0F)) fail("norm epsilon must be positive");
  for (std::size_t l = 0; l < config.layers.size(); ++l) {
    const layer_config& layer = config.layers[l];
    if (const auto& a = layer.attention) {
      positive("number of attention heads", a->heads);
      divides("number of key/value heads", a->kv_heads, "number of attention heads", a->heads);
      positive("head dimension", a->d_key);
      positive("value head dimension", a->d_value);
      if (a->rope && a->rope->head_dim % 2 != 0)
        fail("head dimension (" + std::to_string(a->rope->head_dim) +
             ") is odd, rotary embedding needs it even");
      if (a->kv_source >= 0) {
        const auto source = static_cast<std::size_t>(a->kv_source);
        if (source >= l || !config.layers[source].attention ||
            config.layers[source].attention->kv_source >= 0)
          fail("layer " + std::to_string(l) + " reuses keys and values of layer " +
               std::to_string(a->kv_source) + ", which does not make its own before it");
      }
    }
    if (const auto& s = layer.state_space) {
      positive("SSM inner width", s->d_inner);
      positive("SSM state size", s->d_state);
      positive("SSM convolution width", s->d_conv);
      divides("number of SSM heads", s->heads, "SSM inner width", s->d_inner);
      divides("number of SSM groups", s->groups, "number of SSM heads", s->heads);
      if (!(s->dt_min <= s->dt_max)) fail("the limits of the time step are in the wrong order");
    }
  }
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_MODEL_CONFIG_HPP
