#!/usr/bin/env bash
# From nothing to a report: builds the program and runs both studies on the bundled models, offline once the packages
# are installed.
#
#   scripts/demo.sh              the bundled models
#   scripts/demo.sh MODEL...     other models (folders or .gguf files), on sentiment and country-capital
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset release -B build/demo -DICLMECH_BUILD_TESTS=OFF -DICLMECH_BUILD_EXAMPLES=OFF \
  -DICLMECH_BUILD_BENCHMARKS=OFF
cmake --build build/demo --target iclmech-cli
iclmech=build/demo/iclmech
out=build/reports

rm -rf "$out"
start=$SECONDS
if (($# > 0)); then
  "$iclmech" study tsla "$@" --task sentiment --out "$out/tsla"
  "$iclmech" study fv "$@" --task country-capital --out "$out/fv"
else
  "$iclmech" tsla llama --task contextual-2 --out "$out/llama"
  read -r -a models <<<"$("$iclmech" models | cut -f 1 | tr "\n" " ")"
  "$iclmech" study tsla "${models[@]}" --task contextual-2 --out "$out/tsla"
  "$iclmech" study fv "${models[@]}" --task category --out "$out/fv"
fi
echo
echo "After the build, this took $((SECONDS - start)) s. The reports are in"
echo "  $PWD/$out/tsla/report.html"
echo "  $PWD/$out/fv/report.html"
