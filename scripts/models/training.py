"""The training loop: seeded, resumable to the same bytes, one thread."""

import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

from models import evaluation, priors, scan, task, zoo

CHECKPOINT_EVERY = 50
PRINT_EVERY = 50


def _decays(name, parameter):
    """Weight decay is for matrices; not for norms, biases, convolutions and the scan's own parameters."""
    return parameter.dim() >= 2 and not any(s in name for s in ("A_log", "conv1d", "norm"))


def _optimizer(model, recipe):
    named = list(model.named_parameters())
    groups = [{"params": [p for n, p in named if _decays(n, p)], "weight_decay": 0.1},
              {"params": [p for n, p in named if not _decays(n, p)], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98), eps=1e-8)


def _learning_rate(recipe, step):
    """Linear warm-up, then a cosine down to 5 %."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
    return recipe.learning_rate * min(1.0, (step + 1) / recipe.warmup) * (0.05 + 0.95 * cosine)


def _sample(rng, recipe, step):
    """The step's batches, one per kind of prompt."""
    early = max(0.0, 1 - step / recipe.recall_steps) if recipe.recall_steps else 0.0
    n_contextual = round(recipe.batch_size * recipe.contextual_share)
    n_recall = round(n_contextual * 0.9 * min(1.0, 2 * early))
    batches = {
        "recall": task.recall(rng, n_recall, recipe.pairs) if n_recall else None,
        "contextual": task.contextual(rng, n_contextual - n_recall, recipe.pairs, repeat=early),
        "parametric": task.parametric(rng, recipe.batch_size - n_contextual, recipe.pairs),
    }
    return {kind: batch for kind, batch in batches.items() if batch}


def _losses(model, recipe, batches):
    """The weighted loss, and the mean loss over determined answers for each kind of prompt."""
    tokens, answers, determined = (torch.from_numpy(np.concatenate([getattr(b, name) for b in batches.values()]))
                                   for name in ("tokens", "answers", "determined"))
    weights = torch.where(determined, 1.0, recipe.undetermined_weight)
    logits = model.head(model.hidden(tokens)[:, 2::4])  # after every ':'
    losses = F.cross_entropy(logits.flatten(0, 1), answers.flatten(), reduction="none").view(answers.shape)
    total = (losses * weights).sum() / weights.sum()
    means, row = {}, 0
    for kind, batch in batches.items():
        rows = slice(row, row + len(batch.tokens))
        means[kind] = losses[rows][determined[rows]].mean().item()
        row = rows.stop
    return total, means


def _save_checkpoint(path, state):
    unfinished = path.with_suffix(".unfinished")
    torch.save(state, unfinished)
    os.replace(unfinished, path)


def train(arch, work_folder, stop_after=None, recipe=None):
    """Trains `arch`, or goes on from its checkpoint in `work_folder`. Returns the model, or None if it stopped early."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    scan.speed_up_transformers()
    recipe = recipe or zoo.RECIPES[arch]
    model = zoo.build(arch, recipe.seed)
    if recipe.seeded:
        priors.apply(arch, model, recipe)
    model.train()
    optimizer = _optimizer(model, recipe)
    rng = np.random.default_rng(recipe.seed)
    work_folder.mkdir(parents=True, exist_ok=True)
    checkpoint, first = work_folder / "checkpoint.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=False)
        if state["recipe"] != repr(recipe):
            raise SystemExit(f"{checkpoint} belongs to another recipe; remove it to train {arch} from the start")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        rng.bit_generator.state, first = state["rng"], state["step"]
        print(f"{arch}: goes on at step {first}", flush=True)
    else:
        size = sum(p.numel() for p in model.parameters())
        start = "seeded priors" if recipe.seeded else "plain start"
        print(f"{arch}: {size} parameters, {start}, {recipe.steps} steps", flush=True)
    began, cpu_began = time.time(), time.process_time()
    for step in range(first, recipe.steps):
        batches = _sample(rng, recipe, step)
        for group in optimizer.param_groups:
            group["lr"] = _learning_rate(recipe, step)
        loss, means = _losses(model, recipe, batches)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        done = step + 1
        if done % PRINT_EVERY == 0:
            curve = " ".join(f"{kind} {value:.3f}" for kind, value in means.items())
            cpu = (time.process_time() - cpu_began) / (done - first)
            model.eval()
            print(f"{done:5d} {(time.time() - began) / 60:5.1f} min {cpu * 1e3:4.0f} ms  loss: {curve}"
                  f"  held out: {evaluation.short_line(model)}", flush=True)
            model.train()
        if done % CHECKPOINT_EVERY == 0 or done == recipe.steps:
            _save_checkpoint(checkpoint, {"recipe": repr(recipe), "model": model.state_dict(), "step": done,
                                          "optimizer": optimizer.state_dict(), "rng": rng.bit_generator.state})
        if done == stop_after:
            return None
    return model.eval()
