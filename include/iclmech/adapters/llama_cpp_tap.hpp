#ifndef ICLMECH_ADAPTERS_LLAMA_CPP_TAP_HPP
#define ICLMECH_ADAPTERS_LLAMA_CPP_TAP_HPP
// Fires hooks from inside a llama.cpp run: what its scheduler calls back with after each node.

#include <ggml-backend.h>
#include <ggml.h>

#include <cmath>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "iclmech/adapters/llama_cpp_nodes.hpp"
#include "iclmech/hook/any_hooks.hpp"

namespace iclmech {

/// One sequence's part of a decode. Rows are those of the batch; of the last layer's end, llama.cpp computes
/// only the output rows, which are the last `outputs` of the sequence.
struct llama_rows {
  int sequence = 0;          ///< site::sequence
  index first_position = 0;  ///< of the rows of this decode
  index first_row = 0;
  index rows = 0;
  index first_output = 0;
  index outputs = 0;
  index first_cell = 0;   ///< where the cache has position `first_position`
  index prefix_cell = 0;  ///< where it has position 0, if that was decoded before
};

/// Refers to the spec; the address of a tap is given to llama.cpp, so it does not move.
class llama_tap {
 public:
  llama_tap(const model_spec& spec, std::vector<llama_node_rule> rules, float norm_eps)
      : spec_(spec), nodes_(std::move(rules), spec), norm_eps_(norm_eps) {}
  llama_tap(const llama_tap&) = delete;
  llama_tap& operator=(const llama_tap&) = delete;

  const llama_nodes& nodes() const { return nodes_; }

  /// What llama_context_params::cb_eval wants; `self` is the tap.
  static bool callback(ggml_tensor* node, bool ask, void* self) {
    return static_cast<llama_tap*>(self)->visit(node, ask);
  }

  /// Before a decode: who watches (nobody if null), and which rows are whose. Without `logits`, the run ends
  /// before the unembedding.
  void begin(std::span<const llama_rows> sequences, any_hooks* hook_functions, bool logits) {
    sequences_ = sequences;
    hooks_ = hook_functions;
    logits_ = logits;
    tokens_ = outputs_ = 0;
    for (const llama_rows& s : sequences) {
      tokens_ += s.rows;
      outputs_ += s.outputs;
    }
    failure_ = nullptr;
  }

