"""Runs one training step of any module without its weights, on tensors that have shapes but no memory.

A dispatch mode sees every operator below autograd, in forward and in backward. Functions that run other kernels on a
GPU than on a CPU are replaced (_gpu_functions).
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import sys
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules import module as module_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from . import _operators
from ._autocast import gpu_autocast
from ._errors import Error, InputError
from ._gpu_functions import OF_FUNCTIONAL, Cast, GpuFunctions
from ._kept_memory import Keeping
from ._operators import Operator
from ._tensors import counts_a_batch, is_view, storage_of, tensors_in

#: "autocast" is that of a GPU. In "half", all floating-point numbers are bfloat16.
PRECISIONS = ("fp32", "autocast", "half")
_DEVICE, _CPU = torch.ops.prim.device.default, torch.device("cpu")


@dataclasses.dataclass
class Run:
    """A module that ran the operators from `first` up to, without, `last`."""

    name: str
    first: int
    last: int


class Step(TorchDispatchMode):
    """Records the operators of a step. Forward adds the operators, and backward adds its own costs to each of them."""

    def __init__(self, parameters: Sequence[Any], buffers: Sequence[Any], names: Mapping[int, str]) -> None:
        super().__init__()
        self.operators: list[Operator] = []
        self.runs: list[Run] = []
        # Each parameter with the operator whose backward finished its gradient, in the order of backward.
        self.ready: list[tuple[int, int]] = []
        # What forward keeps, by precision, with an entry for each operator that is no cast.
        self.kept: dict[str, Keeping | None] = {}
        self.checkpointed: list[Run] = []
        self.last_operator: Any = "none"
        self._failed_in = ""
        self._names = names
        self._parameters = {storage_of(tensor): index for index, tensor in enumerate(parameters)}
        self._buffers = {storage_of(tensor) for tensor in buffers}
        self._tensors = list(parameters)
        # Storages that the model itself made fp32, and those that autocast leaves so.
        self._wide: set[int] = set()
        self._single: set[int] = set()
        # Storages that are half under autocast, and those that the model or autocast has converted from half.
        self._half: set[int] = set()
        self._widened: set[int] = set()
        # Keeps every storage, so that no other one gets its address.
        self._alive: list[Any] = []
        self._modules: list[Run] = []
        self._in_backward = False
        self._node_layers: list[int] = []
        self._now = -1

    # Forward and backward of the module run while this dispatch mode is active. For each operator, PyTorch then calls
    # __torch_dispatch__.

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _DEVICE:
            return _CPU  # a shortcut: PyTorch asks thousands of times
        packet = func.overloadpacket.__name__
        if packet in _operators.FREE:
            return self._called(func, args, kwargs or {})
        self.last_operator = func
        node = torch._C._autograd._get_sequence_nr()
        out = self._called(func, args, kwargs or {})
        outs, ins = tensors_in(out), tensors_in((args, kwargs or {}))
        if is_view(func, ins, outs):
            return out
        if counts_a_batch(packet, args, self._buffers):
            return out
        if self._in_backward:
            self._backward(packet, args, ins, outs)
        else:
            self._forward(packet, args, ins, outs, node)
        return out

    def _called(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except Exception:
            self._failed_in = self._failed_in or next((run.name for run in reversed(self._modules) if run.name), "")
            raise

    def _forward(self, packet: str, args: Any, ins: list[Any], outs: list[Any], node: int) -> None:
        module = self._modules[-1].name if self._modules else ""
        op = Operator(packet, module, last_node=node)
        weights = []
        for tensor in ins:
            index = self._parameters.get(storage_of(tensor))
            if index is not None and index not in op.reads:
                op.reads.append(index)
                weights.append(self._tensors[index])
        _operators.describe(op, packet, args, outs, ins, weights)
        if not op.weights:
            op.weights = sum(weight.numel() for weight in weights)
        activations = [
            tensor for tensor in ins if tensor.is_floating_point() and storage_of(tensor) not in self._parameters
        ]
        op.inputs = op.inputs or sum(tensor.numel() for tensor in activations)
        if packet in ("add", "add_"):
            grown = [t for t in activations if t.requires_grad and outs and t.numel() == outs[0].numel()]
            op.sums_branches = len(grown) > 1
        self._note_precision(op, packet, activations, outs)
        for tensor in outs:
            self._alive.append(tensor.untyped_storage())
        self.operators.append(op)

    def _note_precision(self, op: Operator, packet: str, activations: list[Any], outs: list[Any]) -> None:
        """Follows which tensors are fp32 where the parameters are half, and under autocast (_note_autocast).

        Operators that autocast runs in fp32 are known by name (SINGLE_PRECISION). The next cast of their result goes
        back to half precision."""
        self._note_autocast(op, packet, activations, outs)
        written = [storage_of(tensor) for tensor in outs]
        if op.single_precision and packet != "embedding":
            self._single.update(written)
        if op.kind != "elementwise" or not outs:
            return
        large = [storage_of(tensor) for tensor in activations if 2 * tensor.numel() >= outs[0].numel()]
        wide = any(storage in self._wide for storage in large)
        if packet == "cast":
            wide = not wide and not any(storage in self._single for storage in large)
        op.single_precision = op.single_precision or wide
        if wide:
            self._wide.update(written)

    def _note_autocast(self, op: Operator, packet: str, activations: list[Any], outs: list[Any]) -> None:
        """Follows which tensors autocast makes half, and counts the elements that it converts.

        Products run in half precision and their results stay so. Any other operator computes in fp32 if one of its
        inputs is fp32. A model's own cast converts nothing where its input is fp32 already."""
        if not outs:
            return
        halves = [tensor for tensor in activations if storage_of(tensor) in self._half]
        large = [tensor for tensor in activations if 2 * tensor.numel() >= outs[0].numel()]
        widened = any(storage_of(tensor) in self._widened for tensor in large)
        if packet == "cast":
            op.half_casts = outs[0].numel()
            half = widened
            op.autocast_casts = outs[0].numel() if widened or halves else 0
            widened = bool(halves)
        elif packet in _operators.IN_HALF:
            half, widened = True, False
            op.autocast_casts = sum(tensor.numel() for tensor in activations if storage_of(tensor) not in self._half)
        elif op.single_precision:
            half, widened = False, widened or any(tensor in halves for tensor in large)
            op.autocast_casts = sum(tensor.numel() for tensor in halves) if packet != "embedding" else 0
        else:
            dimensioned = [tensor for tensor in activations if tensor.dim()]
            half = bool(halves) and len(halves) >= len(dimensioned) and not op.reads or packet in _operators.BATCH_NORMS
        for tensor in outs:
            storage = storage_of(tensor)
            (self._half.add if half else self._half.discard)(storage)
            (self._widened.add if widened else self._widened.discard)(storage)
        moved = [(_operators.elements(one), one) for one in (*activations, *outs) if one.is_floating_point()]
        total = sum(count for count, _ in moved)
        if op.kind != "convolution" and not op.attention and not op.product and total and packet != "cast":
            width = {False: 4, True: 2}
            # Autocast has converted what an operator in fp32 reads.
            bytes_moved = sum(
                count * width[not op.single_precision and storage_of(one) in self._half] for count, one in moved
            )
            op.autocast_width = bytes_moved / total

    def _backward(self, packet: str, args: Any, ins: list[Any], outs: list[Any]) -> None:
        node = torch._C._current_autograd_node()
        if node is None:
            return
        if node.name().endswith("AccumulateGrad"):
            # It hands a first gradient over; copies that it makes are due to this trace.
            return
        self._now = self._operator_of(node._sequence_nr())
        op = self.operators[self._now]
        if packet == "cast":
            return  # counted with forward's
        moved, kernels = _operators.backward_elements(op, packet, ins, outs, args)
        op.backward_elements += moved
        op.backward_kernels += kernels

    def _operator_of(self, sequence: int) -> int:
        if not self._node_layers:
            self._node_layers = [op.last_node for op in self.operators]
        return min(bisect.bisect_right(self._node_layers, sequence), len(self.operators) - 1)

    # Hooks on modules, parameters and saved tensors call the methods below, and so do the functions that run the step.

    def cast(self, tensor: Any) -> Any:
        return Cast.apply(tensor)

    def begin_backward(self, loss: Any) -> None:
        self._in_backward = True
        self.reached = {self._operator_of(number) for number in _nodes_behind(loss)}

    def gradient_is_ready(self, parameter: int) -> None:
        self.ready.append((parameter, max(self._now, 0)))

    def enter(self, module: Any, *_: Any) -> None:
        self._modules.append(Run(self._names.get(id(module), ""), len(self.operators), 0))

    def leave(self, *_: Any) -> None:
        run = self._modules.pop()
        run.last = len(self.operators)
        self.runs.append(run)

    def place(self) -> str:
        """The innermost module with a name that ran the operator that failed, for a message."""
        return self._failed_in


