#ifndef ICLMECH_METHOD_MEASURED_WRITES_HPP
#define ICLMECH_METHOD_MEASURED_WRITES_HPP
// Writes of heads that have no linear path to the stream (Zamba2's shared attention): with minus without the
// head.

#include "iclmech/host/head_map.hpp"
#include "iclmech/sweep.hpp"

namespace iclmech {

/// For one prompt and one mixer: the stream behind the layer at the last position, as it is minus as it is
/// without the head there (leave one out), [heads x d_model].
/// @throws argument_error if the model has no such mixer.
template <class Host>
row_matrix measured_writes(Host& h, const token_sequence& prompt, mixer_id mixer) {
  require_host<Host>();
  const int heads = h.spec().mixer(mixer.layer, mixer.mixer).heads;
  std::vector<variant> variants;
  for (int head = 0; head < heads; ++head)
    variants.push_back({0, {zero_head({mixer.layer, mixer.mixer, head})}});
  row_vector with;
  row_matrix writes(heads, h.spec().d_model);
  sweep_observed(
      h, std::span(&prompt, 1), variants,
      observe<hook::resid_post>(at_layer(mixer.layer), [&](const site& s, const_activation_view stream) {
        if (s.sequence == 0)
          with = stream.last_row();
        else
          writes.row(s.sequence - 1) = -stream.last_row();
      }));
  writes.rowwise() += with;
  return writes;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_MEASURED_WRITES_HPP
