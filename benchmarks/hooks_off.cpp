// One forward pass with one kind of hooks, for counting its instructions: see hooks_off.sh.
//
//   hooks_off none       compiled without hooks
//   hooks_off unwanted   hooks on every point that want nothing
//   hooks_off erased     the same behind any_hooks, chosen at run time

#include <cstdio>
#include <string>
#include <vector>

#include "iclmech/detail/parallel.hpp"
#include "iclmech/engine/load.hpp"
#include "iclmech/engine/reference_engine.hpp"
#include "iclmech/hook/any_hooks.hpp"
#include "iclmech/task/bundled_models.hpp"

namespace {

using namespace iclmech;

/// Could fire anywhere, and never does.
struct unwanted {
  static constexpr bool observes(hook) { return true; }
  static constexpr bool edits(hook) { return true; }
  bool wants(const site&) const { return false; }
  void fire(const site&, activation_view) {}
};

}  // namespace

// Outside the namespace and not inlined, so that the profiler can be told to count here alone.
template <class Hooks>
[[gnu::noinline]] float counted_forward(reference_engine& engine, const std::vector<token_sequence>& ids,
                                        Hooks& hooks) {
  return engine.run(ids, hooks, logit_rows::last).sum();
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: hooks_off none|unwanted|erased MODEL\n", stderr);
    return 2;
  }
  set_thread_count(1);
  const std::string kind = argv[1];
  reference_engine engine(load_model(find_model(argv[2])));
  std::vector<token_sequence> ids(1);
  for (token_id i = 0; i < 32; ++i) ids.front().push_back(3 + i);
  no_hooks none;
  unwanted nothing;
  any_hooks erased(nothing);
  engine.run(ids, none);
  float sum = 0;
  if (kind == "none") sum = counted_forward(engine, ids, none);
  if (kind == "unwanted") sum = counted_forward(engine, ids, nothing);
  if (kind == "erased") sum = counted_forward(engine, ids, erased);
  std::printf("%g\n", static_cast<double>(sum));
}
