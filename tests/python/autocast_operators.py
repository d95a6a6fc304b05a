"""Counts the operators that PyTorch really runs in forward and backward under autocast, on tensors without memory.

Autocast of a CPU casts fewer operators to fp32 than that of CUDA, so CUDA's rule is added for those that the modules of
the test use."""

import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from ddpsim._fake_step import replaced
from ddpsim._gpu_functions import OF_FUNCTIONAL, GpuFunctions
from ddpsim._operators import FREE

IN_FP32 = ("layer_norm", "softmax.int", "log_softmax.int", "nll_loss", "nll_loss_nd", "cross_entropy_loss")


def _as_on_cuda():
    warnings.filterwarnings("ignore", message=".*Overriding a previously registered kernel.*")
    library = torch.library.Library("aten", "IMPL")
    autocast = torch._C.DispatchKey.AutocastCPU

    def widened(value):
        half = isinstance(value, torch.Tensor) and value.dtype is torch.bfloat16
        return value.float() if half else value

    def rule(name):
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, packet), overload or "default")

        def run(*args, **kwargs):
            with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(autocast)):
                return operator(*map(widened, args), **kwargs)

        library.impl(name, run, "AutocastCPU", allow_override=True)

    for name in IN_FP32:
        rule(name)
    return library


class Operators(TorchDispatchMode):
    """Counts what is neither a view nor free."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in (*FREE, "detach"):
            return out
        given, made = _memory((args, kwargs)), _memory(out)
        if func._schema.is_mutable or not made <= given:
            self.count += 1
        return out


def _memory(value):
    if isinstance(value, torch.Tensor):
        return {value.untyped_storage()._cdata}
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(_memory, value)) if isinstance(value, (list, tuple)) else set()


def operators_of_step(make, inputs, precision):
    """Operators of forward and backward: precision is "fp32" or "bf16"."""
    library = _as_on_cuda()
    with FakeTensorMode(allow_non_fake_inputs=True), replaced(torch.nn.functional, **OF_FUNCTIONAL):
        module = make()
        with GpuFunctions(lambda tensor: tensor), Operators() as counted:
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
                loss = module(inputs).sum()
            loss.backward()
    library._destroy()
    return counted.count
