#ifndef ICLMECH_TESTS_SUPPORT_GOLDEN_TENSORS_HPP
#define ICLMECH_TESTS_SUPPORT_GOLDEN_TENSORS_HPP
// The reference tensors of the tiny checkpoints, made with PyTorch (tests/golden/models/README.md).

#include <gtest/gtest.h>

#include <string>

#include "iclmech/io/safetensors.hpp"
#include "support/hosts.hpp"

namespace iclmech::test {

/// Limit on |x - golden| / max(1, max |golden|). float32 implementations agree to about 5e-6; the smallest
/// real mistakes tried (a wrong epsilon, the other gelu) move logits by 1e-3.
inline constexpr float golden_tolerance = 5e-5F;

class golden_tensors {
 public:
  explicit golden_tensors(const std::string& model)
      : file_(read_safetensors(golden_folder(model) + "/golden.safetensors")) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  row_matrix operator[](const std::string& name) const { return file_.read_matrix(file_.require(name)); }
  const tensor_file& file() const { return file_; }

  token_sequence ids() const {
    const auto values = file_.read_integers(file_.require("input_ids"));
    return {values.begin(), values.end()};
  }

  /// Expects `value`, in whatever shape, to be the tensor `name`.
  void expect(const std::string& name, const float* value, index size) const {
    const row_matrix golden = (*this)[name];
    ASSERT_EQ(size, golden.size()) << name;
    const float limit = golden_tolerance * std::max(1.0F, golden.cwiseAbs().maxCoeff());
    float worst = 0.0F;
    for (index i = 0; i < size; ++i) worst = std::max(worst, std::abs(value[i] - golden.data()[i]));
    EXPECT_LE(worst, limit) << name;
  }

 private:
  tensor_file file_;
};

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_GOLDEN_TENSORS_HPP
