#!/usr/bin/env python3
"""Trains and writes the bundled tiny models (docs/bundled_models.md).

    train_models.py llama                 train (or go on from the checkpoint), write and evaluate one model
    train_models.py llama --stop-after 50 stop after so many steps; the same command without it goes on
    train_models.py llama --plain         see how far a plain start comes; writes no model
    train_models.py --evaluate [MODEL..]  evaluate what is in examples/models
    train_models.py --tasks               write the task files alone
    train_models.py --check               compare the fast training code with the plain one

Needs torch, transformers, tokenizers, safetensors and a C++ compiler (g++, or $CXX). Nothing is downloaded.
"""

import argparse
from pathlib import Path

import torch

from models import check, evaluation, export, training, zoo

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "examples" / "models"


def make(arch, work_folder, stop_after, out, golden):
    model = training.train(arch, work_folder / arch, stop_after)
    if model is None:
        return
    export.write_model(model, out / arch)
    export.write_golden(arch, out / arch, golden / f"{arch}.safetensors")
    export.write_expectations(arch, out / arch, golden / f"{arch}.json")
    export.write_tasks(out / "tasks")
    print("\n".join(evaluation.report(arch, out / arch)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=" ".join(zoo.RECIPES))
    parser.add_argument("--evaluate", action="store_true", help="evaluate the shipped files instead of training")
    parser.add_argument("--tasks", action="store_true", help="write the task files")
    parser.add_argument("--check", action="store_true", help="compare fast and plain code")
    parser.add_argument("--plain", action="store_true", help="train from a plain start, with a first stage of recall")
    parser.add_argument("--stop-after", type=int, metavar="STEPS")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "train_models", help="folder of checkpoints")
    parser.add_argument("--out", type=Path, default=MODELS, help="folder that gets MODEL/ and tasks/")
    parser.add_argument("--golden", type=Path, default=ROOT / "tests" / "golden" / "bundled")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    unknown = [name for name in arguments.models if name not in zoo.RECIPES]
    if unknown:
        parser.error(f"no model is called {unknown[0]}; there are {', '.join(zoo.RECIPES)}")
    if arguments.tasks:
        export.write_tasks(arguments.out / "tasks")
    elif arguments.check:
        check.run()
    elif arguments.evaluate:
        for arch in arguments.models or zoo.RECIPES:
            print("\n".join(evaluation.report(arch, arguments.out / arch)), flush=True)
    elif arguments.models:
        for arch in arguments.models:
            if arguments.plain:
                training.train(arch, arguments.work / f"{arch}-plain", arguments.stop_after, zoo.plain(arch))
                continue
            make(arch, arguments.work, arguments.stop_after, arguments.out, arguments.golden)
    else:
        parser.error("name a model, or give --evaluate, --tasks or --check")


if __name__ == "__main__":
    main()
