// The convolution and the scans inside real layers: from the stream entering each layer of the tiny Mamba and
// Mamba-2 checkpoints to the scan's output and last state, as PyTorch computed them.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "iclmech/engine/causal_conv.hpp"
#include "iclmech/engine/selective_scan.hpp"
#include "iclmech/engine/ssd_scan.hpp"
#include "iclmech/io/safetensors.hpp"
#include "support/scan_cases.hpp"

namespace {

using iclmech::const_matrix_ref;
using iclmech::index;
using iclmech::row_matrix;
using iclmech::test::relative_error;

// Two float32 implementations of a layer differ by rounding of sums over its width: below 1e-5 of the largest
// value.
constexpr double tolerance = 2e-5;

class layer {
 public:
  layer(const std::string& model, int number)
      : weights_(iclmech::read_safetensors(folder(model) / "model.safetensors")),
        golden_(iclmech::read_safetensors(folder(model) / "golden.safetensors")),
        prefix_("backbone.layers." + std::to_string(number) + "."),
        suffix_("." + std::to_string(number)) {}

  row_matrix weight(const std::string& name) const {
    return weights_.read_matrix(weights_.require(prefix_ + name));
  }
  row_matrix golden(const std::string& name) const {
    return golden_.read_matrix(golden_.require(name + suffix_));
  }

  row_matrix in_proj() const {
    const row_matrix stream = golden("resid_pre");
    const Eigen::VectorXf scale = (stream.array().square().rowwise().mean() + 1e-5F).rsqrt();
    const row_matrix normed = scale.asDiagonal() * stream * weight("norm.weight").row(0).asDiagonal();
    return normed * weight("mixer.in_proj.weight").transpose();
  }

  row_matrix convolve(const const_matrix_ref& x) const {
    row_matrix out(x.rows(), x.cols());
    iclmech::causal_conv_silu(x, nullptr, weight("mixer.conv1d.weight"), weight("mixer.conv1d.bias").data(),
                              out);
    return out;
  }

 private:
  static std::filesystem::path folder(const std::string& model) {
    return std::filesystem::path(ICLMECH_TEST_DATA) / "models" / model;
  }

  iclmech::tensor_file weights_, golden_;
  std::string prefix_, suffix_;
};

TEST(selective_scan, equals_pytorch_in_every_layer_of_mamba) {
  for (int number = 0; number < 4; ++number) {
    SCOPED_TRACE(testing::Message() << "layer " << number);
    const layer mamba("mamba", number);
    const row_matrix A = -mamba.weight("mixer.A_log").array().exp();
    const index channels = A.rows(), states = A.cols();
    const row_matrix x = mamba.convolve(mamba.in_proj().leftCols(channels));
    const row_matrix low = x * mamba.weight("mixer.x_proj.weight").transpose();
    EXPECT_LT(relative_error(low.rightCols(states), mamba.golden("C")), tolerance);

    row_matrix state = row_matrix::Zero(channels, states), y(x.rows(), channels);
    iclmech::selective_scan(x, mamba.golden("dt"), A, mamba.golden("B"), mamba.golden("C"),
                            mamba.weight("mixer.D").data(), state.data(), y);
    EXPECT_LT(relative_error(y, mamba.golden("ssm_y")), tolerance);
    EXPECT_LT(relative_error(state, mamba.golden("ssm_state_last")), tolerance);
  }
}

TEST(ssd_scan, equals_pytorch_in_every_layer_of_mamba2) {
  for (int number = 0; number < 4; ++number) {
    SCOPED_TRACE(testing::Message() << "layer " << number);
    const layer mamba2("mamba2", number);
    const row_matrix A = -mamba2.weight("mixer.A_log").array().exp();
    const iclmech::ssd_shape shape{8, 12, 1, 16};
    const index inner = shape.heads * shape.head_size;
    const row_matrix conv = mamba2.convolve(mamba2.in_proj().middleCols(inner, inner + 2 * shape.state_size));
    EXPECT_LT(relative_error(conv.middleCols(inner, 16), mamba2.golden("B")), tolerance);
    EXPECT_LT(relative_error(conv.rightCols(16), mamba2.golden("C")), tolerance);

    row_matrix state = row_matrix::Zero(inner, shape.state_size), y(conv.rows(), inner);
    iclmech::ssd_scan(shape, conv.leftCols(inner), mamba2.golden("dt"), A.data(), conv.middleCols(inner, 16),
                      conv.rightCols(16), mamba2.weight("mixer.D").data(), state.data(), y, 8);
    EXPECT_LT(relative_error(y, mamba2.golden("ssm_y")), tolerance);
    EXPECT_LT(relative_error(state, mamba2.golden("ssm_state_last")), tolerance);
  }
}

}  // namespace
