"""What each operator of PyTorch costs, as fields of ddpsim.model/1: the shape of a matrix product, and the elements
that are read and written.

Sizes are for a whole batch, in elements of four bytes. So one byte of a mask counts as a quarter of an element, and an
index of eight bytes counts as two. The rules are the same as in the program's own catalogue
(models/src/module_recorder.cpp). The constants of the program's cost model were learned with them.
"""

# torch is imported by whoever calls, and its types are incomplete.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterable, Sequence

# Operators that autocast runs in fp32 on CUDA (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32). A reduction that the
# model itself writes out counts as fp32 only if the model casts its input to fp32.
SINGLE_PRECISION = frozenset(
    "native_layer_norm native_group_norm rms_norm _softmax _log_softmax pow exp expm1 log log2 log10 log1p rsqrt reciprocal "
    "softplus nll_loss_forward nll_loss2d_forward mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits kl_div cumsum cumprod prod linalg_vector_norm norm logsumexp embedding".split()
)
PRODUCTS = frozenset("mm addmm bmm baddbmm convolution _convolution mv dot".split())
# Operators that autocast runs in half precision.
IN_HALF = PRODUCTS | {"attention", "grouped_mm"}
NORMALIZATIONS = frozenset(
    "native_layer_norm native_group_norm rms_norm native_batch_norm _native_batch_norm_legit batch_norm_with_update "
    "cudnn_batch_norm miopen_batch_norm".split()
)
BATCH_NORMS = frozenset(
    "native_batch_norm _native_batch_norm_legit _batch_norm_with_update cudnn_batch_norm miopen_batch_norm".split()
)
POOLINGS = frozenset(
    "max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d "
    "adaptive_max_pool2d".split()
)
#: Operators whose outputs are their inputs in another type.
CASTS = frozenset(("_to_copy", "cast"))
# Operators that launch no kernel: they only ask for sizes, which the host knows, or allocate memory.
FREE = frozenset(
    "empty empty_like empty_strided new_empty new_empty_strided device size stride sym_size sym_stride sym_numel _assert_async "
    "_assert_scalar _assert_tensor_metadata lift lift_fresh lift_fresh_copy set_ resize_ record_stream _local_scalar_dense "
    "_has_compatible_shallow_copy_type is_same_size".split()
)


@dataclasses.dataclass
class Operator:
    """An operator of forward that launches kernels. Its counts are for the whole batch."""

    name: str
    module: str
    kind: str = "elementwise"
    product: dict[str, Any] | None = None
    attention: dict[str, Any] | None = None
    weights: int = 0
    # Indices of the parameters that it reads.
    reads: list[int] = dataclasses.field(default_factory=list)
    inputs: float = 0
    outputs: float = 0
    forward_elements: float = 0
    forward_kernels: int = 1
    backward_elements: float = 0
    backward_kernels: int = 0
    single_precision: bool = False
    # Mean bytes per element that it reads and writes under autocast; 0: as single_precision says.
    autocast_width: float = 0
    # Elements that are converted between fp32 and half precision: by autocast, or by a model whose parameters are half.
    autocast_casts: float = 0
    half_casts: float = 0
    channels_last: bool = False
    sums_branches: bool = False
    # One past the sequence numbers of its autograd nodes.
    last_node: int = 0
    # Number of experts among whose weights each row is sent to one; 0: it is no product of experts.
    experts: int = 0
    # Whether backward computes the gradient of the product's input, and of its weight.
    data_gradient: bool = False
    weight_gradient: bool = False


def elements(tensor: Any) -> float:
    """Number of elements of four bytes that lie in memory: an expanded length is read once."""
    count = 1
    for length, stride in zip(tensor.shape, tensor.stride()):
        count *= 1 if stride == 0 else length
    return float(count * tensor.element_size() / 4)


def each_elements(tensors: Iterable[Any]) -> float:
    return sum(map(elements, tensors))


