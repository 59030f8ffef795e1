// must not compile: read-only
#include "iclmech/hook/hook_set.hpp"

auto hooks = iclmech::observe<iclmech::hook::z>([](const iclmech::site&, iclmech::const_activation_view z) {
#ifdef ICLMECH_CONTROL
  static_cast<void>(z.data()[0]);
#else
  z.data()[0] = 0;
#endif
});