def _nodes_behind(loss: Any) -> set[int]:
    """Sequence numbers of the autograd nodes that backward from `loss` reaches."""
    seen, numbers, left = set(), set(), [loss.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if not node.name().endswith("AccumulateGrad"):
            numbers.add(node._sequence_nr())
        left += [following for following, _ in node.next_functions]
    return numbers


@contextlib.contextmanager
def replaced(owner: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(owner, name) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


@contextlib.contextmanager
def _with_fakes(module: Any, fake: Callable[[Any], Any]) -> Iterator[None]:
    """Replaces the module's parameters, buffers and other tensors by fake ones. At the end, puts the originals back."""
    before: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for one in module.modules():
            for table in (one._parameters, one._buffers, one.__dict__):
                for name, value in list(table.items()):
                    if isinstance(value, torch.Tensor):
                        before.append((table, name, value))
                        table[name] = fake(value)
        yield
    finally:
        for table, name, value in before:
            table[name] = value


class _Checkpoints:
    """Runs checkpointed functions only once, without the repetition in backward, and notes their operators."""

    def __init__(self, operators: list[Any], checkpointed: list[Run]) -> None:
        self._operators = operators
        self._checkpointed = checkpointed

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        for name in ("use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state"):
            kwargs.pop(name, None)
        first = len(self._operators)
        out = function(*args, **kwargs)
        self._checkpointed.append(Run("", first, len(self._operators)))
        return out

    @contextlib.contextmanager
    def instead(self) -> Iterator[None]:
        """Takes the place of both kinds of torch.utils.checkpoint, also where a module has kept a reference to it."""
        checkpoint = torch.utils.checkpoint

        class Reentrant:
            apply = staticmethod(lambda function, preserve, *args: self(function, *args))

        ends = contextlib.nullcontext

        def generator(function: Any, *args: Any, **kwargs: Any) -> Any:
            first = len(self._operators)
            yield
            self._checkpointed.append(Run("", first, len(self._operators)))

        named = {"CheckpointFunction": Reentrant}
        if hasattr(checkpoint, "_checkpoint_without_reentrant_generator"):
            named["_checkpoint_without_reentrant_generator"] = generator  # type: ignore[assignment]
        with ends(), replaced(checkpoint, **named):
            yield


@contextlib.contextmanager
def _as_without_tracing() -> Iterator[None]:
    """Lets transformers assume one sequence per row, as it finds with real tensors.

    When it notices a trace, it does not look at the positions that it counted itself, and prepares a mask for packed sequences.
    """
    masks = sys.modules.get("transformers.masking_utils")
    if masks is None or not hasattr(masks, "find_packed_sequence_indices"):
        yield
        return
    with replaced(masks, find_packed_sequence_indices=lambda position_ids: None):
        yield


class _Fakes:
    """Makes tensors of the same shapes without memory, one for each tensor."""

    def __init__(self, channels_last: bool, floating: torch.dtype | None = None) -> None:
        """`floating`: the type of all floating-point numbers; None: as they are."""
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._channels_last = channels_last
        self._floating = floating
        self._fakes: dict[int, Any] = {}

    def __call__(self, tensor: Any) -> Any:
        if id(tensor) not in self._fakes:
            dtype = self._floating if self._floating and tensor.is_floating_point() else tensor.dtype
            with torch.no_grad(), self.mode:
                made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=dtype, device="cpu")
                if self._channels_last and made.dim() == 4:
                    made = made.contiguous(memory_format=torch.channels_last)
            if isinstance(tensor, torch.nn.Parameter):
                made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
            self._fakes[id(tensor)] = made
        return self._fakes[id(tensor)]


@contextlib.contextmanager
def _on_fakes(module: Any, fakes: _Fakes, checkpoints: _Checkpoints) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        stack.enter_context(_with_fakes(module, fakes))
        stack.enter_context(checkpoints.instead())
        stack.enter_context(_as_without_tracing())
        stack.enter_context(replaced(torch.nn.functional, **OF_FUNCTIONAL))
        # oneDNN's kernels of a CPU would hide the products of an LSTM.
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        # NNPACK's convolutions of 16 samples and more would lose channels_last.
        stack.enter_context(torch.backends.nnpack.flags(enabled=False))
        stack.enter_context(fakes.mode)
        stack.enter_context(torch.enable_grad())
        yield


def take_step(
    module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], loss: Callable[[Any], Any], channels_last: bool = False
) -> Step:
    """Runs forward and backward of the module once, then forward alone in each precision for what it keeps. With
    `channels_last`, tensors of four dimensions have that memory format."""
    fakes = _Fakes(channels_last)
    names = {id(one): name for name, one in module.named_modules()}
    made = [fakes(parameter) for parameter in module.parameters()]
    step = Step(made, [fakes(buffer) for buffer in module.buffers()], names)
    with contextlib.ExitStack() as stack:
        for index, parameter in enumerate(made):
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(lambda _, index=index: step.gradient_is_ready(index))
        for handle in (
            module_hooks.register_module_forward_pre_hook(step.enter),
            module_hooks.register_module_forward_hook(step.leave, always_call=True),
        ):
            stack.callback(handle.remove)
        stack.enter_context(_on_fakes(module, fakes, _Checkpoints(step.operators, step.checkpointed)))
        _run(module, _mapped(args, fakes), _mapped(dict(kwargs), fakes), loss, step)
    for precision in PRECISIONS:
        step.kept[precision] = _keep(module, args, kwargs, loss, channels_last, precision)
    return step


