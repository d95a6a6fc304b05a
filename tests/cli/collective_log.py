"""Every collective that a rank issues through torch.distributed, in the order of issue, among what is computed between them.

A line of a log is either a mark, "begin UNIT" or "end UNIT" of a module's computing in forward or backward, or a collective:
kind, S in bytes as nccl-tests counts it (all-gather: what every rank ends with; reduce-scatter: what each begins with; padding
included), dtype, ranks of its group, whose parameters they were where a scheme knows it."""

import sys

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

# Operator → kind and the argument that holds S bytes.
COUNTED = {"allreduce_": ("all-reduce", 0), "allreduce_coalesced_": ("all-reduce", 0), "broadcast_": ("broadcast", 0),
           "allgather_": ("all-gather", 0), "_allgather_base_": ("all-gather", 0),
           "allgather_into_tensor_coalesced_": ("all-gather", 0), "reduce_scatter_": ("reduce-scatter", 1),
           "_reduce_scatter_base_": ("reduce-scatter", 1), "reduce_scatter_tensor_coalesced_": ("reduce-scatter", 1),
           "reduce_": ("reduce", 0), "gather_": ("gather", 0), "scatter_": ("scatter", 1), "alltoall_base_": ("all-to-all", 0)}
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
                return unwrapped(owner.flat_param._fqns, owner)
            if kind == "FSDPParamGroup":
                return owner._module_fqn or "root"
        frame = frame.f_back
    return None


def unwrapped(_, handle):
    return getattr(handle, "unit_name", None)


class CollectiveLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.phase, self.lines = "before", []

    def taken(self):
        lines, self.lines = self.lines, []
        return lines

    def mark(self, text):
        self.lines.append(f"{self.phase}: {text}")

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
        dtype = str(counted[0].dtype).removeprefix("torch.")
        group = group_of(arguments)
        unit = unit_of_caller()
        self.mark(f"{kind} {size} {dtype} of {group.size() if group else '?'}" + (f" [{unit}]" if unit else ""))


class Mark(torch.autograd.Function):
    """Tells when a unit's forward passes here, and when its backward does."""

    @staticmethod
    def forward(context, x, log, name, entered):
        context.log, context.name, context.entered = log, name, entered
        log.mark(f"{'begin' if entered else 'end'} {name}")
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        context.log.mark(f"{'end' if context.entered else 'begin'} {context.name}")
        return gradient, None, None, None
