#!/usr/bin/env python3
"""Writes a GGUF file again with every weight as float32: the same numbers without quantised arithmetic.

    scripts/dequantize_gguf.py smollm2.gguf smollm2-f32.gguf

Needs: pip install numpy gguf
"""

import sys

import gguf
from gguf import GGUFReader, GGUFValueType, GGUFWriter


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    reader = GGUFReader(sys.argv[1])
    architecture = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(sys.argv[2], architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        writer.add_key_value(name, field.contents(), kind,
                             field.types[-1] if kind == GGUFValueType.ARRAY else None)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
