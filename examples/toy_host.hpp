#ifndef ICLMECH_EXAMPLES_TOY_HOST_HPP
#define ICLMECH_EXAMPLES_TOY_HOST_HPP
// The adapter: the toy engine as a host of iclmech. docs/writing_a_host.md explains it step by step.

#include "iclmech/host/host.hpp"
#include "toy_engine.hpp"

class toy_host {
 public:
  explicit toy_host(toy::engine e) : engine_(std::move(e)) {
    using iclmech::hook;
    spec_.name = spec_.architecture = "toy";
    spec_.d_model = toy::engine::width;
    spec_.vocab_size = toy::engine::vocabulary;
    spec_.context_length = toy::engine::positions;
    iclmech::mixer_spec heads;  // attention with a linear way to the stream, unless said otherwise
    heads.heads = heads.kv_heads = toy::engine::heads;
    heads.d_head = heads.d_key = toy::engine::head_width;
    spec_.layers.assign(toy::engine::layers, {{heads}, true, false, toy::engine::hidden});
    for (const stage& s : stages) spec_.observable.add(s.point), spec_.editable.add(s.point);
  }

  const iclmech::model_spec& spec() const { return spec_; }

  template <iclmech::hooks Hooks>
  iclmech::row_matrix run(iclmech::prompt_batch prompts, Hooks& hooks,
                          iclmech::logit_rows rows = iclmech::logit_rows::last) {
    check_prompts(spec_, prompts);
    iclmech::row_matrix logits(0, rows == iclmech::logit_rows::none ? 0 : spec_.vocab_size);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      const toy::tensor all =
          engine_.forward(prompts[p], [&](std::string_view name, int layer, toy::tensor& value) {
            const auto s = std::find_if(std::begin(stages), std::end(stages),
                                        [&](const stage& x) { return x.name == name; });
            const iclmech::site where{s->point, layer, iclmech::mixer_kind::attention, static_cast<int>(p)};
            if (hooks.wants(where)) hooks.fire(where, view(value, s->point == iclmech::hook::z));
          });
      if (rows == iclmech::logit_rows::none) continue;
      const auto count = rows == iclmech::logit_rows::all ? all.rows : 1;
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
  struct stage {
    std::string_view name;
    iclmech::hook point;
  };
  static constexpr stage stages[] = {{"embed", iclmech::hook::embed},
                                     {"resid", iclmech::hook::resid_pre},
                                     {"heads", iclmech::hook::z},
                                     {"attn", iclmech::hook::attn_out},
                                     {"mlp", iclmech::hook::mlp_out},
                                     {"out", iclmech::hook::resid_post},
                                     {"final", iclmech::hook::final_normalized}};
  static iclmech::activation_view view(toy::tensor& t, bool by_head) {
    if (!by_head) return iclmech::activation_view::contiguous(t.data.data(), 2, {t.rows, t.cols});
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
