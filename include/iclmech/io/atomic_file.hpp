#ifndef ICLMECH_IO_ATOMIC_FILE_HPP
#define ICLMECH_IO_ATOMIC_FILE_HPP
// Writing a file so that whoever looks, at any moment, sees the old content or the new one and nothing
// between.

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "iclmech/error.hpp"

namespace iclmech {
namespace detail {

/// A new file beside `target`, which takes its place on `commit` and is removed otherwise.
class replacement_file {
 public:
  explicit replacement_file(std::string target) : target_(std::move(target)) {
    static std::atomic<std::uint64_t> counter{0};
    do {
      path_ = target_ + "." + std::to_string(::getpid()) + "." + std::to_string(++counter) + ".tmp";
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) fail("cannot be created", errno);
  }

  replacement_file(const replacement_file&) = delete;
  replacement_file& operator=(const replacement_file&) = delete;

  ~replacement_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!committed_) ::unlink(path_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void commit() {
    // The content must be on the disk before the name points to it.
    if (::fsync(descriptor_) != 0) fail("cannot be written", errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written", errno);
    if (std::rename(path_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
    committed_ = true;
  }

 private:
  [[noreturn]] void fail(const char* problem, int code) const {
    throw file_error(target_, "file", std::string(problem) + ": " + std::generic_category().message(code));
  }

  std::string target_;
  std::string path_;
  int descriptor_ = -1;
  bool committed_ = false;
};

}  // namespace detail

/// Writes `bytes` to a temporary file in the same folder and renames it to `path`. Throws file_error, and
/// leaves what was there before, if that fails. Safe against a kill at any moment (a stray `*.tmp` file may
/// be left) and against other writers of the same path.
inline void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  detail::replacement_file file(path.string());
  file.write(bytes);
  file.commit();
}

inline void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace iclmech

#endif  // ICLMECH_IO_ATOMIC_FILE_HPP
