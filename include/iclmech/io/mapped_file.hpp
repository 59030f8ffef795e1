#ifndef ICLMECH_IO_MAPPED_FILE_HPP
#define ICLMECH_IO_MAPPED_FILE_HPP
// A whole file as read-only memory, for as long as the object lives.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "iclmech/error.hpp"

namespace iclmech {

/// Owns a read-only mapping of one regular file. Moving it leaves the mapped addresses where they are, so
/// views into `bytes()` stay valid. The file must not be truncated while it is mapped: the system answers a
/// read past the new end with SIGBUS.
class mapped_file {
 public:
  /// Maps the file. Throws file_error if it cannot be opened or is not a regular file. An empty file is fine.
  explicit mapped_file(std::string path) : path_(std::move(path)) {
    // O_NONBLOCK: opening a pipe by mistake must not hang.
    const descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.number < 0) fail("cannot be opened", errno);
    struct stat status {};
    if (::fstat(file.number, &status) != 0) fail("cannot be examined", errno);
    if (S_ISDIR(status.st_mode)) throw file_error(path_, "file", "is a folder; name a file in it");
    if (!S_ISREG(status.st_mode)) throw file_error(path_, "file", "is not a regular file");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
      throw file_error(path_, "file", "is too large for this machine's address space");
    }
    size_ = static_cast<std::size_t>(size);
    if (size_ == 0) return;
    void* const mapping = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (mapping == MAP_FAILED) {
      size_ = 0;
      fail("cannot be mapped into memory", errno);
    }
    data_ = static_cast<const std::byte*>(mapping);
  }

  mapped_file(mapped_file&& other) noexcept
      : path_(std::move(other.path_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}

  mapped_file& operator=(mapped_file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  ~mapped_file() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  /// The file's content.
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Tells the system that `part` of the content will not be read again soon, so that its pages need not stay
  /// in memory. It can be read all the same.
  void release(std::span<const std::byte> part) const noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

  /// The path as it was given.
  const std::string& path() const noexcept { return path_; }

 private:
  struct descriptor {
    int number;
    ~descriptor() {
      if (number >= 0) ::close(number);
    }
  };

  [[noreturn]] void fail(const char* problem, int code) const {
    throw file_error(path_, "file", std::string(problem) + ": " + std::generic_category().message(code));
  }

  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace iclmech

#endif  // ICLMECH_IO_MAPPED_FILE_HPP
