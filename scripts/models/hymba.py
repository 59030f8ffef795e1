"""A Hymba language model with the tensor names and config fields of nvidia/Hymba-1.5B-Base.

Written from the published description: attention heads and a Mamba-1 branch in parallel on one input projection,
learned memory tokens in front of the prompt, sliding windows except in a few global layers, and keys and values
shared between layers. Only what small models need: no cache, no padding, one expert, one Mamba branch.
"""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from models.scan import SelectiveScan, causal_conv


def make_config(**changes):
    """The full set of fields, with defaults for a small model; fields that depend on others are filled in."""
    config = {
        "architectures": ["HymbaForCausalLM"],
        "attention_dropout": 0.0,
        "attn_hidden_size": -1,
        "attn_implementation": "flex",
        "attn_implementation_new": "flex",
        "auto_map": {
            "AutoConfig": "configuration_hymba.HymbaConfig",
            "AutoModelForCausalLM": "modeling_hymba.HymbaForCausalLM",
        },
        "bos_token_id": 1,
        "calc_logits_for_entire_prompt": False,
        "eos_token_id": 2,
        "global_attn_idx": [0],
        "hidden_act": "silu",
        "hidden_size": 64,
        "initializer_range": 0.02,
        "intermediate_size": 128,
        "kq_head_dim": -1,
        "kq_norm": "none",
        "kv_reuse_every_i_layer": -1,
        "kv_reuse_group": None,
        "kv_weight_reuse": False,
        "mamba_conv_bias": True,
        "mamba_d_conv": 4,
        "mamba_d_state": 16,
        "mamba_expand": 2,
        "mamba_inner_layernorms": True,
        "mamba_proj_bias": False,
        "max_position_embeddings": 256,
        "memory_tokens_interspersed_every": 0,
        "mlp_hidden_act": "silu",
        "model_type": "hymba",
        "num_attention_heads": 4,
        "num_experts": 1,
        "num_experts_per_tok": 1,
        "num_hidden_layers": 4,
        "num_key_value_heads": 2,
        "num_mamba": 1,
        "num_memory_tokens": 4,
        "orig_max_position_embeddings": 256,
        "output_router_logits": False,
        "pad_token_id": 0,
        "rms_norm_eps": 1e-6,
        "rope": True,
        "rope_theta": 10000.0,
        "rope_type": "ntk",
        "router_aux_loss_coef": 0.001,
        "seq_length": 256,
        "sliding_window": 16,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "transformers_version": "4.44.0",
        "use_cache": False,
        "use_mamba_kernels": True,
        "vocab_size": 144,
    }
    config.update(changes)
    inner, layers = config["mamba_expand"] * config["hidden_size"], config["num_hidden_layers"]
    config.setdefault("mamba_dt_rank", math.ceil(config["hidden_size"] / 16))
    config.setdefault("conv_dim", {str(i): inner for i in range(layers)})
    config.setdefault("layer_type", ["h"] * layers)
    config.setdefault("v_head_dim", inner // config["num_attention_heads"])
    return config


class RmsNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def _rope_tables(config, length):
    width = config["hidden_size"] // config["num_attention_heads"]
    base = config["rope_theta"]
    if config["rope_type"] == "ntk":
        stretch = 2.0 * config["max_position_embeddings"] / config["orig_max_position_embeddings"] - 1.0
        base *= stretch ** (width / (width - 2))
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
    angles = torch.arange(length, dtype=torch.float32)[:, None] * frequencies
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def _rotate(x, tables):
    cos, sin = tables
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Mixer(nn.Module):
    """Attention heads and Mamba in parallel; `shared` layers take the keys and values of an earlier layer."""

    def __init__(self, config, shared):
        super().__init__()
        d, heads, kv = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
        inner, n, rank = config["mamba_expand"] * d, config["mamba_d_state"], config["mamba_dt_rank"]
        eps = config["rms_norm_eps"]
        self.heads, self.kv, self.q_width, self.v_width = heads, kv, d // heads, inner // heads
        own = [] if shared else [kv * self.q_width, kv * self.v_width]
        self.parts = [d, *own, inner, inner]
        self.scan_parts = [rank, n, n]
        self.in_proj = nn.Linear(d, sum(self.parts), bias=False)
        self.conv1d = nn.Conv1d(inner, inner, config["mamba_d_conv"], groups=inner)
        self.x_proj = nn.ModuleList([nn.Linear(inner, sum(self.scan_parts), bias=False)])
        self.dt_proj = nn.ModuleList([nn.Linear(rank, inner)])
        self.A_log = nn.ParameterList([torch.log(torch.arange(1.0, n + 1)).repeat(inner, 1)])
        self.D = nn.ParameterList([torch.ones(inner)])
        self.dt_layernorm, self.B_layernorm, self.C_layernorm = (RmsNorm(w, eps) for w in self.scan_parts)
        self.pre_avg_layernorm1, self.pre_avg_layernorm2 = RmsNorm(inner, eps), RmsNorm(inner, eps)
        self.out_proj = nn.Linear(inner, d, bias=False)
        self.scan = SelectiveScan.apply

    def forward(self, u, tables, mask, keys_values):
        *parts, x, gate = self.in_proj(u).split(self.parts, -1)
        attended, keys_values = self._attention(parts, tables, mask, keys_values)
        merged = (self.pre_avg_layernorm1(attended) + self.pre_avg_layernorm2(self._mamba(x, gate))) / 2
        return self.out_proj(merged), keys_values

    def _attention(self, parts, tables, mask, keys_values):
        batch, length, _ = parts[0].shape

        def split_heads(x, heads):
            return x.view(batch, length, heads, -1).transpose(1, 2)

        q = _rotate(split_heads(parts[0], self.heads), tables)
        if len(parts) == 3:
            keys_values = _rotate(split_heads(parts[1], self.kv), tables), split_heads(parts[2], self.kv)
        k, v = (x.repeat_interleave(self.heads // self.kv, 1) for x in keys_values)
        scores = (q @ k.transpose(-1, -2)) * self.q_width**-0.5 + mask
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1), keys_values

    def _mamba(self, x, gate):
        x = F.silu(causal_conv(x, self.conv1d.weight.squeeze(1), self.conv1d.bias))
        r, b, c = self.x_proj[0](x).split(self.scan_parts, -1)
        dt = F.softplus(self.dt_proj[0](self.dt_layernorm(r)))
        y = self.scan(x, dt, -torch.exp(self.A_log[0]), self.B_layernorm(b), self.C_layernorm(c))
        return (y + self.D[0] * x) * F.silu(gate)


class Expert(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, width = config["hidden_size"], config["intermediate_size"]
        self.gate_proj, self.up_proj = nn.Linear(d, width, bias=False), nn.Linear(d, width, bias=False)
        self.down_proj = nn.Linear(width, d, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config, shared):
        super().__init__()
        self.input_layernorm = RmsNorm(config["hidden_size"], config["rms_norm_eps"])
        self.mamba = Mixer(config, shared)
        self.pre_moe_layernorm = RmsNorm(config["hidden_size"], config["rms_norm_eps"])
        self.moe = nn.ModuleDict({"experts": nn.ModuleList([Expert(config)])})

    def forward(self, x, tables, mask, keys_values):
        mixed, keys_values = self.mamba(self.input_layernorm(x), tables, mask, keys_values)
        x = x + mixed
        return x + self.moe["experts"][0](self.pre_moe_layernorm(x)), keys_values


class Body(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        layers = range(config["num_hidden_layers"])
        self.source = {i: i for i in layers}
        for first, *others in config["kv_reuse_group"] or []:
            self.source.update({i: first for i in others})
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.memory_tokens = nn.Parameter(torch.empty(config["num_memory_tokens"], config["hidden_size"]))
        self.layers = nn.ModuleList([Layer(config, self.source[i] != i) for i in layers])
        self.final_layernorm = RmsNorm(config["hidden_size"], config["rms_norm_eps"])

    def _masks(self, length):
        query, key = torch.arange(length)[:, None], torch.arange(length)[None]
        near = (query - key <= self.config["sliding_window"]) | (key < self.config["num_memory_tokens"])
        causal = torch.zeros(length, length).masked_fill(key > query, -math.inf)
        return causal, causal.masked_fill(~near, -math.inf)

    def forward(self, input_ids):
        memory = self.memory_tokens.expand(len(input_ids), -1, -1)
        x = torch.cat((memory, self.embed_tokens(input_ids)), 1)
        tables, (causal, windowed) = _rope_tables(self.config, x.shape[1]), self._masks(x.shape[1])
        keys_values = {}
        for i, layer in enumerate(self.layers):
            mask = causal if i in self.config["global_attn_idx"] else windowed
            x, keys_values[i] = layer(x, tables, mask, keys_values.get(self.source[i]))
        return self.final_layernorm(x)[:, memory.shape[1] :]


class Hymba(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.model = config, Body(config)
        spread = config["initializer_range"]
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=spread)
        nn.init.normal_(self.model.memory_tokens, std=spread)
        for layer in self.model.layers:  # step sizes start between 0.001 and 0.1, as in Mamba
            step = torch.exp(torch.empty(layer.mamba.D[0].shape).uniform_(math.log(1e-3), math.log(1e-1)))
            layer.mamba.dt_proj[0].bias.data = step + torch.log(-torch.expm1(-step))

    def hidden(self, input_ids):
        return self.model(input_ids)

    def head(self, hidden):
        return F.linear(hidden, self.model.embed_tokens.weight)

    def save(self, folder, dtype):
        tensors = {name: p.detach().to(dtype).contiguous() for name, p in self.named_parameters()}
        save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
        config = {**self.config, "torch_dtype": str(dtype).removeprefix("torch.")}
        (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")

    @classmethod
    def load(cls, folder):
        model = cls(json.loads((Path(folder) / "config.json").read_text()))
        weights = {name: w.float() for name, w in load_file(Path(folder) / "model.safetensors").items()}
        model.load_state_dict(weights)
        return model
