#ifndef ICLMECH_ENGINE_ELEMENTWISE_HPP
#define ICLMECH_ENGINE_ELEMENTWISE_HPP
// Norms, activations and softmax on rows of activations.
//
// Everything is a vectorised Eigen expression in float32; the exponential is Eigen's packet version (2 ulp).
// In place is fine: an output may be the same memory as an input of the same shape.

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <unsupported/Eigen/SpecialFunctions>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// How a norm's weight acts: `w`, or `1 + w` (Gemma).
enum class norm_weight { plain, one_plus };

/// The activation functions of the supported models.
enum class activation { silu, gelu_erf, gelu_tanh };

namespace detail {

using array_view = Eigen::Map<Eigen::ArrayXf>;
using const_array_view = Eigen::Map<const Eigen::ArrayXf>;

inline constexpr index elementwise_grain = 1 << 13;

inline void activate(activation kind, const_array_view x, array_view y) {
  switch (kind) {
    case activation::silu:
      y = x / (1.0F + (-x).exp());
      return;
    case activation::gelu_erf:
      y = 0.5F * x * (1.0F + (x * 0.70710678118654752F).erf());
      return;
    case activation::gelu_tanh: {
      // 0.5 (1 + tanh u) = 1 / (1 + e^-2u), which loses no digits for negative x.
      constexpr float a = 1.5957691216057308F;  // 2 sqrt(2 / pi)
      constexpr float b = a * 0.044715F;
      y = x / (1.0F + (-(a * x + b * x.cube())).exp());
      return;
    }
  }
}

}  // namespace detail

/// y = act(x), elementwise.
inline void activate(activation kind, const const_matrix_ref& x, matrix_ref y) {
  detail::parallel_for_ranges(
      x.rows(), detail::elementwise_grain / std::max<index>(1, x.cols()) + 1, [&](index begin, index end) {
        for (index i = begin; i < end; ++i) {
          detail::activate(kind, {x.row(i).data(), x.cols()}, {y.row(i).data(), x.cols()});
        }
      });
}

/// y = act(gate) * up, elementwise: the middle of a gated MLP.
inline void gated_product(activation kind, const const_matrix_ref& gate, const const_matrix_ref& up,
                          matrix_ref y) {
  detail::parallel_for_ranges(gate.rows(), detail::elementwise_grain / std::max<index>(1, gate.cols()) + 1,
                              [&](index begin, index end) {
                                constexpr index piece = 256;
                                float buffer[piece];
                                for (index i = begin; i < end; ++i) {
                                  for (index c = 0; c < gate.cols(); c += piece) {
                                    const index n = std::min(piece, gate.cols() - c);
                                    detail::array_view part(buffer, n);
                                    detail::activate(kind, {gate.row(i).data() + c, n}, part);
                                    y.row(i).segment(c, n).array() =
                                        part.transpose() * up.row(i).segment(c, n).array();
                                  }
                                }
                              });
}

/// x = log(1 + e^x), elementwise; the identity above 20, as in PyTorch.
inline void softplus(std::span<float> x) {
  detail::array_view values(x.data(), static_cast<index>(x.size()));
  values = (values > 20.0F).select(values, values.min(20.0F).exp().log1p());
}

/// Softmax of one row. An entry of -infinity gets exactly 0; a row of nothing but -infinity becomes zeros.
inline void softmax(std::span<float> row) {
  if (row.empty()) return;
  detail::array_view values(row.data(), static_cast<index>(row.size()));
  const float top = values.maxCoeff();
  if (top == -std::numeric_limits<float>::infinity()) {
    values.setZero();
    return;
  }
  values = (values - top).exp();
  // Vectorised, as select() is not: the exponential of -infinity comes out as the smallest number it knows.
  for (float& value : row) value = value < 2 * std::numeric_limits<float>::min() ? 0.0F : value;
  values /= values.sum();
}

/// y = w * x / sqrt(mean(x^2) + eps) over every group of `group` columns of every row (0: the whole row). The
/// weight has one value for each column, or `group` values that every group shares. `scales` (empty, or rows
/// x groups values) receives 1 / sqrt(mean(x^2) + eps).
/// @throws argument_error if the sizes do not fit.
inline void rms_norm(const const_matrix_ref& x, std::span<const float> weight, float eps, matrix_ref y,
                     norm_weight form = norm_weight::plain, index group = 0, std::span<float> scales = {}) {
  if (group == 0) group = std::max<index>(1, x.cols());
  const index groups = x.cols() / group;
  const index n = static_cast<index>(weight.size());
  if (groups * group != x.cols() || (n != x.cols() && n != group) || y.rows() != x.rows() ||
      y.cols() != x.cols() || (!scales.empty() && static_cast<index>(scales.size()) != x.rows() * groups)) {
    throw argument_error("rms_norm: " + std::to_string(n) + " weights in groups of " + std::to_string(group) +
                         " do not fit rows of " + std::to_string(x.cols()) +
                         " values, or the output differs in shape");
  }
  const float offset = form == norm_weight::one_plus ? 1.0F : 0.0F;
  detail::parallel_for_ranges(
      x.rows(), detail::elementwise_grain / std::max<index>(1, x.cols()) + 1, [&](index begin, index end) {
        for (index i = begin; i < end; ++i) {
          for (index g = 0; g < groups; ++g) {
            const detail::const_array_view source(x.row(i).data() + g * group, group);
            detail::array_view target(y.row(i).data() + g * group, group);
            const detail::const_array_view w(weight.data() + (n == group ? 0 : g * group), group);
            const float scale = 1.0F / std::sqrt(source.square().mean() + eps);
            target = source * scale * (w + offset);
            if (!scales.empty()) scales[static_cast<std::size_t>(i * groups + g)] = scale;
          }
        }
      });
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_ELEMENTWISE_HPP
