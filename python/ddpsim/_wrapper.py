"""Builds a new DistributedDataParallel over the same module, with buckets of other sizes.

A reducer cannot change its buckets. A new wrapper over the module of an old one leaves parameters, optimizer and
buffers as they are. The old reducer is released, which removes its hooks from the parameters
(torch/csrc/distributed/c10d/reducer.cpp, ~Reducer). Works with PyTorch 1.13 to 2.13.
"""

# Type checkers read this without torch, whose types are incomplete.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import dataclasses
import gc
import inspect
import sys
import types
import warnings
from typing import Any, Callable

import torch
from torch.nn.parallel import DistributedDataParallel

MIB = 2**20
# Tables of nn.Module in which scripts register hooks on a wrapper.
HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
)
# A replaced wrapper forwards calls of these methods to the new one, for code that still holds it.
PASSED_ON = ("forward", "no_sync", "join", "register_comm_hook", "_get_ddp_logging_data")


@dataclasses.dataclass(frozen=True)
class Setting:
    """The bucket arguments of DistributedDataParallel, in MiB. If both are None, PyTorch's default holds, which differs
    from 25."""

    bucket_cap_mb: float | None = None
    bucket_cap_mb_list: tuple[float, ...] | None = None  # PyTorch 2.11 and later

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments for DistributedDataParallel."""
        if self.bucket_cap_mb_list is not None:
            return {"bucket_cap_mb_list": list(self.bucket_cap_mb_list)}
        return {} if self.bucket_cap_mb is None else {"bucket_cap_mb": self.bucket_cap_mb}

    def line(self) -> str:
        """The line to paste into the script."""
        told = "".join(f", {name}={value}" for name, value in self.arguments().items())
        return f"DistributedDataParallel(model{told})"

    def __str__(self) -> str:
        return next((f"{name}={value}" for name, value in self.arguments().items()), "PyTorch's default")


def knows_lists() -> bool:
    return "bucket_cap_mb_list" in inspect.signature(DistributedDataParallel.__init__).parameters


def setting_of(ddp: DistributedDataParallel) -> Setting:
    caps = getattr(ddp, "bucket_bytes_cap_list", None)
    if caps:
        return Setting(bucket_cap_mb_list=tuple(_mib(cap) for cap in caps))
    # PyTorch 2.5 and later know whether a cap was given. Before, a given cap of 25 was the same as the default.
    if getattr(ddp, "bucket_bytes_cap_default", ddp.bucket_bytes_cap == 25 * MIB):
        return Setting()
    return Setting(bucket_cap_mb=_mib(ddp.bucket_bytes_cap))


def _mib(count: int) -> float:
    return count / MIB if count % MIB else count // MIB


def bucket_bytes(ddp: DistributedDataParallel) -> list[int]:
    """Sizes of the buckets in launch order. Until the second step they are those of the first step."""
    log = ddp._get_ddp_logging_data()
    sizes = log.get("rebuilt_bucket_sizes") or log.get("bucket_sizes") or ""
    return [int(size) for size in str(sizes).replace(",", " ").split()]


def why_not(ddp: DistributedDataParallel) -> str:
    """The reason why this wrapper cannot be replaced between two steps, or "" if it can."""
    if _is_compiled(ddp):
        return "the buckets of a compiled model are compiled into it"
    if any(hasattr(parameter, "_in_backward_optimizers") for parameter in ddp.module.parameters()):
        return "its optimizer steps during backward, in hooks of this wrapper"
    for attribute, word in (
        ("_delay_all_reduce_params", "delay_all_reduce_named_params"),
        ("mixed_precision", "mixed_precision"),
    ):
        if getattr(ddp, attribute, None):
            return f"{word} leaves hooks of this wrapper on the parameters"
    if getattr(ddp, "_use_python_reducer", False):
        return "the Python reducer makes no buckets"
    if getattr(ddp, "buffer_hook", None) is not None:
        return "a buffer communication hook is registered"
    if getattr(ddp, "device_mesh", None) is not None:
        return "its process group is part of a device mesh"
    for hook, state in _comm_hooks(ddp):
        if hasattr(state, "error_dict") or hasattr(state, "optimizer") or hasattr(state, "_optimizer"):
            return f"the state of {getattr(hook, '__name__', 'its communication hook')} belongs to its buckets"
    named = str(ddp._get_ddp_logging_data().get("comm_hook", ""))
    if named and not _comm_hooks(ddp):
        return f"communication hook {named} cannot be taken over (this PyTorch does not tell its state)"
    return ""


def _is_compiled(ddp: DistributedDataParallel) -> bool:
    return any(
        hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        for module in ddp.modules()
    )


def _comm_hooks(ddp: DistributedDataParallel) -> list[tuple[Any, Any]]:
    return list(getattr(ddp, "_comm_hooks", ()))  # PyTorch 2.0 and later


def rewrapped(ddp: DistributedDataParallel, setting: Setting) -> DistributedDataParallel:
    """A new wrapper over the module of `ddp`. From here on `ddp` forwards calls to it.

    Every rank must call this between two steps, outside of no_sync().
    """
    told = _told(ddp) | setting.arguments()
    buffers = _buffers_to_keep(ddp, told)
    hooks = _comm_hooks(ddp)
    _let_go(ddp)
    with warnings.catch_warnings():
        # The first wrapper has already printed the same warnings.
        warnings.simplefilter("ignore")
        new = DistributedDataParallel(ddp.module, **told)
    for buffer, value in buffers:
        buffer.copy_(value)
    for hook, state in hooks:
        new.register_comm_hook(state, hook)
    for name in HOOKS:
        if hasattr(ddp, name):
            # Move the table itself, not a copy: the handles that remove hooks refer to it.
            table = getattr(ddp, name)
            table.update(getattr(new, name))
            object.__setattr__(new, name, table)
            object.__setattr__(ddp, name, type(table)())
    # Set the wrapper alone, not with train(): modules inside may be in another mode, such as frozen ones.
    new.training = ddp.training
    for name in ("require_backward_grad_sync", "require_forward_param_sync"):
        setattr(new, name, getattr(ddp, name))
    for name in PASSED_ON:
        object.__setattr__(ddp, name, new.__call__ if name == "forward" else _passing_on(new, name))
    return new


def _passing_on(new: DistributedDataParallel, name: str) -> Callable[..., Any]:
    """A function that calls the method `name` of `new`. It looks the method up at each call: `new` may be replaced
    later, too."""
    return lambda *arguments, **keywords: getattr(new, name)(*arguments, **keywords)


def _told(ddp: DistributedDataParallel) -> dict[str, Any]:
    """The arguments with which `ddp` was built, without those of its buckets."""
    told: dict[str, Any] = {}
    for name, parameter in inspect.signature(DistributedDataParallel.__init__).parameters.items():
        if name in ("self", "module", "check_reduction", "device_mesh") or name.startswith("bucket_cap_mb"):
            continue
        value = getattr(ddp, name, parameter.default)
        if value is not parameter.default and value != parameter.default:
            told[name] = value
    if "forward_sync_buffers" in told:  # the name in 2.13; the other is deprecated
        told.pop("broadcast_buffers", None)
    elif hasattr(ddp, "forward_sync_buffers"):
        told.pop("broadcast_buffers", None)
    if "init_sync" in inspect.signature(DistributedDataParallel.__init__).parameters:
        told["init_sync"] = False  # all ranks already hold the same values
    return told


def _buffers_to_keep(ddp: DistributedDataParallel, told: dict[str, Any]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Buffers that may differ between ranks, with a copy of each. In versions of PyTorch without `init_sync`, the
    constructor of the wrapper overwrites these buffers with the buffers of rank 0."""
    if "init_sync" in told or getattr(ddp, "broadcast_buffers", True) and ddp.require_forward_param_sync:
        return []
    return [(buffer, buffer.detach().clone()) for buffer in ddp.module.buffers()]


