#ifndef ICLMECH_METHOD_HEAD_WRITES_HPP
#define ICLMECH_METHOD_HEAD_WRITES_HPP
// What chosen heads write into the stream at the last position of a prompt, added up.

#include <algorithm>

#include "iclmech/function_vector.hpp"
#include "iclmech/method/last_outputs.hpp"
#include "iclmech/method/measured_writes.hpp"

namespace iclmech {

/// The sum of the writes of `heads` at the last position of `prompt`, [d_model]; zero for no heads. `outputs`
/// is what `last_output_collector` kept of that prompt. Heads without a linear path cost a sweep of their
/// mixer.
/// @throws argument_error for a head the model does not have.
template <class Host>
vector summed_write(Host& h, const token_sequence& prompt, const last_outputs& outputs,
                    std::span<const head_id> heads) {
  require_host<Host>();
  const model_spec& spec = h.spec();
  const std::vector<mixer_id> mixers = spec.mixer_ids();
  vector sum = vector::Zero(spec.d_model);
  for (std::size_t m = 0; m < mixers.size(); ++m) {
    const mixer_spec& mixer = spec.mixer(mixers[m].layer, mixers[m].mixer);
    row_matrix measured;
    for (const head_id head : heads) {
      if (head.layer != mixers[m].layer || head.mixer != mixers[m].mixer) continue;
      spec.check(head);
      if (mixer.write == write_path::measured) {
        if (measured.size() == 0) measured = measured_writes(h, prompt, mixers[m]);
        sum += measured.row(head.head).transpose();
      } else {
        const row_matrix& projection = h.output_projection(mixers[m]);
        const row_vector z =
            outputs.scale[m] * outputs.z[m].segment(index{head.head} * mixer.d_head, mixer.d_head);
        add_head_write(projection, head.head, z, sum);
      }
    }
  }
  return sum;
}

}  // namespace iclmech

#endif  // ICLMECH_METHOD_HEAD_WRITES_HPP
