"""Estimates the step of any module on a GPU that you need not have.

The module is traced without weights. The program's cost model then computes the times.

workload = ddpsim.estimate(model, inputs, gpu="H100")
print(ddpsim.tune(workload, "dgxh100"))
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import torch

from ._errors import Failure, InputError, UsageError

if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 4):
    raise Failure(f"estimate needs PyTorch 2.4 or later, and this is {torch.__version__}", "Run pip install -U torch")

from ._estimate_words import OPTIMIZERS, PRECISIONS
from ._fake_step import Step, take_step
from ._model_document import document_of, kept_by_layer
from .ddpsim_recorder import Problem, write_document

if TYPE_CHECKING:
    from ._results import Workload


def trace_model(
    module: Any,
    inputs: Any,
    *,
    batch: int | None = None,
    loss: Callable[[Any], Any] | None = None,
    optimizer: Any = None,
    channels_last: bool = False,
) -> dict[str, Any]:
    """The document ddpsim.model/1 of a module: what `model.json@GPU` reads.

    inputs: what the module is called with: a tensor, a tuple of arguments, or a mapping of keyword arguments.
        Only shapes and dtypes are read, so tensors may lie on the meta device.

    batch: samples in `inputs`; default: the first length of the first tensor.

    loss: makes a scalar of the module's outputs; default: `outputs.loss`, or the sum of the outputs.

    optimizer: "sgd", "momentum", "adam", "adamw", or an optimizer of torch.optim.
        The default is momentum for images, else adam.

    channels_last: the module and its images are trained in torch.channels_last.
    """
    module = _unwrapped(module)
    args, kwargs = _arguments(inputs)
    first = _first_tensor((args, kwargs))
    if first is None:
        raise UsageError("inputs hold no tensor", "Pass what the module is called with: a tensor, a tuple or a mapping")
    samples = batch or (first.shape[0] if first.dim() else 1)
    _require_dense(module)
    if samples < 1:
        raise UsageError(f"a batch of {samples} samples", "Pass inputs of one sample or more")
    notes: list[str] = []
    step = take_step(module, args, kwargs, loss or _usual_loss(notes), channels_last)
    more = _samples((args, kwargs))
    more.update(_optimizer(optimizer))
    document = document_of(module, step, samples, more)
    notes += _notes(module, step, document)
    if notes:
        document["notes"] = notes
    document["traced_with"] = f"ddpsim.estimate, PyTorch {torch.__version__}"
    return document


def estimate(
    module: Any,
    inputs: Any,
    *,
    gpu: str = "H100",
    batch: int | None = None,
    precision: str | None = None,
    loss: Callable[[Any], Any] | None = None,
    optimizer: Any = None,
    channels_last: bool = False,
    checkpointing: str | int | None = None,
    frozen: Sequence[str] | str = (),
    model: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> "Workload":
    """The workload of a module on a GPU: an estimate, which needs no GPU, no weights and no recording.

    Traces forward and backward of `module` once on tensors without memory (trace_model, which says what `inputs`, `batch`,
    `loss`, `optimizer` and `channels_last` are) and lets the program time its layers. The result is a WORKLOAD of every function
    here: simulate, tune, compare.

    gpu: as in MODEL@GPU: "H100", "A100-40GB".

    precision: "fp32", "tf32", "amp" (autocast to float16), "bf16" (autocast) or "bf16-true" (all parameters).
        The default is "bf16-true" for a module whose parameters are bfloat16, else "bf16".

    checkpointing: "none", "full", "selective" or a number of blocks; default: what the module does.

    frozen: modules or parameters that do not train, in addition to those without requires_grad: "encoder.*".

    model: a file to keep the trace in. `FILE@GPU:bBATCH:PRECISION` then needs no PyTorch.

    output: a file to keep the workload in.
    """
    if precision is None:
        halves = all(parameter.dtype is torch.bfloat16 for parameter in _unwrapped(module).parameters())
        precision = "bf16-true" if halves else "bf16"
    if precision not in PRECISIONS:
        raise UsageError(f"precision {precision!r} is unknown", f"Pass one of {', '.join(PRECISIONS)}")
    document = trace_model(module, inputs, batch=batch, loss=loss, optimizer=optimizer, channels_last=channels_last)
    from . import import_trace
    from ._arguments import temporary

    options = [f"b{document['batch']}", precision]
    if checkpointing is not None:
        options.append(f"ckpt={checkpointing}")
    patterns = [frozen] if isinstance(frozen, str) else list(frozen)
    if patterns:
        options.append(f"frozen={'+'.join(patterns)}")
    with temporary() as folder:
        path = os.fspath(model) if model is not None else os.path.join(folder, "model.json")
        write_model(document, path)
        return import_trace(":".join([f"{path}@{gpu}", *options]), output=output)


def write_model(document: Mapping[str, Any], path: str) -> None:
    """Writes the trace to a file, whole or not at all."""
    try:
        write_document(path, document)
    except Problem as problem:
        raise Failure(str(problem), "Let model name a file in a folder that exists") from problem


def _unwrapped(module: Any) -> Any:
    """The module itself, without wrappers of DDP, DataParallel and torch.compile."""
    while True:
        if isinstance(module, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            module = module.module
        elif hasattr(module, "_orig_mod"):
            module = module._orig_mod
        else:
            break
    if not isinstance(module, torch.nn.Module):
        raise UsageError(f"{type(module).__name__} is no torch.nn.Module", "Pass the module that you train")
    return module


def _require_dense(module: Any) -> None:
    for name, one in module.named_modules():
        if getattr(one, "sparse", False) is True and isinstance(one, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            raise InputError(
                f"{name or type(one).__name__} has a sparse gradient, and a trace knows dense ones alone",
                "Build the embedding with sparse=False for the trace",
            )


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping) or hasattr(inputs, "keys"):
        return (), dict(inputs)
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


def _each_tensor(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _each_tensor(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _each_tensor(one)


def _first_tensor(value: Any) -> Any:
    return next(_each_tensor(value), None)


def _samples(inputs: Any) -> dict[str, Any]:
    """What one sample is. A floating-point input of four dimensions holds images, an integer input of two holds
    sequences."""
    for tensor in _each_tensor(inputs):
        if tensor.dim() == 2 and not tensor.is_floating_point() and tensor.dtype != torch.bool:
            return {"sample": "sequence", "sample_size": tensor.shape[1]}
        if tensor.dim() == 4 and tensor.is_floating_point():
            return {"sample": "image", "sample_size": tensor.shape[-1]}
    return {"sample": "other"}


def _usual_loss(notes: list[str]) -> Callable[[Any], Any]:
    """Takes the output `loss`, which models of transformers have, or an output that is a scalar. Without one, takes the
    sum of all outputs that require a gradient, and adds a note."""

    def loss(outputs: Any) -> Any:
        found = outputs.get("loss") if isinstance(outputs, Mapping) else getattr(outputs, "loss", None)
        if isinstance(found, torch.Tensor):
            return found
        tensors = [tensor for tensor in _each_tensor(outputs) if tensor.is_floating_point() and tensor.requires_grad]
        if not tensors:
            raise UsageError(
                f"no output of the module has a gradient ({type(outputs).__name__})",
                "Pass loss=FUNCTION, which makes a scalar tensor of the module's outputs",
            )
        note = "the sum of the outputs stands for the loss: pass loss=FUNCTION to count what yours costs"
        if note not in notes and (len(tensors) > 1 or tensors[0].dim() > 0):
            notes.append(note)
        return sum(tensor.sum() for tensor in tensors)

    return loss


def _optimizer(optimizer: Any) -> dict[str, Any]:
    if optimizer is None:
        return {}
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZERS:
            raise UsageError(f"optimizer {optimizer!r} is unknown", f"Pass one of {', '.join(OPTIMIZERS)}")
        return {"optimizer": optimizer}
    kind = type(optimizer).__name__.lower()
    defaults = getattr(optimizer, "defaults", {})
    if kind == "sgd":
        kind = "momentum" if defaults.get("momentum") else "sgd"
    if kind not in OPTIMIZERS:
        raise UsageError(
            f"{type(optimizer).__name__} is no optimizer that ddpsim knows",
            f"Pass the nearest of {', '.join(OPTIMIZERS)}",
        )
    return {"optimizer": kind, **({"fused_optimizer": True} if defaults.get("fused") else {})}


def _notes(module: Any, step: Step, document: Mapping[str, Any]) -> list[str]:
    """Remarks for the user that the layers of the document do not show."""
    notes = []
    if not module.training:
        notes.append(f"{type(module).__name__} was traced in eval mode: call train() on it before ddpsim.estimate")
    if not any("fp32" in kept for kept in kept_by_layer(step)):
        notes.append("what forward keeps for backward could not be traced: memory lacks activations")
    routed = [op for op in step.operators if op.experts > 1]
    if routed:
        tokens = document["batch"] * document.get("sample_size", 1)
        total = sum(parameter.numel() for parameter in module.parameters())
        asleep = sum(
            op.weights * max(0.0, 1 - op.inputs / op.product["in"] / tokens / op.experts) for op in routed if op.product
        )
        notes.append(
            f"{total - asleep:.0f} of {total} parameters are active for a token. Experts count as replicated: "
            "the all-to-all of expert parallelism is not simulated"
        )
    return notes
