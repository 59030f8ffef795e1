"""A plain forward pass of Hymba, position by position where that is simplest.

transformers has no Hymba to compare with.

Written from the published description, for every option the engine reads. Works on a dictionary of tensors with the
names of nvidia/Hymba-1.5B-Base.
"""

import math

import torch
import torch.nn.functional as F


def is_producer(config, layer):
    """Whether a layer makes keys and values of its own."""
    return key_source(config, layer) == layer


def key_source(config, layer):
    groups, every = config["kv_reuse_group"], config["kv_reuse_every_i_layer"]
    if groups is not None:
        return next((group[0] for group in groups if layer in group), layer)
    return layer - layer % every if every > 0 else layer


def shapes(config):
    """Shape of every tensor of a model."""
    d, vocabulary, memory = config["hidden_size"], config["vocab_size"], config["num_memory_tokens"]
    inner, heads, kv = int(config["mamba_expand"] * d), config["num_attention_heads"], config["num_key_value_heads"]
    n, rank, width = config["mamba_d_state"], step_rank(config), config["intermediate_size"]
    found = {"model.embed_tokens.weight": (vocabulary, d), "model.final_layernorm.weight": (d,)}
    if memory > 0:
        found["model.memory_tokens"] = (memory, d)
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (vocabulary, d)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        mixer = at + "mamba."
        keys = kv * (d // heads) + kv * (inner // heads) if is_producer(config, layer) else 0
        found[at + "input_layernorm.weight"] = found[at + "pre_moe_layernorm.weight"] = (d,)
        found[mixer + "in_proj.weight"] = (d + keys + 2 * inner, d)
        found[mixer + "out_proj.weight"] = (d, inner)
        if config["mamba_proj_bias"]:
            found[mixer + "in_proj.bias"], found[mixer + "out_proj.bias"] = (d + keys + 2 * inner,), (d,)
        found[mixer + "conv1d.weight"] = (inner, 1, config["mamba_d_conv"])
        if config["mamba_conv_bias"]:
            found[mixer + "conv1d.bias"] = (inner,)
        found[mixer + "x_proj.0.weight"] = (rank + 2 * n, inner)
        found[mixer + "dt_proj.0.weight"], found[mixer + "dt_proj.0.bias"] = (inner, rank), (inner,)
        found[mixer + "A_log.0"], found[mixer + "D.0"] = (inner, n), (inner,)
        if config["mamba_inner_layernorms"]:
            for name, size in ("dt", rank), ("B", n), ("C", n):
                found[mixer + name + "_layernorm.weight"] = (size,)
        found[mixer + "pre_avg_layernorm1.weight"] = found[mixer + "pre_avg_layernorm2.weight"] = (inner,)
        expert = at + "moe.experts.0."
        if config["mlp_hidden_act"] != "relu2":
            found[expert + "gate_proj.weight"] = (width, d)
        found[expert + "up_proj.weight"], found[expert + "down_proj.weight"] = (width, d), (d, width)
    return found


def step_rank(config):
    rank = config["mamba_dt_rank"]
    return math.ceil(config["hidden_size"] / 16) if rank == "auto" else rank


def forward(config, w, ids):
    """Logits [T, V], and per layer the concatenated attention heads and the gated scan outputs, each [M + T, inner]."""
    memory = config["num_memory_tokens"]
    x = w["model.embed_tokens.weight"][ids]
    if memory > 0:
        x = torch.cat((w["model.memory_tokens"], x))
    keys_values, heads_z, scans_z = {}, [], []
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        u = _rms(config, x, w[at + "input_layernorm.weight"])
        mixed, attended, scanned = _mix(config, w, layer, u, keys_values)
        heads_z.append(attended)
        scans_z.append(scanned)
        x = x + mixed
        x = x + _expert(config, w, at + "moe.experts.0.", _rms(config, x, w[at + "pre_moe_layernorm.weight"]))
    head = w["model.embed_tokens.weight"] if config["tie_word_embeddings"] else w["lm_head.weight"]
    return _rms(config, x, w["model.final_layernorm.weight"])[memory:] @ head.T, heads_z, scans_z


def _rms(config, x, weight):
    return weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + config["rms_norm_eps"])


