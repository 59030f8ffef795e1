#!/usr/bin/env python3
"""The program against PyTorch on random small models of every architecture.

Makes random configurations with random weights, saves them as checkpoints (float32 or bfloat16, one file or shards, in
the spelling of transformers 5, of transformers 4 or of the state-spaces project), runs prompts of several lengths
through transformers and through `iclmech trace`, and compares logits and the input of every output projection
(hook_z). Hymba, which transformers does not have, is compared with parity/hymba.py.

    python3 scripts/check_parity.py --iclmech build/release/iclmech --count 70 --seed 1

Prints a line for every model. A model that differs is printed with its configuration, and kept with --keep. Exits with
1 if one does, and with 77, which CTest takes for "skipped", where PyTorch or transformers are not installed.

Needs: pip install torch transformers safetensors numpy
"""

import argparse
import copy
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from parity import hymba, spellings
from parity.configurations import FAMILIES

# Largest difference, as a share of max(1, the largest value of the tensor). Two float32 implementations differ by a
# few 1e-6; the smallest mistakes (a norm's epsilon, one GELU for the other) move logits by 1e-4 and more.
TOLERANCE = 5e-5

# A few random models amplify rounding beyond that. There the limit is how far the reference itself moves when its
# weights do by half a unit in their last place, times this; and never more than the smallest mistakes make.
NUDGED_SHARE = 4
CEILING = 1e-3

CLASSES = {
    "llama": "Llama",
    "qwen2": "Qwen2",
    "gemma3": "Gemma3",
    "mamba": "Mamba",
    "mamba2": "Mamba2",
    "zamba2": "Zamba2",
}


def random_values(name, shape, family, generator):
    """Weights at which every option matters: norms away from 1, biases away from 0, decays and steps spread out."""
    normal = torch.randn(shape, generator=generator)
    uniform = torch.rand(shape, generator=generator)
    if "norm" in name:
        return uniform * 0.8 - 0.4 if family == "gemma3" else uniform + 0.5
    if "A_log" in name:
        return torch.log(0.2 + 4 * uniform)
    if name.endswith(("dt_bias", "dt_proj.bias", "dt_proj.0.bias")):
        step = torch.exp(math.log(0.02) + uniform * math.log(30))
        return step + torch.log(-torch.expm1(-step))
    if name.endswith((".D", ".D.0")):
        return 1 + 0.5 * normal
    if name.endswith("bias"):
        return 0.3 * normal
    if "embed" in name or "memory_tokens" in name:
        return normal * (0.15 if family == "gemma3" else 0.6)
    if "conv1d" in name:
        return normal * shape[-1] ** -0.5
    return normal * shape[-1] ** -0.5 * 1.2


def cap_attention_scores():
    """Lets transformers' Gemma 3 use attn_logit_softcapping, which it reads but hands to nobody (5.24)."""
    modeling = transformers.models.gemma3.modeling_gemma3
    plain = modeling.eager_attention_forward

    def capped(module, *inputs, **options):
        return plain(module, *inputs, **options, softcap=module.attn_logit_softcapping)

    modeling.eager_attention_forward = capped


class Reference:
    """A model of transformers, in float32."""

    def __init__(self, family, options, half, generator):
        name = CLASSES[family]
        config = getattr(transformers, name + ("TextConfig" if family == "gemma3" else "Config"))(**options)
        config._attn_implementation = "eager"
        self.model = getattr(transformers, name + "ForCausalLM")(config).eval()
        for name, parameter in self.model.named_parameters():
            values = random_values(name, parameter.shape, family, generator)
            parameter.data = values.bfloat16().float() if half else values
        self.captured = []
        for name, module in self.model.named_modules():
            if name.endswith(("self_attn.o_proj", ".out_proj")):
                module.register_forward_pre_hook(self._keep("attn" if name.endswith("o_proj") else "mixer"))

    def _keep(self, mixer):
        return lambda _, inputs: self.captured.append((mixer, inputs[0][0].float().numpy()))

    def save(self, folder, half, shards, everywhere=False):
        """`everywhere`: tensors that several layers share are written for each of them."""
        # A copy: narrowing narrows buffers too, such as the frequencies of the rotary embedding.
        model = copy.deepcopy(self.model).bfloat16() if half else self.model
        model.save_pretrained(folder, max_shard_size="8KB" if shards else "1GB")
        if everywhere:
            save_file({name: t.clone() for name, t in model.state_dict().items()}, folder / "model.safetensors")

    def parameters(self):
        return list(self.model.parameters())

    def run(self, ids):
        """Logits and hook_z of every mixer, by name."""
        self.captured.clear()
        with torch.no_grad():
            logits = self.model(torch.tensor([ids]), use_cache=False).logits[0].numpy()
        kinds = getattr(self.model.config, "layers_block_type", None)
        attention_layers = [i for i, kind in enumerate(kinds) if kind == "hybrid"] if kinds else range(1000)
        layers = {"attn": iter(attention_layers), "mixer": iter(range(1000))}
        z = {f"blocks.{next(layers[mixer])}.{mixer}.hook_z": value.copy() for mixer, value in self.captured}
        return z | {"logits": logits}


class HymbaReference:
    def __init__(self, options, half, generator):
        self.options = options
        self.tensors = {}
        for name, shape in hymba.shapes(options).items():
            values = random_values(name, torch.Size(shape), "hymba", generator)
            self.tensors[name] = values.bfloat16().float() if half else values

    def save(self, folder, half, shards):
        tensors = {name: t.bfloat16() if half else t for name, t in self.tensors.items()}
        write_tensors(folder, tensors, shards)
        (folder / "config.json").write_text(json.dumps(self.options, indent=2))

    def parameters(self):
        return list(self.tensors.values())

    def run(self, ids):
        logits, heads, scans = hymba.forward(self.options, self.tensors, ids)
        z = {f"blocks.{layer}.attn.hook_z": value.numpy() for layer, value in enumerate(heads)}
        z |= {f"blocks.{layer}.mixer.hook_z": value.numpy() for layer, value in enumerate(scans)}
        return z | {"logits": logits.numpy()}


