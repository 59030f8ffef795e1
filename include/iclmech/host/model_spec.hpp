#ifndef ICLMECH_HOST_MODEL_SPEC_HPP
#define ICLMECH_HOST_MODEL_SPEC_HPP
// What a host says of its model: layers, mixers, head counts, widths, and how a head reaches the stream.

#include <algorithm>
#include <string>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/hook/point.hpp"
#include "iclmech/host/head_id.hpp"

namespace iclmech {

/// How a head's `hook_z` becomes its write in the residual stream.
enum class write_path : unsigned char {
  linear,       ///< a = W_O^k z
  frozen_norm,  ///< a = s W_O^k z, s = hook_write_scale of the run: a norm's scale held at its value in the
                ///< run
  measured      ///< no linear path: a is the stream with the head minus the stream without it (leave one out)
};

constexpr std::string_view to_string(write_path path) {
  switch (path) {
    case write_path::linear:
      return "linear";
    case write_path::frozen_norm:
      return "frozen_norm";
    case write_path::measured:
      return "measured";
  }
  return "unknown";
}

/// One mixer of a layer. A head's slice of `hook_z` is `d_head` wide, heads are contiguous.
struct mixer_spec {
  mixer_kind kind = mixer_kind::attention;
  int heads = 0;
  int d_head = 0;
  write_path write = write_path::linear;
  int kv_heads = 0;          ///< attention: key/value heads
  int d_key = 0;             ///< attention: width of a query or key head
  int groups = 0;            ///< state space: groups that share B and C
  int d_state = 0;           ///< state space: state size
  bool reuses_keys = false;  ///< attention: keys and values are those of an earlier layer (Hymba)

  index width() const { return index{heads} * d_head; }
};

/// One layer. Mixers are listed in the order in which they act; a layer never has two of one kind.
struct layer_spec {
  std::vector<mixer_spec> mixers;
  bool has_mlp = false;
  bool shares_block = false;  ///< a shared transformer block feeds this layer's mamba input (Zamba2)
  int d_mlp = 0;

  const mixer_spec* find(mixer_kind kind) const {
    const auto it =
        std::find_if(mixers.begin(), mixers.end(), [kind](const mixer_spec& m) { return m.kind == kind; });
    return it == mixers.end() ? nullptr : &*it;
  }
};

/// What a host tells about itself. Positions and tokens are counted without the `prefix_rows` rows that some
/// models put in front of every prompt (Hymba's memory tokens); views include them, at negative positions.
struct model_spec {
  std::string name;
  std::string architecture;
  int d_model = 0;
  int vocab_size = 0;
  int context_length = 0;  ///< longest prompt, in tokens; 0 if unlimited
  int prefix_rows = 0;
  std::vector<layer_spec> layers;
  hook_mask observable;  ///< points at which hooks may look
  hook_mask editable;    ///< points at which hooks may write

  int layer_count() const { return static_cast<int>(layers.size()); }

  int head_count() const {
    int count = 0;
    for (const layer_spec& layer : layers)
      for (const mixer_spec& mixer : layer.mixers) count += mixer.heads;
    return count;
  }

  /// The mixer, or argument_error naming what the layer has.
  const mixer_spec& mixer(int layer, mixer_kind kind) const {
    if (layer < 0 || layer >= layer_count())
      throw argument_error("layer " + std::to_string(layer) + " does not exist: the model has layers 0 to " +
                           std::to_string(layer_count() - 1));
    const layer_spec& spec = layers[static_cast<std::size_t>(layer)];
    if (const mixer_spec* found = spec.find(kind)) return *found;
    std::string has;
    for (const mixer_spec& m : spec.mixers)
      has += (has.empty() ? "" : ", ") + std::string(iclmech::to_string(m.kind));
    throw argument_error("layer " + std::to_string(layer) + " has no " +
                         std::string(iclmech::to_string(kind)) + " mixer: it has " +
                         (has.empty() ? "none" : has));
  }

  /// Every head, ordered by layer, then by the order of the mixers in the layer, then by head.
  std::vector<head_id> heads() const {
    std::vector<head_id> ids;
    ids.reserve(static_cast<std::size_t>(head_count()));
    for (const mixer_id& m : mixer_ids())
      for (int head = 0; head < mixer(m.layer, m.mixer).heads; ++head)
        ids.push_back({m.layer, m.mixer, head});
    return ids;
  }

  /// Every mixer, in the order of `heads()`.
  std::vector<mixer_id> mixer_ids() const {
    std::vector<mixer_id> ids;
    for (int layer = 0; layer < layer_count(); ++layer)
      for (const mixer_spec& mixer : layers[static_cast<std::size_t>(layer)].mixers)
        ids.push_back({layer, mixer.kind});
    return ids;
  }

  /// The kinds that the model's mixers are of, in the order of `all_mixer_kinds`.
  std::vector<mixer_kind> mixer_kinds() const {
    std::vector<mixer_kind> kinds;
    for (const mixer_kind kind : all_mixer_kinds)
      if (std::any_of(layers.begin(), layers.end(),
                      [kind](const layer_spec& layer) { return layer.find(kind) != nullptr; }))
        kinds.push_back(kind);
    return kinds;
  }

  /// A head's text in this model: the mixer is named only in layers that have more than one.
  std::string label(head_id id) const {
    mixer(id.layer, id.mixer);
    return iclmech::to_string(id, layers[static_cast<std::size_t>(id.layer)].mixers.size() > 1);
  }

  /// Reads `L5H3` or `L5.mamba.H3`; argument_error if this model has no such head or the short form is
  /// ambiguous.
  head_id parse_head(std::string_view text) const;

  /// argument_error unless `id` is a head of this model.
  void check(head_id id) const {
    const int heads = mixer(id.layer, id.mixer).heads;
    if (id.head < 0 || id.head >= heads)
      throw argument_error("head " + iclmech::to_string(id, true) +
                           " does not exist: that mixer has heads 0 to " + std::to_string(heads - 1));
  }
};

inline head_id model_spec::parse_head(std::string_view text) const {
  const auto parsed = parse_head_id(text);
  if (!parsed)
    throw argument_error("'" + std::string(text) +
                         "' is not a head: write L<layer>H<head>, for example L5H3" +
                         ", or L<layer>.<mixer>.H<head>, for example L5.mamba.H3");
  if (parsed->layer >= layer_count())
    mixer(parsed->layer, mixer_kind::attention);  // throws, naming the range
  const layer_spec& layer = layers[static_cast<std::size_t>(parsed->layer)];
  if (parsed->mixer.empty() && layer.mixers.size() != 1)
    throw argument_error("'" + std::string(text) + "' does not say which mixer: layer " +
                         std::to_string(parsed->layer) + " has " + std::to_string(layer.mixers.size()) +
                         "; write for example " +
                         label({parsed->layer, layer.mixers.at(0).kind, parsed->head}));
  const mixer_kind ssm = layer.find(mixer_kind::mamba2) ? mixer_kind::mamba2 : mixer_kind::mamba1;
  const auto kind = parsed->mixer.empty() ? layer.mixers.front().kind : parse_mixer_kind(parsed->mixer, ssm);
  if (!kind)
    throw argument_error("'" + std::string(parsed->mixer) + "' in '" + std::string(text) +
                         "' is not a mixer: use attention, mamba, mamba1 or mamba2");
  const head_id id{parsed->layer, *kind, parsed->head};
  check(id);
  return id;
}

}  // namespace iclmech

#endif  // ICLMECH_HOST_MODEL_SPEC_HPP
