#!/usr/bin/env bash
# Prints how long the same work takes in Python tools, llama.cpp and iclmech; sets up a Python environment of its own.
#
#   benchmarks/peers/run.sh MODEL.gguf [PROMPTS.json]
#
# Without prompts, forward passes alone are compared.
# The float32 model must fit into memory three times over. Set PEERS_PYTHON to use an environment that has torch,
# transformers, accelerate, gguf and, for their lines of the table, nnsight, transformer-lens and llama-cpp-python.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
cmake -S "$root" -B "$root/build/bench" --preset bench
cmake --build "$root/build/bench" --target iclmech-peer
python=${PEERS_PYTHON:-$root/build/peers-venv/bin/python}
if [[ ! -x $python ]]; then
  python3 -m venv "$root/build/peers-venv"
  "$python" -m pip install --quiet torch transformers accelerate gguf nnsight transformer-lens llama-cpp-python
fi
exec "$python" "$here/peers.py" "$root/build/bench" "$@"
