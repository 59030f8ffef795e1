#!/usr/bin/env bash
# Counts the instructions of one forward pass (32 tokens, one thread) compiled without hooks, with hooks that want
# nothing, and with such hooks behind a type chosen at run time. Needs valgrind.
#
#   benchmarks/hooks_off.sh BUILD_FOLDER [MODEL]
set -euo pipefail
program=$1/benchmarks/iclmech-hooks-off
model=${2:-llama}

count() {
  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    --toggle-collect='*counted_forward*' "$program" "$1" "$model" 2>&1 | sed -n 's/.*Collected *: *//p'
}

none=$(count none)
for kind in none unwanted erased; do
  instructions=$(count "$kind")
  awk -v kind="$kind" -v n="$instructions" -v base="$none" \
    'BEGIN { printf "%-9s %15d instructions  %+.4f %%\n", kind, n, 100 * (n / base - 1) }'
done
