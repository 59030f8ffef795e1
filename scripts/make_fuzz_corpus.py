#!/usr/bin/env python3
"""Writes the seeds of the fuzz corpus: small, valid files of each kind, put together byte by byte.

Usage: make_fuzz_corpus.py [OUTPUT]    (default: tests/fuzz/corpus of this repository)

Inputs that the fuzzers found are beside the seeds and are left alone.
"""

import json
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
BLOCK = {0: (1, 4), 1: (1, 2), 2: (32, 18), 8: (32, 34), 12: (256, 144), 14: (256, 210), 30: (1, 2)}


def gguf_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_value(value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + gguf_text(value)
    kind = {str: STRING, int: I32, float: F32}[type(value[0])]
    body = b"".join(gguf_text(v) if kind == STRING else struct.pack("<i" if kind == I32 else "<f", v) for v in value)
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + body


def gguf(metadata: dict, tensors=(), version=3, alignment=32) -> bytes:
    """`tensors`: (name, type, extents with the fastest first)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += gguf_text(key) + gguf_value(value)
    data = b""
    for name, kind, extents in tensors:
        count = 1
        for extent in extents:
            count *= extent
        elements, size = BLOCK[kind]
        head += gguf_text(name) + struct.pack("<I", len(extents))
        head += b"".join(struct.pack("<Q", e) for e in extents) + struct.pack("<IQ", kind, len(data))
        stored = bytes(i * 7 % 61 for i in range(count // elements * size))
        data += stored + bytes(-len(stored) % alignment)
    return head + bytes(-len(head) % alignment) + data


def transformer(name: str, **more) -> dict:
    return {
        "general.architecture": name,
        f"{name}.block_count": 1,
        f"{name}.context_length": 64,
        f"{name}.embedding_length": 8,
        f"{name}.feed_forward_length": 16,
        f"{name}.attention.head_count": 2,
        f"{name}.attention.head_count_kv": 1,
        f"{name}.attention.layer_norm_rms_epsilon": 1e-5,
    } | {f"{name}.{key.replace('__', '.')}": value for key, value in more.items()}


def gguf_seeds():
    embedding = [("token_embd.weight", 0, (8, 4))]
    yield "llama", gguf(transformer("llama", rope__freq_base=10000.0), embedding)
    yield "gemma3", gguf(transformer("gemma3", attention__sliding_window=4, attention__key_length=4), embedding)
    mamba = {"general.architecture": "mamba2", "mamba2.block_count": 1, "mamba2.embedding_length": 8}
    mamba |= {"mamba2.ssm.inner_size": 16, "mamba2.ssm.state_size": 4, "mamba2.ssm.conv_kernel": 4}
    mamba |= {"mamba2.ssm.time_step_rank": 4, "mamba2.ssm.group_count": 1}
    mamba |= {"mamba2.attention.layer_norm_rms_epsilon": 1e-5}
    yield "mamba2", gguf(mamba, embedding)
    kinds = [(f"t{kind}", kind, (elements * 2 if elements == 1 else elements,)) for kind, (elements, _) in BLOCK.items()]
    yield "types", gguf({"general.alignment": 64}, kinds, alignment=64)
    yield "version2", gguf({"general.name": "old"}, [("x", 1, (2, 3))], version=2)
    tokens = ["<unk>", "<s>", "</s>", "\u2581", "H", "e", "l", "o", "ll", "\u2581w"] + [f"<0x{b:02X}>" for b in range(4)]
    yield "sentencepiece", gguf({
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [-float(i) for i in range(len(tokens))],
        "tokenizer.ggml.token_type": [2, 3, 3] + [1] * 7 + [6] * 4,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.add_bos_token": True,
    })
    yield "byte_level", gguf({
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": ["H", "e", "l", "o", "ll", "He", "\u0120", "w", "<s>"],
        "tokenizer.ggml.token_type": [1] * 8 + [3],
        "tokenizer.ggml.merges": ["l l", "H e"],
        "tokenizer.ggml.bos_token_id": 8,
    })


def safetensors(header, data=b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_seeds():
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, size in (("F32", 4), ("F16", 2), ("BF16", 2), ("I64", 8), ("U8", 1), ("BOOL", 1)):
        header[f"x.{name}"] = {"dtype": name, "shape": [2, 3], "data_offsets": [len(data), len(data) + 6 * size]}
        data += bytes(range(6 * size))
    yield "types", safetensors(header, data)
    yield "scalar", safetensors({"s": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}, bytes(4))
    yield "empty", safetensors(b"{}      ")


def npy(descr: str, shape: str, data: bytes, version=1) -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npy_seeds():
    yield "matrix", npy("<f4", "(2, 3)", bytes(24))
    yield "vector", npy("<i4", "(3,)", bytes(12))
    yield "version2", npy("<f4", "()", bytes(4), version=2)


def tokenizer_seeds():
    def seed(model, text, **parts):
        return json.dumps({"model": model} | parts, ensure_ascii=False).encode() + b"\0" + text.encode()

    vocabulary = {token: i for i, token in enumerate(["H", "e", "l", "o", "He", "ll", "\u0120", "w", "\u2581", "<0x0A>"])}
    special = [{"id": 10, "content": "<s>", "special": True}]
    split = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\p{N}{1,3}|\s+(?!\S)|\s+"}, "behavior": "Isolated", "invert": False}
    yield "byte_level", seed(
        {"type": "BPE", "vocab": vocabulary, "merges": ["H e", "l l"]},
        "Hello w<s>123",
        added_tokens=special,
        normalizer={"type": "NFC"},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel", "add_prefix_space": False}]},
        decoder={"type": "ByteLevel"},
    )
    yield "sentencepiece", seed(
        {"type": "BPE", "vocab": vocabulary, "merges": [["H", "e"], ["l", "l"]], "byte_fallback": True, "fuse_unk": True},
        "Hello\nw",
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        decoder={"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    )
    yield "words", seed(
        {"type": "WordLevel", "vocab": vocabulary, "unk_token": "o"}, "H e 1", pre_tokenizer={"type": "Whitespace"}
    )


def config_seeds():
    for config in sorted((ROOT / "tests/golden/models").glob("*/config.json")):
        yield config.parent.name, json.dumps(json.loads(config.read_text(encoding="utf-8"))).encode()


def task_seeds():
    pairs = [{"input": "good film", "output": "positive"}, {"input": "bad film", "output": "negative"}]
    task = {"name": "film", "family": "contextual", "labels": "classification", "pairs": pairs}
    yield "json", b"\0" + json.dumps(task).encode()
    yield "list", b"\0" + json.dumps(pairs).encode()
    yield "jsonl", b"\1" + b"\n".join(json.dumps(pair).encode() for pair in pairs)
    yield "csv", b'\2input,output\n"a ""good"", film",positive\r\nbad,negative\n'
    yield "tsv", b"\3input\toutput\ngood\tpositive\nbad\tnegative\n"


def main() -> int:
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/fuzz/corpus"
    index = {"metadata": {"total_size": 24}, "weight_map": {"a": "model-00001-of-00001.safetensors"}}
    seeds = {
        "gguf": gguf_seeds(),
        "safetensors": safetensors_seeds(),
        "safetensors_index": [("one", json.dumps(index).encode())],
        "npy": npy_seeds(),
        "tokenizer_json": tokenizer_seeds(),
        "hf_config": config_seeds(),
        "task": task_seeds(),
    }
    for target, files in seeds.items():
        (corpus / target).mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (corpus / target / f"seed-{name}").write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
