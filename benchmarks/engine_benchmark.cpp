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
#include "library_product.hpp"
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

/// The matrix products of a pass alone, by BLAS or Eigen: what the whole pass is measured against.
class library_pass {
 public:
  explicit library_pass(const model_spec& spec) {
    const mixer_spec& a = spec.layers.front().mixers.front();
    const index d = spec.d_model, mlp = spec.layers.front().d_mlp;
    set_library_threads(thread_count());
    for (int layer = 0; layer < spec.layer_count(); ++layer) {
      layers_.push_back(
          {row_matrix::Random(a.heads * a.d_key, d), row_matrix::Random(a.kv_heads * a.d_key, d),
           row_matrix::Random(a.kv_heads * a.d_head, d), row_matrix::Random(d, a.heads * a.d_head),
           row_matrix::Random(mlp, d), row_matrix::Random(mlp, d), row_matrix::Random(d, mlp)});
    }
    unembedding_ = row_matrix::Random(spec.vocab_size, d);
  }

  /// All products, with `rows[l]` rows in layer l and `logit_rows` rows of logits.
  void multiply_all(const std::vector<index>& rows, index logit_rows) {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
      for (const row_matrix& w : layers_[layer]) multiply(w, rows[layer]);
    multiply(unembedding_, logit_rows);
  }

 private:
  void multiply(const row_matrix& w, index rows) {
    if (x_.size() < rows * w.cols()) x_.setConstant(rows * w.cols(), 0.5F);
    if (y_.size() < rows * w.rows()) y_.resize(rows * w.rows());
    library_product(const_matrix_view(x_.data(), rows, w.cols(), Eigen::OuterStride<>(w.cols())), w,
                    matrix_view(y_.data(), rows, w.rows(), Eigen::OuterStride<>(w.rows())));
  }

  std::vector<std::vector<row_matrix>> layers_;
  row_matrix unembedding_;
  vector x_, y_;
};

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
// units of a forward. `%_of_library` is the rate reached in per cent of the one at which BLAS or Eigen does
// the matrix products of these rows and nothing else.
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
  // The rows that really go through each layer.
  std::vector<index> layer_rows(spec.layers.size());
  double mixer_rows = 0, mlp_rows = 0;
  sweep_observed(engine(), ids, variants,
                 hook_set(observe<hook::mixer_out>([&](const site& s, const_activation_view v) {
                            layer_rows[static_cast<std::size_t>(s.layer)] += v.rows();
                            mixer_rows += static_cast<double>(v.rows());
                          }),
                          observe<hook::mlp_out>([&](const site&, const_activation_view v) {
                            mlp_rows += static_cast<double>(v.rows());
                          })));

  library_pass library(spec);
  const std::vector<index> prompt_rows(spec.layers.size(), state.range(0));
  const index logit_rows = copies * (spec.head_count() + 1);
  no_hooks none;
  shortest forward, swept, library_forward, library_swept;
  for (auto _ : state) {
    forward.run([&] { benchmark::DoNotOptimize(engine().run(std::span(ids).first(1), none).sum()); });
    swept.run([&] {
      benchmark::DoNotOptimize(sweep(engine(), ids, variants, reduce::answer_probability(answers)));
    });
    library_forward.run([&] { library.multiply_all(prompt_rows, 1); });
    library_swept.run([&] { library.multiply_all(layer_rows, logit_rows); });
  }

  const row_cost cost = cost_of(spec);
  const auto heads = static_cast<double>(spec.head_count()), tokens = static_cast<double>(state.range(0)),
             layers = static_cast<double>(spec.layer_count()), prompts = static_cast<double>(copies);
  const double one = layers * tokens * (cost.mixer + cost.mlp) + cost.unembedding;
  const double logits = (heads + 1) * cost.unembedding;
  const double needed = layers * (tokens + heads / 2) * (cost.mixer + cost.mlp) + logits;
  const double counted = (mixer_rows * cost.mixer + mlp_rows * cost.mlp) / prompts + logits;
  state.counters["needed_forwards"] = needed / one;
  state.counters["counted_forwards"] = counted / one;
  state.counters["counted/needed"] = counted / needed;
  state.counters["seconds_per_prompt"] = swept.seconds() / prompts;
  state.counters["time_in_forwards"] = swept.seconds() / prompts / forward.seconds();
  state.counters["GFLOP/s_forward"] = 2e-9 * one / forward.seconds();
  state.counters["GFLOP/s_sweep"] = 2e-9 * counted * prompts / swept.seconds();
  state.counters["%_of_library_forward"] = 100 * library_forward.seconds() / forward.seconds();
  state.counters["%_of_library_sweep"] = 100 * library_swept.seconds() / swept.seconds();
}

BENCHMARK(prompt)->ArgName("tokens")->Arg(78)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(scoring)->ArgName("tokens")->Arg(78)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(sweeping_all_heads)
    ->ArgNames({"tokens", "prompts"})
    ->Args({78, 1})
    ->Args({78, 4})
    ->Args({78, 8})
    ->Args({256, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
