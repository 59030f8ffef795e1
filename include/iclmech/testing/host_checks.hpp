#ifndef ICLMECH_TESTING_HOST_CHECKS_HPP
#define ICLMECH_TESTING_HOST_CHECKS_HPP
// All conformance checks in their order, with those of a host's arithmetic, sweeps and errors.

#include <optional>
#include <string>
#include <vector>

#include "iclmech/sweep.hpp"
#include "iclmech/testing/hook_checks.hpp"

namespace iclmech::detail {

/// Adds what can be said of the numbers: that parts add up, that sweeps equal loops, that errors leave no
/// trace.
class host_checks : public hook_checks {
 public:
  using hook_checks::hook_checks;

  std::vector<std::string> run() {
    // Without logits that can be trusted, nothing else can be judged.
    attempt("the plain runs", [this] { plain_runs(); });
    if (!complaints_.empty()) return complaints_;
    attempt("the weights", [this] { weights(); });
    attempt("the firing of hooks", [this] { firings(); });
    if (!complaints_.empty()) return complaints_;
    attempt("the observers", [this] { observers(); });
    attempt("the batch", [this] { batch(); });
    attempt("the editors", [this] { editors(); });
    attempt("the heads' writes", [this] { writes(); });
    attempt("the stream", [this] { stream(); });
    attempt("the unembedding", [this] { unembedding(); });
    attempt("the sweep", [this] { sweeps(); });
    attempt("the errors", [this] { errors(); });
    return complaints_;
  }

 private:
  /// Where the mixers' writes of a layer show up together, if the host shows it.
  std::optional<hook_place> output_place(int layer) const {
    const layer_spec& parts = spec_.layers[static_cast<std::size_t>(layer)];
    const bool attention_only =
        parts.mixers.size() == 1 && parts.mixers.front().kind == mixer_kind::attention;
    const hook point = attention_only && sees(hook::attn_out) ? hook::attn_out : hook::mixer_out;
    // Behind a post norm mixer_out is not what the stream gets.
    const bool normed =
        attention_only && point == hook::mixer_out && parts.mixers.front().write == write_path::frozen_norm;
    if (parts.mixers.empty() || !sees(point) || normed) return std::nullopt;
    return hook_place{point, layer};
  }

  void writes() {
    if (!sees(hook::z)) return;
    const firing_log log = watch(prompt());
    for (int layer = 0; layer < spec_.layer_count(); ++layer) {
      const auto place = output_place(layer);
      if (!place) continue;
      const row_matrix& out = log.find(*place)->values;
      row_matrix sum = row_matrix::Zero(out.rows(), out.cols()), transposed = sum;
      bool known = true, square = true;
      for (const mixer_spec& mixer : spec_.layers[static_cast<std::size_t>(layer)].mixers) {
        if (mixer.write == write_path::measured) continue;
        const row_matrix& z = log.find({hook::z, layer, mixer.kind})->values;
        const row_matrix& w = host_.output_projection({layer, mixer.kind});
        vector scale = vector::Ones(z.rows());
        if (mixer.write == write_path::frozen_norm) {
          known = known && sees(hook::write_scale);
          if (known) scale = log.find({hook::write_scale, layer, mixer.kind})->values.col(0);
        }
        sum += scale.asDiagonal() * (z * w.transpose());
        square = square && w.rows() == w.cols();
        if (square) transposed += scale.asDiagonal() * (z * w);
      }
      if (!known || distance(sum, out) <= options_.tolerance) continue;
      complain("The heads' writes in layer " + std::to_string(layer) +
               " (output projection times hook_z) do not add up to " + hook_name(*place) + ": " +
               (square && distance(transposed, out) <= options_.tolerance
                    ? "the output projection is transposed."
                    : why_not(layer, *place, log)));
    }
  }

