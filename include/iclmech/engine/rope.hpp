#ifndef ICLMECH_ENGINE_ROPE_HPP
#define ICLMECH_ENGINE_ROPE_HPP
// Rotary position embedding, "rotate half": channel i turns with channel i + D/2 of the same head.

#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "iclmech/detail/matrix.hpp"
#include "iclmech/detail/parallel.hpp"
#include "iclmech/error.hpp"

namespace iclmech {

/// How the frequencies theta^(-2i/D) are changed for prompts longer than those of the first training.
enum class rope_scaling {
  none,
  linear,  ///< every frequency divided by `factor`
  llama3,  ///< low frequencies divided by `factor`, high ones kept, a ramp between them
  ntk      ///< a larger base: theta (2 max_positions / original_max_positions - 1)^(D / (D - 2)), as in Hymba
};

/// What a model's configuration says about its rotary embedding. Fields a scaling does not use are ignored.
struct rope_config {
  index head_dim = 0;  ///< D, even
  double theta = 10000.0;
  rope_scaling scaling = rope_scaling::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_positions = 8192.0;
  double max_positions = 8192.0;
  std::vector<float> divisors =
      {};  ///< D/2 divisors of the frequencies (`rope_freqs.weight` of a GGUF file), or empty
};

namespace detail {

inline void check_rope(const rope_config& config) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw argument_error("rope: " + what);
  };
  require(config.head_dim > 0 && config.head_dim % 2 == 0,
          "head_dim is " + std::to_string(config.head_dim) + ", it must be even and positive");
  require(config.theta > 0, "theta is " + std::to_string(config.theta) + ", it must be positive");
  const auto half = static_cast<std::size_t>(config.head_dim / 2);
  require(config.divisors.empty() || config.divisors.size() == half,
          std::to_string(config.divisors.size()) + " frequency divisors for head_dim " +
              std::to_string(config.head_dim) + ", there must be " + std::to_string(half));
  const bool divided = config.scaling == rope_scaling::linear || config.scaling == rope_scaling::llama3;
  require(!divided || config.factor > 0,
          "factor is " + std::to_string(config.factor) + ", it must be positive");
  require(config.scaling != rope_scaling::llama3 || config.low_freq_factor < config.high_freq_factor,
          "llama3 scaling needs a low_freq_factor below the high_freq_factor");
  require(config.scaling != rope_scaling::ntk ||
              (config.head_dim > 2 && 2 * config.max_positions > config.original_max_positions &&
               config.original_max_positions > 0),
          "ntk scaling needs a head_dim above 2 and max_positions above half of original_max_positions");
}

}  // namespace detail

/// The D/2 angular frequencies, in radians a position.
/// @throws argument_error for an odd or non-positive head_dim, a wrong number of divisors, or numbers that
/// the scaling cannot work with.
inline std::vector<double> rope_frequencies(const rope_config& config) {
  detail::check_rope(config);
  const index half = config.head_dim / 2;
  const double d = static_cast<double>(config.head_dim);
  double base = config.theta;
  if (config.scaling == rope_scaling::ntk) {
    base *= std::pow(2.0 * config.max_positions / config.original_max_positions - 1.0, d / (d - 2.0));
  }
  std::vector<double> frequencies(static_cast<std::size_t>(half));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    double f = std::pow(base, -2.0 * static_cast<double>(i) / d);
    if (config.scaling == rope_scaling::linear) {
      f /= config.factor;
    } else if (config.scaling == rope_scaling::llama3) {
      const double turns = config.original_max_positions * f / (2.0 * std::numbers::pi);
      if (turns < config.low_freq_factor) {
        f /= config.factor;
      } else if (turns <= config.high_freq_factor) {
        const double s =
            (turns - config.low_freq_factor) / (config.high_freq_factor - config.low_freq_factor);
        f = (1.0 - s) * f / config.factor + s * f;
      }
    }
    if (!config.divisors.empty()) f /= static_cast<double>(config.divisors[i]);
    frequencies[i] = f;
  }
  return frequencies;
}

/// Cosines and sines of every position and frequency, and the rotation that uses them.
/// Reading is safe from several threads; `reserve` is not.
class rope_table {
 public:
  rope_table() = default;

  /// A table for positions 0 .. positions - 1.
  rope_table(const rope_config& config, index positions) : frequencies_(rope_frequencies(config)) {
    reserve(positions);
  }

  /// Number of positions the table holds.
  index positions() const noexcept { return cos_.rows(); }

  /// D, the width of the heads it rotates.
  index head_dim() const noexcept { return 2 * static_cast<index>(frequencies_.size()); }

  /// Makes the table hold at least `positions` positions.
  void reserve(index positions) {
    const index old = cos_.rows();
    if (positions <= old) return;
    const index half = static_cast<index>(frequencies_.size());
    cos_.conservativeResize(positions, half);
    sin_.conservativeResize(positions, half);
    for (index t = old; t < positions; ++t) {
      for (index i = 0; i < half; ++i) {
        const double angle = static_cast<double>(t) * frequencies_[static_cast<std::size_t>(i)];
        cos_(t, i) = static_cast<float>(std::cos(angle));
        sin_(t, i) = static_cast<float>(std::sin(angle));
      }
    }
  }

  /// Rotates every head of every row in place; row i stands at `positions[i]`. `rows` is [n x heads *
  /// head_dim].
  /// @throws argument_error if a position is not in the table or the shapes do not fit.
  void apply(matrix_ref rows, std::span<const std::int32_t> positions) const {
    const index d = head_dim();
    if (d == 0 || rows.cols() % d != 0 || rows.rows() != static_cast<index>(positions.size())) {
      throw argument_error("rope: " + std::to_string(positions.size()) + " positions and heads of " +
                           std::to_string(d) + " do not fit a " + std::to_string(rows.rows()) + "x" +
                           std::to_string(rows.cols()) + " matrix");
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] < 0 || positions[i] >= this->positions()) {
        throw argument_error("rope: position " + std::to_string(positions[i]) + " of row " +
                             std::to_string(i) + " is outside the table of " +
                             std::to_string(this->positions()));
      }
    }
    detail::parallel_for_ranges(
        rows.rows(), (1 << 13) / std::max<index>(1, rows.cols()) + 1, [&](index begin, index end) {
          for (index r = begin; r < end; ++r) {
            rotate(rows.row(r).data(), rows.cols(), positions[static_cast<std::size_t>(r)]);
          }
        });
  }

 private:
  void rotate(float* row, index cols, index position) const {
    const index half = static_cast<index>(frequencies_.size());
    const float* c = cos_.row(position).data();
    const float* s = sin_.row(position).data();
    for (float* head = row; head != row + cols; head += 2 * half) {
      for (index i = 0; i < half; ++i) {
        const float a = head[i];
        const float b = head[half + i];
        head[i] = a * c[i] - b * s[i];
        head[half + i] = b * c[i] + a * s[i];
      }
    }
  }

  std::vector<double> frequencies_;
  row_matrix cos_;
  row_matrix sin_;
};

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_ROPE_HPP
