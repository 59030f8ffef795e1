#ifndef ICLMECH_DETAIL_THREAD_SCRATCH_HPP
#define ICLMECH_DETAIL_THREAD_SCRATCH_HPP
// Memory that a kernel needs while it runs and keeps between calls, one piece per thread and purpose.

#include <vector>

#include "iclmech/detail/lanes.hpp"
#include "iclmech/detail/matrix.hpp"

namespace iclmech::detail {

/// At least `count` lanes for the purpose that the type `Purpose` names, valid until this thread asks again
/// for it. Contents are left over from earlier calls.
template <class Purpose>
lanes* scratch_lanes(index count) {
  thread_local std::vector<lanes> memory;
  if (std::ssize(memory) < count) memory.resize(static_cast<std::size_t>(count));
  return memory.data();
}

/// The same in floats, 64-byte aligned.
template <class Purpose>
float* scratch_floats(index count) {
  return reinterpret_cast<float*>(scratch_lanes<Purpose>((count + lane_count - 1) / lane_count));
}

}  // namespace iclmech::detail

#endif  // ICLMECH_DETAIL_THREAD_SCRATCH_HPP
