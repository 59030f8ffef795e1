// What a forward pass, scoring and the sweep cost on a real model: ICLMECH_BENCHMARK_MODEL names it (a
// folder, a .gguf file or a bundled model; the bundled llama if unset).
//
// Both sides of a comparison run in turn, and the shortest runs are compared, since other programs only ever
// slow a run down.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "iclmech/method/score_heads.hpp"
#include "iclmech/sweep.hpp"
#include "open_host.hpp"
#include "stopwatch.hpp"

namespace {

using namespace iclmech;
using iclmech::index;  // and not the POSIX function

any_host& engine() {
  static any_host e = [] {
    const char* const name = std::getenv("ICLMECH_BENCHMARK_MODEL");
    cli::model_options options;
    options.model = name ? name : "llama";
    return cli::open_host(options);
  }();
  return e;
}

token_sequence prompt_of(index tokens) {
  token_sequence ids(static_cast<std::size_t>(tokens));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<token_id>((7 + 13 * i) % static_cast<std::size_t>(engine().spec().vocab_size));
  return ids;
}

/// Multiply-adds of the weight matrices for one token row in one layer, and for one row of logits.
struct row_cost {
  double mixer = 0, mlp = 0, unembedding = 0;
};
row_cost cost_of(const model_spec& spec) {
  row_cost c;
  const mixer_spec& a = spec.layers.front().mixers.front();
  const double d = spec.d_model;
  c.mixer = d * a.d_key * (a.heads + a.kv_heads) + d * a.d_head * (a.kv_heads + a.heads);
  c.mlp = 3 * d * spec.layers.front().d_mlp;
  c.unembedding = d * spec.vocab_size;
  return c;
}

void prompt(benchmark::State& state) {
  const std::vector<token_sequence> ids{prompt_of(state.range(0))};
  no_hooks none;
  for (auto _ : state) benchmark::DoNotOptimize(engine().run(ids, none).sum());
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
}

// Each head's TR, TL and attributions, beside the forward pass alone.
void scoring(benchmark::State& state) {
  std::vector<labelled_prompt> prompts{{prompt_of(state.range(0)), {1, 2, 3, 4}, 2}};
  const std::vector<token_sequence> ids{prompts.front().ids};
  no_hooks none;
  head_scorer scorer(engine());
  scorer.add(prompts);  // the labels of a task are folded once
  shortest bare, scored;
  for (auto _ : state) {
    bare.run([&] { benchmark::DoNotOptimize(engine().run(ids, none).sum()); });
    scored.run([&] { scorer.add(prompts); });
  }
  state.counters["overhead_%"] = 100 * (scored.seconds() / bare.seconds() - 1);
}

// Every head of an attention model replaced in turn, in one sweep, beside one forward pass of the same
// prompt. `counted_forwards` is the arithmetic of the rows that really went through the layers,
// `needed_forwards` that of the prompt, half a pass of a row per head, and a row of logits per head; both in
// units of a forward.
void sweeping_all_heads(benchmark::State& state) {
  const model_spec& spec = engine().spec();
  if (spec.head_count() != spec.layer_count() * spec.layers.front().mixers.front().heads ||
      !spec.layers.front().has_mlp) {
    state.SkipWithError("counts are written for models of attention and MLPs");
    return;
  }
  const index copies = state.range(1);
  const std::vector<token_sequence> ids(static_cast<std::size_t>(copies), prompt_of(state.range(0)));
  const std::vector<token_id> answers(ids.size(), 3);
  std::vector<variant> variants;
  for (index p = 0; p < copies; ++p)
    for (const head_id h : spec.heads()) variants.push_back({static_cast<int>(p), {zero_head(h)}});
  no_hooks none;
  shortest forward, swept;
  for (auto _ : state) {
    forward.run([&] { benchmark::DoNotOptimize(engine().run(std::span(ids).first(1), none).sum()); });
    swept.run([&] {
      benchmark::DoNotOptimize(sweep(engine(), ids, variants, reduce::answer_probability(answers)));
    });
  }

  double mixer_rows = 0, mlp_rows = 0;
  sweep_observed(engine(), std::span(ids).first(1),
                 std::span(variants).first(static_cast<std::size_t>(spec.head_count())),
                 hook_set(observe<hook::mixer_out>([&](const site&, const_activation_view v) {
                            mixer_rows += static_cast<double>(v.rows());
                          }),
                          observe<hook::mlp_out>([&](const site&, const_activation_view v) {
                            mlp_rows += static_cast<double>(v.rows());
                          })));
  const row_cost cost = cost_of(spec);
  const auto heads = static_cast<double>(spec.head_count()), tokens = static_cast<double>(state.range(0)),
             layers = static_cast<double>(spec.layer_count());
  const double one = layers * tokens * (cost.mixer + cost.mlp) + cost.unembedding;
  const double logits = (heads + 1) * cost.unembedding;
  const double needed = layers * (tokens + heads / 2) * (cost.mixer + cost.mlp) + logits;
  const double counted = mixer_rows * cost.mixer + mlp_rows * cost.mlp + logits;
  state.counters["needed_forwards"] = needed / one;
  state.counters["counted_forwards"] = counted / one;
  state.counters["counted/needed"] = counted / needed;
  state.counters["seconds_per_prompt"] = swept.seconds() / static_cast<double>(copies);
  state.counters["time_in_forwards"] = swept.seconds() / static_cast<double>(copies) / forward.seconds();
  state.counters["GFLOP/s_forward"] = 2e-9 * one / forward.seconds();
  state.counters["GFLOP/s_sweep"] = 2e-9 * counted * static_cast<double>(copies) / swept.seconds();
}

BENCHMARK(prompt)->ArgName("tokens")->Arg(78)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(scoring)->ArgName("tokens")->Arg(78)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(sweeping_all_heads)
    ->ArgNames({"tokens", "prompts"})
    ->Args({78, 1})
    ->Args({78, 4})
    ->Args({78, 8})
    ->Unit(benchmark::kMillisecond);

}  // namespace
