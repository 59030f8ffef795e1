"""Random configurations of every architecture, small, with the options that real checkpoints differ in."""


def _attention_sizes(rng):
    kv, per_kv, head = rng.choice((1, 2, 3)), rng.choice((1, 2, 3)), rng.choice((4, 8, 10, 16))
    return kv, kv * per_kv, head


def _common(rng):
    return {
        "vocab_size": rng.randint(40, 160),
        "tie_word_embeddings": rng.random() < 0.5,
        "initializer_range": 0.02,
        "pad_token_id": 0,
    }


def _rope(rng, kinds):
    rope = {"rope_type": rng.choice(kinds), "rope_theta": rng.choice((100.0, 10000.0, 500000.0))}
    if rope["rope_type"] != "default":
        rope["factor"] = rng.choice((2.0, 4.0, 8.0))
    if rope["rope_type"] == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": rng.choice((2.0, 4.0))}
        rope["original_max_position_embeddings"] = rng.choice((16, 64))
    return rope


def llama(rng):
    kv, heads, head = _attention_sizes(rng)
    return _common(rng) | {
        "num_key_value_heads": kv,
        "num_attention_heads": heads,
        "hidden_size": heads * rng.choice((head, head, 6)),
        "head_dim": head,
        "intermediate_size": rng.randint(20, 90),
        "num_hidden_layers": rng.randint(1, 4),
        "rms_norm_eps": rng.choice((1e-6, 1e-5, 1e-3)),
        "attention_bias": rng.random() < 0.5,
        "mlp_bias": rng.random() < 0.5,
        "hidden_act": rng.choice(("silu", "silu", "gelu", "gelu_pytorch_tanh", "gelu_new", "gelu_fast", "swish")),
        "rope_parameters": _rope(rng, ("default", "linear", "llama3", "llama3")),
        "max_position_embeddings": 256,
    }


def qwen2(rng):
    kv, heads, head = _attention_sizes(rng)
    layers, sliding = rng.randint(1, 4), rng.random() < 0.5
    return _common(rng) | {
        "num_key_value_heads": kv,
        "num_attention_heads": heads,
        "hidden_size": heads * head,
        "intermediate_size": rng.randint(20, 90),
        "num_hidden_layers": layers,
        "rms_norm_eps": rng.choice((1e-6, 1e-5)),
        "rope_parameters": _rope(rng, ("default", "linear")),
        "max_position_embeddings": 256,
        "use_sliding_window": sliding,
        "sliding_window": rng.randint(1, 12),
        "max_window_layers": rng.randint(0, layers),
    }


def gemma3(rng):
    kv, heads, head = _attention_sizes(rng)
    layers, cap = rng.randint(2, 7), rng.random() < 0.3
    return _common(rng) | {
        "num_key_value_heads": kv,
        "num_attention_heads": heads,
        "hidden_size": heads * rng.choice((head, 6)),
        "head_dim": head,
        "intermediate_size": rng.randint(20, 90),
        "num_hidden_layers": layers,
        "rms_norm_eps": rng.choice((1e-6, 1e-5)),
        "query_pre_attn_scalar": rng.choice((7, 16, 64, 256)),
        "sliding_window": rng.randint(1, 12),
        "sliding_window_pattern": rng.randint(1, 4),
        "layer_types": rng.choice((None, [rng.choice(("sliding", "full")) + "_attention" for _ in range(layers)])),
        "attention_bias": rng.random() < 0.3,
        "final_logit_softcapping": 5.0 if cap else None,
        "attn_logit_softcapping": 3.0 if cap else None,
        "rope_parameters": {
            "full_attention": _rope(rng, ("default", "linear")),
            "sliding_attention": {"rope_type": "default", "rope_theta": rng.choice((100.0, 10000.0))},
        },
        "max_position_embeddings": 256,
    }


def mamba(rng):
    return _common(rng) | {
        "hidden_size": 8 * rng.randint(1, 6),
        "expand": rng.randint(1, 3),
        "state_size": rng.choice((1, 3, 8, 16)),
        "conv_kernel": rng.randint(1, 5),
        "time_step_rank": rng.choice(("auto", 1, 5)),
        "num_hidden_layers": rng.randint(1, 4),
        "layer_norm_epsilon": rng.choice((1e-5, 1e-6)),
        "use_bias": rng.random() < 0.5,
        "use_conv_bias": rng.random() < 0.6,
    }


