"""ddpsim.autotune for PyTorch Lightning 2.

Trainer(strategy="ddp", callbacks=[AutotuneCallback()])
"""

from __future__ import annotations

import sys
from typing import Any, Optional

from torch.nn.parallel import DistributedDataParallel

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:  # its older name
    from pytorch_lightning import Callback, LightningModule, Trainer

from .._autotune import Autotuner
from .._wrapper import Setting


class AutotuneCallback(Callback):
    """Runs `ddpsim.autotune` while a Trainer trains. The options are those of `ddpsim.autotune`.

    The horizon defaults to the remaining steps of the training, if the Trainer knows them. Once training has begun,
    `tuner` is the Autotuner, or None if no DistributedDataParallel trains.
    """

    def __init__(self, **options: Any) -> None:
        self.tuner: Optional[Autotuner] = None
        self._options = options
        self._stepped = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        strategy: Any = trainer.strategy
        self.tuner, self._stepped = None, trainer.global_step
        if not isinstance(strategy.model, DistributedDataParallel):
            if trainer.is_global_zero:
                print(
                    f"ddpsim autotune: {type(strategy).__name__} trains without DistributedDataParallel, "
                    "so there is no cap to tune",
                    file=sys.stderr,
                    flush=True,
                )
            return

        def rebind(model: DistributedDataParallel) -> None:
            strategy.model = model
            # With manual optimization, Lightning starts the first all-reduces of a static graph itself, once for each
            # reducer.
            strategy._pl_static_graph_delay_done = False

        steps = trainer.estimated_stepping_batches - trainer.global_step
        known: dict[str, Any] = {"horizon": int(steps)} if 1 <= steps < float("inf") else {}
        self.tuner = Autotuner(strategy.model, rebind=rebind, spell=spelled, **{**known, **self._options})

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        if self.tuner is not None and trainer.global_step > self._stepped:  # not while gradients are accumulated
            self._stepped = trainer.global_step
            self.tuner.step()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.tuner is not None:
            self.tuner.close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        if self.tuner is not None:
            self.tuner.close()


def spelled(setting: Setting) -> str:
    return f"DDPStrategy({setting})"
