"""Accuracy, recognition and steering on held-out prompts."""

from collections import defaultdict

import numpy as np
import torch

from models import task, zoo


@torch.no_grad()
def last_logits(model, prompts):
    """[n, V] float32 logits after the last word. In parts, for transformers' plain scans have large intermediates."""
    parts = torch.from_numpy(np.ascontiguousarray(prompts)).split(32)
    return torch.cat([model.head(model.hidden(part)[:, -1]) for part in parts])


def rates(batch, predicted):
    """(accuracy, TR ratio): right answers, and predictions inside the prompt's label set."""
    rows = np.arange(len(predicted))
    return float((predicted == batch.answers[:, -1]).mean()), float(batch.allowed[rows, predicted].mean())


def score(model, batch):
    """The rates of the model's own predictions."""
    return rates(batch, last_logits(model, batch.prompts).argmax(-1).numpy())


def held_out_batches(n, demonstrations, seed):
    """name -> Batch: contextual with 2, 3 and 4 labels, and the four functions."""
    rng = np.random.default_rng(seed)
    pairs = demonstrations + 1
    batches = {f"{m} labels": task.contextual(rng, n, pairs, (m,), held_out=True, evaluate=True) for m in (2, 3, 4)}
    for f, name in enumerate(task.FUNCTIONS):
        batches[name] = task.parametric(rng, n, pairs, f, held_out=True)
    return batches


def short_line(model, n=64):
    """Accuracy/TR of the contextual prompts, accuracy of the functions, for the training log."""
    parts = []
    for name, batch in held_out_batches(n, 8, 11).items():
        accuracy, recognition = score(model, batch)
        parts.append(f"{name} {accuracy:.2f}" + (f"/{recognition:.2f}" if "labels" in name else ""))
    return " ".join(parts)


class _AddAtLastPosition:
    """Adds a vector to what a mixer writes at the last position."""

    def __init__(self, mixer, vector):
        self.handle, self.vector = mixer.register_forward_hook(self._hook), vector

    def _hook(self, module, arguments, output):
        written = (output[0] if isinstance(output, tuple) else output).clone()
        written[:, -1] += self.vector
        return (written, *output[1:]) if isinstance(output, tuple) else written

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.handle.remove()


def mean_writes(model, batch):
    """[layers, d] mean mixer output at the last position."""
    writes, handles = defaultdict(list), []
    for layer, mixer in enumerate(zoo.mixers(model)):
        def record(module, arguments, output, layer=layer):
            writes[layer].append((output[0] if isinstance(output, tuple) else output)[:, -1].detach())

        handles.append(mixer.register_forward_hook(record))
    last_logits(model, batch.prompts)
    for handle in handles:
        handle.remove()
    return torch.stack([torch.cat(writes[layer]).mean(0) for layer in sorted(writes)])


def steering(model, n=64, seed=5, scales=(1.0, 2.0)):
    """function name -> (zero-shot accuracy, best accuracy when steered, its layer, its scale).

    Steered: the mean write of a layer's mixer in 8-shot prompts of the function, times the scale, is added to
    that mixer's output at the last position of `<bos> q :`, over all 96 items.
    """
    rng, result = np.random.default_rng(seed), {}
    items = np.arange(len(task.ITEMS))
    prompts = np.stack([np.full(len(items), task.BOS), task.FIRST_ITEM + items, np.full(len(items), task.COLON)], 1)
    for f, name in enumerate(task.FUNCTIONS):
        vectors = mean_writes(model, task.parametric(rng, n, 9, f, held_out=True))

        def accuracy():
            return float((last_logits(model, prompts).argmax(-1).numpy() == task.FUNCTION_VALUES[f]).mean())

        plain, best = accuracy(), (0.0, 0, 0.0)
        for layer, mixer in enumerate(zoo.mixers(model)):
            for scale in scales:
                with _AddAtLastPosition(mixer, scale * vectors[layer]):
                    best = max(best, (accuracy(), layer, scale))
        result[name] = (plain, *best)
    return result


def report(arch, folder, n=256, seed=2024):
    """The lines of the results table for one model, computed by the unpatched classes from the shipped file."""
    model = zoo.load(arch, folder)
    lines = [f"{arch}: {sum(p.numel() for p in model.parameters())} parameters, "
             f"{(folder / 'model.safetensors').stat().st_size} bytes"]
    for demonstrations in (0, 2, 4, 8):
        parts = []
        for name, batch in held_out_batches(n, demonstrations, seed).items():
            accuracy, recognition = score(model, batch)
            parts.append(f"{name} {accuracy:.3f}/{recognition:.3f}")
        lines.append(f"  {demonstrations} shots: " + "  ".join(parts))
    steered = steering(model)
    lines.append("  steered zero-shot: " + "  ".join(
        f"{name} {before:.2f} -> {after:.2f} (layer {layer}, x{scale:g})"
        for name, (before, after, layer, scale) in steered.items()))
    return lines
