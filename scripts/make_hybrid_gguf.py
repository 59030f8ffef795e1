#!/usr/bin/env python3
"""Writes tests/golden/gguf/{granitehybrid,falcon-h1}*.gguf, tiny random hybrids in llama.cpp's form, and
hybrids.safetensors: what PyTorch makes of the same weights.

What llama.cpp's converter does to the weights, and so does this script:
  both           A_log becomes ssm_a = -exp(A_log); ssm_a and ssm_d gain a last dimension of 1, the convolution loses
                 its middle one; the gated norm is stored by group
  granitehybrid  rows of q and k reordered inside each head; the MLP's joint input matrix is split; multipliers stay
                 numbers in the metadata. Its files of models without multipliers (Bamba) lack them: *-plain
  falcon-h1      all multipliers go into the weights
A tied output matrix is left out.

hybrids.safetensors has for each model <model>/ids.<n> and <model>/logits.<n> of three prompts, and <model>/<hook> for
what hooks show of the first one.

Needs: pip install torch transformers numpy gguf safetensors
"""

import re

import gguf
import numpy as np
import torch
import transformers
from make_tiny_gguf import GOLDEN, add_vocabulary, permuted
from safetensors.torch import save_file

LAYER_NAMES = {
    "input_layernorm.weight": "attn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight", "self_attn.o_proj.weight": "attn_output.weight",
    "mamba.in_proj.weight": "ssm_in.weight", "mamba.conv1d.weight": "ssm_conv1d.weight",
    "mamba.conv1d.bias": "ssm_conv1d.bias", "mamba.dt_bias": "ssm_dt.bias", "mamba.A_log": "ssm_a",
    "mamba.D": "ssm_d", "mamba.norm.weight": "ssm_norm.weight", "mamba.out_proj.weight": "ssm_out.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight", "shared_mlp.output_linear.weight": "ffn_down.weight",
    "pre_ff_layernorm.weight": "ffn_norm", "feed_forward.gate_proj.weight": "ffn_gate.weight",
    "feed_forward.up_proj.weight": "ffn_up.weight", "feed_forward.down_proj.weight": "ffn_down.weight",
}
OUTER_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
    "model.final_layernorm.weight": "output_norm.weight", "lm_head.weight": "output.weight",
}

COMMON = dict(vocab_size=128, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
              max_position_embeddings=256, mamba_d_state=16, mamba_d_conv=4, mamba_chunk_size=8,
              bos_token_id=1, eos_token_id=2, pad_token_id=None, initializer_range=0.2)
GRANITE = COMMON | dict(shared_intermediate_size=48, num_local_experts=0, num_experts_per_tok=0,
                        mamba_n_heads=8, mamba_d_head=8, mamba_expand=2)
FALCON = COMMON | dict(intermediate_size=48, head_dim=12, mamba_d_ssm=48, mamba_n_heads=6, mamba_d_head=8,
                       mamba_norm_before_gate=False, num_hidden_layers=2,
                       rope_parameters={"rope_type": "default", "rope_theta": 1e5})
MODELS = {
    "granitehybrid": transformers.GraniteMoeHybridConfig(
        **GRANITE, num_hidden_layers=4, mamba_n_groups=1, tie_word_embeddings=True,
        layer_types=["linear_attention", "full_attention"] * 2, embedding_multiplier=3.0, residual_multiplier=0.22,
        attention_multiplier=0.5, logits_scaling=3.0),
    # Ends with a Mamba-2 layer.
    "granitehybrid-plain": transformers.GraniteMoeHybridConfig(
        **GRANITE, num_hidden_layers=2, mamba_n_groups=2, layer_types=["full_attention", "linear_attention"],
        attention_multiplier=8 ** -0.5),
    "falcon-h1": transformers.FalconH1Config(
        **FALCON, mamba_n_groups=2, mamba_rms_norm=True, embedding_multiplier=2.5, lm_head_multiplier=0.4,
        mlp_multipliers=[0.9, 0.6], key_multiplier=0.7, attention_in_multiplier=1.2, attention_out_multiplier=0.8,
        ssm_multipliers=[0.8, 1.1, 0.9, 1.2, 0.7], ssm_in_multiplier=1.3, ssm_out_multiplier=0.5),
    "falcon-h1-plain": transformers.FalconH1Config(**FALCON, mamba_n_groups=1, mamba_rms_norm=False,
                                                   tie_word_embeddings=True),
}


