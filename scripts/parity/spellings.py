"""The same model written as other programs write it: older config.json fields, the state-spaces project's files."""

import math


def older_config(config):
    """A config.json of transformers 4, from one of transformers 5."""
    config = dict(config)
    config["torch_dtype"] = config.pop("dtype", "float32")
    rope = config.pop("rope_parameters", None)
    if rope and "full_attention" in rope:
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    if rope:
        config["rope_theta"] = rope["rope_theta"]
        scaling = {key: value for key, value in rope.items() if key != "rope_theta"}
        config["rope_scaling"] = None if scaling["rope_type"] == "default" else scaling
        if scaling["rope_type"] == "linear":
            scaling["type"] = scaling.pop("rope_type")
    if "layers_block_type" in config:
        config["layers_block_type"] = ["hybrid" if k == "hybrid" else "mamba" for k in config["layers_block_type"]]
    if config["model_type"] == "gemma3_text" and _follows_pattern(config):
        del config["layer_types"]
    if "time_step_limit" in config:  # json.dumps writes infinity bare, as transformers 4 did
        low, high = config["time_step_limit"]
        config["time_step_limit"] = [low, math.inf if isinstance(high, dict) else high]
    return config


def _follows_pattern(config):
    pattern = config.get("sliding_window_pattern", 6)
    full = [(i + 1) % pattern == 0 for i in range(config["num_hidden_layers"])]
    return config["layer_types"] == ["full_attention" if is_full else "sliding_attention" for is_full in full]


def state_spaces_config(config, padded):
    """config.json of the state-spaces project. Its vocabulary size is the one before padding."""
    second = config["model_type"] == "mamba2"
    ssm = {"layer": "Mamba2" if second else "Mamba1", "d_state": config["state_size"], "d_conv": config["conv_kernel"]}
    ssm |= {"expand": config["expand"], "bias": config["use_bias"], "conv_bias": config["use_conv_bias"]}
    if second:
        low, high = config["time_step_limit"]
        ssm |= {"headdim": config["head_dim"], "ngroups": config["n_groups"]}
        ssm["dt_limit"] = [low, math.inf if isinstance(high, dict) else high]
    else:
        ssm["dt_rank"] = config["time_step_rank"]
    return {
        "d_model": config["hidden_size"],
        "d_intermediate": 0,
        "n_layer": config["num_hidden_layers"],
        "vocab_size": padded - 3,
        "ssm_cfg": ssm,
        "attn_layer_idx": [],
        "attn_cfg": {},
        "rms_norm": True,
        "residual_in_fp32": True,
        "fused_add_norm": True,
        "pad_vocab_size_multiple": 8,
        "tie_embeddings": config["tie_word_embeddings"],
    }


def state_spaces_tensors(tensors):
    """Tensors under the state-spaces project's names; it stores the output matrix even where it is tied."""
    renamed = {name.replace("backbone.embeddings.", "backbone.embedding."): t for name, t in tensors.items()}
    renamed.setdefault("lm_head.weight", renamed["backbone.embedding.weight"].clone())
    return renamed
