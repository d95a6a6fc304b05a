"""Functions of PyTorch that run other kernels on a GPU than on a CPU, as a GPU runs them, on tensors without memory.

On a GPU, scaled_dot_product_attention, RMSNorm, dropout and a grouped product are one kernel each.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from ._autocast import to_autocast

_library = torch.library.Library("ddpsim", "DEF")
_library.define("attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal) -> (Tensor, Tensor)")
_library.define(
    "attention_backward(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor? mask) -> (Tensor, Tensor, Tensor, Tensor?)"
)
_library.define("cast(Tensor given) -> Tensor")
_library.define("grouped_mm(Tensor rows, Tensor weight) -> Tensor")
_library.define("rms_norm(Tensor given, Tensor? weight) -> (Tensor, Tensor)")
_library.define("rms_norm_backward(Tensor gradient, Tensor given, Tensor? weight) -> (Tensor, Tensor?)")


def _attend(query: Any, key: Any, value: Any, mask: Any, causal: bool) -> Any:
    shape = (*query.shape[:-1], value.shape[-1])
    # Fused kernels write the heads of a token side by side, so that to join them takes no copy.
    out = query.new_empty(shape) if query.dim() < 4 else query.new_empty(_heads_last(shape)).transpose(-3, -2)
    return out, query.new_empty(query.shape[:-1], dtype=torch.float32)


def _heads_last(shape: Sequence[int]) -> Sequence[int]:
    return (*shape[:-3], shape[-2], shape[-3], shape[-1])


def _attend_backward(gradient: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
    of_mask = torch.empty_like(mask) if mask is not None else None
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value), of_mask


def _rms_norm_backward(gradient: Any, given: Any, weight: Any) -> Any:
    return torch.empty_like(given), torch.empty_like(weight) if weight is not None else None


_library.impl("attention", _attend, "Meta")
_library.impl("rms_norm", lambda given, weight: (torch.empty_like(given), given.new_empty(given.shape[:-1])), "Meta")
_library.impl("rms_norm_backward", _rms_norm_backward, "Meta")
_library.impl("attention_backward", _attend_backward, "Meta")
_library.impl("cast", lambda given: torch.empty_like(given), "Meta")
_library.impl("grouped_mm", lambda rows, weight: rows.new_empty(rows.shape[0], weight.shape[-1]), "Meta")


class _Attention(torch.autograd.Function):
    """Attention as one fused kernel, which keeps no scores for backward."""

    @staticmethod
    def forward(context: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool) -> Any:
        out, sums = torch.ops.ddpsim.attention(query, key, value, mask, causal)
        context.save_for_backward(query, key, value, mask, out, sums)
        return out

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        query, key, value, mask, _, _ = context.saved_tensors
        if mask is not None and not context.needs_input_grad[3]:
            mask = None
        found = torch.ops.ddpsim.attention_backward(gradients[0], query, key, value, mask)
        return (*found, None)


class _GroupedProduct(torch.autograd.Function):
    """Multiplies each row by the weights of its expert, in one kernel. How many rows an expert has is ignored."""

    @staticmethod
    def forward(context: Any, rows: Any, weight: Any) -> Any:
        context.save_for_backward(rows, weight)
        return torch.ops.ddpsim.grouped_mm(rows, weight)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        rows, weight = context.saved_tensors
        of_rows = torch.ops.ddpsim.grouped_mm(gradients[0], weight.transpose(-1, -2))
        return of_rows, torch.empty_like(weight) if context.needs_input_grad[1] else None


class _RmsNorm(torch.autograd.Function):
    """One kernel each way, as CUDA has it; on a CPU PyTorch writes it out."""

    @staticmethod
    def forward(context: Any, given: Any, weight: Any) -> Any:
        out, rows = torch.ops.ddpsim.rms_norm(given, weight)
        context.save_for_backward(given, weight, rows)
        return out

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        given, weight, _ = context.saved_tensors
        trained = weight if context.needs_input_grad[1] else None
        return torch.ops.ddpsim.rms_norm_backward(gradients[0], given, trained)


class Cast(torch.autograd.Function):
    """A cast that exists only if the model runs in half precision. In fp32, the model makes no cast there."""

    @staticmethod
    def forward(context: Any, given: Any) -> Any:
        return torch.ops.ddpsim.cast(given)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return torch.ops.ddpsim.cast(gradients[0])


def _fused_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    return _Attention.apply(*to_autocast(query, key, value, attn_mask), is_causal)


def _one_kernel_dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    return torch.native_dropout(input, p, True)[0] if training and p > 0 and input.numel() else input


def _grouped_product(mat_a: Any, mat_b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    out = _GroupedProduct.apply(*to_autocast(mat_a, mat_b))
    return out if bias is None else out + bias


def _fused_rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    return _RmsNorm.apply(input, weight)


#: Functions of torch.nn.functional, which modules also call under their names there.
OF_FUNCTIONAL: dict[str, Callable[..., Any]] = {
    "rms_norm": _fused_rms_norm,
    "scaled_dot_product_attention": _fused_attention,
    "dropout": _one_kernel_dropout,
}
_REPLACED: dict[Any, Callable[..., Any]] = {
    **{getattr(F, name): function for name, function in OF_FUNCTIONAL.items() if hasattr(F, name)},
    torch.rms_norm: _fused_rms_norm,
    torch.dropout: lambda input, p, train: _one_kernel_dropout(input, p, train),
    **{
        function: _grouped_product
        for function in (getattr(torch, "_grouped_mm", None), getattr(F, "grouped_mm", None))
        if function is not None
    },
}
_CASTS = (torch.Tensor.to, torch.Tensor.float, torch.Tensor.type)


class GpuFunctions(TorchFunctionMode):
    """Replaces functions by what a GPU runs. `cast` is called for casts that a model in half precision would make."""

    def __init__(self, cast: Callable[[Any], Any]) -> None:
        super().__init__()
        self._cast = cast

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        replaced = _REPLACED.get(func)
        if replaced:
            return replaced(*args, **(kwargs or {}))
        if func in _CASTS and _asks_for_float(func, args, kwargs or {}):
            return self._cast(args[0])
        return func(*args, **(kwargs or {}))


def _asks_for_float(func: Any, args: Any, kwargs: Any) -> bool:
    if args[0].dtype != torch.float32 or not args[0].dim():
        return False
    return func is torch.Tensor.float or torch.float32 in (*args[1:], kwargs.get("dtype"))
