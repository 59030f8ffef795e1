#!/usr/bin/env python3
"""Runs the program's commands on every golden model and holds their files and exit codes to what is promised.

    scripts/check_program.py build/release/iclmech tests/golden

Checked: `inspect`; the shapes of what `trace` writes; the fields of tsla.json, aie.json, ablation.json and their CSV;
`tokenize` on GGUF files that hold a vocabulary and no weights; exit codes 0, 1 and 2 with one paragraph on stderr.
"""
import csv
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

problems = []


def expect(condition, message):
    if not condition:
        print("PROBLEM: " + message)
        problems.append(message)


def npy_shape(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    return eval(data[10:10 + length])["shape"]  # a Python literal, by the format's definition


class program:
    def __init__(self, path):
        self.path = path

    def run(self, *arguments, code=0):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        command = " ".join(map(str, arguments))
        expect(done.returncode == code, f"`{command}` ended with {done.returncode}, not {code}: {done.stderr.strip()}")
        expect(code == 0 or done.stderr.strip(), f"`{command}` failed and said nothing on stderr")
        return done


def check_model(iclmech, model, folder):
    name = model.name
    spec = json.loads((model / "config.json").read_text())
    vocabulary = spec.get("vocab_size")
    text = iclmech.run("inspect", model).stdout
    expect("hook_z" in text and "hook points" in text, f"{name}: inspect lists hook points")

    out = folder / name
    iclmech.run("trace", model, "--ids", "1,5,9", "--hooks", "blocks.*.hook_mixer_out", "--out", out)
    logits = npy_shape(out / "logits.npy")
    expect(logits == (3, vocabulary), f"{name}: logits.npy is {logits}")
    traced = sorted(out.glob("blocks.*.hook_mixer_out.npy"))
    expect(traced, f"{name}: trace wrote no mixer output")
    for path in traced:
        expect(npy_shape(path)[-1] == spec["hidden_size"], f"{name}: {path.name} is {npy_shape(path)}")

    items = [{"ids": [1, 5, 9, 4], "labels": [3, 7], "answer": 7}, {"ids": [1, 6, 2], "labels": [3, 7], "answer": 3}]
    (folder / "items.json").write_text(json.dumps({"items": items}))
    iclmech.run("tsla", model, "--prompts", folder / "items.json", "--out", out)
    scores = json.loads((out / "tsla.json").read_text())
    for field in ("heads", "predictions", "accuracy", "tr_ratio", "model", "library_version", "date"):
        expect(field in scores, f"{name}: tsla.json has no {field}")
    for field in ("layer", "mixer", "head", "tr", "tl", "dla_sum", "dla_answer"):
        expect(all(field in head for head in scores["heads"]), f"{name}: heads in tsla.json have no {field}")
    expect({head["mixer"] for head in scores["heads"]} <= {"attention", "mamba1", "mamba2"}, f"{name}: mixers")
    expect(len(scores["predictions"]) == 2, f"{name}: a prediction for each item")
    rows = list(csv.DictReader((out / "tsla.csv").open()))
    expect(len(rows) == len(scores["heads"]), f"{name}: tsla.csv has {len(rows)} rows")
    expect(abs(float(rows[0]["tr"]) - scores["heads"][0]["tr"]) < 1e-6, f"{name}: tsla.csv says what tsla.json says")

    answered = [{"ids": item["ids"], "answer": item["answer"]} for item in items]
    (folder / "effects.json").write_text(json.dumps({"clean": answered, "shuffled": answered}))
    iclmech.run("aie", model, "--prompts", folder / "effects.json", "--out", out)
    effects = json.loads((out / "aie.json").read_text())
    expect(len(effects["baseline"]) == 2, f"{name}: a baseline for each corrupted prompt")
    expect(all(len(head["cie"]) == 2 for head in effects["heads"]), f"{name}: an effect for each corrupted prompt")
    expect(all(abs(head["aie"] - sum(head["cie"]) / 2) < 1e-6 for head in effects["heads"]), f"{name}: AIE is the mean")

    iclmech.run("ablate", model, "--prompts", folder / "items.json", "--heads", "tr,random", "--out", out)
    outcomes = json.loads((out / "ablation.json").read_text())["outcomes"]
    expect([o["set"] for o in outcomes] == ["none", "tr", "random:tr"], f"{name}: ablation.json has the sets")
    rows = list(csv.DictReader((out / "ablation.csv").open()))
    expect([row["set"] for row in rows] == [o["set"] for o in outcomes], f"{name}: ablation.csv has the sets")
    # Without --out the summary is printed and nothing written.
    expect("TR" in iclmech.run("tsla", model, "--prompts", folder / "items.json").stdout, f"{name}: tsla prints")


def check_failures(iclmech, model, folder):
    iclmech.run("tsla", model, code=2)
    iclmech.run("tsla", "llama", "--task", "sentimant", code=2)
    iclmech.run("trace", model, "--ids", "1,2", "--hooks", "blocks.0.attn.hook_zz", "--out", folder / "x", code=2)
    iclmech.run("inspect", folder / "not-there", code=2)
    broken = folder / "broken.gguf"
    broken.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1))
    done = iclmech.run("inspect", broken, code=1)
    expect("broken.gguf" in done.stderr, "a broken file is named")


def main():
    iclmech, golden = program(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    models = sorted(path.parent for path in (golden / "models").glob("*/config.json"))
    vocabularies = sorted((golden / "tokenizers" / "small").glob("*.gguf"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in models:
            check_model(iclmech, model, folder)
        for vocabulary in vocabularies:
            ids = iclmech.run("tokenize", vocabulary, "--text", "Hello, world").stdout.strip()
            expect(ids and all(part.isdigit() for part in ids.split(",")), f"{vocabulary.name}: tokenize gave '{ids}'")
        check_failures(iclmech, models[0], folder)
    print(f"{len(models)} models, {len(vocabularies)} vocabularies, {len(problems)} problems")
    return 1 if problems or not models or not vocabularies else 0


if __name__ == "__main__":
    sys.exit(main())