def describe(
    op: Operator, packet: str, args: Sequence[Any], outs: Sequence[Any], ins: Sequence[Any], weights: list[Any]
) -> None:
    """Fills kind, product and forward's counts. `weights`: those of `ins` that are parameters."""
    op.outputs = outs[0].numel() if outs else 0
    op.single_precision = packet in SINGLE_PRECISION
    if packet == "cast":
        op.forward_kernels = 0  # it converts nothing where all is fp32
    elif packet in ("mm", "addmm", "mv", "dot"):
        _matrix(op, args[1:] if packet == "addmm" else args, weights)
    elif packet in ("bmm", "baddbmm"):
        _batched(op, args[1:] if packet == "baddbmm" else args, weights)
    elif packet in ("convolution", "_convolution"):
        _convolution(op, args, outs[0])
    elif packet == "attention":
        _attention(op, args)
    elif packet == "grouped_mm":
        _grouped(op, args, weights)
    elif packet in NORMALIZATIONS or packet in BATCH_NORMS:
        op.kind = "normalization"
        op.channels_last = packet in BATCH_NORMS and args[0].dim() == 4 and _are_channels_last(args[0])
        op.forward_elements = (3 if packet in BATCH_NORMS and args[5] is not False else 2) * elements(args[0])
    elif packet == "embedding":
        op.kind = "embedding"
        op.forward_elements = 2 * elements(outs[0])
    elif packet in ("nll_loss_forward", "nll_loss2d_forward"):
        # It reads one logarithm for each label.
        op.forward_elements = 2 * elements(args[1])
    elif packet in POOLINGS:
        op.kind = "pooling"
        op.forward_elements = _window(packet, args, outs[0]) * elements(outs[0]) + each_elements(outs)
    else:
        op.forward_elements = each_elements(ins) + each_elements(outs)


def backward_elements(
    op: Operator, packet: str, ins: Sequence[Any], outs: Sequence[Any], args: Sequence[Any]
) -> tuple[float, int]:
    """Elements and kernels of an operator that backward runs for a node of `op`."""
    if packet in ("mm", "addmm", "bmm", "baddbmm", "grouped_mm"):
        return 0, 1 + (packet == "grouped_mm" and op.weight_gradient)
    if packet == "convolution_backward":
        mask = args[-1]
        return (elements(args[0]) if mask[2] else 0), sum(map(bool, mask))
    if packet.startswith("attention"):
        query, key = ins[1], ins[2]
        return 9 * elements(query) + 4 * elements(key), 3
    if packet == "native_layer_norm_backward":
        return (5 if args[-1][1] or args[-1][2] else 3) * elements(args[0]), 1
    if packet == "rms_norm_backward":
        return (5 if args[2] is not None else 3) * elements(args[0]), 1
    if packet in (
        "native_batch_norm_backward",
        "cudnn_batch_norm_backward",
        "native_group_norm_backward",
        "batch_norm_backward",
    ):
        return 5 * elements(args[0]), 1
    if packet in ("embedding_dense_backward", "embedding_backward"):
        # The program counts the dense gradient itself.
        return 3 * elements(args[0]), 1
    if packet in ("nll_loss_backward", "nll_loss2d_backward"):
        # Zeros, and one value for each label.
        return each_elements(outs), 2
    if packet == "max_pool2d_with_indices_backward":
        return (2 * _window(packet, args[1:], args[0]) + 3) * elements(args[0]), 1
    return each_elements(ins) + each_elements(outs), 1


def _matrix(op: Operator, args: Sequence[Any], weights: list[Any]) -> None:
    left, right = args[0], args[1]
    if left.dim() == 1:
        left = left[None]
    if right.dim() == 1:
        right = right[:, None]
    rows, depth, columns = left.shape[0], left.shape[1], right.shape[1]
    op.kind = "linear"
    if _is_one_of(left, weights) and not _is_one_of(right, weights):
        rows, columns = columns, rows
    op.weights = sum(weight.numel() for weight in weights) or depth * columns
    op.data_gradient, op.weight_gradient = left.requires_grad, right.requires_grad
    if _is_one_of(left, weights) and not _is_one_of(right, weights):
        op.data_gradient, op.weight_gradient = op.weight_gradient, op.data_gradient
    op.product = {"in": depth, "out": columns, "positions_in": rows, "out_height": rows}
    op.inputs = rows * depth


