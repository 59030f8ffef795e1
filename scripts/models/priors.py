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
    if arch in ("llama", "hymba"):
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


def _attention_weights(mixer):
    """The weights of queries, keys, values (None for shared keys and values) and output, as views."""
    if hasattr(mixer, "q_proj"):
        return tuple(getattr(mixer, f"{name}_proj").weight for name in "qkvo")
    parts = mixer.in_proj.weight.split(mixer.parts)
    keys, values = parts[1:3] if len(parts) == 5 else (None, None)
    return parts[0], keys, values, mixer.out_proj.weight


def _induction_circuit(model, strength):
    """An induction circuit over categories, added to the random attention weights of llama and hymba.

    The stream gets four random orthogonal subspaces: one direction common to all words, the category of an item, and
    the categories of the items one and two words back. Layer 0: even heads look one word back and odd heads two (the
    common direction drives queries and keys to fixed vectors on the fast rotary planes, so that the score depends on
    the distance alone) and move the category. Layer 1, and hymba's layer 2 on the keys and values of layer 1: queries
    hold the category one back and keys the one two back, on the slow planes, and the heads copy what they attend to.
    """
    config = model.config if isinstance(model.config, dict) else model.config.to_dict()
    theta = config["rope_theta"] if "rope_theta" in config else config["rope_parameters"]["rope_theta"]
    d, heads, groups = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
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
    frequencies = theta ** (-2.0 * planes / width)
    fast = (planes < 3).float()

    def look_back(distance):
        return torch.cat([fast * torch.cos(frequencies * distance), -fast * torch.sin(frequencies * distance)])

    slow = torch.zeros(width, n)  # the last planes hardly turn within a prompt
    slow[width // 2 - n // 2 : width // 2, : n // 2] = torch.eye(n // 2)
    slow[width - n // 2 :, n // 2 :] = torch.eye(n // 2)

    def rows(head, size):
        return slice(head * size, (head + 1) * size)

    mixers = [_attention_weights(mixer) for mixer in zoo.mixers(model)]
    if "mamba_expand" in config:  # the branch norms make random outputs loud
        for *_, out in mixers:
            out *= 0.2
    (query, key, value, out), (_, next_key, next_value, _) = mixers[:2]
    value_width = out.shape[1] // heads
    gain = 9.0 / math.sqrt(d / 2)
    query *= 0.3
    key *= 0.3
    comparing = [mixers[1]] + [mixer for mixer in mixers[2:] if mixer[1] is None]
    for group in range(groups):
        key[rows(group, width)] += gain * torch.outer(look_back(0.0), common)
        value[rows(group, value_width)] += 0.4 * torch.eye(value_width, n) @ category
        next_key[rows(group, width)] += strength * slow @ moved[1]
        copied = torch.linalg.qr(torch.randn(d, value_width))[0].T
        next_value[rows(group, value_width)] += 0.6 * copied
        for head in range(group * heads // groups, (group + 1) * heads // groups):
            query[rows(head, width)] += gain * torch.outer(look_back(1.0 + head % 2), common)
            out[:, rows(head, value_width)] += 0.4 * moved[head % 2].T @ torch.eye(n, value_width)
            for later_query, _, _, later_out in comparing:
                later_query[rows(head, width)] += strength * slow @ moved[0]
                later_out[:, rows(head, value_width)] += 0.4 * copied.T


def _key_value_scan(mixer, strength):
    """A scan as an associative memory: keys and queries see one and two tokens back, values the token itself, the
    read-out compares with what was written, and the state decays slowly."""
    conv = mixer.conv1d.weight[:, 0]
    conv *= 0.3
    if hasattr(mixer, "x_proj"):  # Mamba-1: one half of the channels for keys, the other for values
        states, half = mixer.ssm_state_size, len(conv) // 2
        conv[:half, 1:3] += 0.7
        conv[half:, 3] += 1.0
        written, read = mixer.x_proj.weight[-2 * states : -states], mixer.x_proj.weight[-states:]
        written[:, half:] *= 0.1
        read.copy_(strength * written)
        mixer.A_log.copy_(torch.log(torch.linspace(0.1, 1.0, states)).expand_as(mixer.A_log))
    else:  # Mamba-2 and Zamba2
        inner, states = mixer.intermediate_size, mixer.n_groups * mixer.ssm_state_size
        conv[:inner, 3] += 1.0
        conv[inner:, 1:3] += 0.7
        weight = mixer.in_proj.weight
        weight[2 * inner + states : 2 * inner + 2 * states] = strength * weight[2 * inner : 2 * inner + states]
        mixer.A_log.copy_(torch.log(torch.linspace(0.1, 2.0, mixer.num_heads)))
