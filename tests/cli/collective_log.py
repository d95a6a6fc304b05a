"""Every collective that a rank issues through torch.distributed, in the order of issue, among what is computed between them.

A log is a list of phases, [name, entry, …]. An entry is a mark, "<UNIT" where a module begins to compute and "UNIT>" where it
ends, or a collective, "all-gather 2496 float32 /4 root": kind, S in bytes as nccl-tests counts it (all-gather: what every rank
ends with; reduce-scatter: what each begins with; padding included), dtype, ranks of its group, and whose parameters they are,
where a scheme knows that."""

import sys

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

# Operator → kind and the argument that holds S bytes.
COUNTED = {
    "allreduce_": ("all-reduce", 0),
    "allreduce_coalesced_": ("all-reduce", 0),
    "broadcast_": ("broadcast", 0),
    "allgather_": ("all-gather", 0),
    "_allgather_base_": ("all-gather", 0),
    "allgather_into_tensor_coalesced_": ("all-gather", 0),
    "reduce_scatter_": ("reduce-scatter", 1),
    "_reduce_scatter_base_": ("reduce-scatter", 1),
    "reduce_scatter_tensor_coalesced_": ("reduce-scatter", 1),
    "reduce_": ("reduce", 0),
    "gather_": ("gather", 0),
    "scatter_": ("scatter", 1),
    "alltoall_base_": ("all-to-all", 0),
}
SILENT = {"barrier", "monitored_barrier_"}


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_of(each)


def group_of(arguments):
    for argument in arguments:
        if isinstance(argument, torch.ScriptObject):
            try:
                return dist.ProcessGroup.unbox(argument)
            except (RuntimeError, TypeError):
                continue
    return None


def unit_of_caller():
    """The name of the flat parameter or parameter group on whose behalf a collective is issued, from the stack of the caller."""
    frame = sys._getframe(2)
    while frame is not None:
        for name in ("handle", "self"):
            owner = frame.f_locals.get(name)
            kind = type(owner).__name__
            if kind == "FlatParamHandle":
                return getattr(owner, "unit_name", None)  # scheme_trainings.py gives it one
            if kind == "FSDPParamGroup":
                return owner._module_fqn or "root"
        frame = frame.f_back
    return None


class CollectiveLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.phases = []

    def enter(self, phase):
        self.phases.append([phase])

    def taken(self):
        phases, self.phases = self.phases, []
        return [phase for phase in phases if len(phase) > 1]

    def mark(self, text):
        if self.phases:
            self.phases[-1].append(text)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace in ("c10d", "_c10d_functional", "_c10d_functional_autograd"):
            self.collective(func._opname, args)
        return func(*args, **(kwargs or {}))

    def collective(self, operator, arguments):
        if operator in SILENT:
            return
        kind, where = COUNTED[operator]
        counted = list(tensors_of(arguments[where]))
        size = sum(tensor.numel() * tensor.element_size() for tensor in counted)
        words = [
            kind,
            size,
            str(counted[0].dtype).removeprefix("torch."),
            f"/{group_of(arguments).size()}",
            unit_of_caller(),
        ]
        self.mark(" ".join(str(word) for word in words if word is not None))


class Mark(torch.autograd.Function):
    """Tells when a unit's forward passes here, and when its backward does."""

    @staticmethod
    def forward(context, x, log, name, entered):
        context.log, context.name, context.entered = log, name, entered
        log.mark(f"<{name}" if entered else f"{name}>")
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        context.log.mark(f"{context.name}>" if context.entered else f"<{context.name}")
        return gradient, None, None, None
