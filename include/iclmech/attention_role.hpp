#ifndef ICLMECH_ATTENTION_ROLE_HPP
#define ICLMECH_ATTENTION_ROLE_HPP
// Where a head looks: the shares of its attention on labels, demonstration text, the query, separators and
// the first token, or on each demonstration.
//
// Shares are of the weights' magnitudes, because the effective attention of a state-space head may be
// negative; for attention rows, which add up to one, they are sums of weights. Source: the attention analysis
// of TR and TL heads in arXiv 2509.24164.

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/token_role.hpp"

namespace iclmech {

namespace detail {

// Adds |row(p)| to the bin of each position and divides by the total; `bin` gives an index into `shares` or
// -1 for positions that no bin counts (they are part of the total).
template <class Row, class Bin>
void collect_shares(const Eigen::MatrixBase<Row>& row, Bin bin, std::span<double> shares) {
  double total = 0;
  for (index p = 0; p < row.size(); ++p) {
    const double weight = std::abs(static_cast<double>(row(p)));
    total += weight;
    if (const index b = bin(static_cast<std::size_t>(p)); b >= 0)
      shares[static_cast<std::size_t>(b)] += weight;
  }
  if (total > 0)
    for (double& share : shares) share /= total;
}

template <class Row>
void require_tagged(const char* function, const Eigen::MatrixBase<Row>& row, std::size_t tags,
                    const char* what) {
  if (static_cast<std::size_t>(row.size()) != tags)
    throw argument_error(std::string(function) + ": a row over " + std::to_string(row.size()) +
                         " positions with " + std::to_string(tags) + " " + what +
                         ": give one for each position");
}

}  // namespace detail

/// One share per role; they add up to 1, or are all 0 for a row without any weight.
class role_shares {
 public:
  [[nodiscard]] double operator[](token_role role) const { return values_[static_cast<std::size_t>(role)]; }
  /// In the order of `all_token_roles`.
  [[nodiscard]] std::span<const double> values() const { return values_; }

  /// The shares of one attention row [T], `roles` [T]. Throws argument_error where the lengths differ.
  template <class Row>
  [[nodiscard]] static role_shares of(const Eigen::MatrixBase<Row>& row, std::span<const token_role> roles) {
    detail::require_tagged("role_shares", row, roles.size(), "roles");
    role_shares shares;
    detail::collect_shares(
        row, [&](std::size_t p) { return static_cast<index>(roles[p]); }, shares.values_);
    return shares;
  }

 private:
  std::array<double, all_token_roles.size()> values_{};
};

/// The share of one attention row [T] on each of `groups` groups of positions, such as the demonstrations:
/// `group` [T] holds each position's group, negative for none. With groups for all positions the shares add
/// up to 1.
template <class Row>
[[nodiscard]] std::vector<double> group_shares(const Eigen::MatrixBase<Row>& row,
                                               std::span<const std::int32_t> group, std::int32_t groups) {
  detail::require_tagged("group_shares", row, group.size(), "group numbers");
  for (std::size_t p = 0; p < group.size(); ++p)
    if (group[p] >= groups)
      throw argument_error("group_shares: position " + std::to_string(p) + " is in group " +
                           std::to_string(group[p]) + ", but there are " + std::to_string(groups));
  std::vector<double> shares(static_cast<std::size_t>(groups), 0.0);
  detail::collect_shares(
      row, [&](std::size_t p) { return index{group[p]}; }, shares);
  return shares;
}

}  // namespace iclmech

#endif  // ICLMECH_ATTENTION_ROLE_HPP
