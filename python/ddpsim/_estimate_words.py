"""Words of `MODEL@GPU` and of ddpsim.model/1 that `ddpsim.estimate` takes, too. Needs no PyTorch."""

PRECISIONS = ("fp32", "tf32", "amp", "bf16", "bf16-true")
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")
