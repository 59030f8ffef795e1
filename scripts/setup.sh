#!/usr/bin/env bash
# Installs what building iclmech needs, with the system's package manager.
#
#   scripts/setup.sh             the compiler, CMake and the libraries
#   scripts/setup.sh --ci        also what the continuous integration uses: clang, its sanitizers and tools, MPI,
#                                and Chromium, without which the test of reports is skipped
#   scripts/setup.sh --dry-run   only says what it would install
#
# Installs only what is missing; run it as often as you like.
set -euo pipefail

ci=false
dry_run=false
for argument in "$@"; do
  case "$argument" in
    --ci) ci=true ;;
    --dry-run) dry_run=true ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "setup.sh: unknown argument '$argument' (try --help)" >&2; exit 2 ;;
  esac
done

if command -v apt-get >/dev/null; then
  manager=apt
  packages=(build-essential cmake ninja-build ccache python3 libeigen3-dev libxtensor-dev nlohmann-json3-dev
    libpcre2-dev libutf8proc-dev libfmt-dev libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev
    libopenblas-dev)
  ci_packages=(clang-14 libomp-14-dev libclang-rt-14-dev llvm-14 clang-format-14 clang-tidy-14 libopenmpi-dev openmpi-bin)
elif command -v dnf >/dev/null; then
  manager=dnf
  packages=(gcc-c++ cmake ninja-build ccache python3 eigen3-devel xtensor-devel json-devel pcre2-devel
    utf8proc-devel fmt-devel gtest-devel gmock-devel google-benchmark-devel cli11-devel openblas-devel)
  ci_packages=(clang libomp-devel compiler-rt llvm clang-tools-extra openmpi-devel)
elif command -v brew >/dev/null; then
  manager=brew
  packages=(cmake ninja ccache python3 eigen xtensor nlohmann-json pcre2 utf8proc fmt googletest google-benchmark
    cli11 openblas libomp)
  ci_packages=(llvm open-mpi)
else
  echo "setup.sh: found none of apt-get, dnf and brew; install by hand: a C++20 compiler, CMake >= 3.25," >&2
  echo "Ninja, Eigen, xtensor, nlohmann-json, PCRE2, utf8proc, fmt, GoogleTest, Google Benchmark, CLI11 and," >&2
  echo "if you like, OpenBLAS." >&2
  exit 1
fi
if $ci; then packages+=("${ci_packages[@]}"); fi

is_installed() {
  case $manager in
    apt) [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]] ;;
    dnf) rpm -q --whatprovides "$1" >/dev/null 2>&1 ;;
    brew) brew list --versions "$1" >/dev/null 2>&1 ;;
  esac
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
# Older distributions have an older CMake.
require_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  if [[ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" != 3.25 ]]; then
    echo "setup.sh: CMake $version is installed, but 3.25 or newer is needed: pip install cmake brings one" >&2
    exit 1
  fi
}

browser=()
if $ci && [[ $manager != brew ]] && ! is_installed chromium; then browser=(chromium); fi

if ((${#missing[@]} + ${#browser[@]} == 0)); then
  echo "setup.sh: everything is there (${#packages[@]} packages)"
  require_cmake
  exit 0
fi
echo "setup.sh: to install with $manager: ${missing[*]-} ${browser[*]-}"
if $dry_run; then exit 0; fi

as_root=()
if [[ $manager != brew && $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "setup.sh: run it as root, or install sudo" >&2; exit 1; }
  as_root=(sudo)
fi
install() {
  case $manager in
    # `env`, because sudo drops the variable.
    apt) ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$@" ;;
    dnf) ${as_root[@]+"${as_root[@]}"} dnf install -y -q "$@" ;;
    brew) brew install --quiet "$@" ;;
  esac
}
if [[ $manager == apt ]]; then ${as_root[@]+"${as_root[@]}"} apt-get update -qq; fi
if ((${#missing[@]} > 0)); then install "${missing[@]}"; fi
# Not every system has it as a package, and one test alone wants it.
if ((${#browser[@]} > 0)); then install "${browser[@]}" || echo "setup.sh: no Chromium: reports will not be opened"; fi
require_cmake