def _keep(
    module: Any, args: Any, kwargs: Any, loss: Callable[[Any], Any], channels_last: bool, precision: str
) -> Keeping | None:
    """What forward keeps in this precision; None if the module cannot run in it."""
    fakes = _Fakes(channels_last, torch.bfloat16 if precision == "half" else torch.float32)
    keeping = Keeping(map(fakes, module.parameters()), map(fakes, module.buffers()))
    try:
        with (
            _on_fakes(module, fakes, _Checkpoints(keeping.kept, [])),
            gpu_autocast() if precision == "autocast" else contextlib.nullcontext(),
            saved_tensors_hooks(keeping.save, lambda tensor: tensor),
            GpuFunctions(lambda tensor: tensor),
            keeping,
        ):
            loss(module(*_mapped(args, fakes), **_mapped(dict(kwargs), fakes)))
    except Exception:
        if precision == "fp32":
            raise
        return None
    return keeping


def _mapped(value: Any, fake: Callable[[Any], Any]) -> Any:
    """A copy of `value` in which fake tensors replace the tensors."""
    if isinstance(value, torch.Tensor):
        return fake(value)
    if isinstance(value, Mapping):
        return {name: _mapped(one, fake) for name, one in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_mapped(one, fake) for one in value)
    return value


def _run(module: Any, args: Any, kwargs: Any, loss: Callable[[Any], Any], step: Step) -> None:
    part = "forward"
    try:
        with GpuFunctions(step.cast), step:
            total = loss(module(*args, **kwargs))
            if not isinstance(total, torch.Tensor) or total.numel() != 1 or not total.requires_grad:
                raise InputError(
                    "the loss is not one number that depends on a parameter that trains",
                    "Pass loss=FUNCTION, which makes a scalar tensor of the module's outputs",
                )
            part = "backward"
            step.begin_backward(total)
            total.backward()
    except Error:
        raise
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        raise InputError(
            f"the module{_at(step)} asks for the values of a tensor ({error.func}), and a trace has shapes alone",
            "Replace the question by one about shapes, or leave out the input that it is about (an attention mask of ones)",
        ) from error
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"{part} fails{_at(step)}, behind the operator {step.last_operator}: {type(error).__name__}: {said}",
            "Check that module(inputs) runs by itself on tensors of these shapes",
        ) from error


def _at(step: Step) -> str:
    place = step.place()
    return f" in {place}" if place else ""
