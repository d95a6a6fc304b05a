"""ddpsim simulates a training step of PyTorch DistributedDataParallel and predicts it for other clusters and settings.

    >>> import ddpsim
    >>> answer = ddpsim.tune("resnet50-v100-b32", "dgx1v-1xedr@2", torch="2.8")
    >>> answer.recommended.python
    'DistributedDataParallel(model, bucket_cap_mb=5)'

Each function runs one command of the program `ddpsim`. Its name is the command's; only `import` is called
`import_trace` here. Each function returns a dataclass whose attributes are the keys of `--json`. `help` of a function
explains its arguments, `ddpsim.schema` the keys of an answer. docs/reference/formats.md explains how to read an answer.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

try:
    from ._commands import VERSION as __version__
    from ._commands import (
        advise,
        allreduce,
        buckets,
        calibrate,
        compare,
        diff,
        import_trace,
        list,
        simulate,
        sweep,
        topo,
        tune,
        validate,
    )
except ModuleNotFoundError as error:
    if error.name != f"{__name__}._commands":
        raise
    raise ImportError(
        "this is the source of ddpsim without its generated modules _commands.py and _results.py. "
        "Install it (pip install .), or build it (cmake --preset release && cmake --build --preset release) "
        "and set PYTHONPATH=build/release/python"
    ) from None
from ._errors import Error, Failure, InputError, Regression, UsageError

if TYPE_CHECKING:
    from ._program import program as program
    from ._schemas import schema as schema
    from ._results import AdviseResult as AdviseResult
    from ._results import AllreduceResult as AllreduceResult
    from ._results import BucketsResult as BucketsResult
    from ._results import CalibrateResult as CalibrateResult
    from ._results import CommandsResult as CommandsResult
    from ._results import CompareResult as CompareResult
    from ._results import DiffResult as DiffResult
    from ._results import ListResult as ListResult
    from ._results import SimulateResult as SimulateResult
    from ._results import SweepResult as SweepResult
    from ._results import Timeline as Timeline
    from ._results import TopoResult as TopoResult
    from ._results import TuneResult as TuneResult
    from ._results import ValidateResult as ValidateResult
    from ._results import Workload as Workload
    from ._autotune import Autotuner as Autotuner
    from ._autotune import autotune as autotune  # pyright: ignore[reportUnknownVariableType] (torch has no types)
    from ._estimate import estimate as estimate
    from ._estimate import trace_model as trace_model
    from .ddpsim_recorder import Recorder as Recorder

# These names are imported on first use. The recorder, autotune and estimate need torch. The result classes take longer
# to define than everything else takes to import.
_LATER = {
    "Autotuner": "_autotune",
    "Recorder": "ddpsim_recorder",
    "autotune": "_autotune",
    "estimate": "_estimate",
    "program": "_program",
    "schema": "_schemas",
    "trace_model": "_estimate",
}
_NEED_TORCH = ("Autotuner", "Recorder", "autotune", "estimate", "trace_model")  # left out of `import *`
_RESULTS = (
    "AdviseResult",
    "AllreduceResult",
    "BucketsResult",
    "CalibrateResult",
    "CommandsResult",
    "CompareResult",
    "DiffResult",
    "ListResult",
    "SimulateResult",
    "SweepResult",
    "Timeline",
    "TopoResult",
    "TuneResult",
    "ValidateResult",
    "Workload",
)


def __getattr__(name: str) -> Any:
    module = "_results" if name in _RESULTS else _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'ddpsim' has no attribute {name!r}")
    import importlib

    try:
        value = getattr(importlib.import_module(f".{module}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"ddpsim.{name} needs PyTorch, which is not installed. Run: pip install torch", name="torch"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> builtins.list[str]:
    import importlib.util

    here = importlib.util.find_spec("torch") is not None
    return sorted({*__all__, *(name for name in _LATER if here or name not in _NEED_TORCH)})


__all__ = [
    "AdviseResult",
    "AllreduceResult",
    "BucketsResult",
    "CalibrateResult",
    "CommandsResult",
    "CompareResult",
    "DiffResult",
    "Error",
    "Failure",
    "InputError",
    "ListResult",
    "Regression",
    "SimulateResult",
    "SweepResult",
    "Timeline",
    "TopoResult",
    "TuneResult",
    "UsageError",
    "ValidateResult",
    "Workload",
    "__version__",
    "advise",
    "allreduce",
    "buckets",
    "calibrate",
    "compare",
    "diff",
    "import_trace",
    "list",
    "program",
    "schema",
    "simulate",
    "sweep",
    "topo",
    "tune",
    "validate",
]
