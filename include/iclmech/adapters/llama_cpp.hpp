#ifndef ICLMECH_ADAPTERS_LLAMA_CPP_HPP
#define ICLMECH_ADAPTERS_LLAMA_CPP_HPP
// llama.cpp as a host: its own kernels and file formats, through llama.h and ggml's headers alone.
// docs/llama_cpp.md says which points it has, how it was measured and what it costs.

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/adapters/gguf_weights.hpp"
#include "iclmech/adapters/llama_cpp_session.hpp"
#include "iclmech/host/host.hpp"

namespace iclmech {

/// A GGUF file run by llama.cpp. Serves one thread at a time. Hooks see float32 copies of llama.cpp's own
/// values, and what they write goes back before the next node is computed.
///
/// Of the end of the last layer (from attn_out on, in Granite from mixer_out on) llama.cpp computes only rows
/// that give logits: with logit_rows::last and in forks, views of these points begin at the last position.
/// logit_rows::all and none show all positions.
class llama_cpp_host {
 public:
  /// Loads the model and runs it once to see that its graph has every point of the spec.
  /// @throws file_error if the file cannot be read, by llama.cpp or by the library, whose reader serves the
  ///         weights; unsupported_error naming the points that this llama.cpp's graph lacks.
  explicit llama_cpp_host(const std::string& path, const llama_cpp_options& options = {})
      : llama_cpp_host(path, options, gguf_weights(path, options.mamba1_heads)) {}

  /// With rules of the caller's own, for builds of llama.cpp whose graphs differ. Points without a rule are
  /// not observable.
  llama_cpp_host(const std::string& path, const llama_cpp_options& options,
                 std::vector<llama_node_rule> rules)
      : llama_cpp_host(path, options, gguf_weights(path, options.mamba1_heads), std::move(rules)) {}

  const model_spec& spec() const { return *spec_; }

  /// Runs prompts from their first token. Logits: [prompts x vocabulary], or [all tokens x vocabulary].
  /// @throws argument_error for empty prompts, ids outside the vocabulary, prompts beyond the context.
  template <hooks H>
  row_matrix run(prompt_batch prompts, H& hook_functions, logit_rows rows = logit_rows::last) {
    return erased(hook_functions, [&](any_hooks* h) { return run_prompts(prompts, h, rows); });
  }

  /// Runs prompts, and variants of them that share the prompt's cache before the fork's first position and
  /// are computed from there on in all layers. `sink(sequence, logits)` gets the last position's logits.
  /// @throws argument_error for a fork that names a prompt or position that does not exist.
  template <hooks H, class Sink>
  void run_forked(prompt_batch prompts, std::span<const fork> forks, H& hook_functions, Sink&& sink) {
    make_room(prompts);
    check_forks(prompts, forks);
    erased(hook_functions, [&](any_hooks* h) {
      if (session_.recurrent())
        fork_states(prompts, forks, h, sink);
      else
        fork_caches(prompts, forks, h, sink);
    });
  }

  /// Rows of the unembedding matrix, [ids x d_model].
  row_matrix unembedding(std::span<const token_id> ids) const { return weights_.unembedding(ids); }
  /// The map from a mixer's hook_z to its write, [d_model x heads*d_head], read from the file at every call.
  row_matrix output_projection(mixer_id id) const { return weights_.output_projection(id); }
  /// What the final norm multiplies by.
  row_vector final_norm_gain() const { return weights_.final_norm_gain(); }

 private:
  llama_cpp_host(const std::string& path, const llama_cpp_options& options, gguf_weights weights)
      : llama_cpp_host(path, options, weights, llama_node_rules(weights.description())) {}

  llama_cpp_host(const std::string& path, const llama_cpp_options& options, gguf_weights weights,
                 std::vector<llama_node_rule> rules)
      : weights_(std::move(weights)),
        spec_(std::make_unique<model_spec>(weights_.spec())),
        tap_(std::make_unique<llama_tap>(*spec_, std::move(rules), weights_.description().norm_eps)),
        session_(path, *spec_, options, *tap_) {
    if (session_.vocab_size() != spec_->vocab_size)
      throw file_error(path, "vocabulary",
                       "llama.cpp sees " + std::to_string(session_.vocab_size()) +
                           " tokens, token_embd.weight has " + std::to_string(spec_->vocab_size));
    spec_->context_length = session_.prompt_limit();
    spec_->observable = spec_->editable = tap_->nodes().points();
    spec_->editable.remove(hook::write_scale);  // made from what the mixer put out
    check_graph();
  }

  // Calls back with the hooks behind one type, or null if they can never fire.
  template <hooks H, class Call>
  static auto erased(H& hook_functions, const Call& call) {
    if constexpr (std::same_as<H, any_hooks>) {
      return call(&hook_functions);
    } else if constexpr (std::same_as<H, no_hooks>) {
      return call(static_cast<any_hooks*>(nullptr));
    } else {
      any_hooks any(hook_functions);
      return call(&any);
    }
  }

