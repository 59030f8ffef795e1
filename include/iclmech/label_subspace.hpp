#ifndef ICLMECH_LABEL_SUBSPACE_HPP
#define ICLMECH_LABEL_SUBSPACE_HPP
// The span of a label set's unembedding rows, and the two scores of a write against it: TR and TL.
//
// Notation: a write `a` [d_model] is what a head (or an MLP, a mixer, an embedding) adds to the residual
// stream; W_Y [|Y| x d_model] holds the unembedding rows of the label set Y; P projects on the span of W_Y's
// rows.
//
// Writes are Eigen vectors (row or column) or spans of float. A contiguous float vector is read in place; any
// other expression is first evaluated into a temporary. NaN and infinity in a write are no error: its TR is
// then not finite and its TL is NaN.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/orthonormal_rows.hpp"
#include "iclmech/error.hpp"
#include "iclmech/label_set.hpp"

namespace iclmech {

/// The two scores of one write for one prompt. A head's score is its mean over the prompts of a data set.
struct tsla_score {
  double tr = 0;  ///< || P a ||
  double tl = 0;  ///< mean over the wrong labels y' of a.(W_y* - W_y'), divided by || P a ||; 0 where TR is 0
};

/// Two labels whose unembedding rows point the same (or the opposite) way.
struct parallel_pair {
  index first = 0;
  index second = 0;
  double cosine = 0;
};

namespace detail {

// The floats of a vector expression, valid to the end of the calling full expression.
inline std::span<const float> floats(const Eigen::Ref<const vector>& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

// The labels' rows in an orthonormal basis of their span: all that scoring needs beside the basis itself.
struct label_frame {
  label_set labels;
  Eigen::MatrixXd loadings;         // [|Y| x rank], W_Y = loadings * basis
  Eigen::RowVectorXd mean_loading;  // [rank]

  void check_answer(index answer) const {
    if (answer < 0 || answer >= labels.size())
      throw argument_error("tsla: answer " + std::to_string(answer) + " is not a position in a set of " +
                           std::to_string(labels.size()) + " labels");
    if (labels.size() == 1)
      throw argument_error("tsla: TL compares the right label with the others, but " + labels.describe(0) +
                           " is the only one: use projection_norm, which is TR alone");
  }

  // Both scores from basis coordinates q_i made one at a time, so that no scratch space is needed:
  // TR = ||q||, TL = n / (n - 1) * (loading of y* - mean loading).q / ||q||.
  template <class BasisCoordinate>
  tsla_score score(index answer, BasisCoordinate q_at) const {
    double squared = 0;
    double contrast = 0;
    for (index i = 0; i < mean_loading.size(); ++i) {
      const double q = q_at(i);
      squared += q * q;
      contrast += (loadings(answer, i) - mean_loading(i)) * q;
    }
    const auto n = static_cast<double>(labels.size());
    const double norm = std::sqrt(squared);
    return {norm, norm == 0 ? 0 : n / (n - 1) * contrast / norm};
  }
};

}  // namespace detail

/// The span of a label set's unembedding rows, factored once; a score then costs O(|Y| d_model) and no
/// allocation.
///
/// Kept as an orthonormal basis of the span (pivoted Gram-Schmidt, in double) and not as the inverse
/// of the Gram matrix G = W_Y W_Y^T: || P a ||^2 = c^T G^+ c with c = W_Y a is the squared norm of the basis
/// coordinates, and near-parallel labels amplify no rounding. A value type; const members may be called from
/// several threads.
class label_subspace {
 public:
  /// A label adds a direction when its row is further than this (the sine of an angle) from the span of the
  /// rows taken before it. At 1e-5, float32 rows still determine that direction to about one percent.
  static constexpr double default_tolerance = 1e-5;

  /// `rows`: [|Y| x d_model], row i belongs to label i. Raw unembedding rows are the usual choice; to fold
  /// the final norm's gain in, pass `rows * gain.asDiagonal()`. Throws argument_error for a shape that does
  /// not fit the labels, for a value that is not finite, and when all rows are zero.
  template <class Rows>
  label_subspace(const Eigen::MatrixBase<Rows>& rows, label_set labels, double tolerance = default_tolerance)
      : frame_{std::move(labels), {}, {}}, rows_(rows.template cast<float>()) {
    if (rows_.rows() != size())
      throw argument_error("label_subspace: " + std::to_string(rows_.rows()) + " unembedding rows for " +
                           std::to_string(size()) + " labels: give one row for each label");
    factor(tolerance);
  }

