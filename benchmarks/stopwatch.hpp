#ifndef ICLMECH_BENCHMARKS_STOPWATCH_HPP
#define ICLMECH_BENCHMARKS_STOPWATCH_HPP
// Wall time of a piece of work, in seconds.

#include <algorithm>
#include <chrono>
#include <limits>

template <class Work>
double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Keeps the shortest of several runs, since other programs only ever slow a run down.
class shortest {
 public:
  template <class Work>
  void run(Work&& work) {
    seconds_ = std::min(seconds_, ::seconds(work));
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
};

#endif  // ICLMECH_BENCHMARKS_STOPWATCH_HPP
