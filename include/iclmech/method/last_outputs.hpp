#ifndef ICLMECH_METHOD_LAST_OUTPUTS_HPP
#define ICLMECH_METHOD_LAST_OUTPUTS_HPP
// What every mixer's heads, every mixer and every MLP put out at the last position of prompts, gathered in
// one run.

#include <map>
#include <span>
#include <vector>

#include "iclmech/host/host.hpp"

namespace iclmech {

/// The last position of one prompt. `z` and `scale` are by mixer in the order of `model_spec::mixer_ids()`.
struct last_outputs {
  std::vector<row_vector> z;      ///< [heads*d_head] each
  std::vector<float> scale;       ///< hook_write_scale; 1 where writes are linear
  row_vector embedding;           ///< [d_model]
  std::vector<row_vector> mixer;  ///< by layer: what its mixers add to the stream, or empty
  std::vector<row_vector> mlp;    ///< by layer: what its MLP adds to the stream, or empty
};

/// Collects `last_outputs` of a run's sequences. `components` asks for the embedding, mixers and MLPs as
/// well.
class last_output_collector {
 public:
  last_output_collector(const model_spec& spec, std::size_t sequences, bool components)
      : spec_(spec), mixers_(spec.mixer_ids()), outputs_(sequences) {
    for (std::size_t m = 0; m < mixers_.size(); ++m) place_[mixers_[m]] = m;
    for (last_outputs& out : outputs_) {
      out.z.resize(mixers_.size());
      out.scale.assign(mixers_.size(), 1.0F);
      if (!components) continue;
      out.mixer.resize(spec.layers.size());
      out.mlp.resize(spec.layers.size());
    }
    components_ = components;
  }

  static constexpr bool observes(hook point) {
    return hook_mask{hook::z, hook::write_scale, hook::embed, hook::mixer_out, hook::attn_out, hook::mlp_out}
        .contains(point);
  }
  static constexpr bool edits(hook) { return false; }

  bool wants(const site& s) const {
    if (!s.ends_sequence || s.sequence >= static_cast<int>(outputs_.size())) return false;
    if (s.point == hook::z || s.point == hook::write_scale) return true;
    if (!components_) return false;
    if (s.point == hook::embed) return true;
    const layer_spec& layer = spec_.layers[static_cast<std::size_t>(s.layer)];
    if (s.point == hook::mlp_out) return layer.has_mlp;
    // What reaches the stream: behind the post norm for attention alone, else the last mixer's output.
    const bool attention_only =
        layer.mixers.size() == 1 && layer.mixers.front().kind == mixer_kind::attention;
    return s.point == (attention_only ? hook::attn_out : hook::mixer_out);
  }

  void fire(const site& s, const_activation_view view) {
    if (!wants(s)) return;
    last_outputs& out = outputs_[static_cast<std::size_t>(s.sequence)];
    const auto layer = static_cast<std::size_t>(s.layer);
    switch (s.point) {
      case hook::z:
        out.z[place_.at({s.layer, s.mixer})] = view.last_row();
        return;
      case hook::write_scale:
        out.scale[place_.at({s.layer, s.mixer})] = view.data()[(view.rows() - 1) * view.row_stride()];
        return;
      case hook::embed:
        out.embedding = view.last_row();
        return;
      case hook::mlp_out:
        out.mlp[layer] = view.last_row();
        return;
      default:
        out.mixer[layer] = view.last_row();
        return;
    }
  }

  const std::vector<mixer_id>& mixers() const { return mixers_; }
  const last_outputs& operator[](std::size_t sequence) const { return outputs_[sequence]; }

 private:
  const model_spec& spec_;
  std::vector<mixer_id> mixers_;
  std::map<mixer_id, std::size_t> place_;
  std::vector<last_outputs> outputs_;
  bool components_ = false;
};

static_assert(hooks<last_output_collector>);

}  // namespace iclmech

#endif  // ICLMECH_METHOD_LAST_OUTPUTS_HPP
