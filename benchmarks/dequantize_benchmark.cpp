// Decoding stored weights, beside copying as many floats: the rate at which memory takes the results.
// Counters: floats made per second, and bytes of the stored form read per second.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "iclmech/io/dequantize.hpp"

namespace {

using iclmech::dtype;

// 256 rows of 2048: 2 MB of floats, as much as an engine decodes at a time and more than the second cache
// holds.
constexpr iclmech::index elements = 256 * 2048;

void set_counters(benchmark::State& state, iclmech::index stored_bytes) {
  state.SetItemsProcessed(state.iterations() * elements);
  state.SetBytesProcessed(state.iterations() * stored_bytes);
}

void copy_floats(benchmark::State& state) {
  const std::vector<float> source(elements, 1.0f);
  std::vector<float> target(elements);
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), elements * sizeof(float));
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
  set_counters(state, elements * static_cast<iclmech::index>(sizeof(float)));
}

void dequantize(benchmark::State& state, dtype type) {
  const iclmech::index stored = elements / block_elements(type) * block_bytes(type);
  std::vector<std::byte> source(static_cast<std::size_t>(stored));
  std::mt19937 generator(1);
  for (std::byte& byte : source)
    byte = static_cast<std::byte>(generator() & 0x3b);  // no scale is NaN or infinite
  std::vector<float> target(elements);
  for (auto _ : state) {
    iclmech::dequantize(type, source.data(), elements, target.data());
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
  set_counters(state, stored);
}

BENCHMARK(copy_floats);
BENCHMARK_CAPTURE(dequantize, f16, dtype::f16);
BENCHMARK_CAPTURE(dequantize, bf16, dtype::bf16);
BENCHMARK_CAPTURE(dequantize, q4_0, dtype::q4_0);
BENCHMARK_CAPTURE(dequantize, q4_1, dtype::q4_1);
BENCHMARK_CAPTURE(dequantize, q5_0, dtype::q5_0);
BENCHMARK_CAPTURE(dequantize, q5_1, dtype::q5_1);
BENCHMARK_CAPTURE(dequantize, q8_0, dtype::q8_0);
BENCHMARK_CAPTURE(dequantize, q4_k, dtype::q4_k);
BENCHMARK_CAPTURE(dequantize, q5_k, dtype::q5_k);
BENCHMARK_CAPTURE(dequantize, q6_k, dtype::q6_k);

}  // namespace
