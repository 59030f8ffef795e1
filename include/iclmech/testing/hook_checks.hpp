#ifndef ICLMECH_TESTING_HOOK_CHECKS_HPP
#define ICLMECH_TESTING_HOOK_CHECKS_HPP
// The conformance checks of a host's runs and hooks: what fires, what watching and writing do.

#include <algorithm>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "iclmech/host/any_host.hpp"
#include "iclmech/testing/probe_hooks.hpp"

namespace iclmech {

struct conformance_options {
  /// At least two prompts of different lengths, each of two tokens or more. Empty: three are made up.
  std::vector<token_sequence> prompts;
  /// How far apart (see `distance`) numbers may be that are computed in two ways. Quantised arithmetic needs
  /// more.
  float tolerance = 1e-4F;
  /// Points for which the host computes in another way when they are watched (it has to form values, or stop
  /// where it otherwise would not), so that watching may move the logits within the tolerance. All others
  /// must not change a bit.
  hook_mask recomputed{hook::attn_scores, hook::pattern, hook::log_decay, hook::ssm_write, hook::ssm_state};
};

namespace detail {

/// The checks of runs and hooks. Each adds a sentence for everything that is not as it should be.
class hook_checks {
 public:
  hook_checks(any_host& h, const conformance_options& options)
      : host_(h), spec_(h.spec()), options_(options), places_(hook_places(spec_)), prompts_(options.prompts) {
    if (prompts_.empty()) {
      random_stream random{7, stream_key("conformance prompts")};
      for (const std::size_t length : {std::size_t{7}, std::size_t{4}, std::size_t{9}}) {
        token_sequence ids(length);
        for (token_id& id : ids)
          id = static_cast<token_id>(random.below(static_cast<std::uint64_t>(spec_.vocab_size)));
        prompts_.push_back(std::move(ids));
      }
    }
    if (prompts_.size() < 2 || prompts_[0].size() == prompts_[1].size() || prompts_[0].size() < 2)
      throw argument_error("the conformance checks need at least two prompts, of different lengths");
  }

  void complain(std::string sentence) { complaints_.push_back(std::move(sentence)); }

  const token_sequence& prompt() const { return prompts_.front(); }
  const row_matrix& logits() const { return logits_; }

 protected:
  template <class Check>
  void attempt(const std::string& what, const Check& check) {
    try {
      check();
    } catch (const std::exception& e) {
      complain("An exception ended the check of " + what + ": " + e.what());
    }
  }

  template <hooks H>
  row_matrix run_with(H& hook_functions, const token_sequence& ids, logit_rows rows = logit_rows::all) {
    return host_.run(std::span(&ids, 1), hook_functions, rows);
  }
  row_matrix plain(const token_sequence& ids, logit_rows rows = logit_rows::all) {
    no_hooks none;
    return run_with(none, ids, rows);
  }
  index rows_of(const token_sequence& ids) const {
    return static_cast<index>(ids.size()) + spec_.prefix_rows;
  }
  static std::string size_of(const row_matrix& m) {
    return std::to_string(m.rows()) + " x " + std::to_string(m.cols());
  }
  static bool same(const row_matrix& a, const row_matrix& b) {
    return a.rows() == b.rows() && a.cols() == b.cols() && (a.array() == b.array()).all();
  }
  bool sees(hook point) const { return spec_.observable.contains(point); }

  void plain_runs() {
    const index vocabulary = spec_.vocab_size;
    logits_ = plain(prompt());
    if (logits_.rows() != static_cast<index>(prompt().size()) || logits_.cols() != vocabulary)
      return complain("A run of " + std::to_string(prompt().size()) + " tokens for logit_rows::all gave " +
                      size_of(logits_) + " logits instead of one row of " + std::to_string(vocabulary) +
                      " per token.");
    if (!logits_.allFinite()) return complain("The logits are not all finite.");
    const row_matrix last = plain(prompt(), logit_rows::last);
    if (distance(last, logits_.bottomRows(1)) > options_.tolerance)
      complain("The logits for logit_rows::last (" + size_of(last) +
               ") are not the last row of those for logit_rows::all.");
    if (plain(prompt(), logit_rows::none).size() != 0) complain("A run for logit_rows::none gave logits.");
    plain(prompts_[1]);
    if (!same(plain(prompt()), logits_))
      complain(
          "The same prompt gave other logits after a run of another prompt: a cache or state leaks between "
          "runs.");
    const row_matrix together = batch_logits();
    for (std::size_t p = 0; p < prompts_.size() && complaints_.empty(); ++p)
      if (distance(together.middleRows(static_cast<index>(p), 1), plain(prompts_[p], logit_rows::last)) >
          options_.tolerance)
        complain("In a batch, prompt " + std::to_string(p) + " has other logits than alone.");
  }

