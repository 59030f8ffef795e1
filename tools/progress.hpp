#ifndef ICLMECH_TOOLS_PROGRESS_HPP
#define ICLMECH_TOOLS_PROGRESS_HPP
// A progress bar with the time left, on standard error; silent when that is not a terminal.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace iclmech::cli {

/// Call it with the number of items done; it ends its line when all are.
class progress {
 public:
  progress(std::string what, std::size_t total)
      : what_(std::move(what)), total_(total), start_(clock::now()), shown_(isatty(STDERR_FILENO) != 0) {}

  void operator()(std::size_t done) {
    if (!shown_ || total_ == 0) return;
    constexpr int width = 30;
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    const double passed = std::chrono::duration<double>(clock::now() - start_).count();
    const double left = share > 0.0 ? passed / share - passed : 0.0;
    const int filled = static_cast<int>(share * width);
    fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {}/{}, {:.0f} s left ", what_, "", filled, "", width - filled,
               done, total_, left);
    if (done >= total_) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }

 private:
  using clock = std::chrono::steady_clock;
  std::string what_;
  std::size_t total_;
  clock::time_point start_;
  bool shown_;
};

}  // namespace iclmech::cli

#endif  // ICLMECH_TOOLS_PROGRESS_HPP
