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
        super().__init__(model, rebind=rebind, spell=spelled, lists=False, **options)

    def step(self) -> DistributedDataParallel:
        return super().step() if self._accelerator.sync_gradients else self.model


def autotune(accelerator: Accelerator, model: DistributedDataParallel, **options: Any) -> AcceleratorAutotuner:
    """`model`: as accelerator.prepare() returned it; options as for ddpsim.autotune."""
    return AcceleratorAutotuner(accelerator, model, **options)


def rebind(new: Any) -> None:
    """What accelerator.prepare() leaves on a wrapper, lest another prepare() wraps it. The accelerator itself keeps the module inside."""
    new._is_accelerate_prepared = True


def spelled(setting: Setting) -> str:
    return f"DistributedDataParallelKwargs({as_accelerate_takes(setting)})"


def as_accelerate_takes(setting: Setting) -> Setting:
    """DistributedDataParallelKwargs passes a cap of 25 on as none, and none is not the same as 25: as many bytes, by another number."""
    return Setting(bucket_cap_mb=25.0000005) if setting.bucket_cap_mb == 25 else setting