def _let_go(ddp: DistributedDataParallel) -> None:
    """Drops the reducer. Its hooks on the parameters and its buckets are freed with its last reference."""
    if ddp.gradient_as_bucket_view:
        for parameter in ddp.module.parameters():
            if parameter.grad is not None:
                # The gradient is a view into a bucket that is about to be freed: keep its value for later code.
                parameter.grad = parameter.grad.clone()
    for handle in getattr(ddp, "_accum_grad_hooks", ()):
        handle.remove()
    ddp.logger = None  # it also holds the reducer
    ddp.reducer = None


def holders(ddp: DistributedDataParallel, *known: object) -> list[str]:
    """Names the attributes of objects and the containers that hold this wrapper.

    Variables of functions and modules are left out: the caller's `model = tuner.step()` renews them. So are the objects
    `known`.
    """
    ours = (
        {id(one) for one in known}
        | {id(vars(one)) for one in known if hasattr(one, "__dict__")}
        | {id(ddp), id(vars(ddp))}
    )
    modules = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)}
    found = []
    for one in gc.get_referrers(ddp):
        if id(one) in ours | modules or isinstance(one, (types.FrameType, types.CellType, types.MethodType)):
            continue
        if isinstance(one, dict):
            found.append(_owner_of(one, ddp))
        elif isinstance(one, (list, tuple, set)):
            if not _is_of(one, ddp):
                found.append(f"a {type(one).__name__}")
        elif hasattr(one, "__dict__"):
            found.append(_attribute(one, vars(one), ddp))
    return [name for name in dict.fromkeys(found) if name]


def _owner_of(table: dict[Any, Any], ddp: object) -> str:
    for one in gc.get_referrers(table):
        if getattr(one, "__dict__", None) is table:
            return _attribute(one, table, ddp)
        for attribute in ("_modules",):  # nn.Module
            if isinstance(getattr(one, "__dict__", None), dict) and vars(one).get(attribute) is table:
                return _attribute(one, table, ddp)
    if any(isinstance(one, types.FrameType) for one in gc.get_referrers(table)):
        return ""  # globals() of a running script
    return "a dict"


def _attribute(one: object, table: dict[Any, Any], ddp: object) -> str:
    name = next((str(key) for key, value in list(table.items()) if value is ddp), "")
    return f"{type(one).__name__}.{name}" if name else ""


def _is_of(container: object, ddp: object) -> bool:
    """Whether this container belongs to the wrapper itself or to the function that searches."""
    return any(
        one is vars(ddp) or isinstance(one, (types.FrameType, types.FunctionType))
        for one in gc.get_referrers(container)
    )
