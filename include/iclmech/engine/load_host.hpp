#ifndef ICLMECH_ENGINE_LOAD_HOST_HPP
#define ICLMECH_ENGINE_LOAD_HOST_HPP
// A model file as a ready host of one type. Include it in one source file of a program: the engine is
// compiled there, and everything else only sees any_host.

#include "iclmech/engine/load.hpp"
#include "iclmech/engine/reference_engine.hpp"
#include "iclmech/host/any_host.hpp"

namespace iclmech {

/// Loads the model at `path` (see load_model) into a reference engine.
inline any_host load_host(const std::string& path, const load_options& options = {}) {
  return any_host(reference_engine(load_model(path, options)));
}

}  // namespace iclmech

#endif  // ICLMECH_ENGINE_LOAD_HOST_HPP
