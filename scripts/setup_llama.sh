#!/usr/bin/env bash
# Installs llama.cpp, as the Python package llama-cpp-python brings it (headers, libraries, CMake package), into a
# virtual environment, and prints the CMAKE_PREFIX_PATH with which CMake finds it.
#
#   scripts/setup_llama.sh                  into build/llama-venv
#   scripts/setup_llama.sh --into FOLDER    into another folder
#   scripts/setup_llama.sh --version 0.3.36 another version than the tested one
#
#   cmake --preset release -DCMAKE_PREFIX_PATH="$(scripts/setup_llama.sh)"
#
# The package is compiled here, for this machine: some fifteen minutes on two cores, less with ccache. What is there
# already stays; messages go to standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

into=$PWD/build/llama-venv
version=0.3.36
while (($#)); do
  case "$1" in
    --into) into=$2; shift 2 ;;
    --version) version=$2; shift 2 ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "setup_llama.sh: unknown argument '$1' (try --help)" >&2; exit 2 ;;
  esac
done

[[ -x $into/bin/python3 ]] || python3 -m venv "$into" >&2
python=$into/bin/python3
if ! "$python" -m pip show --quiet "llama-cpp-python" >/dev/null 2>&1 ||
  [[ "$("$python" -m pip show llama-cpp-python | sed -n 's/^Version: //p')" != "$version" ]]; then
  # Image models are left out.
  arguments="-DLLAVA_BUILD=OFF"
  if command -v ccache >/dev/null; then
    arguments+=" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
  fi
  CMAKE_ARGS="$arguments ${CMAKE_ARGS:-}" CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
    "$python" -m pip install --no-binary llama-cpp-python "llama-cpp-python==$version" >&2
fi

site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
config=$(find "$site" -name llama-config.cmake -print -quit)
if [[ -z $config ]]; then
  echo "setup_llama.sh: llama-cpp-python $version in $site has no llama-config.cmake" >&2
  exit 1
fi
# <prefix>/lib/cmake/llama/llama-config.cmake
(cd "$(dirname "$config")/../../.." && pwd)
