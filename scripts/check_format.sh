#!/usr/bin/env bash
# Checks that all C++ files are formatted as .clang-format says; with --fix, formats them. Versions of clang-format
# differ in details, so this one is used and no other.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=clang-format-14
if ! command -v $tool >/dev/null; then
  echo "check_format.sh: needs $tool (scripts/setup.sh --ci)" >&2
  exit 1
fi
mode=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then mode=(-i); fi

find include tests examples benchmarks tools -name '*.[ch]pp' -print0 | xargs -0 "$tool" --style=file "${mode[@]}"
