"""The same work in Python tools, in llama.cpp and in iclmech, both sides in one run, on the same model file and threads.

    peers.py IN_BUILD_FOLDER MODEL.gguf [PROMPTS.json]   prints the tables; without prompts, of forward passes alone
    peers.py --side NAME MODEL.gguf PROMPTS.json|TOKENS  one side, in a process of its own: prints JSON

PROMPTS.json is what `iclmech aie --prompts` takes: mean head outputs come from its clean prompts, and every head is
replaced in turn on its first shuffled prompt. The ways that need one forward per head are timed on some heads and
scaled to all. Every way must give the same effects, or its line says so. A tool that is not installed is left out.
"""
import json
import os
import resource
import subprocess
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
threads = os.cpu_count()
timed_heads = 18
loop_sides = ["Hugging Face hooks", "nnsight", "TransformerLens bridge"]


def load(gguf):
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(threads)
    folder, name = os.path.split(gguf)
    return AutoModelForCausalLM.from_pretrained(folder or ".", gguf_file=name, dtype=torch.float32).eval()


class work:
    """Model, prompt, mean head outputs and the sizes that all PyTorch ways share."""

    def __init__(self, gguf, prompts_file):
        import torch
        self.gguf = gguf
        self.model = load(gguf)
        config = self.model.config
        self.layers, self.heads = config.num_hidden_layers, config.num_attention_heads
        self.width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        with open(prompts_file) as file:
            prompts = json.load(file)
        self.ids = torch.tensor([prompts["shuffled"][0]["ids"]])
        self.answer = prompts["shuffled"][0]["answer"]
        total = self.layers * self.heads
        self.chosen = [divmod(i * total // timed_heads, self.heads) for i in range(timed_heads)]
        sums = torch.zeros(self.layers, self.heads * self.width)
        handles = []
        for layer in range(self.layers):
            def record(module, args, layer=layer):
                sums[layer] += args[0][0, -1]
            handles.append(self.projection(layer).register_forward_pre_hook(record))
        for clean in prompts["clean"]:
            self.model(input_ids=torch.tensor([clean["ids"]]), logits_to_keep=1)
        for handle in handles:
            handle.remove()
        self.means = (sums / len(prompts["clean"])).view(self.layers, self.heads, self.width)
        self.baseline = self.probability(self.model(input_ids=self.ids, logits_to_keep=1).logits[0, -1])

    def projection(self, layer):
        return self.model.model.layers[layer].self_attn.o_proj

    def probability(self, logits):
        return logits.softmax(-1)[self.answer].item()

    def slice(self, head):
        return slice(head * self.width, (head + 1) * self.width)

    def per_head(self, effect):
        """Times effect(layer, head) on the chosen heads."""
        effect(*self.chosen[0])
        start = time.time()
        effects = {layer * self.heads + head: effect(layer, head) - self.baseline for layer, head in self.chosen}
        seconds = (time.time() - start) / timed_heads * self.layers * self.heads
        return {"seconds": seconds, "effects": effects}


def hugging_face(w):
    def effect(layer, head):
        def replace(module, args):
            z = args[0].clone()
            z[:, -1, w.slice(head)] = w.means[layer, head]
            return (z,)
        handle = w.projection(layer).register_forward_pre_hook(replace)
        logits = w.model(input_ids=w.ids, logits_to_keep=1).logits[0, -1]
        handle.remove()
        return w.probability(logits)
    return w.per_head(effect)


def nnsight(w):
    from nnsight import NNsight
    traced = NNsight(w.model)

    def effect(layer, head):
        with traced.trace(input_ids=w.ids, logits_to_keep=1):
            traced.model.layers[layer].self_attn.o_proj.input[:, -1, w.slice(head)] = w.means[layer, head]
            logits = traced.lm_head.output[0, -1].save()
        return w.probability(logits)
    return w.per_head(effect)


def transformer_lens(w):
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoTokenizer
    folder, name = os.path.split(w.gguf)
    tokenizer = AutoTokenizer.from_pretrained(folder or ".", gguf_file=name)
    bridge = TransformerBridge.boot_transformers("HuggingFaceTB/SmolLM2-135M-Instruct", hf_model=w.model,
                                                 tokenizer=tokenizer, device="cpu")

    def effect(layer, head):
        def replace(z, hook):
            if z.dim() == 4:
                z[:, -1, head] = w.means[layer, head]
            else:
                z[:, -1, w.slice(head)] = w.means[layer, head]
            return z
        return w.probability(bridge.run_with_hooks(w.ids, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", replace)])[0, -1])
    return w.per_head(effect)


def hand_batched(w):
    """One prefix cache, repeated for every head; then the last token of all variants as one batch."""
    rows = w.layers * w.heads

    def run():
        past = w.model(input_ids=w.ids[:, :-1], use_cache=True, logits_to_keep=1).past_key_values
        past.batch_repeat_interleave(rows + 1)
        handles = []
        for layer in range(w.layers):
            def replace(module, args, layer=layer):
                z = args[0].clone()
                for head in range(w.heads):
                    z[layer * w.heads + head, -1, w.slice(head)] = w.means[layer, head]
                return (z,)
            handles.append(w.projection(layer).register_forward_pre_hook(replace))
        logits = w.model(input_ids=w.ids[:, -1:].expand(rows + 1, 1), past_key_values=past, use_cache=True).logits[:, -1]
        for handle in handles:
            handle.remove()
        return logits.softmax(-1)[:, w.answer]

    seconds = []
    for _ in range(4):
        start = time.time()
        p = run()
        seconds.append(time.time() - start)
    return {"seconds": min(seconds), "effects": {i: (p[i] - p[-1]).item() for i in range(rows)}}


def forward_torch(gguf, tokens):
    import torch
    model = load(gguf)
    ids = torch.tensor([[100 + i for i in range(tokens)]])
    return {"seconds": shortest(lambda: model(input_ids=ids, logits_to_keep=1))}


def forward_llama_cpp(gguf, tokens):
    from llama_cpp import Llama
    model = Llama(gguf, n_ctx=1024, n_threads=threads, n_threads_batch=threads, n_batch=1024, n_ubatch=1024, verbose=False)

    def run():
        model.reset()
        model.eval([100 + i for i in range(tokens)])
    return {"seconds": shortest(run)}


def shortest(run, runs=8):
    seconds = []
    for _ in range(runs):
        start = time.time()
        run()
        seconds.append(time.time() - start)
    return min(seconds)


sides = {"Hugging Face hooks": hugging_face, "nnsight": nnsight, "TransformerLens bridge": transformer_lens,
         "hand-batched PyTorch": hand_batched}


def one_side(name, gguf, what):
    if name in sides:
        import torch
        with torch.no_grad():
            result = sides[name](work(gguf, what))
    else:
        import contextlib
        with contextlib.suppress(ImportError):
            import torch
            torch.set_grad_enabled(False)
        result = {"PyTorch": forward_torch, "llama.cpp": forward_llama_cpp}[name](gguf, int(what))
    result["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["failed"])[-1]
    return json.loads(done.stdout.strip().splitlines()[-1]), None


def best(commands, repeats):
    """Each command in turn, `repeats` times over; the fastest result of each."""
    results = {}
    for _ in range(repeats):
        for name, command in commands.items():
            result, error = run(command)
            old = results.get(name)
            if result is None:
                results.setdefault(name, error)
            elif not isinstance(old, dict) or result["seconds"] < old["seconds"]:
                results[name] = result
    return results


def main(build, gguf, prompts=None):
    program = os.path.join(build, "benchmarks", "iclmech-peer")
    self = [sys.executable, os.path.abspath(__file__), "--side"]
    if prompts:
        compare_sweeps(program, self, gguf, prompts)
    compare_forwards(program, self, gguf)


def compare_sweeps(program, self, gguf, prompts):
    # Python loads a GGUF file as float32 and knows no packed weights: the fast mode is the like-for-like side.
    ours = {"iclmech": [program, "sweep", gguf, prompts], "iclmech, low memory": [program, "sweep", gguf, prompts, "low-memory"]}
    slow = best({name: self + [name, gguf, prompts] for name in loop_sides}, 1)
    results = {**slow, **best({"hand-batched PyTorch": self + ["hand-batched PyTorch", gguf, prompts], **ours}, 2)}
    with open(prompts) as file:
        tokens = len(json.load(file)["shuffled"][0]["ids"])
    mine = results["iclmech"]
    print(f"\nEvery head of {os.path.basename(gguf)} replaced in turn on a prompt of {tokens} tokens, {threads} threads\n")
    print("| way | seconds | times iclmech | peak MB | largest difference of an effect |")
    print("|---|---|---|---|---|")
    for name, r in results.items():
        if not isinstance(r, dict):
            print(f"| {name} | not run: {r} | | | |")
            continue
        effects = r["effects"] if "effects" in r else dict(enumerate(r["cie"]))
        worst = max(abs(mine["cie"][int(i)] - e) for i, e in effects.items())
        print(f"| {name} | {r['seconds']:.3f} | {r['seconds'] / mine['seconds']:.2f} | {r['megabytes']:.0f} | {worst:.1e} |")


def compare_forwards(program, self, gguf):
    print(f"\nOne forward pass of {os.path.basename(gguf)}, the last position's logits, {threads} threads\n")
    print("| tokens | side | seconds | times iclmech |")
    print("|---|---|---|---|")
    for tokens in (78, 256):
        commands = {name: self + [name, gguf, str(tokens)] for name in ("PyTorch", "llama.cpp")}
        commands["iclmech"] = [program, "forward", gguf, str(tokens)]
        results = best(commands, 3)
        for name, r in results.items():
            print(f"| {tokens} | {name} | " + (f"{r['seconds']:.3f} | {r['seconds'] / results['iclmech']['seconds']:.2f} |"
                                               if isinstance(r, dict) else f"not run: {r} | |"))


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--side":
        one_side(*sys.argv[2:])
    elif len(sys.argv) in (3, 4):
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
