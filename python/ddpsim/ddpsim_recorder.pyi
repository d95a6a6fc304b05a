"""Types of traces/recorder/ddpsim_recorder.py. That file has none itself; users copy it next to their script."""

import os
from types import TracebackType
from typing import Any, Mapping

class Recorder:
    finished: bool
    problem: str | None
    document: dict[str, Any] | None
    def __init__(
        self,
        model: Any,  # a torch.nn.Module, plain or wrapped in DDP
        path: str | os.PathLike[str] | None,
        *,
        warmup: int = 10,
        steps: int = 10,
        batch_size: int | None = None,
        name: str | None = None,
        collectives: bool = False,
    ) -> None: ...
    def step(self) -> None: ...
    def close(self) -> None: ...
    def _leave(self) -> None: ...
    def __enter__(self) -> Recorder: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def ddp_options(ddp: Any) -> dict[str, Any]: ...

class Problem(Exception): ...

def write_document(path: str, document: Mapping[str, Any]) -> None: ...
