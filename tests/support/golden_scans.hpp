#ifndef ICLMECH_TESTS_SUPPORT_GOLDEN_SCANS_HPP
#define ICLMECH_TESTS_SUPPORT_GOLDEN_SCANS_HPP
// What tests of scans compare with: activations of one place, and the skips that the golden checkpoints
// store.

#include <stdexcept>
#include <string>

#include "iclmech/hook/recorder.hpp"
#include "iclmech/host/host.hpp"
#include "iclmech/io/safetensors.hpp"
#include "support/hosts.hpp"

namespace iclmech::test {

/// The tiny checkpoints with state-space mixers.
inline const std::vector<std::string> state_space_models{"mamba", "mamba2", "zamba2", "hymba"};

/// What a place shows in a run of one prompt, [rows x values of a row].
template <class Host>
row_matrix shown(Host& host, const token_sequence& prompt, const hook_place& place) {
  activation_recorder recorder({place});
  host.run(std::span(&prompt, 1), recorder, logit_rows::none);
  const recorded_activation seen = recorder.take().at(hook_name(place));
  const index rows = seen.shape[0], width = static_cast<index>(seen.values.size()) / rows;
  return const_matrix_view(seen.values.data(), rows, width, Eigen::OuterStride<>(width));
}

/// D of one layer as the checkpoint has it, for each of `channels`; Mamba-2 stores one value for every head.
inline row_vector golden_skip(const std::string& model, int layer, index channels) {
  const tensor_file file = read_safetensors(golden_folder(model) + "/model.safetensors");
  const std::string number = "layers." + std::to_string(layer);
  for (const std::string& name :
       {"backbone." + number + ".mixer.D", "model." + number + ".mamba.D",
        "model." + number + ".mamba_decoder.mamba.D", "model." + number + ".mamba.D.0"}) {
    const tensor_entry* entry = file.find(name);
    if (entry == nullptr) continue;
    const row_matrix stored = file.read_matrix(*entry);
    row_vector skip(channels);
    for (index c = 0; c < channels; ++c) skip[c] = stored.data()[c * stored.size() / channels];
    return skip;
  }
  throw std::runtime_error(model + " has no skip in layer " + std::to_string(layer));
}

}  // namespace iclmech::test

#endif  // ICLMECH_TESTS_SUPPORT_GOLDEN_SCANS_HPP