  void check_graph() {
    std::vector<hook_place> seen;
    struct {
      std::vector<hook_place>* seen;
      static constexpr bool observes(hook) { return true; }
      static constexpr bool edits(hook) { return false; }
      bool wants(const site&) const { return true; }
      void fire(const site& s, const_activation_view) { seen->push_back({s.point, s.layer, s.mixer}); }
    } recorder{&seen};
    const std::vector<token_sequence> prompt{{0, 0}};
    run(prompt, recorder, logit_rows::all);
    std::string missing;
    int count = 0;
    for (const hook_place& place : hook_places(*spec_)) {
      if (std::find(seen.begin(), seen.end(), place) != seen.end()) continue;
      if (++count <= 4)
        missing += (count > 1 ? ", " : "") + hook_name(place) + " (" + tap_->nodes().describe(place) + ")";
    }
    if (count > 4) missing += " and " + std::to_string(count - 4) + " more";
    if (count > 0)
      throw unsupported_error("this llama.cpp's graph of " + spec_->architecture + " has no " + missing +
                              ": use a version that was tested, " + std::string(tested_llama_cpp_versions) +
                              ", or give llama_cpp_host rules for this one");
  }

  void make_room(prompt_batch prompts) {
    check_prompts(spec(), prompts);
    std::size_t longest = 0;
    for (const token_sequence& ids : prompts) longest = std::max(longest, ids.size());
    session_.make_room(static_cast<index>(longest));
  }

  void check_forks(prompt_batch prompts, std::span<const fork> forks) const {
    for (std::size_t f = 0; f < forks.size(); ++f) {
      const std::string name = "fork " + std::to_string(f);
      if (forks[f].parent < 0 || static_cast<std::size_t>(forks[f].parent) >= prompts.size())
        throw argument_error(name + ": there is no prompt " + std::to_string(forks[f].parent));
      const auto length = static_cast<index>(prompts[static_cast<std::size_t>(forks[f].parent)].size());
      if (forks[f].first_position < 0 || forks[f].first_position >= length)
        throw argument_error(name + ": position " + std::to_string(forks[f].first_position) +
                             " is outside the prompt of " + std::to_string(length) + " tokens");
    }
  }

  row_matrix run_prompts(prompt_batch prompts, any_hooks* hook_functions, logit_rows rows) {
    make_room(prompts);
    if (rows == logit_rows::none && hook_functions == nullptr) return row_matrix(0, 0);
    index count = rows == logit_rows::last ? static_cast<index>(prompts.size()) : 0;
    if (rows == logit_rows::all)
      for (const token_sequence& ids : prompts) count += static_cast<index>(ids.size());
    row_matrix logits(count, rows == logit_rows::none ? 0 : spec().vocab_size);
    index done = 0;
    for (std::size_t first = 0; first < prompts.size();) {
      const std::size_t last = group_end(prompts, first, session_.sequence_limit());
      logit_rows outputs = rows;
      if (rows == logit_rows::none) {
        outputs = logit_rows::last;
        for (std::size_t p = first; p < last; ++p)
          if (llama_tap::wants_behind_outputs(spec(), *hook_functions, static_cast<int>(p)))
            outputs = logit_rows::all;
      }
      session_.clear();
      session_.decode(whole(prompts, first, last), 0, hook_functions, outputs, rows != logit_rows::none);
      if (rows != logit_rows::none)
        for (const llama_rows& s : session_.rows())
          for (index r = s.rows - s.outputs; r < s.rows; ++r)
            logits.row(done++) = session_.logits(s.first_row + r);
      first = last;
    }
    return logits;
  }

  // Where a group of prompts that are decoded together ends: within the limits of tokens and sequences, and
  // of one length where llama.cpp keeps states.
  std::size_t group_end(prompt_batch prompts, std::size_t first, int sequences) const {
    std::size_t tokens = 0, last = first;
    for (; last < prompts.size() && last - first < static_cast<std::size_t>(sequences); ++last) {
      tokens += prompts[last].size();
      if (last > first && (tokens > static_cast<std::size_t>(session_.token_limit()) ||
                           (session_.recurrent() && prompts[last].size() != prompts[first].size())))
        break;
    }
    return last;
  }

  std::span<const llama_part> whole(prompt_batch prompts, std::size_t first, std::size_t last) {
    parts_.clear();
    for (std::size_t p = first; p < last; ++p) parts_.push_back({static_cast<int>(p), prompts[p], 0, 0});
    return parts_;
  }

  llama_part part_of(prompt_batch prompts, std::span<const fork> forks, std::size_t f) const {
    const fork& from = forks[f];
    const auto tokens = std::span(prompts[static_cast<std::size_t>(from.parent)]);
    return {static_cast<int>(prompts.size() + f),
            tokens.subspan(static_cast<std::size_t>(from.first_position)), from.first_position, 0};
  }