  /// Takes the heads out one at a time to see which columns of the projection each really meets.
  std::string why_not(int layer, const hook_place& place, const firing_log& before) {
    const layer_spec& parts = spec_.layers[static_cast<std::size_t>(layer)];
    const mixer_spec& mixer = parts.mixers.front();
    if (parts.mixers.size() == 1 && mixer.write == write_path::linear && spec_.editable.contains(hook::z)) {
      const row_matrix& w = host_.output_projection({layer, mixer.kind});
      const row_vector z = before.find({hook::z, layer, mixer.kind})->values.bottomRows(1);
      const auto columns = [&](int k) { return w.middleCols(k * mixer.d_head, mixer.d_head); };
      for (int head = 0; head < mixer.heads; ++head) {
        firing_log after{hook_mask{place.point}};
        const std::vector<intervention> zero{zero_head({layer, mixer.kind, head})};
        hook_set both(intervention_hooks([&zero](int) { return std::span<const intervention>(zero); }),
                      hooks_ref(after));
        run_with(both, prompt());
        const row_matrix gone = (before.find(place)->values - after.find(place)->values).bottomRows(1);
        for (int other = 0; other < mixer.heads; ++other)
          if (other != head &&
              distance(z.segment(head * mixer.d_head, mixer.d_head) * columns(other).transpose(), gone) <=
                  options_.tolerance)
            return "what hook_z calls head " + std::to_string(head) + " goes through the columns of head " +
                   std::to_string(other) + ", so the heads' order is wrong.";
      }
    }
    return "is the order of the heads, or a gain that has to be folded in, wrong?";
  }

  void stream() {
    const firing_log log = watch(prompt());
    const auto value = [&log](hook point, int layer) -> const row_matrix& {
      return log.find({point, layer})->values;
    };
    for (int layer = 0; layer < spec_.layer_count() && sees(hook::resid_pre) && sees(hook::resid_post);
         ++layer) {
      const std::string number = std::to_string(layer);
      if (layer > 0 &&
          distance(value(hook::resid_pre, layer), value(hook::resid_post, layer - 1)) > options_.tolerance)
        complain("hook_resid_pre of layer " + number + " is not hook_resid_post of the layer before.");
      row_matrix sum = value(hook::resid_pre, layer);
      const auto place = output_place(layer);
      const bool has_mlp = spec_.layers[static_cast<std::size_t>(layer)].has_mlp;
      if (!place || (has_mlp && !sees(hook::mlp_out))) continue;
      sum += log.find(*place)->values;
      if (has_mlp && sees(hook::resid_mid) &&
          distance(sum, value(hook::resid_mid, layer)) > options_.tolerance)
        complain("hook_resid_mid of layer " + number + " is not hook_resid_pre plus the mixers' output.");
      if (has_mlp) sum += value(hook::mlp_out, layer);
      if (distance(sum, value(hook::resid_post, layer)) > options_.tolerance)
        complain("hook_resid_post of layer " + number +
                 " is not hook_resid_pre plus what the layer's parts put out.");
    }
  }

  /// Logits are final_normalized times the unembedding, up to a soft cap, which shrinks them and keeps their
  /// order.
  void unembedding() {
    if (!sees(hook::final_normalized)) return;
    const firing_log log = watch(prompt());
    const row_vector normed = log.find({hook::final_normalized})->values.bottomRows(1);
    std::vector<token_id> ids;
    for (token_id id = 0; id < spec_.vocab_size; id += std::max(1, spec_.vocab_size / 64)) ids.push_back(id);
    const row_matrix expected = normed * host_.unembedding(ids).transpose();
    row_matrix seen(1, expected.cols());
    for (std::size_t i = 0; i < ids.size(); ++i)
      seen(0, static_cast<index>(i)) = logits_(logits_.rows() - 1, ids[i]);
    const float slack = options_.tolerance * std::max(1e-3F, expected.cwiseAbs().maxCoeff());
    for (index i = 0; i < seen.cols(); ++i)
      for (index j = 0; j < seen.cols(); ++j)
        if (std::abs(seen(0, i)) > std::abs(expected(0, i)) + slack ||
            (expected(0, i) < expected(0, j) - slack && seen(0, i) > seen(0, j) + slack))
          return complain("The logit of token " + std::to_string(ids[static_cast<std::size_t>(i)]) + " is " +
                          std::to_string(seen(0, i)) +
                          ", but its unembedding row times ln_final.hook_normalized is " +
                          std::to_string(expected(0, i)) + ".");
    // A soft cap leaves small logits as they are; a common factor is none.
    const float factor = seen.row(0).dot(expected.row(0)) / std::max(1e-12F, expected.squaredNorm());
    if (std::abs(factor - 1.0F) > options_.tolerance &&
        distance(seen, factor * expected) <= options_.tolerance)
      complain("The logits are " + std::to_string(factor) +
               " times the unembedding rows times ln_final.hook_normalized: fold the factor into the "
               "unembedding.");
  }