def mamba2(rng):
    groups, expand = rng.choice((1, 2, 3)), rng.randint(1, 2)
    heads, head = groups * rng.randint(1, 3) * expand, rng.choice((4, 6, 8))
    low, high = rng.choice(((0.0, float("inf")), (0.1, float("inf")), (0.05, 0.4)))
    return _common(rng) | {
        "num_heads": heads,
        "head_dim": head,
        "hidden_size": heads * head // expand,
        "expand": expand,
        "state_size": rng.choice((1, 3, 8, 16)),
        "conv_kernel": rng.randint(1, 5),
        "n_groups": groups,
        "num_hidden_layers": rng.randint(1, 4),
        "layer_norm_epsilon": rng.choice((1e-5, 1e-6)),
        "use_bias": rng.random() < 0.5,
        "use_conv_bias": rng.random() < 0.6,
        "time_step_limit": (low, high),
        "chunk_size": rng.choice((4, 8, 256)),
    }


def zamba2(rng):
    # Narrow groups make the gated norm amplify rounding, so the model is not as small as it could be.
    heads, groups = rng.choice((1, 2, 4)), rng.choice((1, 2))
    hidden, attention_adapters = 8 * groups * rng.choice((3, 4, 6)), rng.random() < 0.5
    kinds = ["linear_attention"] * rng.randint(0, 2) + ["hybrid"]
    kinds += [rng.choice(("linear_attention", "hybrid")) for _ in range(rng.randint(1, 5))]
    blocks = rng.randint(1, min(3, kinds.count("hybrid")))
    expand = rng.choice((1, 2))
    return _common(rng) | {
        "tie_word_embeddings": True,
        "hidden_size": hidden,
        "num_hidden_layers": len(kinds),
        "layers_block_type": kinds,
        "mamba_d_state": rng.choice((3, 8, 16)),
        "mamba_d_conv": rng.choice((2, 4)),
        "mamba_expand": expand,
        "mamba_ngroups": groups,
        "n_mamba_heads": groups * rng.choice((1, 2)),
        "time_step_min": rng.choice((0.001, 0.2)),
        "use_conv_bias": True,
        "add_bias_linear": rng.random() < 0.3,
        "chunk_size": rng.choice((4, 256)),
        "intermediate_size": rng.randint(20, 90),
        "hidden_act": rng.choice(("gelu", "gelu", "silu", "gelu_pytorch_tanh")),
        "num_attention_heads": heads,
        "num_key_value_heads": heads if attention_adapters or heads == 1 else rng.choice((heads, heads // 2)),
        "num_mem_blocks": blocks,
        "use_shared_attention_adapter": attention_adapters,
        "adapter_rank": rng.randint(1, 6),
        "use_mem_rope": rng.random() < 0.5,
        "rope_parameters": _rope(rng, ("default",)),
        "rms_norm_eps": rng.choice((1e-5, 1e-6, 1e-3)),
        "max_position_embeddings": 256,
    }


def hymba(rng):
    kv, head, layers = rng.choice((1, 2)), rng.choice((4, 8)), rng.randint(2, 7)
    heads = kv * rng.randint(1, 3)
    first = rng.randint(0, layers - 1)
    groups = rng.choice((None, [], [list(range(first, min(layers, first + rng.randint(2, 3))))]))
    return _common(rng) | {
        "model_type": "hymba",
        "hidden_size": heads * head,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "num_hidden_layers": layers,
        "intermediate_size": rng.randint(20, 60),
        "global_attn_idx": sorted(rng.sample(range(layers), rng.randint(0, layers))),
        "sliding_window": rng.choice((None, 1, 3, 8)),
        "kv_reuse_group": groups,
        "kv_reuse_every_i_layer": rng.choice((-1, 2, 3)),
        "mamba_expand": rng.choice((1, 2)),
        "mamba_d_state": rng.choice((3, 8, 16)),
        "mamba_d_conv": rng.randint(1, 4),
        "mamba_dt_rank": rng.choice(("auto", 1, 5)),
        "mamba_inner_layernorms": rng.random() < 0.7,
        "mamba_conv_bias": rng.random() < 0.7,
        "mamba_proj_bias": rng.random() < 0.3,
        "mlp_hidden_act": rng.choice(("silu", "silu", "relu2")),
        "num_memory_tokens": rng.randint(0, 5),
        "rms_norm_eps": rng.choice((1e-6, 1e-5)),
        "rope": True,
        "rope_theta": rng.choice((100.0, 10000.0)),
        "rope_type": rng.choice(("ntk", "default", None)),
        "max_position_embeddings": 256,
        "orig_max_position_embeddings": rng.choice((64, 256)),
        "num_experts": 1,
        "num_mamba": 1,
        "kq_norm": "none",
        "torch_dtype": "float32",
    }


FAMILIES = {f.__name__: f for f in (llama, qwen2, gemma3, mamba, mamba2, zamba2, hymba)}
