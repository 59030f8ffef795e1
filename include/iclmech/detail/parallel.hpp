#ifndef ICLMECH_DETAIL_PARALLEL_HPP
#define ICLMECH_DETAIL_PARALLEL_HPP
// The one place that knows about threads: a loop over independent work items on OpenMP, serial without it.
//
// Loops inside a running parallel region (ours or the caller's) are serial, so nothing ever oversubscribes
// the cores. An exception thrown by an item reaches the caller once all items are done.

#include <algorithm>
#include <atomic>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "iclmech/detail/matrix.hpp"

namespace iclmech {

namespace detail {

/// The number of threads the program asked for; 0 leaves the choice to OpenMP.
inline std::atomic<int>& requested_threads() noexcept {
  static std::atomic<int> count{0};
  return count;
}

}  // namespace detail

/// Number of threads that the library's parallel loops use when started here: 1 inside a parallel region and
/// in builds without OpenMP.
inline int thread_count() noexcept {
#ifdef _OPENMP
  if (omp_in_parallel() != 0) return 1;
  const int requested = detail::requested_threads().load(std::memory_order_relaxed);
  return requested > 0 ? requested : std::max(1, omp_get_max_threads());
#else
  return 1;
#endif
}

/// Sets the number of threads of the library's own loops, for the whole process; 0 goes back to OpenMP's
/// default
/// (`OMP_NUM_THREADS` or the number of cores). The host program's OpenMP settings are left alone.
inline void set_thread_count(int count) noexcept {
  detail::requested_threads().store(std::max(0, count), std::memory_order_relaxed);
}

namespace detail {

/// Multiply-adds, or as much other work, that one thread does in about the time it takes to wake another one.
inline constexpr index shareable_work = 1 << 20;

/// How many threads should share so much work.
inline int threads_for(index work) noexcept { return work < shareable_work ? 1 : thread_count(); }

/// Calls `f(i)` once for every i in [0, n), in any order and on up to `threads` threads; items are handed out
/// one by one, so they should be coarse (tens of microseconds). Rethrows the first exception after the loop.
template <typename F>
void parallel_for(index n, int threads, const F& f) {
  threads = static_cast<int>(std::min<index>(n, threads));
  if (threads <= 1) {
    for (index i = 0; i < n; ++i) f(i);
    return;
  }
#ifdef _OPENMP
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (index i = 0; i < n; ++i) {
    try {
      f(i);
    } catch (...) {
#pragma omp critical(iclmech_parallel_for_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
#endif
}

template <typename F>
void parallel_for(index n, const F& f) {
  parallel_for(n, thread_count(), f);
}

/// Calls `f(begin, end)` on contiguous pieces that cover [0, n), none smaller than `grain` items unless n is.
template <typename F>
void parallel_for_ranges(index n, index grain, const F& f) {
  if (n <= 0) return;
  const index pieces = std::clamp<index>(n / std::max<index>(1, grain), 1, thread_count());
  parallel_for(pieces, [&](index piece) { f(n * piece / pieces, n * (piece + 1) / pieces); });
}

}  // namespace detail
}  // namespace iclmech

#endif  // ICLMECH_DETAIL_PARALLEL_HPP
