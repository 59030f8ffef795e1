#ifndef ICLMECH_ENGINE_REFERENCE_ENGINE_HPP
#define ICLMECH_ENGINE_REFERENCE_ENGINE_HPP
// The bundled engine: a host like any other, which can also share computation between forks and go on token
// by token.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "iclmech/engine/model.hpp"
#include "iclmech/host/host.hpp"

namespace iclmech {

/// Runs a model. Engines may share one model; an engine itself serves one thread at a time, because it keeps
/// its memory between runs: after the first prompt of a size, the layers allocate nothing.
class reference_engine {
 public:
  explicit reference_engine(std::shared_ptr<const model> m) : model_(std::move(m)) {
    for (const rope_config& rope : model_->ropes) ropes_.emplace_back(rope, 0);
    work_.keys.resize(model_->layers.size());
    work_.values.resize(model_->layers.size());
  }

  const model_spec& spec() const { return model_->spec; }
  const model_config& config() const { return model_->config; }

  /// Rows in flight at a time; `run` takes its prompts in groups that stay below, `run_forked` its forks.
  void set_row_limit(index rows) { row_limit_ = std::max<index>(1, rows); }
  index row_limit() const { return row_limit_; }

  /// Runs prompts from their first token. Logits: [prompts x vocabulary], or [all tokens x vocabulary].
  /// @throws argument_error for empty prompts, ids outside the vocabulary, prompts beyond the context.
  template <hooks H>
  row_matrix run(prompt_batch prompts, H& hook_functions, logit_rows rows = logit_rows::last) {
    check_prompts(spec(), prompts);
    index count = rows == logit_rows::last ? static_cast<index>(prompts.size()) : 0;
    if (rows == logit_rows::all)
      for (const token_sequence& ids : prompts) count += static_cast<index>(ids.size());
    row_matrix logits(count, rows == logit_rows::none ? 0 : spec().vocab_size);
    index done = 0;
    const auto keep = [&](index, const const_matrix_ref& part) {
      logits.middleRows(done, part.rows()) = part;
      done += part.rows();
    };
    for (std::size_t first = 0; first < prompts.size();) {
      std::size_t last = first;
      for (index total = 0; last < prompts.size(); ++last) {
        total += row_count(prompts[last]);
        if (total > row_limit_ && last > first) break;
      }
      pass_over(prompts.subspan(first, last - first), static_cast<int>(first), {}, {}, 0, hook_functions,
                rows, keep);
      first = last;
    }
    return logits;
  }

  /// Runs prompts and variants of them in one pass (see host/fork.hpp). `sink(first_sequence, logits)` gets
  /// the last position's logits of consecutive sequences, prompts first, a piece at a time.
  /// @throws argument_error for a fork that names a prompt, layer, position or mixer that does not exist.
  template <hooks H, class Sink>
  void run_forked(prompt_batch prompts, std::span<const fork> forks, H& hook_functions, Sink&& sink) {
    check_prompts(spec(), prompts);
    for (std::size_t f = 0; f < forks.size(); ++f) check_fork(prompts, forks[f], f);
    pass_over(prompts, 0, {}, forks, static_cast<int>(prompts.size()), hook_functions, logit_rows::last,
              sink);
  }

  /// Goes on with sequences whose past is in `caches` (empty ones begin): one row of logits per sequence. The
  /// hooks fire as in `run`, with positions that count from the sequence's start.
  template <hooks H>
  row_matrix advance(prompt_batch tokens, std::span<sequence_cache> caches, H& hook_functions) {
    check_prompts(spec(), tokens);
    if (caches.size() != tokens.size())
      throw argument_error("advance: " + std::to_string(tokens.size()) + " sequences, but " +
                           std::to_string(caches.size()) + " caches");
    for (std::size_t s = 0; s < tokens.size(); ++s) {
      const index length = std::max<index>(0, caches[s].length - config().memory_tokens) +
                           static_cast<index>(tokens[s].size());
      if (spec().context_length > 0 && length > spec().context_length)
        throw argument_error("sequence " + std::to_string(s) + " would be " + std::to_string(length) +
                             " tokens long, the model's context holds " +
                             std::to_string(spec().context_length));
      caches[s].layers.resize(model_->layers.size());
    }
    row_matrix logits(static_cast<index>(tokens.size()), spec().vocab_size);
    pass_over(
        tokens, 0, caches, {}, 0, hook_functions, logit_rows::last,
        [&](index first, const const_matrix_ref& part) { logits.middleRows(first, part.rows()) = part; });
    return logits;
  }

  /// Rows of the unembedding matrix, [ids x d_model].
  row_matrix unembedding(std::span<const token_id> ids) const {
    row_matrix rows(static_cast<index>(ids.size()), spec().d_model);
    model_->unembedding.gather(ids, rows);
    return rows;
  }

