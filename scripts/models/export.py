"""The files of a model: weights, tokenizer, task files, and what tests compare with."""

import json

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

from models import evaluation, task, zoo

N_GOLDEN = 4
N_EXPECTED = 48
TEMPLATE = {"input_prefix": "", "output_prefix": " :", "label_prefix": " ", "separator": " ; "}


def write_model(model, folder, dtype=torch.float16):
    """config.json, model.safetensors, tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder, dtype)
    (folder / "model.safetensors").chmod(0o644)  # transformers and safetensors leave it to its owner alone
    write_tokenizer(folder / "tokenizer.json")


def write_tokenizer(path):
    """One token per word, split at white space, <bos> put in front."""
    tokenizer = Tokenizer(models.WordLevel(task.ID, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A $B", special_tokens=[("<bos>", task.BOS)])
    tokenizer.add_special_tokens([AddedToken(w, special=True) for w in task.SPECIAL if w.startswith("<")])
    tokenizer.save(str(path))


def write_golden(arch, folder, path):
    """input_ids.i [T] and the float32 logits.i [T, V] of four held-out prompts, from the shipped weights."""
    model = zoo.load(arch, folder)
    rng = np.random.default_rng(31)
    batches = [task.contextual(rng, 1, 9, (2,), held_out=True, evaluate=True),
               task.contextual(rng, 1, 9, (4,), held_out=True, evaluate=True),
               task.parametric(rng, 1, 9, 1, held_out=True),
               task.parametric(rng, 1, 4, 3, held_out=True)]
    tensors = {}
    for i, batch in enumerate(batches):
        ids = torch.from_numpy(np.ascontiguousarray(batch.prompts))
        with torch.no_grad():
            tensors[f"logits.{i}"] = model.head(model.hidden(ids))[0].contiguous()
        tensors[f"input_ids.{i}"] = ids[0].contiguous()
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(path))
    path.chmod(0o644)


def _without_copies(label_sets):
    """One label set if it is every prompt's."""
    return label_sets[:1] if all(s == label_sets[0] for s in label_sets) else label_sets


def write_expectations(arch, folder, path):
    """Fixed held-out prompts per task with label sets, answers, PyTorch's predictions and the measured ratios.

    `label_sets` has one entry per prompt, or a single one that holds for all of them.
    """
    model = zoo.load(arch, folder)
    measured = {}
    for shots in (8, 0):
        for name, batch in evaluation.held_out_batches(N_EXPECTED, shots, 99).items():
            predictions = evaluation.last_logits(model, batch.prompts).argmax(-1).numpy()
            accuracy, recognition = evaluation.rates(batch, predictions)
            measured.setdefault(name, {})[f"{shots}_shot"] = {
                "accuracy": accuracy, "tr_ratio": recognition,
                "prompts": batch.prompts.tolist(), "label_sets": _without_copies(batch.label_sets()),
                "answers": batch.answers[:, -1].tolist(), "predictions": predictions.tolist()}
    steered = {name: dict(zip(("zero_shot", "steered", "layer", "scale"), values))
               for name, values in evaluation.steering(model).items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"model": arch, "seeded": zoo.RECIPES[arch].seeded, "tasks": measured, "steering": steered}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n")


def _task_file(name, description, family, labels, pairs, **more):
    return {"name": name, "description": description, "family": family, "labels": labels, "template": TEMPLATE, **more,
            "pairs": [{"input": x, "output": y} for x, y in pairs]}


def _held_out_mappings(rng, count, n_labels):
    """`count` different dictionaries category -> label word that no training prompt used."""
    names = list(task.CATEGORIES)
    categories, labels, _ = task.draw_mappings(rng, 4 * count, (n_labels,), held_out=True)
    drawn = {frozenset(zip(cs[:n_labels].tolist(), ys[:n_labels].tolist())): None for cs, ys in zip(categories, labels)}
    return [{names[c]: task.LABELS[y] for c, y in sorted(mapping)} for mapping in list(drawn)[:count]]


def write_tasks(folder):
    """The task files of the command line.

    contextual-<n>.json: all items, every prompt follows one of 24 held-out mappings of n categories;
    contextual-<n>-fixed.json: one held-out mapping as plain pairs; <function>.json: the four functions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files, rng = [], np.random.default_rng(61)
    by_category = [(x, name) for name, words in task.CATEGORIES.items() for x in words.split()]
    for n in (2, 3, 4):
        mappings = _held_out_mappings(rng, 24, n)
        files.append(_task_file(f"contextual-{n}", f"{n} categories with random label words, another mapping each prompt",
                                "contextual", "classification", by_category, mappings=mappings))
        pairs = [(x, mappings[0][name]) for x, name in by_category if name in mappings[0]]
        files.append(_task_file(f"contextual-{n}-fixed", f"{n} categories with label words, one mapping",
                                "contextual", "classification", pairs))
    for name, values in zip(task.FUNCTIONS, task.FUNCTION_VALUES):
        kind = "open" if name == "successor" else "classification"
        pairs = zip(task.ITEMS, (task.VOCABULARY[i] for i in values))
        files.append(_task_file(name, f"the {name} of an item, a fact in the weights", "parametric", kind, pairs))
    for content in files:
        (folder / f"{content['name']}.json").write_text(_compact(content))


def _compact(content):
    """JSON with one pair or mapping a line."""
    lines = []
    for key, value in content.items():
        if isinstance(value, list):
            value = "[\n  " + ",\n  ".join(json.dumps(entry) for entry in value) + "\n ]"
        else:
            value = json.dumps(value)
        lines.append(f' "{key}": {value}')
    return "{\n" + ",\n".join(lines) + "\n}\n"
