"""Fast CPU versions of the slow parts of transformers' Mamba classes, equal up to rounding (check.py compares them).

transformers' fallbacks unroll the Mamba-1 recurrence in Python and build large intermediates for Mamba-2. Prompts
here have 44 tokens, for which a small C++ loop (Mamba-1) and one quadratic form (Mamba-2) are several times faster.
"""

import ctypes
import hashlib
import math
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F


@cache
def _library():
    source = Path(__file__).with_name("selective_scan.cpp")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    library = Path(tempfile.gettempdir()) / f"iclmech_selective_scan_{os.getuid()}_{digest}.so"
    if not library.exists():
        unfinished = library.with_suffix(f".{os.getpid()}")
        command = [os.environ.get("CXX", "g++"), "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC",
                   str(source), "-o", str(unfinished)]
        subprocess.run(command, check=True)
        unfinished.rename(library)
    return ctypes.CDLL(str(library))


def _call(name, tensors, sizes):
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in tensors]
    getattr(_library(), name)(*pointers, *[ctypes.c_size_t(s) for s in sizes])


class SelectiveScan(torch.autograd.Function):
    """y [b, T, D] from u, dt [b, T, D], A [D, N], B, C [b, T, N]; without the D skip."""

    @staticmethod
    def forward(ctx, u, dt, a, b, c):
        u, dt, a, b, c = (x.float().contiguous() for x in (u, dt, a, b, c))
        sizes = (*u.shape, a.shape[1])
        y, states = torch.empty_like(u), torch.empty(sizes)
        _call("selective_scan_forward", (u, dt, a, b, c, y, states), sizes)
        ctx.save_for_backward(u, dt, a, b, c, states)
        return y

    @staticmethod
    def backward(ctx, d_y):
        u, dt, a, b, c, states = ctx.saved_tensors
        d_u, d_dt = torch.empty_like(u), torch.empty_like(dt)
        d_a, d_b, d_c = torch.zeros_like(a), torch.zeros_like(b), torch.zeros_like(c)
        _call("selective_scan_backward", (u, dt, a, b, c, states, d_y.contiguous(), d_u, d_dt, d_a, d_b, d_c),
              (*u.shape, a.shape[1]))
        return d_u, d_dt, d_a, d_b, d_c


def selective_scan_reference(u, dt, a, b, c):
    """The same as SelectiveScan, written as the recurrence itself."""
    state, outputs = torch.zeros(u.shape[0], *a.shape), []
    for t in range(u.shape[1]):
        state = torch.exp(dt[:, t, :, None] * a) * state + (dt[:, t] * u[:, t])[:, :, None] * b[:, t, None, :]
        outputs.append((state * c[:, t, None, :]).sum(-1))
    return torch.stack(outputs, 1)


def causal_conv(x, weight, bias=None):
    """Causal depthwise convolution of x [b, T, C] with weight [C, K]: a few multiply-adds beat conv1d here."""
    kernel, length = weight.shape[-1], x.shape[1]
    padded = F.pad(x, (0, 0, kernel - 1, 0))
    y = x * weight[:, -1]
    for k in range(kernel - 1):
        y = torch.addcmul(y, padded[:, k : k + length], weight[:, k])
    return y if bias is None else y + bias


def _conv_for_transformers(hidden_states, weight, bias=None, activation=None, **_):
    y = causal_conv(hidden_states.transpose(1, 2), weight, bias)
    return (F.silu(y) if activation is not None else y).transpose(1, 2)


def _mamba1_for_transformers(hidden_states, dt, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False,
                             return_last_state=False, **_):
    assert not return_last_state
    u, dt = hidden_states.transpose(1, 2), dt.transpose(1, 2)
    dt = dt if delta_bias is None else dt + delta_bias
    dt = F.softplus(dt) if delta_softplus else dt
    y = SelectiveScan.apply(u, dt, A, B.transpose(1, 2), C.transpose(1, 2))
    y = y if D is None else y + u * D
    y = y if z is None else y * F.silu(z.transpose(1, 2))
    return y.transpose(1, 2)


def _mamba2_for_transformers(hidden_states, dt, A, B, C, chunk_size, D=None, dt_bias=None, initial_states=None,
                             dt_softplus=False, dt_limit=(0.0, math.inf), return_final_states=False, **_):
    assert not return_final_states and initial_states is None
    batch, length, heads, _ = hidden_states.shape
    groups = B.shape[2]
    dt = dt if dt_bias is None else dt + dt_bias
    dt = F.softplus(dt) if dt_softplus else dt
    dt = dt if dt_limit == (0.0, math.inf) else dt.clamp(*dt_limit)
    log_decay = torch.cumsum(dt * A, 1).transpose(1, 2)  # [b, H, T]
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    decay = (log_decay[..., :, None] - log_decay[..., None, :]).masked_fill(future, -math.inf).exp()
    scores = torch.einsum("blgn,bsgn->bgls", C, B)[:, :, None]
    mixing = (decay.view(batch, groups, heads // groups, length, length) * scores).view(batch, heads, length, length)
    y = (mixing @ (hidden_states * dt[..., None]).transpose(1, 2)).transpose(1, 2)
    y = y if D is None else y + hidden_states * D[:, None]
    return y.contiguous()


def speed_up_transformers():
    """Replaces the fallbacks in the loaded transformers modules, in this process only, for training."""
    from transformers.models.mamba import modeling_mamba
    from transformers.models.mamba2 import modeling_mamba2
    from transformers.models.zamba2 import modeling_zamba2

    modeling_mamba.causal_conv1d_fn = _conv_for_transformers
    modeling_mamba.mamba_selective_scan = _mamba1_for_transformers
    for module in (modeling_mamba2, modeling_zamba2):
        module.causal_conv1d_fn = _conv_for_transformers
        module.mamba2_chunk_scan = _mamba2_for_transformers
