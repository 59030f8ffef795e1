#ifndef ICLMECH_FOLDED_LABELS_HPP
#define ICLMECH_FOLDED_LABELS_HPP
// TR, TL and label coordinates of all heads of a mixer straight from its head outputs, without forming any
// write.

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/label_set.hpp"
#include "iclmech/label_subspace.hpp"

namespace iclmech {

/// A label subspace folded through one mixer's output projection: basis * W_O^k for each head k. A head then
/// costs rank * d_head instead of |Y| * d_model, and its write is never formed. A value type that keeps no
/// reference; const members may be called from several threads.
///
/// Build it once per label set and mixer. Folding costs as much as forming the writes of `rank` prompts, so a
/// label set that serves a single prompt is better off with the writes and `label_subspace::score`.
class folded_labels {
 public:
  /// `output_projection` W_O: [d_model x heads * d_head], the columns of head k start at k * d_head. Where a
  /// norm sits between the mixer and the stream, fold its gain in (`gain.asDiagonal() * W_O`) and give its
  /// frozen scale to `scores`. Throws argument_error for a shape that does not fit.
  template <class Projection>
  folded_labels(const label_subspace& labels, const Eigen::MatrixBase<Projection>& output_projection,
                index heads)
      : frame_(labels.frame_), heads_(heads) {
    if (output_projection.rows() != labels.width())
      throw argument_error("folded_labels: the output projection writes " +
                           std::to_string(output_projection.rows()) +
                           " values, but the unembedding rows have " + std::to_string(labels.width()) +
                           " (d_model): give W_O as [d_model x heads * d_head]");
    if (heads < 1 || output_projection.cols() % heads != 0)
      throw argument_error("folded_labels: " + std::to_string(output_projection.cols()) +
                           " columns of the output projection do not divide into " + std::to_string(heads) +
                           " heads");
    head_width_ = output_projection.cols() / heads;
    const row_matrix all = labels.basis() * output_projection.template cast<float>();
    folded_.resize(heads * rank(), head_width_);
    for (index k = 0; k < heads; ++k)
      folded_.middleRows(k * rank(), rank()) = all.middleCols(k * head_width_, head_width_);
  }

  /// The same from d_model * heads * d_head floats, row after row.
  folded_labels(const label_subspace& labels, std::span<const float> output_projection, index heads)
      : folded_labels(labels, as_projection(output_projection, labels.width()), heads) {}

  [[nodiscard]] const label_set& labels() const { return frame_.labels; }
  [[nodiscard]] index heads() const { return heads_; }
  [[nodiscard]] index head_width() const { return head_width_; }  ///< d_head
  [[nodiscard]] index rank() const { return frame_.mean_loading.size(); }

  /// TR and TL of every head from one row of head outputs z [heads * d_head], into `out` [heads]; no
  /// allocation. `factor` multiplies every write: the frozen scale of a norm between the mixer and the
  /// stream. Throws as `label_subspace::score` does.
  void scores(std::span<const float> z, index answer, std::span<tsla_score> out, float factor = 1) const {
    check_outputs(std::ssize(z));
    if (std::ssize(out) != heads_)
      throw argument_error("folded_labels: room for " + std::to_string(out.size()) +
                           " scores, but there are " + std::to_string(heads_) + " heads");
    frame_.check_answer(answer);
    for (index k = 0; k < heads_; ++k)
      out[static_cast<std::size_t>(k)] =
          frame_.score(answer, [&](index i) { return factor * basis_coordinate(z, k, i); });
  }
  template <class Outputs>
  void scores(const Eigen::MatrixBase<Outputs>& z, index answer, std::span<tsla_score> out,
              float factor = 1) const {
    scores(detail::floats(z.derived()), answer, out, factor);
  }

  /// Label coordinates c = W_Y a of every head, into `out` [heads x |Y|] row after row; no allocation. What
  /// logit attribution sums up.
  void coordinates(std::span<const float> z, std::span<float> out, float factor = 1) const {
    check_outputs(std::ssize(z));
    if (std::ssize(out) != heads_ * labels().size())
      throw argument_error("folded_labels: room for " + std::to_string(out.size()) +
                           " label coordinates, but " + std::to_string(heads_) + " heads have " +
                           std::to_string(heads_ * labels().size()));
    Eigen::Map<row_matrix> c(out.data(), heads_, labels().size());
    c.setZero();
    for (index k = 0; k < heads_; ++k)
      for (index i = 0; i < rank(); ++i)
        c.row(k) += frame_.loadings.col(i).transpose().cast<float>() * (factor * basis_coordinate(z, k, i));
  }

 private:
  static Eigen::Map<const row_matrix> as_projection(std::span<const float> weights, index width) {
    if (std::ssize(weights) % width != 0)
      throw argument_error("folded_labels: " + std::to_string(weights.size()) +
                           " floats do not divide into " + std::to_string(width) +
                           " rows: give d_model * heads * d_head values");
    return {weights.data(), width, std::ssize(weights) / width};
  }

  [[nodiscard]] float basis_coordinate(std::span<const float> z, index head, index i) const {
    return folded_.row(head * rank() + i)
        .dot(Eigen::Map<const vector>(z.data() + head * head_width_, head_width_));
  }

  void check_outputs(index n) const {
    if (n != heads_ * head_width_)
      throw argument_error("folded_labels: " + std::to_string(n) + " head outputs for " +
                           std::to_string(heads_) + " heads of width " + std::to_string(head_width_));
  }

  detail::label_frame frame_;
  index heads_;
  index head_width_ = 0;
  row_matrix folded_;  // [heads * rank x d_head]
};

}  // namespace iclmech

#endif  // ICLMECH_FOLDED_LABELS_HPP
