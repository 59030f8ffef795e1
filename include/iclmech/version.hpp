#ifndef ICLMECH_VERSION_HPP
#define ICLMECH_VERSION_HPP
// The library's version, stated once; CMake reads it from here.

#define ICLMECH_VERSION_MAJOR 0
#define ICLMECH_VERSION_MINOR 1
#define ICLMECH_VERSION_PATCH 0

namespace iclmech {

/// The version as text, "major.minor.patch".
inline constexpr const char* library_version = "0.1.0";

}  // namespace iclmech

#endif  // ICLMECH_VERSION_HPP
