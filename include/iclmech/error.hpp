#ifndef ICLMECH_ERROR_HPP
#define ICLMECH_ERROR_HPP
// The exceptions the library throws: each message says what is wrong, where, and what to do about it.

#include <cstdint>
#include <stdexcept>
#include <string>

#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#error "iclmech reports every error by exception: compile without -fno-exceptions (-fno-rtti is fine)."
#endif

namespace iclmech {

/// The root of everything thrown on purpose by iclmech.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that cannot be: a wrong shape, an unknown name, a token out of range.
class argument_error : public error {
 public:
  using error::error;
};

/// A model or host cannot do what was asked of it, although another one could.
class unsupported_error : public error {
 public:
  using error::error;
};

/// A file does not hold what it should. The message names the file, the field and (where there is one) the
/// byte.
class file_error : public error {
 public:
  /// `field` is the part of the file that is wrong, `problem` says what is wrong and what to do.
  file_error(const std::string& path, const std::string& field, const std::string& problem)
      : error(path + ": " + field + ": " + problem) {}

  /// As above, with the byte offset at which the field starts.
  file_error(const std::string& path, const std::string& field, std::uint64_t byte,
             const std::string& problem)
      : error(path + ": " + field + " (byte " + std::to_string(byte) + "): " + problem) {}
};

}  // namespace iclmech

#endif  // ICLMECH_ERROR_HPP
