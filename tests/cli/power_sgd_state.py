"""Makes a PowerSGDState for trainings, even without numpy."""

import sys
import types

from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook


class Random:
    """The part of numpy that the hook uses."""

    def __init__(self, seed):
        self.seed = seed

    def randint(self, below):
        self.seed = (self.seed * 1103515245 + 12345) % below
        return self.seed


def new_state(start, **settings):
    """A new state. Without this function, PyTorch would need more of numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        sys.modules["numpy"] = types.SimpleNamespace(random=types.SimpleNamespace(RandomState=Random))
    state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=start, **settings)
    if numpy is None:
        del sys.modules["numpy"]
    return state
