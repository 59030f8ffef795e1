"""Starting points that lean towards an induction circuit, for models that do not find one from a plain start in minutes.

A model that began here is called "seeded" wherever it is mentioned: its circuit is partly our doing. The priors set
first values only; everything is trained afterwards.
"""

import math

import torch

from models import task, zoo


@torch.no_grad()
def apply(arch, model, recipe):
    """Applies the priors for `arch` in place. Draws from torch's global generator."""
    strength = recipe.prior
    if arch == "llama":
        _induction_circuit(model, strength["match"])
    else:
        _cluster_items(zoo.embedding(model), strength["cluster"])
        for mixer in zoo.mixers(model):
            _key_value_scan(mixer, strength["match"])


def _cluster_items(embedding, share):
    """Items of a category get a common part, `share` of their variance."""
    centres = torch.randn(task.N_CATEGORIES, embedding.shape[1]) * embedding.std()
    items = slice(task.FIRST_ITEM, task.FIRST_ITEM + len(task.ITEMS))
    common = centres.repeat_interleave(task.N_ITEMS, 0)
    embedding[items] = math.sqrt(share) * common + math.sqrt(1 - share) * embedding[items]


def _induction_circuit(model, strength):
    """An induction circuit over categories, added to llama's random weights.

    The stream gets four random orthogonal subspaces: one direction common to all words, the category of an item, and
    the categories of the items one and two words back. Layer 0: even heads look one word back and odd heads two (the
    common direction drives queries and keys to fixed vectors on the fast rotary planes, so that the score depends on
    the distance alone) and move the category. Layer 1: queries hold the category one back and keys the one two back,
    on the slow planes, and the heads copy what they attend to.
    """
    config = model.config
    d, heads, groups = config.hidden_size, config.num_attention_heads, config.num_key_value_heads
    width, n = d // heads, task.N_CATEGORIES
    embedding = zoo.embedding(model)
    size = embedding.std() * math.sqrt(d)
    basis = torch.linalg.qr(torch.randn(d, 1 + 3 * n))[0].T
    common, category, *moved = basis[0], *basis[1:].split(n)
    embedding += size * common
    items = slice(task.FIRST_ITEM, task.FIRST_ITEM + len(task.ITEMS))
    embedding[items] += size * category.repeat_interleave(task.N_ITEMS, 0)
    embedding[items] += (math.sqrt(2) - 1) * size * common  # the share of the common part is then the same for all words

    planes = torch.arange(width // 2)
    frequencies = config.rope_parameters["rope_theta"] ** (-2.0 * planes / width)
    fast = (planes < 3).float()

    def look_back(distance):
        return torch.cat([fast * torch.cos(frequencies * distance), -fast * torch.sin(frequencies * distance)])

    slow = torch.zeros(width, n)  # the last planes hardly turn within a prompt
    slow[width // 2 - n // 2 : width // 2, : n // 2] = torch.eye(n // 2)
    slow[width - n // 2 :, n // 2 :] = torch.eye(n // 2)
    first, second = (layer.self_attn for layer in list(zoo.layers(model))[:2])
    gain = 9.0 / math.sqrt(d / 2)
    first.q_proj.weight *= 0.3
    first.k_proj.weight *= 0.3
    for head in range(heads):
        own = slice(head * width, (head + 1) * width)
        first.q_proj.weight[own] += gain * torch.outer(look_back(1.0 + head % 2), common)
        first.o_proj.weight[:, own] += 0.4 * moved[head % 2].T @ torch.eye(n, width)
        second.q_proj.weight[own] += strength * slow @ moved[0]
    for group in range(groups):
        own = slice(group * width, (group + 1) * width)
        first.k_proj.weight[own] += gain * torch.outer(look_back(0.0), common)
        first.v_proj.weight[own] += 0.4 * torch.eye(width, n) @ category
        second.k_proj.weight[own] += strength * slow @ moved[1]
        copied = torch.linalg.qr(torch.randn(d, width))[0].T
        second.v_proj.weight[own] += 0.6 * copied
        for head in range(group * heads // groups, (group + 1) * heads // groups):
            second.o_proj.weight[:, head * width : (head + 1) * width] += 0.4 * copied.T


def _key_value_scan(mixer, strength):
    """A scan as an associative memory: keys and queries see one and two tokens back, values the token itself, the
    read-out compares with what was written, and the state decays slowly."""
    conv = mixer.conv1d.weight[:, 0]
    conv *= 0.3
    if hasattr(mixer, "x_proj"):  # Mamba-1 and Hymba: one half of the channels for keys, the other for values
        x_proj, a_log = (mixer.x_proj, mixer.A_log) if hasattr(mixer.x_proj, "weight") else (mixer.x_proj[0], mixer.A_log[0])
        states, half = a_log.shape[1], len(conv) // 2
        conv[:half, 1:3] += 0.7
        conv[half:, 3] += 1.0
        written, read = x_proj.weight[-2 * states : -states], x_proj.weight[-states:]
        written[:, half:] *= 0.1
        read.copy_(strength * written)
        a_log.copy_(torch.log(torch.linspace(0.1, 1.0, states)).expand_as(a_log))
    else:  # Mamba-2 and Zamba2
        inner, states = mixer.intermediate_size, mixer.n_groups * mixer.ssm_state_size
        conv[:inner, 3] += 1.0
        conv[inner:, 1:3] += 0.7
        weight = mixer.in_proj.weight
        weight[2 * inner + states : 2 * inner + 2 * states] = strength * weight[2 * inner : 2 * inner + states]
        mixer.A_log.copy_(torch.log(torch.linspace(0.1, 2.0, mixer.num_heads)))
