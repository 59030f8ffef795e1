#ifndef ICLMECH_HOOK_SITE_HPP
#define ICLMECH_HOOK_SITE_HPP
// Where and when a hook fires: the point, the layer, the mixer, the sequence and the positions in view.

#include "iclmech/detail/matrix.hpp"
#include "iclmech/hook/point.hpp"

namespace iclmech {

/// One firing of a hook point. Row r of the view is position `first_position + r` of the sequence.
struct site {
  hook point = hook::embed;
  int layer = -1;                            ///< -1 for points outside the layers
  mixer_kind mixer = mixer_kind::attention;  ///< meaningful where `belongs_to_mixer(point)`
  int sequence = 0;                          ///< index of the prompt in the batch, forks after the prompts
  index first_position = 0;                  ///< negative for rows in front of the prompt (Hymba's memory)
  bool ends_sequence = true;                 ///< the view's last row is the last position of this run
};

}  // namespace iclmech

#endif  // ICLMECH_HOOK_SITE_HPP
