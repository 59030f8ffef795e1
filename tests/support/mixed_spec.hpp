#ifndef ICLMECH_TESTS_SUPPORT_MIXED_SPEC_HPP
#define ICLMECH_TESTS_SUPPORT_MIXED_SPEC_HPP
// A model on paper with every kind of layer, for tests that need a spec and no host.

#include "iclmech/host/model_spec.hpp"

namespace iclmech::test {

/// Layer 0: attention (4 heads of 8) and an MLP; 1: Mamba-2 (3 heads of 6); 2: attention (2) beside Mamba-1
/// (5), both behind norms; 3: a shared block's attention (2) in front of a Mamba-2 mixer (3).
inline model_spec mixed_spec() {
  const auto attention = [](int heads, write_path write) {
    return mixer_spec{mixer_kind::attention, heads, 8, write, heads, 8, 0, 0, false};
  };
  const auto mamba = [](mixer_kind kind, int heads, write_path write) {
    return mixer_spec{kind, heads, 6, write, 0, 0, 1, 4, false};
  };
  model_spec spec;
  spec.d_model = 32;
  spec.vocab_size = 50;
  spec.layers = {
      {{attention(4, write_path::linear)}, true, false, 16},
      {{mamba(mixer_kind::mamba2, 3, write_path::linear)}, false, false, 0},
      {{attention(2, write_path::frozen_norm), mamba(mixer_kind::mamba1, 5, write_path::frozen_norm)},
       false,
       false,
       0},
      {{attention(2, write_path::measured), mamba(mixer_kind::mamba2, 3, write_path::linear)},
       false,
       true,
       16}};
  spec.observable = hook_mask::all();
  spec.editable = hook_mask::all();
  return spec;
}

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_MIXED_SPEC_HPP
