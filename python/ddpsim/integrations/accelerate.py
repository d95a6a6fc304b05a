"""ddpsim.autotune for Hugging Face Accelerate.

    tuner = autotune(accelerator, model)
    for batch in loader:
        with accelerator.accumulate(model):
            ...                      # forward, accelerator.backward(loss), optimizer.step(), optimizer.zero_grad()
        model = tuner.step()
"""

from __future__ import annotations

from typing import Any

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel

from .._autotune import Autotuner
from .._wrapper import Setting


class AcceleratorAutotuner(Autotuner):
    """An Autotuner whose step() may also be called while gradients are accumulated: it waits for the optimizer's."""

    def __init__(self, accelerator: Accelerator, model: DistributedDataParallel, **options: Any) -> None:
        self._accelerator = accelerator
        super().__init__(model, rebind=lambda new: rebind(accelerator, new), spell=spelled, lists=False, **options)

    def step(self) -> DistributedDataParallel:
        return super().step() if self._accelerator.sync_gradients else self.model


def autotune(accelerator: Accelerator, model: DistributedDataParallel, **options: Any) -> AcceleratorAutotuner:
    """`model`: as accelerator.prepare() returned it; options as for ddpsim.autotune."""
    return AcceleratorAutotuner(accelerator, model, **options)


def rebind(accelerator: Accelerator, new: Any) -> None:
    """The wrapper that accelerator.prepare() made, in what saves and counts them."""
    new._is_accelerate_prepared = True
    models: list[Any] = accelerator._models
    models[:] = [new if isinstance(one, DistributedDataParallel) and one.module is new.module else one for one in models]


def spelled(setting: Setting) -> str:
    return f"DistributedDataParallelKwargs({as_accelerate_takes(setting)})"


def as_accelerate_takes(setting: Setting) -> Setting:
    """DistributedDataParallelKwargs passes a cap of 25 on as none, and none is not the same as 25: as many bytes, by another number."""
    return Setting(bucket_cap_mb=25.0000005) if setting.bucket_cap_mb == 25 else setting