def _expert(config, w, at, x):
    up = x @ w[at + "up_proj.weight"].T
    if config["mlp_hidden_act"] == "relu2":
        hidden = up.relu().square()
    else:
        hidden = F.silu(x @ w[at + "gate_proj.weight"].T) * up
    return hidden @ w[at + "down_proj.weight"].T


def _mix(config, w, layer, u, keys_values):
    at = f"model.layers.{layer}.mamba."
    d, heads, kv = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
    inner = int(config["mamba_expand"] * d)
    own = [kv * (d // heads), kv * (inner // heads)] if is_producer(config, layer) else []
    projected = F.linear(u, w[at + "in_proj.weight"], w.get(at + "in_proj.bias"))
    q, *k_and_v, xs, gate = projected.split([d, *own, inner, inner], -1)

    def by_head(values, count):
        return values.reshape(len(values), count, -1).transpose(0, 1)

    q = _rotate(config, by_head(q, heads))
    if k_and_v:
        keys_values[layer] = _rotate(config, by_head(k_and_v[0], kv)), by_head(k_and_v[1], kv)
    k, v = (part.repeat_interleave(heads // kv, 0) for part in keys_values[key_source(config, layer)])
    scores = (q @ k.transpose(1, 2)) / math.sqrt(d // heads)
    scores = scores.masked_fill(~_visible(config, layer, len(u)), -math.inf)
    attended = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(u), inner)

    scanned = _mamba(config, w, at, xs, gate)
    merged = _rms(config, attended, w[at + "pre_avg_layernorm1.weight"])
    merged = (merged + _rms(config, scanned, w[at + "pre_avg_layernorm2.weight"])) / 2
    return F.linear(merged, w[at + "out_proj.weight"], w.get(at + "out_proj.bias")), attended, scanned


def _visible(config, layer, rows):
    query, key = torch.arange(rows)[:, None], torch.arange(rows)
    seen, window = key <= query, config["sliding_window"]
    if window is None or layer in config["global_attn_idx"]:
        return seen
    return seen & ((query - key <= window) | (key < config["num_memory_tokens"]))


def _rotate(config, x):
    width, base = x.shape[-1], config["rope_theta"]
    if not config["rope"]:
        return x
    if config["rope_type"] == "ntk":
        stretch = 2 * config["max_position_embeddings"] / config["orig_max_position_embeddings"] - 1
        base *= stretch ** (width / (width - 2))
    frequencies = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequencies
    cos, sin = angles.cos().float(), angles.sin().float()
    low, high = x.chunk(2, -1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)


def _mamba(config, w, at, xs, gate):
    taps, n, rank = config["mamba_d_conv"], config["mamba_d_state"], step_rank(config)
    padded = F.pad(xs.T[None], (taps - 1, 0))
    convolved = F.conv1d(padded, w[at + "conv1d.weight"], w.get(at + "conv1d.bias"), groups=xs.shape[1])
    xs = F.silu(convolved[0].T)
    r, b, c = (xs @ w[at + "x_proj.0.weight"].T).split([rank, n, n], -1)
    if config["mamba_inner_layernorms"]:
        r, b, c = (_rms(config, v, w[f"{at}{name}_layernorm.weight"]) for name, v in (("dt", r), ("B", b), ("C", c)))
    dt = F.softplus(F.linear(r, w[at + "dt_proj.0.weight"], w[at + "dt_proj.0.bias"]))
    decay = -torch.exp(w[at + "A_log.0"])
    state, rows = torch.zeros_like(decay), []
    for t in range(len(xs)):
        state = torch.exp(dt[t][:, None] * decay) * state + (dt[t] * xs[t])[:, None] * b[t]
        rows.append(state @ c[t])
    return (torch.stack(rows) + w[at + "D.0"] * xs) * F.silu(gate)
