#!/usr/bin/env python3
"""The state-space scans of the library beside PyTorch's CPU path, over lengths 64 to 4096.

PyTorch's side is what transformers runs without CUDA kernels: the functions mamba_selective_scan and
mamba2_chunk_scan of its mamba and mamba2 models, at the sizes of mamba-130m and mamba2-130m, float32. The library's
side is the program built from benchmarks/scan_benchmark.cpp. Both run on the same number of threads.

    cmake --preset bench && cmake --build --preset bench --target iclmech-scan-benchmark
    python3 scripts/bench_scan_torch.py build/bench/benchmarks/iclmech-scan-benchmark
"""

import argparse
import json
import os
import subprocess
import time

LENGTHS = (64, 256, 1024, 4096)


def library_times(program, threads, repetitions):
    """Milliseconds by (scan, length), the fastest of the repetitions, and its gain over plain loops."""
    command = [
        program,
        "--benchmark_filter=^(selective_scan|ssd_scan)/",
        f"--benchmark_repetitions={repetitions}",
        "--benchmark_min_time=0.2",
        "--benchmark_format=json",
    ]
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    best = {}
    for run in json.loads(output.stdout)["benchmarks"]:
        if run["run_type"] != "iteration":
            continue
        scan, length = run["name"].split("/")[:2]
        key = scan, int(length)
        value = run["real_time"] / 1e3, run["vs_plain_loops"]
        best[key] = min(best.get(key, value), value)
    return best


def torch_times(threads, repetitions):
    """Milliseconds by (scan, length), the fastest of the repetitions."""
    import torch
    from transformers.models.mamba.modeling_mamba import mamba_selective_scan
    from transformers.models.mamba2.modeling_mamba2 import mamba2_chunk_scan

    torch.set_num_threads(threads)
    torch.manual_seed(0)

    def selective_scan(length):
        channels, states = 1536, 16
        x, dt = torch.randn(1, channels, length), torch.randn(1, channels, length).abs() * 0.05
        A = -torch.arange(1.0, states + 1).repeat(channels, 1)
        B, C = torch.randn(1, states, length), torch.randn(1, states, length)
        D = torch.randn(channels)
        return lambda: mamba_selective_scan(x, dt, A, B, C, D, return_last_state=True)

    def ssd_scan(length):
        heads, head_size, states = 24, 64, 128
        x, dt = torch.randn(1, length, heads, head_size), torch.randn(1, length, heads).abs() * 0.05
        A = -(torch.arange(heads) % 16 + 1.0)
        B, C = torch.randn(1, length, 1, states), torch.randn(1, length, 1, states)
        D = torch.randn(heads)
        return lambda: mamba2_chunk_scan(x, dt, A, B, C, 256, D=D, return_final_states=True)

    best = {}
    with torch.inference_mode():
        for scan in (selective_scan, ssd_scan):
            for length in LENGTHS:
                run = scan(length)
                run()
                times = []
                for _ in range(repetitions):
                    start = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - start)
                best[scan.__name__, length] = 1e3 * min(times)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the built benchmarks/scan_benchmark.cpp")
    parser.add_argument("--threads", type=int, default=1, help="threads on both sides (default 1)")
    parser.add_argument("--repetitions", type=int, default=5, help="the fastest of so many runs counts (default 5)")
    arguments = parser.parse_args()

    ours = library_times(arguments.program, arguments.threads, arguments.repetitions)
    theirs = torch_times(arguments.threads, arguments.repetitions)
    print("| scan | length | library, ms | us per row | plain loops | PyTorch, ms | PyTorch / library |")
    print("|---|---|---|---|---|---|---|")
    for scan, length in sorted(theirs):
        milliseconds, gain = ours[scan, length]
        print(
            f"| {scan} | {length} | {milliseconds:.2f} | {1e3 * milliseconds / length:.1f} | {gain:.1f}x slower "
            f"| {theirs[scan, length]:.2f} | {theirs[scan, length] / milliseconds:.1f} |"
        )


if __name__ == "__main__":
    main()
