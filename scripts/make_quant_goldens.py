#!/usr/bin/env python3
"""Writes tests/golden/dequantize.safetensors: stored blocks of every encoding and the float32 values that the
Python package `gguf` reads from them.

For each type: `<type>.blocks` [blocks, bytes] uint8 and `<type>.values` [blocks, elements] float32. The blocks are
quantised normal numbers where gguf can quantise, random bytes with random scales, and random bytes with every
combination of awkward scales (zeros, denormals, the largest, infinities, NaN).

Needs: pip install numpy gguf safetensors
"""

import itertools
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "dequantize.safetensors"

# Where the f16 scales lie in a block.
SCALES = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
    Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
}
QUANTISABLE = [Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]
AWKWARD = np.array([0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01], dtype=np.uint16)


def quant_blocks(kind, random):
    block_elements, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    places = SCALES[kind]
    awkward = list(itertools.product(AWKWARD, repeat=len(places)))
    if block_elements == 256:  # keeps the file small: each awkward value in each place
        awkward = [pair for pair in awkward if len(pair) == 1 or pair[0] == AWKWARD[2] or pair[1] == AWKWARD[2]]
    blocks = random.integers(0, 256, size=(16 + len(awkward), block_bytes), dtype=np.uint8)
    for column, place in enumerate(places):
        scales = random.normal(size=len(blocks)).astype(np.float16).view(np.uint16)
        scales[16:] = [pair[column] for pair in awkward]
        blocks[:, place:place + 2] = scales.view(np.uint8).reshape(-1, 2)
    if kind in QUANTISABLE:
        rows = random.normal(size=(16, block_elements)).astype(np.float32)
        blocks = np.concatenate([gguf.quantize(rows, kind), blocks])
    return blocks


def half_blocks(random):
    edges = np.array([0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x03ff, 0x0400, 0x3c00, 0x7bff, 0x7c00, 0xfc00,
                      0x7e00, 0x7f7f, 0x7f80, 0xff80, 0x7fc0], dtype=np.uint16)
    values = np.concatenate([edges, random.integers(0, 1 << 16, size=512, dtype=np.uint16)])
    return values.view(np.uint8).reshape(-1, 2)


def main():
    random = np.random.default_rng(20240607)
    tensors = {}
    for kind in [Type.F16, Type.BF16, *SCALES]:
        blocks = quant_blocks(kind, random) if kind in SCALES else half_blocks(random)
        with np.errstate(all="ignore"):
            values = gguf.dequantize(blocks, kind)
        tensors[f"{kind.name.lower()}.blocks"] = blocks
        tensors[f"{kind.name.lower()}.values"] = np.ascontiguousarray(values, dtype=np.float32)
    save_file(tensors, TARGET, metadata={"made_by": "scripts/make_quant_goldens.py"})
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
