#!/usr/bin/env python3
"""Runs `iclmech tsla` and `iclmech aie` on the same prompts through several hosts and prints how far the others are
from the first one, as the table of docs/llama_cpp.md.

    scripts/compare_hosts.py --iclmech build/release/iclmech --task present-past \\
        smollm2.gguf@reference smollm2.gguf@llama.cpp smollm2-f32.gguf@llama.cpp

Each run is MODEL@HOST. Differences are the largest over all heads, as a share of the largest value; "top 5" says how
many of the five largest heads are the same; the first head is named when it differs.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile


def measure(arguments, run, out):
    model, _, host = run.rpartition("@")
    common = [model, "--host", host, "--threads", str(arguments.threads)]
    if arguments.task:
        common += ["--task", arguments.task, "--count", str(arguments.count), "--shots", str(arguments.shots)]

    def command(name, *more):
        subprocess.run([arguments.iclmech, name, *common, *more, "--out", str(out)], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads((out / f"{name}.json").read_text())

    tsla = command("tsla", *([] if arguments.task else ["--prompts", arguments.tsla_prompts]))
    aie = command("aie", *(["--corrupted", str(arguments.corrupted)] if arguments.task
                           else ["--prompts", arguments.aie_prompts]))
    return {
        "predictions": tsla["predictions"],
        "TR": [h["tr"] for h in tsla["heads"]],
        "TL": [h["tl"] for h in tsla["heads"]],
        "AIE": [h["aie"] for h in aie["heads"]],
        "names": [f"L{h['layer']}H{h['head']}" for h in tsla["heads"]],
    }


def top(values, count):
    return sorted(range(len(values)), key=lambda i: -values[i])[:count]


def compared(first, other, score):
    a, b = first[score], other[score]
    apart = max(abs(x - y) for x, y in zip(a, b)) / max(abs(x) for x in a)
    same = len(set(top(a, 5)) & set(top(b, 5)))
    heads = "" if top(a, 1) == top(b, 1) else f" ({first['names'][top(a, 1)[0]]}, {other['names'][top(b, 1)[0]]})"
    return f"{apart:.1e} | {same} of 5{heads}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="MODEL@HOST")
    parser.add_argument("--iclmech", default="iclmech", help="the program")
    parser.add_argument("--task", help="a task; else give files of token ids with the next two")
    parser.add_argument("--tsla-prompts", metavar="FILE")
    parser.add_argument("--aie-prompts", metavar="FILE")
    parser.add_argument("--count", type=int, default=20, help="prompts")
    parser.add_argument("--shots", type=int, default=8)
    parser.add_argument("--corrupted", type=int, default=5, help="corrupted prompts of the AIE")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for i, run in enumerate(arguments.runs):
            out = pathlib.Path(folder) / str(i)
            out.mkdir()
            results.append(measure(arguments, run, out))
    first = results[0]
    print(f"against {arguments.runs[0]}\n")
    print("| run | same predictions | TR | top 5 | TL | top 5 | AIE | top 5 |")
    print("|---|---|---|---|---|---|---|---|")
    for run, other in zip(arguments.runs, results):
        same = sum(a == b for a, b in zip(first["predictions"], other["predictions"]))
        print(f"| {pathlib.Path(run).name} | {same} of {len(first['predictions'])} | "
              + " | ".join(compared(first, other, score) for score in ("TR", "TL", "AIE")) + " |")


if __name__ == "__main__":
    main()
