// The state-space scans at the sizes of mamba-130m and mamba2-130m, beside the recurrence written as plain
// loops.
//
// `vs_plain_loops` says how many times faster than the loops the library's scan is; `ns_per_row` stays level
// where the cost is linear in the length. scripts/bench_scan_torch.py sets the same runs beside PyTorch.

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

#include "iclmech/engine/causal_conv.hpp"
#include "iclmech/engine/selective_scan.hpp"
#include "iclmech/engine/ssd_scan.hpp"
#include "stopwatch.hpp"

namespace {

using iclmech::index;
using iclmech::row_matrix;

row_matrix random_matrix(index rows, index cols) {
  static std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  return row_matrix::NullaryExpr(rows, cols, [&]() { return normal(generator); });
}

row_matrix random_steps(index rows, index cols) { return random_matrix(rows, cols).array().abs() * 0.05F; }

struct mamba1 {
  static constexpr index channels = 1536, states = 16;
  row_matrix x, dt, A, B, C, D, state, y;

  explicit mamba1(index rows)
      : x(random_matrix(rows, channels)),
        dt(random_steps(rows, channels)),
        A(row_matrix::NullaryExpr(channels, states,
                                  [](index, index n) { return -static_cast<float>(n + 1); })),
        B(random_matrix(rows, states)),
        C(random_matrix(rows, states)),
        D(random_matrix(1, channels)),
        state(row_matrix::Zero(channels, states)),
        y(rows, channels) {}

  void scan() { iclmech::selective_scan(x, dt, A, B, C, D.data(), state.data(), y); }

  void plain_loops() {
    for (index t = 0; t < x.rows(); ++t) {
      for (index c = 0; c < channels; ++c) {
        float sum = D(0, c) * x(t, c);
        for (index n = 0; n < states; ++n) {
          state(c, n) = std::exp(dt(t, c) * A(c, n)) * state(c, n) + dt(t, c) * x(t, c) * B(t, n);
          sum += state(c, n) * C(t, n);
        }
        y(t, c) = sum;
      }
    }
  }
};

struct mamba2 {
  static constexpr iclmech::ssd_shape shape{24, 64, 1, 128};
  row_matrix x, dt, A, B, C, D, state, y;

  explicit mamba2(index rows)
      : x(random_matrix(rows, shape.heads * shape.head_size)),
        dt(random_steps(rows, shape.heads)),
        A(row_matrix::NullaryExpr(1, shape.heads,
                                  [](index, index h) { return -static_cast<float>(h % 16 + 1); })),
        B(random_matrix(rows, shape.state_size)),
        C(random_matrix(rows, shape.state_size)),
        D(random_matrix(1, shape.heads)),
        state(row_matrix::Zero(shape.heads * shape.head_size, shape.state_size)),
        y(rows, shape.heads * shape.head_size) {}

  void scan(index chunk = 64) {
    iclmech::ssd_scan(shape, x, dt, A.data(), B, C, D.data(), state.data(), y, chunk);
  }

  void plain_loops() {
    for (index t = 0; t < x.rows(); ++t) {
      for (index h = 0; h < shape.heads; ++h) {
        const float decay = std::exp(dt(t, h) * A(0, h));
        for (index c = h * shape.head_size; c < (h + 1) * shape.head_size; ++c) {
          float sum = D(0, h) * x(t, c);
          for (index n = 0; n < shape.state_size; ++n) {
            state(c, n) = decay * state(c, n) + dt(t, h) * x(t, c) * B(t, n);
            sum += state(c, n) * C(t, n);
          }
          y(t, c) = sum;
        }
      }
    }
  }
};

// Times `scan` and says how it compares with `plain`, which is timed once around it.
template <class Scan, class Plain>
void beside_plain_loops(benchmark::State& bench, index rows, const Scan& scan, const Plain& plain) {
  plain();
  const double loops = seconds(plain);
  double total = 0;
  for (auto _ : bench) {
    const double once = seconds(scan);
    bench.SetIterationTime(once);
    total += once;
    benchmark::ClobberMemory();
  }
  const double mean = total / static_cast<double>(bench.iterations());
  bench.counters["vs_plain_loops"] = loops / mean;
  bench.counters["ns_per_row"] = 1e9 * mean / static_cast<double>(rows);
}

void selective_scan(benchmark::State& bench) {
  mamba1 run(bench.range(0));
  beside_plain_loops(
      bench, bench.range(0), [&] { run.scan(); }, [&] { run.plain_loops(); });
}

void ssd_scan(benchmark::State& bench) {
  mamba2 run(bench.range(0));
  beside_plain_loops(
      bench, bench.range(0), [&] { run.scan(); }, [&] { run.plain_loops(); });
}

void ssd_scan_chunk(benchmark::State& bench) {
  mamba2 run(1024);
  for (auto _ : bench) {
    run.scan(bench.range(0));
    benchmark::ClobberMemory();
  }
}

// One row after the other, as in decoding: what the block form saves over the vectorised recurrence.
void ssd_scan_row_by_row(benchmark::State& bench) {
  mamba2 run(bench.range(0));
  for (auto _ : bench) {
    for (index t = 0; t < run.x.rows(); ++t) {
      iclmech::ssd_scan(mamba2::shape, run.x.row(t), run.dt.row(t), run.A.data(), run.B.row(t), run.C.row(t),
                        run.D.data(), run.state.data(), run.y.row(t));
    }
    benchmark::ClobberMemory();
  }
}

// 24 variants of the last position, one for each head, from the state before it: per variant, against a scan
// of one row.
void selective_step_from(benchmark::State& bench) {
  const index variants = bench.range(0);
  mamba1 run(variants);
  for (auto _ : bench) {
    iclmech::selective_step_from(run.state.data(), run.x, run.dt, run.A, run.B, run.C, run.D.data(), run.y);
    benchmark::ClobberMemory();
  }
}

void ssd_step_from(benchmark::State& bench) {
  const index variants = bench.range(0);
  mamba2 run(variants);
  for (auto _ : bench) {
    iclmech::ssd_step_from(mamba2::shape, run.state.data(), run.x, run.dt, run.A.data(), run.B, run.C,
                           run.D.data(), run.y);
    benchmark::ClobberMemory();
  }
}

void causal_conv(benchmark::State& bench) {
  const row_matrix x = random_matrix(bench.range(0), 1536), weight = random_matrix(1536, 4);
  row_matrix out(x.rows(), x.cols());
  for (auto _ : bench) {
    iclmech::causal_conv_silu(x, nullptr, weight, nullptr, out);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(selective_scan)
    ->RangeMultiplier(4)
    ->Range(64, 4096)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(ssd_scan)->RangeMultiplier(4)->Range(64, 4096)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(ssd_scan_chunk)->RangeMultiplier(2)->Range(16, 256)->Unit(benchmark::kMicrosecond);
BENCHMARK(ssd_scan_row_by_row)->Arg(1)->Arg(256)->Unit(benchmark::kMicrosecond);
BENCHMARK(selective_step_from)->Arg(1)->Arg(24)->Unit(benchmark::kMicrosecond);
BENCHMARK(ssd_step_from)->Arg(1)->Arg(24)->Unit(benchmark::kMicrosecond);
BENCHMARK(causal_conv)->Arg(1)->Arg(1024)->Unit(benchmark::kMicrosecond);

}  // namespace
