"""ddpsim.autotune for the Trainer of Hugging Face transformers.

    trainer = Trainer(...)
    trainer.add_callback(AutotuneCallback(trainer))

The Trainer's loop keeps calling the wrapper it began with, which forwards each call to the wrapper that trains.
"""

from __future__ import annotations

import sys
from typing import Any, Optional

from torch.nn.parallel import DistributedDataParallel
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .._autotune import Autotuner
from .._wrapper import Setting
from .accelerate import as_accelerate_takes, rebind


class AutotuneCallback(TrainerCallback):
    """Runs `ddpsim.autotune` while the Trainer trains. The options are those of `ddpsim.autotune`.

    The horizon defaults to the remaining steps of the training. Once training has begun, `tuner` is the Autotuner, or
    None if no DistributedDataParallel trains.
    """

    def __init__(self, trainer: Trainer, **options: Any) -> None:
        self.tuner: Optional[Autotuner] = None
        self._trainer, self._options = trainer, options

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        model = self._trainer.model_wrapped
        self.tuner = None
        if not isinstance(model, DistributedDataParallel):
            if state.is_world_process_zero:
                print(
                    f"ddpsim autotune: {type(model).__name__} trains without DistributedDataParallel, "
                    "so there is no cap to tune",
                    file=sys.stderr,
                    flush=True,
                )
            return
        options = {"horizon": max(1, state.max_steps - state.global_step), **self._options}
        self.tuner = Autotuner(model, rebind=self._rebind, spell=spelled, lists=False, **options)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self.tuner is not None:
            self.tuner.step()

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self.tuner is not None:
            self.tuner.close()

    def _rebind(self, model: DistributedDataParallel) -> None:
        self._trainer.model_wrapped = model
        rebind(model)


def spelled(setting: Setting) -> str:
    return f"TrainingArguments(ddp_{as_accelerate_takes(setting)})"
