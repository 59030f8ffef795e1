"""Compares the fast training code with the plain one: values and gradients."""

import torch

from models import scan, zoo


def _loss_and_gradient(model, tokens):
    model.zero_grad()
    loss = model.head(model.hidden(tokens)).square().mean()
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in model.parameters()])


def run():
    """Prints, per model, the relative difference of a loss and of its gradient; exits with an error above 1e-4."""
    tokens = torch.randint(6, 144, (2, 40), generator=torch.Generator().manual_seed(0))
    plain = {}
    for arch in zoo.RECIPES:
        model = zoo.build(arch, 0)
        if arch == "hymba":
            for mixer in zoo.mixers(model):
                mixer.scan = scan.selective_scan_reference
        plain[arch] = _loss_and_gradient(model, tokens)
    scan.speed_up_transformers()
    for arch, (loss, gradient) in plain.items():
        fast_loss, fast_gradient = _loss_and_gradient(zoo.build(arch, 0), tokens)
        value = abs(fast_loss - loss) / loss
        slope = ((fast_gradient - gradient).norm() / gradient.norm()).item()
        print(f"{arch}: loss differs by {value:.1e}, gradient by {slope:.1e}")
        if max(value, slope) > 1e-4:
            raise SystemExit(f"{arch}: the fast code computes something else")
