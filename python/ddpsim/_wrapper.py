"""DistributedDataParallel built anew over the same module, with buckets of other sizes.

A reducer cannot be re-bucketed in place. A wrapper built over the module of another one leaves parameters, their optimizer and
buffers alone; the other's reducer is let go of, which takes its hooks off the parameters (torch/csrc/distributed/c10d/reducer.cpp,
~Reducer). PyTorch 1.13 to 2.13.
"""

# Seen without torch and its frameworks, whose types are incomplete.
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
# Of nn.Module: what scripts register on a wrapper.
HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
)
# A replaced wrapper passes these on, for whoever still holds it.
PASSED_ON = ("forward", "no_sync", "join", "register_comm_hook", "_get_ddp_logging_data")


@dataclasses.dataclass(frozen=True)
class Setting:
    """What DistributedDataParallel is told of its buckets, in MiB; neither: PyTorch's default, which is not the same as 25."""

    bucket_cap_mb: float | None = None
    bucket_cap_mb_list: tuple[float, ...] | None = None  # 2.11 and later

    def arguments(self) -> dict[str, Any]:
        if self.bucket_cap_mb_list is not None:
            return {"bucket_cap_mb_list": list(self.bucket_cap_mb_list)}
        return {} if self.bucket_cap_mb is None else {"bucket_cap_mb": self.bucket_cap_mb}

    def line(self) -> str:
        """To paste into the script."""
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
    # 2.5 knows whether a cap was given. Before, 25 given was the same as the default.
    if getattr(ddp, "bucket_bytes_cap_default", ddp.bucket_bytes_cap == 25 * MIB):
        return Setting()
    return Setting(bucket_cap_mb=_mib(ddp.bucket_bytes_cap))


def _mib(count: int) -> float:
    return count / MIB if count % MIB else count // MIB


def bucket_bytes(ddp: DistributedDataParallel) -> list[int]:
    """In launch order; those of the first step until a second one began."""
    log = ddp._get_ddp_logging_data()
    sizes = log.get("rebuilt_bucket_sizes") or log.get("bucket_sizes") or ""
    return [int(size) for size in str(sizes).replace(",", " ").split()]


def why_not(ddp: DistributedDataParallel) -> str:
    """Why this one cannot be built anew between two steps; empty where it can."""
    if _is_compiled(ddp):
        return "a compiled model's buckets are part of what was compiled"
    if any(hasattr(parameter, "_in_backward_optimizers") for parameter in ddp.module.parameters()):
        return "its optimizer steps in backward, through hooks of this wrapper"
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
    return list(getattr(ddp, "_comm_hooks", ()))  # 2.0


def rewrapped(ddp: DistributedDataParallel, setting: Setting) -> DistributedDataParallel:
    """A new wrapper over the module of `ddp`, which from here on passes on to it. To be called by every rank between two steps,
    outside of no_sync()."""
    told = _told(ddp) | setting.arguments()
    buffers = _buffers_to_keep(ddp, told)
    hooks = _comm_hooks(ddp)
    _let_go(ddp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there was to say was said when the first one was built
        new = DistributedDataParallel(ddp.module, **told)
    for buffer, value in buffers:
        buffer.copy_(value)
    for hook, state in hooks:
        new.register_comm_hook(state, hook)
    for name in HOOKS:
        if hasattr(ddp, name):  # the very table: the handles that take hooks out know it
            table = getattr(ddp, name)
            table.update(getattr(new, name))
            object.__setattr__(new, name, table)
            object.__setattr__(ddp, name, type(table)())
    new.training = ddp.training  # not of the modules inside, of which some may be frozen
    for name in ("require_backward_grad_sync", "require_forward_param_sync"):
        setattr(new, name, getattr(ddp, name))
    for name in PASSED_ON:
        object.__setattr__(ddp, name, new.__call__ if name == "forward" else _passing_on(new, name))
    return new


def _passing_on(new: DistributedDataParallel, name: str) -> Callable[..., Any]:
    """To what `new` has by that name when it is called: it may have been replaced, too."""
    return lambda *arguments, **keywords: getattr(new, name)(*arguments, **keywords)


def _told(ddp: DistributedDataParallel) -> dict[str, Any]:
    """The arguments `ddp` was built with, but for those of its buckets."""
    told: dict[str, Any] = {}
    for name, parameter in inspect.signature(DistributedDataParallel.__init__).parameters.items():
        if name in ("self", "module", "check_reduction", "device_mesh") or name.startswith("bucket_cap_mb"):
            continue
        value = getattr(ddp, name, parameter.default)
        if value is not parameter.default and value != parameter.default:
            told[name] = value
    if "forward_sync_buffers" in told:  # 2.13's name; the other is deprecated
        told.pop("broadcast_buffers", None)
    elif hasattr(ddp, "forward_sync_buffers"):
        told.pop("broadcast_buffers", None)
    if "init_sync" in inspect.signature(DistributedDataParallel.__init__).parameters:
        told["init_sync"] = False  # every rank holds what the others do already
    return told


def _buffers_to_keep(ddp: DistributedDataParallel, told: dict[str, Any]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Where a constructor sends rank 0's buffers to all (before init_sync): those that may differ between ranks."""
    if "init_sync" in told or getattr(ddp, "broadcast_buffers", True) and ddp.require_forward_param_sync:
        return []
    return [(buffer, buffer.detach().clone()) for buffer in ddp.module.buffers()]


def _let_go(ddp: DistributedDataParallel) -> None:
    """Of the reducer: with its last reference go its hooks on the parameters, and its buckets."""
    if ddp.gradient_as_bucket_view:
        for parameter in ddp.module.parameters():
            if parameter.grad is not None:  # whoever adds to it, or looks at it, finds it; the bucket goes
                parameter.grad = parameter.grad.clone()
    for handle in getattr(ddp, "_accum_grad_hooks", ()):
        handle.remove()
    ddp.logger = None  # holds it, too
    ddp.reducer = None


def holders(ddp: DistributedDataParallel, *known: object) -> list[str]:
    """Who else keeps this wrapper: attributes of objects and entries of containers. Not the variables of functions and modules,
    which the caller's `model = tuner.step()` renews, nor what `known` keep."""
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
        return ""  # globals() of a script that runs
    return "a dict"


def _attribute(one: object, table: dict[Any, Any], ddp: object) -> str:
    name = next((str(key) for key, value in list(table.items()) if value is ddp), "")
    return f"{type(one).__name__}.{name}" if name else ""


def _is_of(container: object, ddp: object) -> bool:
    """Whether this container is one of the wrapper's own, or of the one who asks."""
    return any(
        one is vars(ddp) or isinstance(one, (types.FrameType, types.FunctionType))
        for one in gc.get_referrers(container)
    )
