#ifndef ICLMECH_TSLA_HPP
#define ICLMECH_TSLA_HPP
// Task subspace logit attribution (TSLA): how much of a write lies in the span of the labels' unembedding
// rows (TR, task recognition), and how far it prefers the right label to the others (TL, task learning).
//
// Source: "Localizing task recognition and task learning in in-context learning" (arXiv 2509.24164), its
// definitions of TR and TL. `label_subspace` scores any write; `folded_labels` scores all heads of a mixer
// from their outputs. Needs Eigen and the standard library alone; nothing here runs a model.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "iclmech/error.hpp"
#include "iclmech/folded_labels.hpp"
#include "iclmech/label_set.hpp"
#include "iclmech/label_subspace.hpp"
#include "iclmech/statistics.hpp"

namespace iclmech {

/// The scores of a group of heads averaged over prompts; the parts of several workers merge.
class tsla_means {
 public:
  explicit tsla_means(index heads) : tr_(heads), tl_(heads) {}

  /// Carries on from a stored state: what `tr` and `tl` returned.
  tsla_means(running_mean tr, running_mean tl) : tr_(std::move(tr)), tl_(std::move(tl)) {
    if (tr_.size() != tl_.size() || tr_.count() != tl_.count())
      throw argument_error("tsla_means: TR of " + std::to_string(tr_.size()) + " heads over " +
                           std::to_string(tr_.count()) + " prompts and TL of " + std::to_string(tl_.size()) +
                           " heads over " + std::to_string(tl_.count()) + " do not belong together");
  }

  /// The scores [heads] of one prompt. Does not allocate.
  void add(std::span<const tsla_score> scores) {
    const auto n = static_cast<index>(scores.size());
    const auto at = [&](index head) -> const tsla_score& { return scores[static_cast<std::size_t>(head)]; };
    tr_.add(Eigen::ArrayXd::NullaryExpr(n, [&](index head) { return at(head).tr; }));
    tl_.add(Eigen::ArrayXd::NullaryExpr(n, [&](index head) { return at(head).tl; }));
  }

  void merge(const tsla_means& other) {
    tr_.merge(other.tr_);
    tl_.merge(other.tl_);
  }

  [[nodiscard]] std::int64_t count() const { return tr_.count(); }  ///< how many prompts
  [[nodiscard]] const running_mean& tr() const { return tr_; }
  [[nodiscard]] const running_mean& tl() const { return tl_; }

 private:
  running_mean tr_;
  running_mean tl_;
};

}  // namespace iclmech

#endif  // ICLMECH_TSLA_HPP