def make_model(config, seed):
    """Norms and skips are 1 by default and biases 0, which would hide a missing one."""
    torch.manual_seed(seed)
    is_granite = config.model_type == "granitemoehybrid"
    kind = transformers.GraniteMoeHybridForCausalLM if is_granite else transformers.FalconH1ForCausalLM
    config._attn_implementation = "eager"
    model = kind(config).eval().to(torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("norm.weight", "layernorm.weight", "mamba.D")):
                parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
            elif name.endswith(("conv1d.bias", "dt_bias")):
                parameter.copy_(0.3 * torch.randn_like(parameter))
            elif name.endswith("A_log"):
                parameter.copy_(torch.log(torch.empty_like(parameter).uniform_(0.2, 3.0)))
    return model


def in_proj_factors(config):
    inner, states = config.mamba_d_ssm, config.mamba_n_groups * config.mamba_d_state
    sizes = [inner, inner, states, states, config.mamba_n_heads]
    return torch.cat([torch.full((size, 1), factor) for size, factor in zip(sizes, config.ssm_multipliers)])


def with_multipliers(name, weight, config):
    """Falcon-H1's weights with everything that is a number beside them."""
    gate, down = config.mlp_multipliers
    factors = {
        "embed_tokens": config.embedding_multiplier, "lm_head": config.lm_head_multiplier,
        "q_proj": config.attention_in_multiplier, "v_proj": config.attention_in_multiplier,
        "k_proj": config.attention_in_multiplier * config.key_multiplier, "o_proj": config.attention_out_multiplier,
        "out_proj": config.ssm_out_multiplier, "gate_proj": gate, "down_proj": down,
    }
    part = name.split(".")[-2]
    if part == "in_proj":
        return weight * config.ssm_in_multiplier * in_proj_factors(config)
    return weight * factors.get(part, 1.0)


def converted(name, weight, config):
    """Names and values as llama.cpp stores them."""
    if name in OUTER_NAMES:
        return {OUTER_NAMES[name]: weight.numpy()}
    layer, inner = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", name).groups()
    values = weight.numpy()
    if inner == "shared_mlp.input_linear.weight":
        gate, up = np.split(values, 2)
        return {f"blk.{layer}.ffn_gate.weight": gate, f"blk.{layer}.ffn_up.weight": up}
    if config.model_type == "granitemoehybrid" and inner == "self_attn.q_proj.weight":
        values = permuted(values, config.num_attention_heads)
    if config.model_type == "granitemoehybrid" and inner == "self_attn.k_proj.weight":
        values = permuted(values, config.num_key_value_heads)
    if inner == "mamba.conv1d.weight":
        values = values.squeeze(1)
    if inner == "mamba.A_log":
        values = -np.exp(values)
    if inner in ("mamba.A_log", "mamba.D"):
        values = values[:, None]
    if inner == "mamba.norm.weight":
        values = values.reshape(config.mamba_n_groups, -1)
    return {f"blk.{layer}.{LAYER_NAMES[inner]}": values}


