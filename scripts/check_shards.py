#!/usr/bin/env python3
"""One study by one process, by shards that are merged, and by mpirun must end in the same files.

    scripts/check_shards.py build/release/iclmech [--mpiexec mpirun]

Without --mpiexec, or where the program was built without MPI, the last is left out. Also: what `merge` refuses, and that
a study whose process died goes on from what the others kept.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

STUDIES = {
    "tsla": ["study", "tsla", "llama", "hymba", "--task", "contextual-2", "--count", "14", "--shots", "4"],
    "fv": ["study", "fv", "mamba2", "--task", "contextual-2", "--count", "14", "--shots", "4", "--corrupted", "9",
           "--grid-count", "9", "--grid-shots", "4"],
}
SHARDS = 3
problems = []


def run(command, cwd, **options):
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, **options)


def expect(condition, message):
    print(("ok: " if condition else "PROBLEM: ") + message)
    if not condition:
        problems.append(message)


def contents(out, kind):
    """The results without the date, and without the command, which names the folder."""
    entries = json.loads((out / f"{kind}.json").read_text())
    for entry in entries:
        del entry["date"], entry["command"]
    return json.dumps(entries, sort_keys=True)


def shards(program, kind, study, folder, whole):
    outs = []
    for i in range(SHARDS):
        done = run([program, *study, "--shard", f"{i + 1}/{SHARDS}", "--out", f"part{i}"], folder)
        expect(done.returncode == 0, f"{kind}: shard {i + 1}/{SHARDS} {done.stderr.strip()}")
        outs.append(f"part{i}")
    few = run([program, "merge", *outs[:-1], "--out", "few"], folder)
    expect(few.returncode == 2 and f"shard {SHARDS}/{SHARDS} is missing" in few.stderr, "a missing shard is named")
    twice = run([program, "merge", *outs, outs[0], "--out", "twice"], folder)
    expect(twice.returncode == 2 and "are both shard 1/" in twice.stderr, "a shard given twice is refused")
    merged = run([program, "merge", *outs, "--out", "merged"], folder)
    expect(merged.returncode == 0, f"{kind}: merge {merged.stderr.strip()}")
    expect(contents(folder / "merged", kind) == whole, f"{kind}: merged shards give the same results")


def one_dies(command, folder, environment):
    """Kills a rank as soon as a few pieces are kept; the others must not wait for it."""
    running = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parts = folder / "died" / "parts"
    while running.poll() is None and len(list(parts.glob("*"))) < 6:
        time.sleep(0.01)
    children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")
    ranks_running = children.read_text().split() if running.poll() is None else []
    for pid in ranks_running[-1:]:
        os.kill(int(pid), signal.SIGKILL)
    try:
        running.wait(timeout=60)
    except subprocess.TimeoutExpired:
        running.kill()
        expect(False, "the other ranks end when one dies")


def ranks(mpiexec, program, kind, study, folder, whole):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    one_dies([mpiexec, "--oversubscribe", "-n", "2", str(program), *study, "--out", "died"], folder, environment)
    resumed = run([program, *study, "--out", "died", "--resume"], folder)
    expect(resumed.returncode == 0, f"{kind}: one process goes on where a rank died {resumed.stderr.strip()}")
    expect(contents(folder / "died", kind) == whole, f"{kind}: and ends with the same results")
    for n in (2, 3):
        out = folder / f"ranks{n}"
        command = [mpiexec, "--oversubscribe", "-n", n, program, *study, "--out", out.name]
        done = run(command, folder, env=environment)
        expect(done.returncode == 0, f"{kind}: {n} ranks {done.stderr.strip()}")
        expect(contents(out, kind) == whole, f"{kind}: {n} ranks give the same results")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("iclmech", type=pathlib.Path)
    parser.add_argument("--mpiexec", default="")
    options = parser.parse_args()
    program = options.iclmech.resolve()
    # Any program linked with an MPI library can be asked for it.
    has_mpi = options.mpiexec and "libmpi" in run(["ldd", program], ".").stdout
    for kind, study in STUDIES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            alone = run([program, *study, "--out", "alone"], folder)
            expect(alone.returncode == 0, f"{kind}: one process {alone.stderr.strip()}")
            if alone.returncode:
                continue
            whole = contents(folder / "alone", kind)
            leftovers = [path.name for path in (folder / "alone" / "parts").glob("*.cbor")]
            expect(not leftovers, f"{kind}: no pieces are left over")
            shards(program, kind, study, folder, whole)
            if has_mpi:
                ranks(options.mpiexec, program, kind, study, folder, whole)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