  /// The map from a mixer's hook_z to its write, [d_model x heads*d_head], with the static gains of norms in
  /// between; times hook_write_scale for frozen norms. For a measured mixer: the projection into its block's
  /// own space.
  const row_matrix& output_projection(mixer_id id) {
    spec().mixer(id.layer, id.mixer);
    auto found = projections_.find(id);
    if (found == projections_.end()) found = projections_.emplace(id, make_projection(id)).first;
    return found->second;
  }

  /// What the final norm multiplies by.
  row_vector final_norm_gain() const {
    row_vector gain = model_->final_norm.transpose();
    if (config().norm_form == norm_weight::one_plus) gain.array() += 1.0F;
    return gain;
  }

 private:
  index row_count(const token_sequence& ids) const {
    return static_cast<index>(ids.size()) + config().memory_tokens;
  }

  void check_fork(prompt_batch prompts, const fork& f, std::size_t number) const {
    const auto fail = [number](const std::string& what) {
      throw argument_error("fork " + std::to_string(number) + ": " + what);
    };
    if (f.parent < 0 || static_cast<std::size_t>(f.parent) >= prompts.size())
      fail("there is no prompt " + std::to_string(f.parent));
    const auto length = static_cast<index>(prompts[static_cast<std::size_t>(f.parent)].size());
    if (f.first_position < 0 || f.first_position >= length)
      fail("position " + std::to_string(f.first_position) + " is outside the prompt of " +
           std::to_string(length) + " tokens");
    if (f.layer < 0 || f.layer > spec().layer_count() ||
        (f.layer == spec().layer_count() && f.stage != fork_stage::resid_pre))
      fail("there is no layer " + std::to_string(f.layer));
    if (f.stage == fork_stage::z) spec().mixer(f.layer, f.mixer);
  }

  // The one forward loop. Sequences are numbered from `first_sequence`, forks from `first_fork`.
  template <hooks H, class Sink>
  void pass_over(prompt_batch prompts, int first_sequence, std::span<sequence_cache> caches,
                 std::span<const fork> forks, int first_fork, H& hook_functions, logit_rows wanted,
                 Sink&& sink) {
    const index memory = config().memory_tokens;
    index capacity = 0, longest = 0;
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      const index past = caches.empty() ? 0 : caches[s].length;
      const index rows = static_cast<index>(prompts[s].size()) + (past == 0 ? memory : 0);
      capacity += rows;
      longest = std::max(longest, past + rows);
    }
    for (const fork& f : forks)
      capacity += static_cast<index>(prompts[static_cast<std::size_t>(f.parent)].size()) - f.first_position;
    for (rope_table& table : ropes_) table.reserve(longest);