def write_tensors(folder, tensors, shards):
    if not shards:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names, weight_map = sorted(tensors), {}
    for part in range(3):
        file = f"model-{part + 1:05}-of-00003.safetensors"
        own = {name: tensors[name] for name in names[part::3]}
        save_file(own, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(own, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def respell(folder, spelling):
    """Rewrites a checkpoint of one file in another spelling."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if spelling == "older":
        config = spellings.older_config(config)
    elif spelling == "state-spaces":
        tensors = load_file(folder / "model.safetensors")
        save_file(spellings.state_spaces_tensors(tensors), folder / "model.safetensors")
        config = spellings.state_spaces_config(config, config["vocab_size"])
    path.write_text(json.dumps(config, indent=2))


def trace(program, model, ids, packed, out):
    command = [program, "trace", model, "--ids", ",".join(map(str, ids)), "--hooks", "*hook_z", "--out", out]
    if packed:
        command.append("--low-memory")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout.strip())
    return {file.stem: np.load(file) for file in out.glob("*.npy")}


def difference(ours, theirs):
    if ours.size != theirs.size or not np.isfinite(ours).all():
        return math.inf
    return float(np.abs(ours.reshape(theirs.shape) - theirs).max() / max(1.0, np.abs(theirs).max()))


def movements(reference, ids, expected):
    """How far each of the expected arrays moves when the weights do by half a unit in the last place."""
    moved = dict.fromkeys(expected, 0.0)
    stored = [parameter.data.clone() for parameter in reference.parameters()]
    for _ in range(8):
        for parameter, values in zip(reference.parameters(), stored):
            parameter.data.copy_(values * (1 + 6e-8 * torch.randn(values.shape)))
        for name, value in reference.run(ids).items():
            moved[name] = max(moved[name], difference(value, expected[name]))
    for parameter, values in zip(reference.parameters(), stored):
        parameter.data.copy_(values)
    return moved


def check_model(number, seed, program, folder):
    """Checks one model. Returns its name, its largest difference, where that is, whether it is too large, and its
    configuration."""
    rng = random.Random(f"{seed}/{number}")
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    torch.manual_seed(0)
    family = list(FAMILIES)[number % len(FAMILIES)]
    half, shards, packed = rng.random() < 0.3, rng.random() < 0.2, rng.random() < 0.3
    options = FAMILIES[family](rng)
    spelling = "" if family == "hymba" else rng.choice(("newer", "older"))
    if family.startswith("mamba") and rng.random() < 0.4:
        spelling, shards = "state-spaces", False
        options["vocab_size"], options["layer_norm_epsilon"] = 8 * rng.randint(5, 16), 1e-5
    if family == "zamba2" and rng.random() < 0.3:
        spelling, shards = "everywhere", False
    if family == "hymba":
        reference = HymbaReference(options, half, generator)
    else:
        reference = Reference(family, options, half, generator)
    reference.save(folder, half, shards, *([True] if spelling == "everywhere" else []))
    if spelling in ("older", "state-spaces"):
        respell(folder, spelling)

    words = "bf16" if half else "f32", shards and "shards", packed and "packed", spelling
    form = " ".join(word for word in words if word)
    worst, where, good = 0.0, "", True
    for length in 1, rng.randint(2, 8), rng.choice((rng.randint(20, 40), rng.randint(20, 40), rng.randint(65, 150))):
        ids = [rng.randrange(options["vocab_size"]) for _ in range(length)]
        expected = reference.run(ids)
        try:
            ours = trace(program, folder, ids, packed, folder / f"trace-{length}")
        except RuntimeError as failure:
            return f"{family} ({form})", math.inf, str(failure), False, options
        found = {name: difference(ours[name], value) if name in ours else math.inf for name, value in expected.items()}
        limits = dict.fromkeys(expected, TOLERANCE)
        if TOLERANCE < max(found.values()) < CEILING:
            moved = movements(reference, ids, expected)
            limits = {name: min(CEILING, max(TOLERANCE, NUDGED_SHARE * moved[name])) for name in expected}
        good = good and all(found[name] <= limits[name] for name in expected)
        name = max(found, key=found.get)
        if found[name] >= worst:
            worst, where = found[name], f"{name}, {length} tokens"
            if limits[name] > TOLERANCE:
                where += f", limit {limits[name]:.1e}"
    return f"{family} ({form})", worst, where, good, options


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--iclmech", required=True, metavar="PATH", help="the program")
    parser.add_argument("--count", type=int, default=28, help="how many models; the seven architectures take turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one model of those, by its number")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="keep the checkpoints that differ here")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    cap_attention_scores()

    failed = 0
    for number in range(arguments.count) if arguments.only is None else [arguments.only]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "model"
            folder.mkdir()
            name, worst, where, good, options = check_model(number, arguments.seed, arguments.iclmech, folder)
            print(f"{number:4} {'ok  ' if good else 'FAIL'} {worst:8.1e}  {name}: {where}", flush=True)
            if good:
                continue
            failed += 1
            print(json.dumps(options, indent=2))
            if arguments.keep:
                folder.rename(arguments.keep / f"{arguments.seed}-{number}")
                folder.mkdir()
    print(f"{failed} models differ from PyTorch" if failed else "all agree with PyTorch")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
