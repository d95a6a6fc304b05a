"""The command python -m ddpsim estimate FILE:FUNCTION. It estimates the module that FUNCTION of a script returns."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import Any, Callable, Sequence

from ._errors import InputError, UsageError
from ._estimate_words import OPTIMIZERS, PRECISIONS

_SHOWN = "def build(): return MyModule(), (torch.empty(8, 3, 224, 224),)"


def run_command(words: Sequence[str]) -> int:
    options = _parser().parse_args(words)
    if importlib.util.find_spec("torch") is None:
        raise UsageError("estimate needs PyTorch, which is not here", "Run pip install torch")
    from . import _estimate

    module, inputs, loss = _module_and_inputs(options.function)
    workload = _estimate.estimate(
        module,
        inputs,
        gpu=options.gpu,
        batch=options.batch,
        precision=options.precision,
        loss=loss,
        optimizer=options.optimizer,
        channels_last=options.channels_last,
        checkpointing=options.checkpointing,
        frozen=options.frozen or (),
        model=options.model,
        output=options.output,
    )
    print(_summary(workload, options), file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ddpsim estimate",
        description="Estimates the step of any PyTorch module: no GPU, no weights. Only shapes and types of inputs are read.",
    )
    parser.add_argument(
        "function",
        metavar="FILE:FUNCTION",
        help=f"a function of a Python file that returns (module, inputs) or (module, inputs, loss): {_SHOWN}",
    )
    parser.add_argument("--gpu", default="H100", help="as in MODEL@GPU (default: H100)")
    parser.add_argument(
        "--batch", type=int, metavar="N", help="samples in the inputs (default: the first length of the first tensor)"
    )
    parser.add_argument(
        "--precision", choices=PRECISIONS, help="default: bf16 (autocast), or bf16-true for bfloat16 parameters"
    )
    parser.add_argument("--optimizer", choices=OPTIMIZERS, help="default: momentum for images, else adam")
    parser.add_argument(
        "--channels-last", action="store_true", help="the module and its images are trained in channels_last"
    )
    parser.add_argument(
        "--checkpointing",
        metavar="none|full|selective|N",
        help="blocks that backward computes again (default: as the module does)",
    )
    parser.add_argument(
        "--frozen", action="append", metavar="PATTERN", help="modules or parameters that do not train: 'encoder.*'"
    )
    parser.add_argument(
        "--model", metavar="FILE", help="also keep the trace, which FILE@GPU:bBATCH:PRECISION reads without PyTorch"
    )
    parser.add_argument(
        "-o",
        "--output",
        default="workload.json",
        metavar="FILE",
        help="workload file to write (default: workload.json)",
    )
    return parser


def _module_and_inputs(text: str) -> tuple[Any, Any, Any]:
    """Calls the function and returns its module, inputs and loss.

    The call is tried first on the meta device, where tensors have no memory."""
    import torch

    path, colon, name = text.rpartition(":")
    if not colon:
        raise UsageError(f"{text} names no function", f"Write FILE:FUNCTION, such as train.py:build with {_SHOWN}")
    function = _function_of(path, name)
    try:
        with torch.device("meta"):
            given = function()
    except Exception:
        # Some modules compute with values while they are built, which fails on the meta device.
        try:
            given = function()
        except Exception as error:
            raise _failed(path, f"{name} fails", error) from error
    if not isinstance(given, tuple) or len(given) not in (2, 3):
        raise InputError(
            f"{name} returns {type(given).__name__}, not (module, inputs)", f"Write it like this: {_SHOWN}", file=path
        )
    module, inputs = given[:2]
    return module, inputs, given[2] if len(given) == 3 else None


def _failed(path: str, what: str, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:200]
    return InputError(f"{what}: {type(error).__name__}: {said}", f"Make `python {path}` run by itself first", file=path)


def _function_of(path: str, name: str) -> Callable[[], Any]:
    if not os.path.isfile(path):
        raise InputError("there is no such file", "Write FILE:FUNCTION, such as train.py:build", file=path)
    spec = importlib.util.spec_from_file_location("ddpsim_estimated", path)
    assert spec is not None
    loader: Any = spec.loader
    script = importlib.util.module_from_spec(spec)
    sys.modules["ddpsim_estimated"] = script
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        loader.exec_module(script)
    except Exception as error:
        raise _failed(path, "the file fails when it is loaded", error) from error
    function: Callable[[], Any] | None = getattr(script, name, None)
    if not callable(function):
        known = [key for key, value in vars(script).items() if callable(value) and not key.startswith("_")]
        raise InputError(
            f"there is no function {name}",
            f"It has {', '.join(known) or 'no function'}: name the one that builds the module",
            file=path,
        )
    return function


def _summary(workload: Any, options: argparse.Namespace) -> str:
    trained = [parameter for parameter in workload.parameters if not parameter.frozen]
    step = sum(part.duration_us for part in (workload.forward, workload.backward, workload.optimizer))
    return (
        f"{options.output}: {workload.name}, {len(trained)} parameters that train, {step / 1000:.1f} ms a step on one GPU. "
        f"Next: ddpsim tune {options.output} dgxh100"
    )
