#!/usr/bin/env python3
"""Compares `iclmech` with what PyTorch found on the same prompts and the same model file.

    check_oracle.py ICLMECH MODEL ORACLE.json...

An oracle file is one of two kinds. Scores: the prompts as `iclmech tsla --prompts` takes them ("items") and TR, TL,
dla_sum and dla_answer by layer and head, and "pred", the predicted tokens. Effects: the prompts as `iclmech aie --prompts`
takes them ("clean", "shuffled"), beside a .safetensors file of the same name with "cie" [prompts, layers, heads] and
"baseline". tests/golden/real has both for SmolLM2-135M. Prints how many predictions are equal and how far numbers are
apart; fails where a prediction differs, scores by more than 5e-3 of the largest, or effects by more than 2e-4.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

SCORES, EFFECTS = 5e-3, 2e-4


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


def run(program, command, model, prompts):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, command, model, "--prompts", prompts, "--out", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads((pathlib.Path(folder) / f"{command}.json").read_text())


def tensor(path, name):
    """A float32 tensor of a safetensors file, flat, and its shape."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:start])[name]
    begin, end = entry["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 4}f", data[start + begin:start + end]), entry["shape"]


def check_scores(program, model, name, oracle):
    ours = run(program, "tsla", model, name)
    equal = sum(a == b for a, b in zip(ours["predictions"], oracle["pred"], strict=True))
    good = equal == len(oracle["pred"])
    line = f"{pathlib.Path(name).stem}: {equal}/{len(oracle['pred'])} predictions equal"
    for key, theirs in (("tr", "TR"), ("tl", "TL"), ("dla_sum", "dla_sum"), ("dla_answer", "dla_answer")):
        expected = flat(oracle[theirs])
        worst = max(abs(h[key] - e) for h, e in zip(ours["heads"], expected, strict=True)) / max(map(abs, expected))
        line += f", {key} {worst:.1e}"
        good &= worst <= SCORES
    print(line)
    return good


def check_effects(program, model, name):
    ours = run(program, "aie", model, name)
    stored = pathlib.Path(name).with_suffix(".safetensors")
    effects, (prompts, layers, heads) = tensor(stored, "cie")
    baseline, _ = tensor(stored, "baseline")
    ours_flat = [head["cie"][p] for p in range(prompts) for head in ours["heads"]]
    apart = max(abs(a - b) for a, b in zip(ours_flat, effects, strict=True))
    base = max(abs(a - b) for a, b in zip(ours["baseline"], baseline, strict=True))
    print(f"{pathlib.Path(name).stem}: {layers * heads} heads on {prompts} prompts, effects differ by {apart:.1e} at most "
          f"(the largest is {max(map(abs, effects)):.3f}), P(answer) by {base:.1e}")
    return max(apart, base) <= EFFECTS


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, model, *oracles = sys.argv[1:]
    good = True
    for name in oracles:
        oracle = json.loads(pathlib.Path(name).read_text())
        good &= check_effects(program, model, name) if "clean" in oracle else check_scores(program, model, name, oracle)
    sys.exit(not good)


if __name__ == "__main__":
    main()
