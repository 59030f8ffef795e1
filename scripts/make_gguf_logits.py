#!/usr/bin/env python3
"""Writes tests/golden/gguf/rounded_logits.safetensors: what PyTorch makes of the rounded weights in the *-f16 and
*-q8_0 files there.

The rounded matrices of a file, decoded by the gguf package, take the place of the folder's in transformers' model,
which runs on the prompt of the folder's golden.safetensors.

Needs: pip install torch transformers numpy gguf safetensors
"""

import gguf
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from make_tiny_gguf import ALWAYS_F32, GOLDEN, gguf_name
from safetensors.torch import load_file, save_file


def rounded(tensor, kind):
    values = gguf.dequantize(gguf.quantize(tensor.numpy(), kind), kind)
    return torch.from_numpy(values.copy()).reshape(tensor.shape)


def logits(name, kind):
    folder = GOLDEN / "models" / name
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    for parameter_name, parameter in model.named_parameters():
        # Quantisation is by row, so the order in which the file has the rows of q and k makes no difference.
        if parameter.ndim == 2 and not gguf_name(parameter_name, name).endswith(ALWAYS_F32):
            parameter.data = rounded(parameter.data, kind)
    ids = load_file(folder / "golden.safetensors")["input_ids"]
    with torch.no_grad():
        return model.eval()(ids[None], use_cache=False).logits[0].contiguous()


def main():
    torch.set_num_threads(1)
    files = {"llama-f16": Type.F16, "llama-q8_0": Type.Q8_0, "mamba-q8_0": Type.Q8_0}
    found = {file: logits(file.split("-")[0], kind) for file, kind in files.items()}
    save_file(found, GOLDEN / "gguf" / "rounded_logits.safetensors")


if __name__ == "__main__":
    main()
