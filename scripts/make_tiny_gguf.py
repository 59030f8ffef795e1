#!/usr/bin/env python3
"""Writes tests/golden/gguf/*.gguf: the tiny models of tests/golden/models in llama.cpp's form, so that a model can be
compared with itself across file formats.

What llama.cpp's converter does to the weights, and so does this script:
  llama            rows of q and k reordered inside each head: (2, D/2) becomes (D/2, 2); llama3 rope scaling becomes
                   a tensor of frequency divisors, rope_freqs.weight
  gemma3           1 is added to every norm weight
  mamba, mamba2    A_log becomes ssm_a = -exp(A_log); the convolution loses its middle dimension of 1
  mamba2           ssm_a and ssm_d gain a last dimension of 1; the gated norm is stored by group
A tied output matrix is left out. One thing is not the converter's: llama.cpp derives gemma3's attention scale from
the head size, so the scale of a model that has another one goes into its query norm.

The vocabulary is a toy: llama.cpp does not load a model without one.

Needs: pip install numpy gguf safetensors
"""

import json
import math
import pathlib
import re

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import TokenType
from safetensors.numpy import load_file

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"

TRANSFORMER_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}
GEMMA_NAMES = TRANSFORMER_NAMES | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
MAMBA_NAMES = {
    "norm": "attn_norm", "mixer.in_proj": "ssm_in", "mixer.conv1d": "ssm_conv1d", "mixer.x_proj": "ssm_x",
    "mixer.dt_proj": "ssm_dt", "mixer.dt_bias": "ssm_dt.bias", "mixer.A_log": "ssm_a", "mixer.D": "ssm_d",
    "mixer.norm": "ssm_norm", "mixer.out_proj": "ssm_out",
}
OUTER_NAMES = {
    "embed_tokens.weight": "token_embd.weight", "embeddings.weight": "token_embd.weight",
    "norm.weight": "output_norm.weight", "norm_f.weight": "output_norm.weight", "lm_head.weight": "output.weight",
}
LAYER_NAMES = {"llama": TRANSFORMER_NAMES, "qwen2": TRANSFORMER_NAMES, "gemma3": GEMMA_NAMES, "mamba": MAMBA_NAMES,
               "mamba2": MAMBA_NAMES}

# What llama.cpp never quantises: these are read element by element.
ALWAYS_F32 = ("ssm_conv1d.weight", "ssm_a", "ssm_d", "ssm_norm.weight", "ssm_x.weight", "ssm_dt.weight")


def gguf_name(name, arch):
    name = re.sub(r"^(model|backbone)\.", "", name)
    if name in OUTER_NAMES:
        return OUTER_NAMES[name]
    layer, inner, suffix = re.fullmatch(r"layers\.(\d+)\.(.*?)(\.weight|\.bias)?", name).groups()
    return f"blk.{layer}.{LAYER_NAMES[arch][inner]}{suffix or ''}"