  /// The same from |Y| * d_model floats, row after row.
  label_subspace(std::span<const float> rows, label_set labels, double tolerance = default_tolerance)
      : label_subspace(as_rows(rows, labels.size()), labels, tolerance) {}

  [[nodiscard]] const label_set& labels() const { return frame_.labels; }
  [[nodiscard]] index size() const { return frame_.labels.size(); }  ///< |Y|
  [[nodiscard]] index width() const { return rows_.cols(); }         ///< d_model
  /// Dimension of the span: size() less the dropped labels.
  [[nodiscard]] index rank() const { return basis_.rows(); }
  /// Labels whose rows lie in the span of the others', to the tolerance; ascending. They are scored all the
  /// same.
  [[nodiscard]] std::span<const index> dropped() const { return dropped_; }

  [[nodiscard]] const row_matrix& rows() const { return rows_; }    ///< W_Y, [|Y| x d_model]
  [[nodiscard]] const row_matrix& basis() const { return basis_; }  ///< orthonormal rows, [rank x d_model]
  /// W_Y in that basis, [|Y| x rank]: W_Y = loadings() * basis().
  [[nodiscard]] const Eigen::MatrixXd& loadings() const { return frame_.loadings; }

  /// Pairs of labels with |cosine| >= `min_cosine` between their rows: the scores hardly tell them apart.
  [[nodiscard]] std::vector<parallel_pair> parallel_pairs(double min_cosine = 0.99) const;

  /// One sentence for each dropped label and each near-parallel pair, naming the labels; empty when all is
  /// well.
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// TR and TL of a write. `answer` is the right label's position in the set. Throws argument_error for a
  /// write of the wrong size, an answer out of range, and a set of one label (TL compares labels).
  [[nodiscard]] tsla_score score(std::span<const float> write, index answer) const {
    const auto a = checked_write(write);
    frame_.check_answer(answer);
    return frame_.score(answer, [&](index i) { return basis_.row(i).dot(a); });
  }
  template <class Write>
  [[nodiscard]] tsla_score score(const Eigen::MatrixBase<Write>& write, index answer) const {
    return score(detail::floats(write.derived()), answer);
  }

  /// || P a ||: TR alone, which a single label has too.
  [[nodiscard]] double projection_norm(std::span<const float> write) const {
    const auto a = checked_write(write);
    double squared = 0;
    for (index i = 0; i < rank(); ++i) {
      const double q = basis_.row(i).dot(a);
      squared += q * q;
    }
    return std::sqrt(squared);
  }
  template <class Write>
  [[nodiscard]] double projection_norm(const Eigen::MatrixBase<Write>& write) const {
    return projection_norm(detail::floats(write.derived()));
  }

  /// Label coordinates c = W_Y a into `out` [|Y|], without allocation: the write's share of each label's
  /// logit.
  void coordinates(std::span<const float> write, std::span<float> out) const {
    const auto a = checked_write(write);
    check_count(std::ssize(out));
    Eigen::Map<vector>(out.data(), size()).noalias() = rows_ * a;
  }
  template <class Write>
  [[nodiscard]] vector coordinates(const Eigen::MatrixBase<Write>& write) const {
    vector c(size());
    coordinates(detail::floats(write.derived()), {c.data(), static_cast<std::size_t>(size())});
    return c;
  }

  /// TR from label coordinates c = W_Y a, sqrt(c^T G^+ c): for callers who have the labels' logits and no
  /// write. Rounding in c is amplified by up to 1 / (sine between near-parallel labels), which `score`
  /// avoids.
  template <class Coordinates>
  [[nodiscard]] double tr(const Eigen::MatrixBase<Coordinates>& c) const {
    check_count(c.size());
    double squared = 0;
    for (index i = 0; i < rank(); ++i) {
      double q = 0;
      for (index y = 0; y < size(); ++y) q += combination_(i, y) * static_cast<double>(c(y));
      squared += q * q;
    }
    return std::sqrt(squared);
  }

