// must not compile: no matching function for call to .*observe
#include "iclmech/hook/hook_set.hpp"

#ifdef ICLMECH_CONTROL
using view = iclmech::const_activation_view;
#else
using view = iclmech::activation_view;
#endif

auto hooks = iclmech::observe<iclmech::hook::z>([](const iclmech::site&, view z) { return z.rows(); });
