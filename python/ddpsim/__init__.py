"""ddpsim: replays a training step of PyTorch's DistributedDataParallel, and predicts it elsewhere.

    >>> import ddpsim
    >>> answer = ddpsim.tune("resnet50-v100-b32", "dgx1v-1xedr@2", torch="2.8")
    >>> answer.recommended.python
    'DistributedDataParallel(model, bucket_cap_mb=5)'

A function for each command of the program `ddpsim`, which does the work; `import_trace` for `import`. An answer is a
dataclass with the keys of `--json` as attributes. Each class says what its attributes mean, docs/reference/formats.md how to read an answer.
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
        "ddpsim is here in source only: a build makes _commands.py and _results.py. Install it (pip install .), or build it "
        "(cmake --preset release && cmake --build --preset release) and let PYTHONPATH name build/release/python"
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
    from ._autotune import autotune as autotune  # pyright: ignore[reportUnknownVariableType] (of torch's model)
    from .ddpsim_recorder import Recorder as Recorder

# Loaded when first asked for: recorder and autotune need torch, results take longer to define than the rest to import.
_LATER = {
    "Autotuner": "_autotune",
    "Recorder": "ddpsim_recorder",
    "autotune": "_autotune",
    "program": "_program",
    "schema": "_schemas",
}
_NEED_TORCH = ("Autotuner", "Recorder", "autotune")  # not of `import *`
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
            f"ddpsim.{name} needs PyTorch, which is not here (pip install torch)", name="torch"
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
