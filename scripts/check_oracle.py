#!/usr/bin/env python3
"""Compares `iclmech tsla` with scores that another implementation stored, on the same prompts.

    check_oracle.py ICLMECH MODEL ORACLE.json...

An oracle file holds the prompts as `--prompts` takes them ("items") and what the other side found for them: "TR", "TL",
"dla_sum" and "dla_answer" by layer and head, "pred", the predicted tokens. Prints how many predictions are equal and, for
each score, the largest difference over the largest value; fails beyond 5e-3 or when a prediction differs.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

limit = 5e-3


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, model, *oracles = sys.argv[1:]
    failed = False
    for name in oracles:
        oracle = json.loads(pathlib.Path(name).read_text())
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "tsla", model, "--prompts", name, "--out", folder], check=True,
                           stdout=subprocess.DEVNULL)
            ours = json.loads((pathlib.Path(folder) / "tsla.json").read_text())
        equal = sum(a == b for a, b in zip(ours["predictions"], oracle["pred"]))
        line = f"{pathlib.Path(name).stem}: {equal}/{len(oracle['pred'])} predictions equal"
        failed |= equal != len(oracle["pred"])
        for key, theirs in (("tr", "TR"), ("tl", "TL"), ("dla_sum", "dla_sum"), ("dla_answer", "dla_answer")):
            expected = flat(oracle[theirs])
            worst = max(abs(h[key] - e) for h, e in zip(ours["heads"], expected, strict=True)) / max(map(abs, expected))
            line += f", {key} {worst:.1e}"
            failed |= worst > limit
        print(line)
    sys.exit(failed)


if __name__ == "__main__":
    main()
