// The matrix products of one prompt through all layers of a model, beside one call to the linked BLAS (or
// Eigen's product, without BLAS) for each matrix, on the same shapes and with the same threads.
//
// Both sides run in turn, over weights that are too many for the caches, as in a model. Counters: `GFLOPs`,
// our rate in units of 10^9 floating-point operations a second; `library`, that of BLAS or Eigen; `ratio`,
// the one over the other. Rates come from the fastest of the runs of each matrix, since other programs only
// ever slow a run down.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "iclmech/engine/weight_matrix.hpp"
#include "library_product.hpp"
#include "stopwatch.hpp"

namespace {

using iclmech::dtype;
using iclmech::index;
using iclmech::row_matrix;
using iclmech::weight_matrix;

struct shape {
  index in, out;
};

struct model_shapes {
  const char* name;
  index layers;
  std::vector<shape> layer;
};

// q, k, v, o, gate, up and down.
const model_shapes smollm2_135m{
    "SmolLM2-135M",
    30,
    {{576, 576}, {576, 192}, {576, 192}, {576, 576}, {576, 1536}, {576, 1536}, {1536, 576}}};
const model_shapes gemma3_270m{
    "Gemma-3-270M",
    18,
    {{640, 1024}, {640, 256}, {640, 256}, {1024, 640}, {640, 2048}, {640, 2048}, {2048, 640}}};
// A quarter of the unembedding of Gemma-3 270M: of interest with few rows.
const model_shapes unembedding{"unembedding", 1, {{640, 65536}}};

weight_matrix random_weight(const shape& s, dtype type, std::mt19937& generator) {
  const index cols = (s.in + block_elements(type) - 1) / block_elements(type) * block_elements(type);
  const auto size = static_cast<std::size_t>(s.out * cols / block_elements(type) * block_bytes(type));
  auto bytes = std::make_shared<std::vector<std::byte>>(size);
  // Small bytes: no scale is NaN or infinite.
  for (std::byte& b : *bytes) b = static_cast<std::byte>(generator() & 0x3b);
  return weight_matrix(type, *bytes, s.out, cols, bytes);
}

void products(benchmark::State& state, const model_shapes& model, dtype type) {
  const index rows = state.range(0);
  const int threads = static_cast<int>(state.range(1));
  iclmech::set_thread_count(threads);
  set_library_threads(threads);
  std::mt19937 generator(1);
  struct work {
    weight_matrix stored;
    row_matrix dense, x, y;
    shortest ours, library;
  };
  std::vector<work> matrices;
  double operations = 0;
  for (index layer = 0; layer < model.layers; ++layer) {
    for (const shape& s : model.layer) {
      work& m = matrices.emplace_back();
      m.stored = random_weight(s, type, generator);
      m.dense = row_matrix::Random(m.stored.rows(), m.stored.cols());
      m.x = row_matrix::Random(rows, m.stored.cols());
      m.y.resize(rows, s.out);
      operations += 2.0 * static_cast<double>(rows * m.dense.size());
    }
  }
  for (auto _ : state) {
    for (work& m : matrices) {
      m.ours.run([&] { m.stored.multiply(m.x, m.y); });
    }
    for (work& m : matrices) {
      m.library.run([&] { library_product(m.x, m.dense, m.y); });
    }
  }
  double ours = 0, library = 0;
  for (const work& m : matrices) {
    ours += m.ours.seconds();
    library += m.library.seconds();
  }
  state.counters["GFLOPs"] = operations / ours * 1e-9;
  state.counters["library"] = operations / library * 1e-9;
  state.counters["ratio"] = library / ours;
  state.SetLabel(std::string(model.name) + " " + std::string(name(type)));
}

void model_rows(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "threads"})->Unit(benchmark::kMillisecond);
  for (const std::int64_t rows : {1, 4, 12, 78, 256, 1000}) {
    for (const std::int64_t threads : {1, 2}) b->Args({rows, threads});
  }
}

BENCHMARK_CAPTURE(products, smollm2_f32, smollm2_135m, dtype::f32)->Apply(model_rows);
BENCHMARK_CAPTURE(products, smollm2_q8_0, smollm2_135m, dtype::q8_0)->Apply(model_rows);
BENCHMARK_CAPTURE(products, smollm2_q4_1, smollm2_135m, dtype::q4_1)->Apply(model_rows);
BENCHMARK_CAPTURE(products, gemma3_f32, gemma3_270m, dtype::f32)->Apply(model_rows);
BENCHMARK_CAPTURE(products, gemma3_bf16, gemma3_270m, dtype::bf16)->Apply(model_rows);
BENCHMARK_CAPTURE(products, gemma3_q8_0, gemma3_270m, dtype::q8_0)->Apply(model_rows);
BENCHMARK_CAPTURE(products, gemma3_q4_k, gemma3_270m, dtype::q4_k)->Apply(model_rows);
BENCHMARK_CAPTURE(products, gemma3_q6_k, gemma3_270m, dtype::q6_k)->Apply(model_rows);
BENCHMARK_CAPTURE(products, unembedding_f32, unembedding, dtype::f32)->Apply(model_rows);
BENCHMARK_CAPTURE(products, unembedding_q8_0, unembedding, dtype::q8_0)->Apply(model_rows);

}  // namespace