  row_matrix batch_logits() {
    no_hooks none;
    row_matrix together = host_.run(prompts_, none, logit_rows::last);
    if (together.rows() != static_cast<index>(prompts_.size()))
      throw std::runtime_error("a batch of " + std::to_string(prompts_.size()) + " prompts gave " +
                               size_of(together) + " logits instead of one row per prompt");
    return together;
  }

  void weights() {
    for (const mixer_id id : spec_.mixer_ids()) {
      const row_matrix& w = host_.output_projection(id);
      const index width = spec_.mixer(id.layer, id.mixer).width();
      if (w.rows() != spec_.d_model || w.cols() != width)
        complain("The output projection of " + name(id) + " is " + size_of(w) +
                 ", not d_model x heads*d_head = " + std::to_string(spec_.d_model) + " x " +
                 std::to_string(width) + ".");
    }
    const row_matrix rows =
        host_.unembedding(std::vector<token_id>{0, static_cast<token_id>(spec_.vocab_size - 1)});
    if (rows.rows() != 2 || rows.cols() != spec_.d_model)
      complain("The unembedding rows of two tokens are " + size_of(rows) + ", not 2 x d_model = 2 x " +
               std::to_string(spec_.d_model) + ".");
  }

  static std::string name(mixer_id id) {
    return std::string(to_string(id.mixer)) + " in layer " + std::to_string(id.layer);
  }

  firing_log watch(const token_sequence& ids) {
    firing_log log(hook_mask::all());
    run_with(log, ids, logit_rows::all);
    return log;
  }

  void firings() {
    const firing_log log = watch(prompt());
    for (const hook_place& place : places_) {
      const auto times = std::count_if(log.firings().begin(), log.firings().end(),
                                       [&place](const firing& f) { return place.holds(f.where); });
      if (times != 1)
        complain(hook_name(place) +
                 (times == 0 ? " did not fire" : " fired " + std::to_string(times) + " times") +
                 " in a run of one prompt: every point that the spec calls observable fires once.");
    }
    const index rows = rows_of(prompt());
    for (const firing& f : log.firings()) {
      const std::string label = hook_name(f.place());
      const auto claimed = [&f](const hook_place& place) { return place.holds(f.where); };
      if (std::none_of(places_.begin(), places_.end(), claimed)) {
        complain(label + " fired, but the model has no such place or the spec does not call it observable.");
        continue;
      }
      const std::vector<index> expected = expected_shape(spec_, f.place(), rows);
      if (!fits(f.shape, expected))
        complain(label + " showed " + text(f.shape) + " instead of " + text(expected) + " (" +
                 axes(f.place()) + ").");
      const index first =
          f.where.point == hook::ssm_state ? static_cast<index>(prompt().size()) - 1 : -spec_.prefix_rows;
      if (f.where.sequence != 0 || f.where.first_position != first || !f.where.ends_sequence)
        complain(label + " fired for sequence " + std::to_string(f.where.sequence) + " from position " +
                 std::to_string(f.where.first_position) + ", not for sequence 0 from " +
                 std::to_string(first) + " to the end.");
      if (f.where.point != hook::attn_scores && !f.values.allFinite())
        complain(label + " showed values that are not finite.");
    }
    for (std::size_t i = 0; i < log.firings().size(); ++i)
      for (std::size_t j = i + 1; j < log.firings().size(); ++j) {
        const hook_place first = log.firings()[i].place(), second = log.firings()[j].place();
        if (must_precede(spec_, second, first))
          return complain(hook_name(first) + " fired before " + hook_name(second) + ", which it depends on.");
      }
  }

