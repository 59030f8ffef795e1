#ifndef ICLMECH_EXAMPLES_TOY_HOST_HPP
#define ICLMECH_EXAMPLES_TOY_HOST_HPP
// The adapter: the toy engine as a host of iclmech. docs/writing_a_host.md explains it step by step.

#include <map>

#include "iclmech/host/host.hpp"
#include "toy_engine.hpp"

class toy_host {
 public:
  explicit toy_host(toy::engine e) : engine_(std::move(e)) {
    spec_.name = spec_.architecture = "toy";
    spec_.d_model = toy::engine::width;
    spec_.vocab_size = toy::engine::vocabulary;
    spec_.context_length = toy::engine::positions;
    iclmech::mixer_spec heads;  // attention with a linear way to the stream, unless said otherwise
    heads.heads = heads.kv_heads = toy::engine::heads;
    heads.d_head = heads.d_key = toy::engine::head_width;
    spec_.layers.assign(toy::engine::layers, {{heads}, true, false, toy::engine::hidden});
    for (const auto& [stage, point] : points) spec_.observable.add(point), spec_.editable.add(point);
  }

  const iclmech::model_spec& spec() const { return spec_; }

  template <iclmech::hooks Hooks>
  iclmech::row_matrix run(iclmech::prompt_batch prompts, Hooks& hooks,
                          iclmech::logit_rows rows = iclmech::logit_rows::last) {
    check_prompts(spec_, prompts);
    iclmech::row_matrix logits(0, spec_.vocab_size);
    for (int p = 0; p < std::ssize(prompts); ++p) {
      const auto show = [&](std::string_view stage, int layer, toy::tensor& value) {
        const iclmech::site where{points.at(stage), layer, iclmech::mixer_kind::attention, p};
        if (hooks.wants(where)) hooks.fire(where, view(value, where.point));
      };
      const toy::tensor all = engine_.forward(prompts[static_cast<std::size_t>(p)], show);
      const int count = rows == iclmech::logit_rows::all ? all.rows : rows == iclmech::logit_rows::last;
      logits.conservativeResize(logits.rows() + count, Eigen::NoChange);
      logits.bottomRows(count) = matrix(all).bottomRows(count);
    }
    return logits;
  }

  iclmech::row_matrix unembedding(std::span<const iclmech::token_id> ids) const {
    check_prompts(spec_, std::vector<iclmech::token_sequence>(ids.empty() ? 0 : 1, {ids.begin(), ids.end()}));
    return matrix(engine_.unembedding_weights())(std::vector<int>(ids.begin(), ids.end()), Eigen::all);
  }
  iclmech::row_matrix output_projection(iclmech::mixer_id id) const {
    return spec_.mixer(id.layer, id.mixer), matrix(engine_.output_weights(id.layer));
  }

 private:
  using hook = iclmech::hook;
  static inline const std::map<std::string_view, hook> points{
      {"embed", hook::embed},           {"resid", hook::resid_pre}, {"heads", hook::z},
      {"attn", hook::attn_out},         {"mlp", hook::mlp_out},     {"out", hook::resid_post},
      {"final", hook::final_normalized}};

  static iclmech::activation_view view(toy::tensor& t, hook point) {
    if (point != hook::z) return iclmech::activation_view::contiguous(t.data.data(), 2, {t.rows, t.cols});
    return iclmech::activation_view::contiguous(t.data.data(), 3,
                                                {t.rows, toy::engine::heads, toy::engine::head_width});
  }
  static Eigen::Map<const iclmech::row_matrix> matrix(const toy::tensor& t) {
    return {t.data.data(), t.rows, t.cols};
  }

  toy::engine engine_;
  iclmech::model_spec spec_;
};

static_assert(iclmech::host<toy_host>);

#endif  // ICLMECH_EXAMPLES_TOY_HOST_HPP