def add_metadata(writer, config, plain):
    granite = config.model_type == "granitemoehybrid"
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(1 << 20 if granite else config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_vocab_size(config.vocab_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_ssm_conv_kernel(config.mamba_d_conv)
    writer.add_ssm_state_size(config.mamba_d_state)
    writer.add_ssm_group_count(config.mamba_n_groups)
    writer.add_ssm_inner_size(config.mamba_n_heads * config.mamba_d_head)
    writer.add_ssm_time_step_rank(config.mamba_n_heads)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    if not granite:
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        return
    writer.add_feed_forward_length(config.shared_intermediate_size)
    writer.add_head_count_kv([config.num_key_value_heads if kind == "full_attention" else 0
                              for kind in config.layer_types])
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_scaling_finetuned(False)
    if not plain:
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)


def write(name, model):
    config = model.config
    arch = "granitehybrid" if config.model_type == "granitemoehybrid" else "falcon-h1"
    target = GOLDEN / "gguf" / f"{name}.gguf"
    writer = gguf.GGUFWriter(target, arch)
    writer.add_name(f"tiny {name}")
    add_metadata(writer, config, plain=name.endswith("-plain"))
    add_vocabulary(writer, config.to_dict())
    for parameter_name, parameter in model.named_parameters():
        weight = parameter.detach()
        if arch == "falcon-h1":
            weight = with_multipliers(parameter_name, weight, config)
        for target_name, values in converted(parameter_name, weight, config).items():
            writer.add_tensor(target_name, np.ascontiguousarray(values, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{target}: {target.stat().st_size} bytes")


def watch(model, seen):
    """Lets `seen` fill with what the library's hooks show, by their names."""
    granite = model.config.model_type == "granitemoehybrid"
    scale = model.config.residual_multiplier if granite else 1.0

    def first(value):
        return (value[0] if isinstance(value, tuple) else value).squeeze(0)

    def into(name, module):
        module.register_forward_pre_hook(lambda _, inputs: seen.update({name: first(inputs[0]).clone()}))

    def out_of(name, module, factor=1.0, add=False):
        def keep(_, inputs, output):
            value = factor * first(output)
            seen[name] = seen[name] + value if add and name in seen else value.clone()
        module.register_forward_hook(keep)

    for number, layer in enumerate(model.model.layers):
        block = f"blocks.{number}."
        attention, mamba = layer.self_attn, layer.mamba
        out_of(block + "hook_resid_post", layer)
        if attention is not None:
            into(block + "attn.hook_z", attention.o_proj)
            out_of(block + "hook_mixer_out", attention,
                   scale if granite else model.config.attention_out_multiplier, add=True)
        if mamba is not None:
            into(block + "mixer.hook_z", mamba.out_proj)
            out_of(block + "hook_mixer_out", mamba, scale if granite else model.config.ssm_out_multiplier, add=True)
        into(block + "hook_resid_mid", layer.post_attention_layernorm if granite else layer.pre_ff_layernorm)
        mlp = layer.shared_mlp if granite else layer.feed_forward
        into(block + "mlp.hook_post", mlp.output_linear if granite else mlp.down_proj)
        out_of(block + "hook_mlp_out", mlp, scale)
    into("hook_embed", model.model.layers[0].input_layernorm)
    out_of("ln_final.hook_normalized", model.model.norm if granite else model.model.final_layernorm)


def run(name, model, goldens):
    seen = {}
    watch(model, seen)
    generator = torch.Generator().manual_seed(11)
    for number, length in enumerate([9, 5, 13]):
        ids = torch.randint(0, model.config.vocab_size, (length,), generator=generator)
        seen.clear()
        with torch.no_grad():
            logits = model(ids[None], use_cache=False, logits_to_keep=0).logits[0]
        goldens[f"{name}/ids.{number}"] = ids
        goldens[f"{name}/logits.{number}"] = logits.contiguous()
        if number == 0:
            goldens |= {f"{name}/{hook}": value.contiguous() for hook, value in seen.items()}


def main():
    torch.set_num_threads(1)
    goldens = {}
    for seed, (name, config) in enumerate(MODELS.items()):
        model = make_model(config, seed)
        write(name, model)
        run(name, model, goldens)
    save_file(goldens, GOLDEN / "gguf" / "hybrids.safetensors")


if __name__ == "__main__":
    main()
