// Scoring one prompt's heads at the last position, beside a plain loop over the same numbers and beside what
// one would write first: form each head's write and multiply it with the label rows.

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "iclmech/tsla.hpp"

namespace {

using iclmech::folded_labels;
using iclmech::index;
using iclmech::label_set;
using iclmech::label_subspace;
using iclmech::row_matrix;
using iclmech::tsla_score;
using iclmech::vector;

// The sizes of one layer; the arguments are d_model, heads, d_head and |Y|.
struct layer {
  explicit layer(const benchmark::State& state)
      : width(state.range(0)), heads(state.range(1)), head_width(state.range(2)), count(state.range(3)) {
    std::vector<iclmech::token_id> tokens;
    for (index y = 0; y < count; ++y) tokens.push_back(static_cast<iclmech::token_id>(y));
    std::srand(1);
    projection = row_matrix::Random(width, heads * head_width);
    outputs = vector::Random(heads * head_width);
    labels.emplace_back(row_matrix::Random(count, width), label_set(tokens));
    scores.resize(static_cast<std::size_t>(heads));
  }

  index width, heads, head_width, count;
  row_matrix projection;
  vector outputs;
  std::vector<label_subspace> labels;  // one; a vector because it has no empty state
  std::vector<tsla_score> scores;
};

void report(benchmark::State& state, double multiply_adds) {
  state.counters["flop/s"] = benchmark::Counter(
      2 * multiply_adds, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void scores_from_folded_labels(benchmark::State& state) {
  layer l(state);
  const folded_labels folded(l.labels.front(), l.projection, l.heads);
  for (auto _ : state) {
    folded.scores(l.outputs, 0, l.scores);
    benchmark::DoNotOptimize(l.scores.data());
    benchmark::ClobberMemory();
  }
  report(state, static_cast<double>(l.heads * l.head_width * l.count));
}

void scores_from_folded_labels_in_a_plain_loop(benchmark::State& state) {
  layer l(state);
  const row_matrix folded = l.labels.front().basis() * l.projection;
  const Eigen::MatrixXd& loadings = l.labels.front().loadings();
  const Eigen::RowVectorXd mean = loadings.colwise().mean();
  const auto n = static_cast<double>(l.count);
  for (auto _ : state) {
    for (index h = 0; h < l.heads; ++h) {
      double squared = 0;
      double contrast = 0;
      for (index i = 0; i < l.count; ++i) {
        float q = 0;
        for (index j = 0; j < l.head_width; ++j)
          q += folded(i, h * l.head_width + j) * l.outputs(h * l.head_width + j);
        squared += static_cast<double>(q) * static_cast<double>(q);
        contrast += (loadings(0, i) - mean(i)) * static_cast<double>(q);
      }
      const double norm = std::sqrt(squared);
      l.scores[static_cast<std::size_t>(h)] = {norm, n / (n - 1) * contrast / norm};
    }
    benchmark::DoNotOptimize(l.scores.data());
    benchmark::ClobberMemory();
  }
  report(state, static_cast<double>(l.heads * l.head_width * l.count));
}

void scores_from_writes(benchmark::State& state) {
  layer l(state);
  vector write(l.width);
  for (auto _ : state) {
    for (index h = 0; h < l.heads; ++h) {
      write.noalias() = l.projection.middleCols(h * l.head_width, l.head_width) *
                        l.outputs.segment(h * l.head_width, l.head_width);
      l.scores[static_cast<std::size_t>(h)] = l.labels.front().score(write, 0);
    }
    benchmark::DoNotOptimize(l.scores.data());
    benchmark::ClobberMemory();
  }
  report(state, static_cast<double>(l.heads * l.width * (l.head_width + l.count)));
}

void factoring_a_label_set(benchmark::State& state) {
  const layer l(state);
  for (auto _ : state) {
    const label_subspace again(l.labels.front().rows(), l.labels.front().labels());
    const folded_labels folded(again, l.projection, l.heads);
    benchmark::DoNotOptimize(folded.rank());
  }
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"d_model", "heads", "d_head", "labels"});
  benchmark->Args({576, 9, 64, 2})->Args({576, 9, 64, 9})->Args({2048, 32, 64, 4})->Args({2048, 32, 64, 32});
}

BENCHMARK(scores_from_folded_labels)->Apply(sizes);
BENCHMARK(scores_from_folded_labels_in_a_plain_loop)->Apply(sizes);
BENCHMARK(scores_from_writes)->Apply(sizes);
BENCHMARK(factoring_a_label_set)->Apply(sizes);

}  // namespace