  template <class Sink>
  void emit(Sink& sink) {
    for (const llama_rows& s : session_.rows()) {
      const row_matrix logits = session_.logits(s.first_row + s.rows - 1);
      sink(index{s.sequence}, logits);
    }
  }

  // Prompts stay in the cache while their forks are decoded as further sequences that share its cells.
  template <class Sink>
  void fork_caches(prompt_batch prompts, std::span<const fork> forks, any_hooks* hook_functions, Sink& sink) {
    std::vector<std::vector<std::size_t>> of_prompt(prompts.size());
    for (std::size_t f = 0; f < forks.size(); ++f)
      of_prompt[static_cast<std::size_t>(forks[f].parent)].push_back(f);
    for (std::size_t first = 0; first < prompts.size();) {
      const std::size_t last = group_end(prompts, first, (session_.sequence_limit() + 7) / 8);
      session_.clear();
      session_.decode(whole(prompts, first, last), 0, hook_functions, logit_rows::last, true);
      emit(sink);
      const std::vector<llama_rows> parents(session_.rows().begin(), session_.rows().end());
      std::vector<std::size_t> group;
      for (std::size_t p = first; p < last; ++p)
        group.insert(group.end(), of_prompt[p].begin(), of_prompt[p].end());
      const int first_id = static_cast<int>(last - first);
      for (std::size_t next = 0; next < group.size();) {
        parts_.clear();
        index tokens = 0;
        for (; next < group.size() && static_cast<int>(parts_.size()) < session_.sequence_limit() - first_id;
             ++next) {
          llama_part part = part_of(prompts, forks, group[next]);
          tokens += static_cast<index>(part.tokens.size());
          if (!parts_.empty() &&
              (tokens > session_.token_limit() || session_.next_cell() + tokens > session_.cell_limit())) {
            tokens -= static_cast<index>(part.tokens.size());
            break;
          }
          const int parent = forks[group[next]].parent - static_cast<int>(first);
          part.prefix_cell = parents[static_cast<std::size_t>(parent)].first_cell;
          if (part.first_position > 0)
            session_.share(parent, first_id + static_cast<int>(parts_.size()), part.first_position);
          parts_.push_back(part);
        }
        session_.decode(parts_, first_id, hook_functions, logit_rows::last, true);
        emit(sink);
        session_.forget(first_id, static_cast<int>(parts_.size()), tokens);
      }
      first = last;
    }
  }

  // A state cannot be had from the middle of a sequence: what a prompt's forks share is decoded for them,
  // once for every first position.
  template <class Sink>
  void fork_states(prompt_batch prompts, std::span<const fork> forks, any_hooks* hook_functions, Sink& sink) {
    for (std::size_t first = 0; first < prompts.size();) {
      const std::size_t last = group_end(prompts, first, session_.sequence_limit());
      session_.clear();
      session_.decode(whole(prompts, first, last), 0, hook_functions, logit_rows::last, true);
      emit(sink);
      first = last;
    }
    std::vector<std::size_t> order(forks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t f) { return std::pair(forks[f].parent, forks[f].first_position); };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (std::size_t next = 0; next < order.size();) {
      const fork& from = forks[order[next]];
      const auto tokens = std::span(prompts[static_cast<std::size_t>(from.parent)]);
      const auto shared = static_cast<std::size_t>(from.first_position);
      session_.clear();
      if (shared > 0) {
        const llama_part prefix{0, tokens.first(shared), 0, 0};
        session_.decode({&prefix, 1}, 0, nullptr, logit_rows::last, false);
      }
      std::vector<llama_part> parts;
      const std::size_t most = std::max<std::size_t>(
          1, std::min(static_cast<std::size_t>(session_.sequence_limit() - 1),
                      static_cast<std::size_t>(session_.token_limit()) / (tokens.size() - shared)));
      for (const auto at = key(order[next]);
           next < order.size() && parts.size() < most && key(order[next]) == at; ++next) {
        parts.push_back(part_of(prompts, forks, order[next]));
        if (shared > 0) session_.share(0, static_cast<int>(parts.size()), from.first_position);
      }
      session_.decode(parts, 1, hook_functions, logit_rows::last, true);
      emit(sink);
    }
  }

  gguf_weights weights_;
  std::unique_ptr<model_spec> spec_;  // the tap refers to it
  std::unique_ptr<llama_tap> tap_;    // llama.cpp refers to it
  llama_session session_;
  std::vector<llama_part> parts_;
};

static_assert(forkable_host<llama_cpp_host> && host_with_final_norm<llama_cpp_host>);

}  // namespace iclmech

#endif  // ICLMECH_ADAPTERS_LLAMA_CPP_HPP
