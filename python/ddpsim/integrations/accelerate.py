"""ddpsim.autotune for Hugging Face Accelerate.

tuner = autotune(accelerator, model)
for batch in loader:
    with accelerator.accumulate(model):
        ...                      # forward, accelerator.backward(loss), optimizer.step(), optimizer.zero_grad()
    model = tuner.step()
"""

from __future__ import annotations

import sys
from typing import Any

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel

from .._autotune import Autotuner
from .._wrapper import Setting


class AcceleratorAutotuner(Autotuner):
    """An Autotuner whose step() may also be called while gradients are accumulated. Only optimizer steps count."""

    def __init__(self, accelerator: Accelerator, model: DistributedDataParallel, **options: Any) -> None:
        self._accelerator = accelerator
        super().__init__(model, rebind=rebind, spell=spelled, lists=False, **options)

    def step(self) -> DistributedDataParallel:
        return super().step() if self._accelerator.sync_gradients else self.model


class NothingToTune:
    """Stands in for a tuner if no DistributedDataParallel trains, as on one GPU, so that the same script runs there."""

    finished, outcome = True, None

    def __init__(self, model: Any) -> None:
        self.model = model

    def step(self) -> Any:
        return self.model

    def close(self) -> None:
        pass


def autotune(accelerator: Accelerator, model: Any, **options: Any) -> AcceleratorAutotuner | NothingToTune:
    """Like `ddpsim.autotune`, for a `model` that accelerator.prepare() returned. The options are those of
    `ddpsim.autotune`."""
    if isinstance(model, DistributedDataParallel):
        return AcceleratorAutotuner(accelerator, model, **options)
    if accelerator.is_main_process:
        print(
            f"ddpsim autotune: {type(model).__name__} trains without DistributedDataParallel, "
            "so there is no cap to tune",
            file=sys.stderr,
            flush=True,
        )
    return NothingToTune(model)


def rebind(new: Any) -> None:
    """Marks the wrapper as accelerator.prepare() does, so that another prepare() does not wrap it again.

    Accelerate itself holds the module inside, not the wrapper.
    """
    new._is_accelerate_prepared = True


def spelled(setting: Setting) -> str:
    return f"DistributedDataParallelKwargs({as_accelerate_takes(setting)})"


def as_accelerate_takes(setting: Setting) -> Setting:
    """DistributedDataParallelKwargs drops a cap of 25, as if none were given, which means other buckets. The returned
    cap is the same number of bytes, but not equal to 25."""
    return Setting(bucket_cap_mb=25.0000005) if setting.bucket_cap_mb == 25 else setting
