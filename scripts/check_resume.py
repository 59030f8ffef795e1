#!/usr/bin/env python3
"""Kills a study at random moments, resumes it, and compares the final files with those of a study that ran through.

    scripts/check_resume.py build/release/iclmech [--kills 50] [--seed 1]
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

STUDY = ["study", "tsla", "llama", "mamba2", "--task", "contextual-2", "--count", "20", "--shots", "4", "--out", "out"]
RESULTS = ("tsla.json", "report.html")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("iclmech", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = str(options.iclmech.resolve())
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole, broken = pathlib.Path(folder) / "whole", pathlib.Path(folder) / "broken"
        whole.mkdir()
        broken.mkdir()
        start = time.monotonic()
        subprocess.run([program, *STUDY], cwd=whole, check=True, stdout=subprocess.DEVNULL)
        duration = time.monotonic() - start

        killed = 0
        while killed < options.kills:
            resume = ["--resume"] if (broken / "out/parts/study.json").exists() else []
            running = subprocess.Popen([program, *STUDY, *resume], cwd=broken, stdout=subprocess.DEVNULL)
            try:
                # Now and then late, so that some kills hit the writing of the results.
                running.wait(timeout=rng.uniform(0.0, duration * rng.choice((0.3, 0.6, 1.2))))
                if running.returncode != 0:
                    print("PROBLEM: a resumed study failed")
                    return 1
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
                killed += 1
        subprocess.run([program, *STUDY, "--resume"], cwd=broken, check=True, stdout=subprocess.DEVNULL)

        def contents(run, name):
            text = (run / "out" / name).read_text()
            date = json.loads((run / "out/parts/study.json").read_text())["date"]
            return text.replace(date, "DATE").replace(date.replace(":", "%3A"), "DATE")  # in CSV links

        # What is not finished is not lost for a forgotten --resume, nor is what others keep in such a folder.
        problems = []

        def refused_with(what, *arguments):
            run = subprocess.run([program, *arguments], cwd=broken, capture_output=True, text=True)
            if run.returncode != 2 or what not in run.stderr:
                problems.append(f"{' '.join(arguments)}: exit {run.returncode}, {run.stderr.strip()!r}")

        identity = broken / "out/parts/study.json"
        finished = identity.read_text()
        identity.write_text(json.dumps({**json.loads(finished), "finished": False}))
        refused_with("not finished: go on with it by --resume", *STUDY)
        identity.write_text(finished)
        refused_with("seed: 0 before, 7 now", *STUDY, "--seed", "7", "--resume")
        refused_with("holds a study tsla", "study", "fv", *STUDY[2:])
        (broken / "foreign/parts").mkdir(parents=True)
        (broken / "foreign/parts/mine.txt").write_text("mine")
        refused_with("no study has kept", *STUDY[:-1], "foreign")
        refused_with("named twice", "study", "tsla", "llama", "llama", *STUDY[4:])
        refused_with("--out /proc/nope", "tsla", "llama", "--task", "category", "--out", "/proc/nope")
        (broken / "early/parts").mkdir(parents=True)
        (broken / "early/parts/study.json.tmp").write_text("{")  # a kill before anything was kept
        early = [*STUDY[:-1], "early", "--sections", "scores"]
        for arguments in ([*early, "--resume"], early):
            if subprocess.run([program, *arguments], cwd=broken, stdout=subprocess.DEVNULL).returncode != 0:
                problems.append(f"{' '.join(arguments)} does not begin")
        (broken / "out/parts/mine.txt").write_text("mine")
        before = sorted(p.name for p in (broken / "out/parts").iterdir())
        again = subprocess.run([program, *STUDY, "--resume"], cwd=broken, stdout=subprocess.DEVNULL)
        if again.returncode != 0 or sorted(p.name for p in (broken / "out/parts").iterdir()) != before:
            problems.append("a finished study cannot be resumed")
        for problem in problems:
            print("PROBLEM:", problem)

        different = [name for name in RESULTS if contents(whole, name) != contents(broken, name)]
        print(f"{killed} kills in a study of {duration:.1f} s; different files: {different or 'none'}")

        anew = subprocess.run([program, *STUDY], cwd=broken, stdout=subprocess.DEVNULL)
        kept = (broken / "out/parts/mine.txt").exists()
        print(f"a new study after a finished one: exit {anew.returncode}, other files {'kept' if kept else 'LOST'}")
        return 0 if not different and not problems and anew.returncode == 0 and kept else 1


if __name__ == "__main__":
    sys.exit(main())