  static std::string text(const std::vector<index>& shape) {
    std::string t = "[";
    for (const index extent : shape)
      t += (t.size() > 1 ? ", " : "") + (extent < 0 ? "any" : std::to_string(extent));
    return t + "]";
  }
  static std::string axes(const hook_place& place) {
    std::string t;
    for (const std::string_view axis : axes_of(place.point, place.mixer))
      t += (t.empty() ? "" : ", ") + std::string(axis);
    return t;
  }

  void observers() {
    const firing_log all = watch(prompt());
    for (const hook_place& place : places_) {
      firing_log log{hook_mask{place.point}};
      watch_one here{place, &log};
      const row_matrix logits = run_with(here, prompt());
      const firing* seen = log.find(place);
      const bool may_move = options_.recomputed.contains(place.point);
      if (may_move ? distance(logits, logits_) > options_.tolerance : !same(logits, logits_))
        complain("Observing " + hook_name(place) + " changed the logits" +
                 (may_move ? "." : ": a watched run must equal an unwatched one bit for bit."));
      if (seen == nullptr || distance(seen->values, all.find(place)->values) > options_.tolerance)
        complain(hook_name(place) + " shows other values when it is watched alone than when all points are.");
    }
    if (!same(plain(prompt()), logits_))
      complain("A plain run after watched ones gave other logits than before.");
  }

  void batch() {
    firing_log together(hook_mask::all());
    host_.run(prompts_, together, logit_rows::none);
    for (std::size_t p = 0; p < prompts_.size(); ++p) {
      const firing_log alone = watch(prompts_[p]);
      for (const hook_place& place : places_) {
        const firing* seen = together.find(place, static_cast<int>(p));
        const std::string of = hook_name(place) + " of prompt " + std::to_string(p);
        if (seen == nullptr)
          return complain(of + " did not fire in a batch: site::sequence is the index of the prompt.");
        if (distance(seen->values, alone.find(place)->values) > options_.tolerance)
          return complain(of + " is not the same in a batch as alone.");
      }
    }
    if (together.firings().size() != places_.size() * prompts_.size())
      complain("In a batch of " + std::to_string(prompts_.size()) + " prompts, " +
               std::to_string(together.firings().size()) + " hooks fired instead of " +
               std::to_string(places_.size() * prompts_.size()) + ".");
  }

  void editors() {
    const firing_log before = watch(prompt());
    const row_matrix expected = logits_;
    for (const hook_place& place : places_) {
      if (!spec_.editable.contains(place.point)) continue;
      const std::string label = hook_name(place);
      firing_log after(hook_mask::all());
      hook_set both(shake_last{place}, hooks_ref(after));
      const row_matrix logits = run_with(both, prompt());
      // A thousandth of what computing in another way may do is no effect.
      if (distance(logits.bottomRows(1), expected.bottomRows(1)) <= 1e-3F * options_.tolerance)
        complain("An edit of " + label + " at the last position was ignored: the logits did not change.");
      if (distance(logits.topRows(logits.rows() - 1), expected.topRows(expected.rows() - 1)) >
          options_.tolerance)
        complain("An edit of " + label + " at the last position changed the logits of earlier positions.");
      for (const firing& f : after.firings())
        if (must_precede(spec_, f.place(), place) &&
            distance(f.values, before.find(f.place())->values) > options_.tolerance) {
          complain("An edit of " + label + " changed " + hook_name(f.place()) + ", which comes before it.");
          break;
        }
    }
    if (!same(plain(prompt()), logits_))
      complain("A plain run after edited ones gave other logits than before: an edit outlives its run.");
  }

  any_host& host_;
  const model_spec& spec_;
  const conformance_options& options_;
  std::vector<hook_place> places_;
  std::vector<token_sequence> prompts_;
  row_matrix logits_;  // of the first prompt, every row
  std::vector<std::string> complaints_;
};

}  // namespace detail
}  // namespace iclmech

#endif  // ICLMECH_TESTING_HOOK_CHECKS_HPP
