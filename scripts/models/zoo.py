"""The five models: their configurations, and one interface over transformers' classes and our own Hymba."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
import transformers

from models import hymba, task

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

_SHARED = {"vocab_size": len(task.VOCABULARY), "hidden_size": 64, "tie_word_embeddings": True,
           "pad_token_id": task.ID["<pad>"], "bos_token_id": task.ID["<bos>"], "eos_token_id": task.ID["<eos>"]}


@dataclass
class Recipe:
    """How one model is made. Everything that decides its bytes is here or in training.py."""

    config: dict
    steps: int
    learning_rate: float
    seeded: bool = False  # starts from the priors of priors.py
    recall_steps: int = 0  # length of the easier first stage
    contextual_share: float = 0.6
    batch_size: int = 32
    pairs: int = 9
    warmup: int = 100
    undetermined_weight: float = 0.3  # of answers that the demonstrations before them do not tell
    seed: int = 1
    prior: dict = field(default_factory=dict)


RECIPES = {
    "llama": Recipe(
        {"intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
         "max_position_embeddings": 256, "initializer_range": 0.08, "rms_norm_eps": 1e-5},
        steps=700, learning_rate=1e-3, seeded=True, prior={"match": 2.0}),
    "mamba": Recipe(
        {"state_size": 16, "num_hidden_layers": 3, "expand": 2, "conv_kernel": 4, "initializer_range": 0.1},
        steps=450, learning_rate=2e-3, seeded=True, prior={"cluster": 0.5, "match": 1.0}),
    "mamba2": Recipe(
        {"state_size": 32, "num_hidden_layers": 4, "expand": 2, "num_heads": 8, "head_dim": 16, "n_groups": 1,
         "conv_kernel": 4, "chunk_size": 64, "initializer_range": 0.1},
        steps=450, learning_rate=3e-3, seeded=True, prior={"cluster": 0.5, "match": 1.0}),
    "zamba2": Recipe(
        {"num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"], "mamba_d_state": 16,
         "mamba_expand": 2, "mamba_ngroups": 1, "n_mamba_heads": 8, "chunk_size": 64, "intermediate_size": 96,
         "num_attention_heads": 4, "num_key_value_heads": 4, "num_mem_blocks": 1, "adapter_rank": 4,
         "use_shared_attention_adapter": True, "use_mem_rope": True, "max_position_embeddings": 256,
         "initializer_range": 0.08, "add_bias_linear": False},
        steps=700, learning_rate=2e-3, seeded=True, prior={"cluster": 0.5, "match": 1.0}),
    "hymba": Recipe(
        {"intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
         "mamba_d_state": 8, "num_memory_tokens": 4, "sliding_window": 12, "global_attn_idx": [0, 2],
         "kv_reuse_group": [[1, 2]], "initializer_range": 0.08},
        steps=300, learning_rate=2e-3, seeded=True, prior={"match": 2.0}),
}


def plain(arch):
    """A recipe without priors: longer, with a first stage of recall."""
    return replace(RECIPES[arch], seeded=False, prior={}, steps=1200, recall_steps=600)


_CLASSES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "mamba": (transformers.MambaConfig, transformers.MambaForCausalLM),
    "mamba2": (transformers.Mamba2Config, transformers.Mamba2ForCausalLM),
    "zamba2": (transformers.Zamba2Config, transformers.Zamba2ForCausalLM),
}


class TransformersModel(torch.nn.Module):
    """hidden() and head() over a transformers causal language model."""

    def __init__(self, model):
        super().__init__()
        self.causal = model
        self.body = getattr(model, model.base_model_prefix)
        self.config = model.config

    def hidden(self, input_ids):
        return self.body(input_ids=input_ids, use_cache=False).last_hidden_state

    def head(self, hidden):
        return self.causal.get_output_embeddings()(hidden)

    def save(self, folder, dtype):
        self.causal.to(dtype).save_pretrained(folder)
        (Path(folder) / "generation_config.json").unlink(missing_ok=True)


def build(arch, seed):
    """A freshly initialised model."""
    torch.manual_seed(seed)
    settings = {**_SHARED, **RECIPES[arch].config}
    if arch == "hymba":
        return hymba.Hymba(hymba.make_config(**settings))
    config_class, model_class = _CLASSES[arch]
    return TransformersModel(model_class(config_class(**settings)))


def load(arch, folder):
    """The model in a folder, computed in float32 whatever the file's type."""
    if arch == "hymba":
        return hymba.Hymba.load(folder).eval()
    model = TransformersModel(_CLASSES[arch][1].from_pretrained(folder, dtype=torch.float32))
    for mixer in mixers(model):
        if hasattr(mixer, "chunk_size"):
            mixer.chunk_size = 8  # transformers' blocked scan is quickest, and the same, in small blocks
    return model.eval()


def layers(model):
    """The model's layers in order."""
    return model.model.layers if isinstance(model, hymba.Hymba) else model.body.layers


def mixers(model):
    """One module per layer whose output is what the layer's token mixing writes."""
    result = []
    for layer in layers(model):
        layer = getattr(layer, "mamba_decoder", layer)  # zamba2's hybrid layers
        result.append(next(getattr(layer, name) for name in ("self_attn", "mixer", "mamba") if hasattr(layer, name)))
    return result


def embedding(model):
    """The token embedding matrix [V, d]."""
    return (model.model.embed_tokens if isinstance(model, hymba.Hymba) else model.body.get_input_embeddings()).weight