  /// After a decode: throws what a hook threw.
  void end() {
    hooks_ = nullptr;
    sequences_ = {};
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// Whether a hook wants a point of the last layer behind the place where llama.cpp keeps the output rows
  /// only.
  static bool wants_behind_outputs(const model_spec& spec, const any_hooks& hook_functions, int sequence) {
    constexpr hook_mask behind{hook::mixer_out, hook::attn_out, hook::resid_mid,  hook::ln2_normalized,
                               hook::mlp_post,  hook::mlp_out,  hook::resid_post, hook::final_normalized};
    for (std::size_t i = 0; i < hook_count; ++i) {
      site s{static_cast<hook>(i), spec.layer_count() - 1, mixer_kind::attention, sequence, 0, true};
      if (belongs_to_model(s.point)) s.layer = -1;
      if (behind.contains(s.point) && hook_functions.wants(s)) return true;
    }
    return false;
  }

  /// True if a hook wrote a value that is not finite since this was last asked: the cache may hold it.
  bool take_poisoned() { return std::exchange(poisoned_, false); }

 private:
  bool visit(const ggml_tensor* node, bool ask) {
    if (failure_ || (hooks_ == nullptr && logits_)) return false;
    places_.clear();
    nodes_.find(node, places_);
    const bool is_end = !logits_ && !places_.empty() && places_.front().point == hook::final_normalized;
    if (ask) return is_end || wanted();
    try {
      if (hooks_ != nullptr)
        for (const hook_place& place : places_) fire(const_cast<ggml_tensor*>(node), place);
    } catch (...) {
      failure_ = std::current_exception();
    }
    return !failure_ && !is_end;
  }

  bool wanted() const {
    if (hooks_ == nullptr) return false;
    for (const hook_place& place : places_)
      for (const llama_rows& s : sequences_)
        if (hooks_->wants(site_of(place, s, s.rows))) return true;
    return false;
  }

  static site site_of(const hook_place& place, const llama_rows& s, index rows) {
    return {place.point, place.layer, place.mixer, s.sequence, s.first_position + s.rows - rows, true};
  }

  /// Numbers per row and, for points with heads, heads.
  std::pair<index, index> width_of(const hook_place& place, const ggml_tensor* node) const {
    if (place.point == hook::in_proj || place.point == hook::conv) return {ggml_nelements(node) / tokens_, 0};
    if (place.layer < 0) return {spec_.d_model, 0};
    if (place.point == hook::mlp_post) return {spec_.layers[static_cast<std::size_t>(place.layer)].d_mlp, 0};
    if (place.point != hook::z && place.point != hook::recurrence_out) return {spec_.d_model, 0};
    const mixer_spec& mixer = spec_.mixer(place.layer, place.mixer);
    return {mixer.width(), mixer.heads};
  }

  void fire(ggml_tensor* node, const hook_place& place) {
    if (node->type != GGML_TYPE_F32) fail(node, place, "is not float32");
    if (place.point == hook::pattern) return fire_pattern(node, place);
    if (!ggml_is_contiguous(node)) fail(node, place, "is not contiguous");
    const auto [width, heads] = width_of(place, node);
    const index rows = ggml_nelements(node) / width;
    if (ggml_nelements(node) % width != 0 || (rows != tokens_ && rows != outputs_))
      fail(node, place,
           "has " + std::to_string(ggml_nelements(node)) + " numbers for " + std::to_string(tokens_) +
               " tokens of " + std::to_string(width));
    for (const llama_rows& s : sequences_) {
      const index count = rows == tokens_ ? s.rows : s.outputs;
      const site where = site_of(place, s, count);
      if (count == 0 || !hooks_->wants(where)) continue;
      const auto bytes = static_cast<std::size_t>(width) * sizeof(float);
      const std::size_t offset =
          bytes * static_cast<std::size_t>(rows == tokens_ ? s.first_row : s.first_output);
      values_.resize(static_cast<std::size_t>(count * width));
      ggml_backend_tensor_get(node, values_.data(), offset, bytes * static_cast<std::size_t>(count));
      if (place.point == hook::write_scale) {
        fire_write_scale(where, width);
        continue;
      }
      hooks_->fire(where, heads > 0
                              ? activation_view::contiguous(values_.data(), 3, {count, heads, width / heads})
                              : activation_view::contiguous(values_.data(), 2, {count, width}));
      check_finite();
      ggml_backend_tensor_set(node, values_.data(), offset, bytes * static_cast<std::size_t>(count));
    }
  }

  // The norm behind the mixer divides by the root mean square of what the mixer put out.
  void fire_write_scale(const site& where, index width) {
    const const_matrix_view out(values_.data(), static_cast<index>(values_.size()) / width, width,
                                Eigen::OuterStride<>(width));
    vector scale = (out.array().square().rowwise().mean() + norm_eps_).rsqrt();
    hooks_->fire(where, activation_view::contiguous(scale.data(), 1, {scale.size()}));
  }

  // The node has a row of cells of the cache, [heads x tokens x cells], of which a sequence sees its own.
  void fire_pattern(ggml_tensor* node, const hook_place& place) {
    const index cells = node->ne[0], heads = node->ne[2];
    if (node->ne[1] != tokens_ || node->ne[3] != 1) fail(node, place, "is not [heads x tokens x cells]");
    for (const llama_rows& s : sequences_) {
      const site where = site_of(place, s, s.rows);
      if (!hooks_->wants(where)) continue;
      check_cells(node, place, s);
      const index keys = s.first_position + s.rows;
      row_matrix all(heads * s.rows, cells);
      const auto each_row = [&](const auto& use) {
        for (index h = 0; h < heads; ++h)
          for (index r = 0; r < s.rows; ++r)
            use(all.row(h * s.rows + r).data(),
                static_cast<std::size_t>(h) * node->nb[2] +
                    static_cast<std::size_t>(s.first_row + r) * node->nb[1],
                static_cast<std::size_t>(cells) * sizeof(float));
      };
      each_row([&](float* row, std::size_t offset, std::size_t size) {
        ggml_backend_tensor_get(node, row, offset, size);
      });
      row_matrix weights(heads * s.rows, keys);
      for (index k = 0; k < keys; ++k) weights.col(k) = all.col(cell_of(s, k));
      hooks_->fire(where, activation_view::contiguous(weights.data(), 3, {heads, s.rows, keys}));
      for (index k = 0; k < keys; ++k) all.col(cell_of(s, k)) = weights.col(k);
      each_row([&](const float* row, std::size_t offset, std::size_t size) {
        ggml_backend_tensor_set(node, row, offset, size);
      });
    }
  }

  static index cell_of(const llama_rows& s, index position) {
    return position < s.first_position ? s.prefix_cell + position
                                       : s.first_cell + position - s.first_position;
  }

  // The cache's layout is llama.cpp's own affair; the mask says whether it is the one expected here.
  void check_cells(const ggml_tensor* node, const hook_place& place, const llama_rows& s) const {
    const ggml_tensor* mask = node->src[1];
    if (mask == nullptr || mask->type != GGML_TYPE_F32 || mask->ne[0] != node->ne[0])
      fail(node, place, "has no float32 mask");
    row_vector row(mask->ne[0]);
    const auto size = static_cast<std::size_t>(row.size()) * sizeof(float);
    for (index r = 0; r < s.rows; ++r) {
      ggml_backend_tensor_get(mask, row.data(), static_cast<std::size_t>(s.first_row + r) * mask->nb[1],
                              size);
      const index seen = (row.array() > -INFINITY).count(), query = s.first_position + r;
      index own = 0;
      for (index k = 0; k <= query; ++k) own += row(cell_of(s, k)) > -INFINITY ? 1 : 0;
      if (seen != own || row(cell_of(s, query)) == -INFINITY)
        fail(node, place, "orders the cells of the cache in another way");
    }
  }

  void check_finite() {
    const Eigen::Map<const vector> all(values_.data(), static_cast<index>(values_.size()));
    poisoned_ = poisoned_ || !all.allFinite();
  }

  [[noreturn]] static void fail(const ggml_tensor* node, const hook_place& place, const std::string& what) {
    throw unsupported_error(
        "llama.cpp's node " + std::string(node->name) + ", taken for " + hook_name(place) + ", " + what +
        ": this build differs from the tested versions, " + std::string(tested_llama_cpp_versions));
  }

  const model_spec& spec_;
  llama_nodes nodes_;
  float norm_eps_;
  std::span<const llama_rows> sequences_;
  any_hooks* hooks_ = nullptr;
  bool logits_ = true;
  index tokens_ = 0;
  index outputs_ = 0;
  std::vector<hook_place> places_;
  std::vector<float> values_;
  std::exception_ptr failure_;
  bool poisoned_ = false;
};

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_LLAMA_CPP_TAP_HPP
