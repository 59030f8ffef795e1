#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset release
cmake --build --preset release
ctest --preset release --parallel "$(nproc 2>/dev/null || sysctl -n hw.ncpu)" "$@"
