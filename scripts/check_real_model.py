#!/usr/bin/env python3
"""Compares `iclmech tokenize` and `iclmech trace` with transformers on a GGUF file, on prompts made of a bundled task.

    check_real_model.py ICLMECH MODEL.gguf [TASK.json [PROMPTS]]

Needs torch, transformers, accelerate and gguf. Both sides compute in float32 from the same quantised weights. Prints the
largest difference of all logits over their largest value, and how many next-token predictions at all positions are
equal; fails beyond 1e-3 or when the last prediction of a prompt differs.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import torch

os.environ["HF_HUB_OFFLINE"] = "1"
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

root = pathlib.Path(__file__).resolve().parent.parent


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, gguf = sys.argv[1:3]
    task = json.loads(pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else root / "data/tasks/sentiment.json").read_text())
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    folder, name = os.path.split(gguf)
    tokenizer = AutoTokenizer.from_pretrained(folder or ".", gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(folder or ".", gguf_file=name, dtype=torch.float32).eval()
    items = task["pairs"] if isinstance(task, dict) else task
    worst, equal, total, failed = 0.0, 0, 0, False
    for seed in range(count):
        drawn = random.Random(seed).sample(items, 9)
        text = "\n\n".join(f"Q: {i['input']}\nA: {i['output']}" for i in drawn).rsplit(" ", 1)[0]
        ids = tokenizer(text)["input_ids"]
        bos = ["--bos"] if tokenizer.bos_token_id is not None and ids[0] == tokenizer.bos_token_id else []
        printed = subprocess.run([program, "tokenize", gguf, "--text", text, *bos], check=True, capture_output=True, text=True)
        ours = [int(i) for i in printed.stdout.strip().split(",")]
        if ours != ids:
            failed = True
            print(f"prompt {seed}: token ids differ: {ours} instead of {ids}")
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([program, "trace", gguf, "--ids", ",".join(map(str, ids)), "--out", out], check=True,
                           stdout=subprocess.DEVNULL)
            logits = numpy.load(pathlib.Path(out) / "logits.npy")
        with torch.no_grad():
            expected = model(input_ids=torch.tensor([ids])).logits[0].numpy()
        worst = max(worst, float(abs(logits - expected).max() / abs(expected).max()))
        same = logits.argmax(-1) == expected.argmax(-1)
        equal, total = equal + int(same.sum()), total + len(same)
        failed |= not same[-1]
    print(f"{name}: {count} prompts, {equal}/{total} predictions equal, logits differ by at most {worst:.1e} of the largest")
    sys.exit(failed or worst > 1e-3)


if __name__ == "__main__":
    main()