def permuted(weight, heads):
    rows = weight.shape[0] // heads
    return weight.reshape(heads, 2, rows // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def converted(name, weight, arch, config):
    """The weight as llama.cpp stores it; `name` is the one in the GGUF."""
    if arch == "llama" and ".attn_q." in name:
        return permuted(weight, config["num_attention_heads"])
    if arch == "llama" and ".attn_k." in name:
        return permuted(weight, config["num_key_value_heads"])
    if arch == "gemma3" and name.endswith("norm.weight"):
        scale = math.sqrt(config["head_dim"] / config["query_pre_attn_scalar"]) if "attn_q_norm" in name else 1
        return ((1 + weight) * scale).astype(np.float32)
    if name.endswith("ssm_conv1d.weight"):
        return weight.squeeze(1)
    if name.endswith("ssm_a"):
        weight = -np.exp(weight)
    if arch == "mamba2" and name.endswith(("ssm_a", "ssm_d")):
        return weight[:, None]
    if name.endswith("ssm_norm.weight"):
        return weight.reshape(config["n_groups"], -1)
    return weight


def rope_divisors(rope, head_dim):
    wavelength = 2 * np.pi * rope["rope_theta"] ** (np.arange(0, head_dim, 2) / head_dim)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = np.clip((rope["original_max_position_embeddings"] / wavelength - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / rope["factor"] + smooth)).astype(np.float32)


def add_transformer(writer, config):
    rope = config["rope_parameters"].get("full_attention", config["rope_parameters"])
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(rope["rope_theta"])
    if config["model_type"] == "llama":
        writer.add_vocab_size(config["vocab_size"])
        writer.add_rope_dimension_count(head_dim)
    if config["model_type"] == "gemma3_text":
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
        writer.add_sliding_window(config["sliding_window"])
        writer.add_rope_freq_base_swa(config["rope_parameters"]["sliding_attention"]["rope_theta"])
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", rope_divisors(rope, head_dim))


def add_mamba(writer, config):
    inner = config["expand"] * config["hidden_size"]
    writer.add_context_length(1 << 20)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(config["conv_kernel"])
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(config["state_size"])
    writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    if config["model_type"] == "mamba2":
        writer.add_ssm_time_step_rank(inner // config["head_dim"])
        writer.add_ssm_group_count(config["n_groups"])
    else:
        writer.add_ssm_time_step_rank(config["time_step_rank"])


def add_vocabulary(writer, config):
    """Special tokens in the first four places, then single characters, then a few longer pieces."""
    tokens = [None] * 4
    tokens[config["bos_token_id"]] = "<s>"
    if config["eos_token_id"] != config["bos_token_id"]:
        tokens[config["eos_token_id"]] = "</s>"
    spare = iter(["<unk>", "<pad>", "<extra>"])
    tokens = [token or next(spare) for token in tokens]
    characters = [chr(c) for c in range(0x21, 0x7f)]
    words = ["\u2581" + c for c in "abcdefghijklmnopqrstuvwxyz"] + ["th", "he", "in", "er", "an", "re"]
    tokens = (tokens + ["<0x0A>", "\u2581"] + characters + words)[:config["vocab_size"]]
    types = {"<unk>": TokenType.UNKNOWN, "<s>": TokenType.CONTROL, "</s>": TokenType.CONTROL,
             "<pad>": TokenType.CONTROL, "<extra>": TokenType.CONTROL, "<0x0A>": TokenType.BYTE}
    assert len(tokens) == config["vocab_size"]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([types.get(token, TokenType.NORMAL) for token in tokens])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_unk_token_id(tokens.index("<unk>"))


def write(folder, target, kind, file_type):
    config = json.loads((folder / "config.json").read_text())
    arch = config["model_type"].removesuffix("_text")
    writer = gguf.GGUFWriter(target, arch)
    writer.add_name(f"tiny {arch}")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_file_type(file_type)
    (add_mamba if arch.startswith("mamba") else add_transformer)(writer, config)
    add_vocabulary(writer, config)

    weights = {}
    for file in sorted(folder.glob("model*.safetensors")):
        weights |= load_file(file)
    for name in sorted(weights):
        target_name = gguf_name(name, arch)
        weight = np.ascontiguousarray(converted(target_name, weights[name], arch, config), dtype=np.float32)
        if kind == Type.F32 or weight.ndim < 2 or target_name.endswith(ALWAYS_F32):
            writer.add_tensor(target_name, weight)
        else:
            writer.add_tensor(target_name, gguf.quantize(weight, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{target}: {target.stat().st_size} bytes")


def main():
    target = GOLDEN / "gguf"
    target.mkdir(exist_ok=True)
    models = GOLDEN / "models"
    for name in ["llama", "qwen2", "gemma3_text", "mamba", "mamba2"]:
        write(models / name, target / f"{name}.gguf", Type.F32, gguf.LlamaFileType.ALL_F32)
    # Only here are the rows whole blocks.
    for name in ["llama", "mamba"]:
        write(models / name, target / f"{name}-q8_0.gguf", Type.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0)
    write(models / "llama", target / "llama-f16.gguf", Type.F16, gguf.LlamaFileType.MOSTLY_F16)


if __name__ == "__main__":
    main()
