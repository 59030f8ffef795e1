#ifndef ICLMECH_HOST_FORK_HPP
#define ICLMECH_HOST_FORK_HPP
// A fork: a variant of a prompt that shares everything with it up to one point of the forward pass.

#include "iclmech/detail/matrix.hpp"
#include "iclmech/host/head_id.hpp"

namespace iclmech {

/// Points at which a variant may leave its prompt, in the order of the forward pass.
enum class fork_stage : unsigned char {
  resid_pre,  ///< at the layer's input; with layer == layer_count: at the final norm
  z,          ///< at the input of the output projection of `fork::mixer`
  resid_mid   ///< between the mixer and the MLP
};

/// The variant equals its prompt before `layer`/`stage` and at positions below `first_position`, so only the
/// rest is computed. Hooks fire on the variant as on any sequence, with `site::sequence` = prompts + index of
/// the fork, at every site from the stage on (points at or after it), in views that begin at
/// `first_position`. A host may begin a fork earlier than asked (hooks then also fire for the earlier sites),
/// never later.
struct fork {
  int parent = 0;            ///< index of the prompt
  index first_position = 0;  ///< first position whose values differ
  int layer = 0;
  fork_stage stage = fork_stage::resid_pre;
  mixer_kind mixer = mixer_kind::attention;  ///< for stage z
};

}  // namespace iclmech

#endif  // ICLMECH_HOST_FORK_HPP