    forward_pass<H> pass(work_, hook_functions, config(), ropes_, capacity);
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      sequence_cache* cache = caches.empty() ? nullptr : &caches[s];
      const index begun = cache != nullptr && cache->length > 0 ? 0 : memory;
      pass.add(first_sequence + static_cast<int>(s), static_cast<index>(prompts[s].size()) + begun, cache);
    }
    pass.plan(forks, first_fork);
    embed(pass, prompts);
    for (std::size_t l = 0; l < model_->layers.size(); ++l) {
      const int layer = static_cast<int>(l);
      pass.join(layer, fork_stage::resid_pre, mixer_kind::attention);
      pass.template fire<hook::resid_pre>(layer, mixer_kind::attention, work_.stream.rows(pass.row_count()));
      for (const model_block& block : model_->layers[l])
        std::visit([&](const auto& b) { b.run(pass, layer); }, block);
      pass.template fire<hook::resid_post>(layer, mixer_kind::attention, work_.stream.rows(pass.row_count()));
    }
    pass.join(spec().layer_count(), fork_stage::resid_pre, mixer_kind::attention);
    for (const segment& s : pass.segments())
      if (s.cache != nullptr) s.cache->length += s.rows;
    unembed(pass, wanted, sink);
  }

  template <hooks H>
  void embed(forward_pass<H>& pass, prompt_batch prompts) {
    work_.stream.shape(pass.capacity(), spec().d_model);
    for (std::size_t s = 0; s < prompts.size(); ++s) {
      const segment& seg = pass.segments()[s];
      const index tokens = static_cast<index>(prompts[s].size()), front = seg.rows - tokens;
      if (front > 0) work_.stream.block(seg.first_row, front) = model_->memory;
      model_->embedding.gather(prompts[s], work_.stream.block(seg.first_row + front, tokens));
    }
    matrix_view stream = work_.stream.rows(pass.row_count());
    if (config().embedding_scale != 1.0F) stream *= config().embedding_scale;
    pass.template fire<hook::embed>(-1, mixer_kind::attention, stream);
    pass.keep(work_.stream);
    if (config().arch == architecture::zamba2) {
      work_.embedded.shape(pass.capacity(), spec().d_model);
      work_.embedded.rows(pass.row_count()) = stream;
      pass.keep(work_.embedded);
    }
  }

  // Final norm and logits of the rows asked for. Only they are normed.
  template <hooks H, class Sink>
  void unembed(forward_pass<H>& pass, logit_rows wanted, Sink& sink) {
    const bool watched = std::ranges::any_of(pass.segments(), [&pass](const segment& s) {
      return pass.template wants<hook::final_scale>(-1, mixer_kind::attention, s) ||
             pass.template wants<hook::final_normalized>(-1, mixer_kind::attention, s);
    });
    if (wanted == logit_rows::none && !watched) return;
    if (wanted == logit_rows::last && !watched) {
      // Segments joined in the order of their layers; by sequence they make one product with the unembedding.
      std::vector<segment> segments(pass.segments().begin(), pass.segments().end());
      std::ranges::sort(segments, {}, &segment::sequence);
      work_.last.shape(static_cast<index>(segments.size()), spec().d_model);
      for (std::size_t s = 0; s < segments.size(); ++s)
        work_.last.block(static_cast<index>(s), 1) = work_.stream.block(segments[s].end_row() - 1, 1);
      matrix_view rows = work_.last.rows(static_cast<index>(segments.size()));
      normalize(pass, rows, model_->final_norm, rows);
      emit(segments.front().sequence, rows, sink);
      return;
    }
    matrix_view rows = work_.stream.rows(pass.row_count());
    matrix_view normed =
        input_norm<hook::final_scale, hook::final_normalized>(pass, -1, rows, model_->final_norm);
    if (wanted == logit_rows::none) return;
    for (const segment& s : pass.segments()) {
      const index front = std::max<index>(0, config().memory_tokens - s.first_position);
      const index first = wanted == logit_rows::last ? s.rows - 1 : front;
      emit(s.sequence, normed.middleRows(s.first_row + first, s.rows - first), sink);
    }
  }

  template <class Sink>
  void emit(int first_sequence, const const_matrix_ref& normed, Sink& sink) {
    constexpr index piece = 64;
    work_.logits.shape(std::min(piece, normed.rows()), spec().vocab_size);
    for (index first = 0; first < normed.rows(); first += piece) {
      matrix_view logits = work_.logits.rows(std::min(piece, normed.rows() - first));
      model_->unembedding.multiply(normed.middleRows(first, logits.rows()), logits);
      if (const float cap = config().logit_softcap; cap > 0.0F)
        logits.array() = cap * (logits.array() / cap).tanh();
      sink(first_sequence + first, logits);
    }
  }

  row_matrix make_projection(mixer_id id) const {
    for (const model_block& block : model_->layers[static_cast<std::size_t>(id.layer)])
      if (auto projection = std::visit([&](const auto& b) { return projection_of(b, id.mixer); }, block))
        return *std::move(projection);
    throw argument_error("layer " + std::to_string(id.layer) + " has no output projection");
  }

  std::optional<row_matrix> projection_of(const attention_block& b, mixer_kind) const {
    row_matrix w = b.weights.o.weight.to_dense();
    if (b.post_norm.size() > 0) {
      const float offset = config().norm_form == norm_weight::one_plus ? 1.0F : 0.0F;
      w.array().colwise() *= b.post_norm.array() + offset;
    }
    return w;
  }
  std::optional<row_matrix> projection_of(const mlp_block&, mixer_kind) const { return std::nullopt; }
  std::optional<row_matrix> projection_of(const mamba1_block& b, mixer_kind) const {
    return b.out_proj.weight.to_dense();
  }
  std::optional<row_matrix> projection_of(const mamba2_block& b, mixer_kind mixer) const {
    if (mixer != mixer_kind::mamba2) return std::nullopt;
    return b.out_proj.weight.to_dense();
  }
  std::optional<row_matrix> projection_of(const shared_attention_block& b, mixer_kind mixer) const {
    if (mixer != mixer_kind::attention) return std::nullopt;
    return b.attention.o.weight.to_dense();
  }
  std::optional<row_matrix> projection_of(const hymba_block& b, mixer_kind mixer) const {
    row_matrix w = b.out_proj.weight.to_dense();
    const vector& gain = mixer == mixer_kind::attention ? b.attention_norm : b.mamba_norm;
    w.array().rowwise() *= 0.5F * gain.transpose().array();
    return w;
  }

  std::shared_ptr<const model> model_;
  std::vector<rope_table> ropes_;
  workspace work_;
  index row_limit_ = 2048;
  std::map<mixer_id, row_matrix> projections_;
};

static_assert(forkable_host<reference_engine> && host_with_final_norm<reference_engine>);

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_REFERENCE_ENGINE_HPP
