"""Logs every collective that a rank issues through torch.distributed, in order, with marks for the compute in between.

A log is a list of phases, [name, entry, …]. An entry is a mark or a collective. A mark is "<UNIT" when a module begins
to compute, or "UNIT>" when it ends. A collective is a text such as "all-gather 2496 float32 /4 root". It has the kind,
the bytes S as nccl-tests counts them, the dtype, the ranks of its group, and the unit of its parameters if the scheme
knows it. With padding, S is the bytes that every rank ends with (all-gather) or begins with (reduce-scatter)."""

import sys

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

# For each operator its kind, and the argument with S bytes.
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
    """The name of the flat parameter or parameter group for which a collective is issued, from the stack of the
    caller."""
    frame = sys._getframe(2)
    while frame is not None:
        for name in ("handle", "self"):
            owner = frame.f_locals.get(name)
            kind = type(owner).__name__
            if kind == "FlatParamHandle":
                return getattr(owner, "unit_name", None)  # set by scheme_trainings.py
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
    """Marks the moments at which a unit's forward and backward pass here."""

    @staticmethod
    def forward(context, x, log, name, entered):
        context.log, context.name, context.entered = log, name, entered
        log.mark(f"<{name}" if entered else f"{name}>")
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        context.log.mark(f"{context.name}>" if context.entered else f"<{context.name}")
        return gradient, None, None, None