  std::vector<variant> some_variants() const {
    std::vector<variant> all;
    const auto add = [&](intervention edit) {
      if (!spec_.editable.contains(edit.point)) return;
      for (const position_choice where :
           {position_choice::last(), position_choice::one(1), position_choice::all()}) {
        edit.positions = where;
        all.push_back({static_cast<int>(all.size() % 2), {edit}});
      }
    };
    for (const mixer_id id : spec_.mixer_ids()) {
      const int heads = spec_.mixer(id.layer, id.mixer).heads;
      add(zero_head({id.layer, id.mixer, id.layer % heads}));
      add(scale_head({id.layer, id.mixer, heads - 1}, 1.5F));
    }
    for (int layer = 0; layer < spec_.layer_count(); ++layer) {
      const layer_spec& parts = spec_.layers[static_cast<std::size_t>(layer)];
      add(add_to_stream_at(layer, vector::LinSpaced(spec_.d_model, -0.5F, 0.5F)));
      add(zero_output(hook::mixer_out, layer));
      if (parts.has_mlp) add(zero_output(hook::mlp_out, layer));
      if (parts.has_mlp) add(zero_output(hook::resid_mid, layer));
    }
    return all;
  }

  void sweeps() {
    const std::vector<variant> variants = some_variants();
    const std::span<const token_sequence> two(prompts_.data(), 2);
    const auto loop = sweep_by_loop(host_, two, variants, reduce::all_logits());
    const auto shared = sweep(host_, two, variants, reduce::all_logits());
    for (std::size_t p = 0; p < 2; ++p)
      if (distance(shared.prompts[p], loop.prompts[p]) > options_.tolerance)
        complain("A sweep gives prompt " + std::to_string(p) + " other logits than a run of its own.");
    for (std::size_t v = 0; v < variants.size(); ++v)
      if (distance(shared.variants[v], loop.variants[v]) > options_.tolerance) {
        const intervention& edit = variants[v].edits.front();
        return complain("A sweep gives other logits than a run of its own for an edit of " +
                        hook_name({edit.point, edit.layer, edit.mixer}) + ": run_forked and run disagree.");
      }
    if (!same(plain(prompt()), logits_)) complain("A plain run after a sweep gave other logits than before.");
  }

  template <class Call>
  void refuses(const std::string& what, const Call& call) {
    bool refused = false;
    try {
      call();
    } catch (const error&) {
      refused = true;
    }
    if (!refused) complain("The host took " + what + " without an iclmech::error.");
    if (!same(plain(prompt()), before_errors_))
      complain("After " + what + ", the host gives other logits than before.");
  }

  void errors() {
    before_errors_ = plain(prompt());
    refuses("an empty prompt", [this] { plain({}); });
    refuses("a token id below zero", [this] { plain({0, -1}); });
    refuses("a token id beyond the vocabulary", [this] {
      plain({0, static_cast<token_id>(spec_.vocab_size)});
    });
    if (spec_.context_length > 0)
      refuses("a prompt longer than the context",
              [this] { plain(token_sequence(static_cast<std::size_t>(spec_.context_length) + 1, 0)); });
    refuses("a layer that does not exist", [this] {
      host_.output_projection({spec_.layer_count(), spec_.mixer_ids().front().mixer});
    });
    refuses("an unembedding row that does not exist",
            [this] { host_.unembedding(std::vector<token_id>{static_cast<token_id>(spec_.vocab_size)}); });
    if (places_.empty()) return;
    const hook_place middle = places_[places_.size() / 2];
    refuses("an exception from a hook", [&] {
      throw_at hook_function{middle};
      run_with(hook_function, prompt());
    });
  }

  row_matrix before_errors_;
};

}  // namespace iclmech::detail

#endif  // ICLMECH_TESTING_HOST_CHECKS_HPP