  /// TL from label coordinates: (c_y* - mean of the others' c) / tr(c); 0 where tr(c) is 0. Throws as `score`
  /// does.
  template <class Coordinates>
  [[nodiscard]] double tl(const Eigen::MatrixBase<Coordinates>& c, index answer) const {
    const double norm = tr(c);
    frame_.check_answer(answer);
    const auto n = static_cast<double>(size());
    const double mean = c.template cast<double>().sum() / n;
    return norm == 0 ? 0 : n / (n - 1) * (static_cast<double>(c(answer)) - mean) / norm;
  }

 private:
  friend class folded_labels;

  static Eigen::Map<const row_matrix> as_rows(std::span<const float> rows, index labels) {
    if (std::ssize(rows) % labels != 0)
      throw argument_error("label_subspace: " + std::to_string(rows.size()) + " floats do not divide into " +
                           std::to_string(labels) + " rows: give |Y| * d_model values");
    return {rows.data(), labels, std::ssize(rows) / labels};
  }

  [[nodiscard]] Eigen::Map<const vector> checked_write(std::span<const float> write) const {
    if (std::ssize(write) != width())
      throw argument_error("label_subspace: the write has " + std::to_string(write.size()) +
                           " values, but the unembedding rows have " + std::to_string(width()) +
                           " (d_model)");
    return {write.data(), width()};
  }

  void check_count(index n) const {
    if (n != size())
      throw argument_error("label_subspace: " + std::to_string(n) + " label coordinates for " +
                           std::to_string(size()) + " labels");
  }

  void factor(double tolerance);

  detail::label_frame frame_;
  row_matrix rows_;
  row_matrix basis_;
  detail::double_matrix combination_;  // [rank x |Y|], basis = combination * W_Y
  std::vector<index> dropped_;
};

inline void label_subspace::factor(double tolerance) {
  if (!(tolerance > 0 && tolerance < 1))
    throw argument_error("label_subspace: tolerance " + std::to_string(tolerance) +
                         " is not between 0 and 1");
  for (index y = 0; y < size(); ++y)
    if (!rows_.row(y).allFinite())
      throw argument_error("label_subspace: the unembedding row of " + labels().describe(y) +
                           " holds NaN or infinity: check the weights");
  if (rows_.isZero(0))
    throw argument_error("label_subspace: the unembedding rows of all " + std::to_string(size()) +
                         " labels are zero or empty: they span nothing");
  const detail::double_matrix wide = rows_.cast<double>();
  detail::orthonormal_rows span = detail::orthonormalize(wide, tolerance);
  basis_ = span.basis.cast<float>();
  frame_.loadings.resize(size(), rank());
  for (index y = 0; y < size(); ++y)
    for (index i = 0; i < rank(); ++i) frame_.loadings(y, i) = wide.row(y).dot(span.basis.row(i));
  frame_.mean_loading = frame_.loadings.colwise().mean();
  combination_ = std::move(span.combination);
  dropped_ = std::move(span.dropped);
}

inline std::vector<parallel_pair> label_subspace::parallel_pairs(double min_cosine) const {
  Eigen::MatrixXd units = loadings();
  for (index y = 0; y < size(); ++y) units.row(y).normalize();
  std::vector<parallel_pair> pairs;
  for (index i = 0; i < size(); ++i)
    for (index j = i + 1; j < size(); ++j)
      if (const double cosine = units.row(i).dot(units.row(j)); std::abs(cosine) >= min_cosine)
        pairs.push_back({i, j, cosine});
  return pairs;
}

inline std::vector<std::string> label_subspace::warnings() const {
  std::vector<std::string> sentences;
  for (const index y : dropped_)
    sentences.push_back(
        labels().describe(y) +
        " adds no direction to the label subspace: its unembedding row lies in the others' span");
  for (const auto& [first, second, cosine] : parallel_pairs())
    sentences.push_back(labels().describe(first) + " and " + labels().describe(second) +
                        " have nearly parallel unembedding rows (cosine " + std::to_string(cosine) +
                        "): the scores hardly tell them apart");
  return sentences;
}

}  // namespace iclmech

#endif  // ICLMECH_LABEL_SUBSPACE_HPP