def _batched(op: Operator, args: Sequence[Any], weights: list[Any]) -> None:
    left, right = args[0], args[1]
    groups, rows, depth = left.shape
    columns = right.shape[2]
    op.data_gradient, op.weight_gradient = left.requires_grad, right.requires_grad
    if weights:
        if _is_one_of(left, weights) and not _is_one_of(right, weights):
            rows, columns = columns, rows
            op.data_gradient, op.weight_gradient = op.weight_gradient, op.data_gradient
        op.kind = "linear"
        op.weights = sum(weight.numel() for weight in weights)
        op.product = {"groups": groups, "in": depth, "out": columns, "positions_in": rows, "out_height": rows}
    else:
        op.kind = "attention"
        op.product = {"groups": groups, "in": depth, "out": columns, "positions_in": rows, "out_height": rows}
    op.inputs = groups * rows * depth


def _convolution(op: Operator, args: Sequence[Any], out: Any) -> None:
    given, weight, bias, stride = args[0], args[1], args[2], args[3]
    transposed, groups = args[6], args[8]
    kernel = list(weight.shape[2:])
    op.kind = "convolution"
    op.data_gradient, op.weight_gradient = given.requires_grad, weight.requires_grad
    op.weights = weight.numel() + (bias.numel() if bias is not None else 0)
    # A transposed convolution runs an ordinary one backward.
    small, large = (given, out) if transposed else (out, given)
    places = list(small.shape[2:])
    op.product = {
        "groups": groups,
        "in": large.shape[1] // groups,
        "out": small.shape[1] // groups,
        "kernel_height": math.prod(kernel[:-1]),
        "kernel_width": kernel[-1],
        "stride": max(stride),
        "positions_in": math.prod(large.shape[2:]),
        "out_height": math.prod(places[:-1]),
        "out_width": places[-1],
    }
    if len(kernel) == 1:
        op.product.update(kernel_height=kernel[0], kernel_width=1, out_height=places[0], out_width=1)
    op.inputs = given.numel()
    op.channels_last = given.dim() == 4 and _are_channels_last(given, weight)
    if bias is not None:
        # It is added by a kernel of its own.
        op.forward_elements = 2 * elements(out)
        op.forward_kernels = 2


def _are_channels_last(*tensors: Any) -> bool:
    """Whether the tensors are in channels_last.

    A kernel of size 1, or an input of one pixel, is in both memory formats. Then another tensor decides."""
    import torch

    last = all(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in tensors)
    return last and not all(tensor.is_contiguous() for tensor in tensors)


def _grouped(op: Operator, args: Sequence[Any], weights: list[Any]) -> None:
    """Describes a product of each row with the weights of one expert. The weights of all experts are read, and all get
    gradients."""
    rows, weight = args[0], args[1]
    op.kind = "linear"
    op.data_gradient, op.weight_gradient = rows.requires_grad, weight.requires_grad
    op.weights = sum(one.numel() for one in weights) or weight.numel()
    op.experts = weight.shape[0]
    op.product = {
        "in": rows.shape[1],
        "out": weight.shape[-1],
        "positions_in": rows.shape[0],
        "out_height": rows.shape[0],
    }
    op.inputs = rows.numel()


def _attention(op: Operator, args: Sequence[Any]) -> None:
    query, key, value, mask, causal = args[:5]
    op.kind = "attention"
    op.attention = {
        "heads": query.shape[-3],
        "features": query.shape[-1],
        "queries": query.shape[-2],
        "keys": key.shape[-2],
        "causal": bool(causal),
    }
    if key.dim() > 3 and key.shape[-3] != query.shape[-3]:
        op.attention["key_heads"] = key.shape[-3]
    op.inputs = query.numel() + key.numel() + value.numel()
    op.forward_elements = 2 * elements(query) + elements(key) + elements(value)
    if mask is not None:
        op.forward_elements += elements(mask)


def _window(packet: str, args: Sequence[Any], out: Any) -> float:
    """Number of input elements in one window of a pooling."""
    if "adaptive" in packet:
        return float(args[0].numel() / max(out.numel(), 1))
    return float(math.prod(args[1]) ** (1 if len(args[1]) > 1 else 2))


def _is_one_of(tensor: Any, weights: list[Any]) -> bool:
    storage = tensor.untyped_storage()._cdata
    return any(weight.untyped_storage()._cdata == storage for weight in weights)
