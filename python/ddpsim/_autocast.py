"""Autocast as on a GPU, for tensors without memory that count as those of a CPU.

The CPU's own autocast runs the same operators in half precision. It leaves out most of those that a GPU's autocast runs
in fp32, so these are added while it is on.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Iterator

import torch

# AT_FORALL_FP32 and AT_FORALL_FP32_SET_OPT_DTYPE of aten/src/ATen/autocast_mode.h, without what is rare in training.
_SINGLE = (
    "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm "
    "native_layer_norm group_norm cosine_similarity nll_loss nll_loss_nd nll_loss2d kl_div l1_loss smooth_l1_loss "
    "huber_loss mse_loss margin_ranking_loss binary_cross_entropy_with_logits dist cdist renorm logsumexp prod softmax "
    "log_softmax cumprod cumsum linalg_vector_norm sum"
).split()
_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


@contextlib.contextmanager
def gpu_autocast() -> Iterator[None]:
    """Autocast to bfloat16."""
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a few operators are in both lists
            for name in _SINGLE:
                for overload in _overloads(name):
                    library.impl(overload, _in_fp32(overload), "AutocastCPU")
        with torch.autocast("cpu", torch.bfloat16):
            yield
    finally:
        library._destroy()


def to_autocast(*tensors: Any) -> tuple[Any, ...]:
    """What autocast makes of tensors that an operator of half precision is given."""
    if not torch.is_autocast_enabled("cpu"):
        return tensors
    half = torch.get_autocast_dtype("cpu")
    return tuple(
        tensor.to(half) if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() else tensor
        for tensor in tensors
    )


def _overloads(name: str) -> list[Any]:
    packet = getattr(torch.ops.aten, name)
    return [getattr(packet, overload) for overload in packet.overloads() if "out" not in overload]


def _in_fp32(operator: Any) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            return operator(*map(_wide, args), **{name: _wide(value) for name, value in kwargs.items()})

    return run


def _wide(value: Any) -> Any:
    half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if half else value
