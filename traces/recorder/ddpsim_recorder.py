#!/usr/bin/env python3
"""Records one training step of a PyTorch model as a ddpsim workload.

    from ddpsim_recorder import Recorder
    recorder = Recorder(model, "step.json")     # the model you call: plain, or wrapped in DDP
    for batch in loader:
        ...                                     # forward, backward, optimizer.step()
        recorder.step()

After 10 steps of warm-up, the recorder measures 20 steps and records every other one. Then it writes step.json, reports
what it saw and what it cost, and removes itself. It needs only torch (1.13 or newer); copy this one file next to your
script. The recorder never raises into the training. If it cannot record, it says so once and stops.

As a command, this file records only names, shapes and the order of gradients. No GPU is needed:

    python3 ddpsim_recorder.py --meta torchvision.models:resnet50 --input 2,3,224,224 -o resnet50.json

What is measured:

- ready: The time when each parameter's gradient was written. A hook runs right after AccumulateGrad. On a GPU, the hook
  enqueues a timing event on the stream of that backward. Nothing waits, and events are read once, at the end. On a CPU,
  the hook reads the clock. Time zero is the start of backward: a hook on the loss sees the first node that runs after
  the call of `backward()`.
- ready with torch >= 2.1: register_post_accumulate_grad_hook runs inside AccumulateGrad, and so before DDP's hook.
- ready before 2.1: A hook on the AccumulateGrad node is used. Hooks of a node run in the order they were registered.
  DDP's hook was registered first, so under DDP a second one would see the gradient only after the copy into the bucket.
  For that reason, a hook on the parameter is used under DDP. It runs just before the gradient is stored. So the time of
  AccumulateGrad counts as part of the copy. (AccumulateGrad takes no time if .grad was None.)
- copied: Under DDP, the time when the copy into the bucket was enqueued and done. A hook on the AccumulateGrad node
  notes it. That hook runs after DDP's hook.
- backward: The time to the end of `backward()`, or under DDP to the last copy into a bucket. With several ranks, the
  rest of `backward()` is exposed communication. With one rank, the rest is copies from buckets back to gradients.
- forward: The time from the call of the model to the start of backward, including the loss.
- optimizer: The time from the end of backward to `recorder.step()`.
- iteration: The time of a step *without* the recorder: the median of the steps that are not recorded.
- activations: Bytes that forward keeps for backward. These are tensors of the autograd graph's nodes that are not
  parameters or buffers, with each storage counted once. The bytes held while gradients arrive are recorded too. They
  include gradients in transit between nodes. A hook on each node sees these tensors once, during warm-up.
- data_loading: The time that steps waited for batches, if a torch.utils.data.DataLoader delivers them.
- accumulation: The last forward and backward of a step are recorded. The others are subtracted from the iteration.
  Their time is reported separately. So is the number of them that all-reduced, which no_sync() is meant to prevent.
- host: On Linux, how long the process's threads ran in a step, and how long they waited for a core.
- collectives: With Recorder(…, collectives=True), under DDP with several ranks, the all-reduce of each bucket. It lasts
  from its call (on a GPU, from when its stream reaches it) to its end, including waits for other ranks. `ddpsim import`
  joins the files of all ranks and separates waits from transfers.

A communication hook sees the collectives. It divides and all-reduces as DDP does, so weights stay the same to the bit,
except with uneven inputs under join(divide_by_initial_world_size=False). DDP cannot remove a hook. So the hook stays
registered, costs one more pass over each bucket, and prevents the registration of another hook.
"""

from __future__ import annotations

import argparse
import atexit
import copy
import functools
import gc
import importlib
import json
import math
import os
import secrets
import stat
import sys
import threading
import time

try:
    import torch
except ImportError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"ddpsim recorder: {error}; run it with the Python that has PyTorch")
try:
    from torch.multiprocessing.reductions import StorageWeakRef
# Some versions of PyTorch may lack this class. Then memory is not recorded.
except ImportError:
    StorageWeakRef = None

VERSION = "1"
DTYPES = (
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
    "complex64",
    "complex128",
)
# Most nodes of the autograd graph, which is walked once during warm-up.
MOST_NODES = 1_000_000


class Problem(Exception):
    """A reason to stop recording, in one line that tells the user what to do."""


# ---------------------------------------------------------------- what is recorded, on which clock


class HostClock:
    """On a CPU, work is done when a call returns. A mark is the current time."""

    name = "perf_counter"
    mark = staticmethod(time.perf_counter_ns)

    def anchor(self):
        pass

    def us(self, begin, end):
        return (end - begin) / 1000

    def host_us(self, begin, host_ns):
        return (host_ns - begin) / 1000


class CudaClock:
    """A mark is an event on the current stream. It is reached when the work enqueued before it is done."""

    name = "CUDA events"

    def __init__(self, device):
        self._device = device
        self._anchors = []

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def anchor(self):
        """Waits for the GPU. The first and the last anchor map host times to the GPU's clock."""
        event = self.mark()
        event.synchronize()
        self._anchors.append((event, time.perf_counter_ns()))

    def us(self, begin, end):
        return begin.elapsed_time(end) * 1000

    def host_us(self, begin, host_ns):
        (first, first_ns), (last, last_ns) = self._anchors[0], self._anchors[-1]
        rate = self.us(first, last) / (last_ns - first_ns)
        return (host_ns - first_ns) * rate - self.us(first, begin)


class Pass:
    """Marks of one forward and backward. A step has several if gradients are accumulated."""

    def __init__(self):
        self.forward = None  # the call of the model
        self.module = None  # the call of the module inside DDP
        self.backward = None  # the first node of backward runs
        self.end = None  # backward() returns
        # Whether DDP all-reduces in this pass, as it decides when its forward is called.
        self.reduces = False
        # One (parameter, mark, host ns) for each gradient that was written, in the order of the hooks.
        self.written = []
        # One (parameter, mark, host ns) for each gradient that was copied into its bucket; only with DDP.
        self.copied = []
        # For each all-reduce: [bytes, host ns at the call, mark of the earliest start, mark of the end or None].
        self.collectives = []


class Step:
    def __init__(self, recorded):
        self.recorded = recorded
        self.begin = self.end = None
        self.passes = []
        self.broken = False  # backward raised an exception
        self.waits_ns = []  # for each batch from a DataLoader
        self.workers_load = False


# ---------------------------------------------------------------- the model


def torch_release():
    """(2, 1) for "2.1.0a0+git1234"."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in torch.__version__.split(".")[:2])


def class_names(module):
    return {base.__name__ for base in type(module).__mro__}


def is_ddp(module):
    return "DistributedDataParallel" in class_names(module)


def without_compile(module):
    return getattr(module, "_orig_mod", module)


class Model:
    """The parameters that DDP sees, in its order, and the module whose call is the forward."""

    def __init__(self, model):
        if not isinstance(model, torch.nn.Module):
            raise Problem(f"expected a torch.nn.Module, got {type(model).__name__}")
        refuse_sharded(model)
        self.ddp = self._find_ddp(model)
        self.called = self.ddp if self.ddp is not None and without_compile(model) is not self.ddp else model
        self.inside = self.ddp.module if self.ddp is not None else model
        ignored = set(getattr(without_compile(self.inside), "_ddp_params_and_buffers_to_ignore", ()))
        self.names, self.parameters, self.ignored, self.sparse, seen = [], [], [], [], {}
        self.tied, self.frozen = [], []
        # (name, parameter) in definition order, including frozen ones.
        self.defined = []
        for prefix, module in self.inside.named_modules():
            for leaf, parameter in module.named_parameters(recurse=False):
                # DDP compares names that are spelled like this one with the ignored names.
                full = f"{prefix}.{leaf}"
                name = (f"{prefix}.{leaf}" if prefix else leaf).replace("_orig_mod.", "")
                if id(parameter) in seen:
                    if seen[id(parameter)] != name:
                        self.tied.append(f"{name} = {seen[id(parameter)]}")
                    continue
                seen[id(parameter)] = name
                self.defined.append((name, parameter))
                if not parameter.requires_grad:
                    self.frozen.append(name)
                    continue
                self.names.append(name)
                self.parameters.append(parameter)
                self.ignored.append(full in ignored or full.replace("_orig_mod.", "") in ignored)
                self.sparse.append(isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and module.sparse)
        if not self.parameters:
            raise Problem("the model has no parameter that requires a gradient")
        self.dtypes = [str(parameter.dtype).replace("torch.", "") for parameter in self.parameters]
        for name, dtype in zip(self.names, self.dtypes):
            if dtype not in DTYPES:
                raise Problem(f"{name} is of dtype {dtype}, which DDP does not reduce")
        self.buffers = [(name, buffer) for name, buffer in self.inside.named_buffers() if name not in ignored]
        self.sync_batchnorms = sum("SyncBatchNorm" in class_names(module) for module in self.inside.modules())

    @staticmethod
    def _find_ddp(model):
        plain = without_compile(model)
        if is_ddp(plain):
            return plain
        if any(is_ddp(module) for module in model.modules()):
            raise Problem("a part of this model is wrapped in DistributedDataParallel: give the recorder that part")
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return None
        # Frameworks wrap the model they were given and may keep the wrapper to themselves.
        wrapper = torch.nn.parallel.DistributedDataParallel
        # Only the type of each object is examined, because access to attributes may change foreign objects.
        for candidate in gc.get_objects():
            if issubclass(type(candidate), wrapper) and without_compile(candidate.module) is plain:
                return candidate
        return None

    def device(self):
        devices = sorted({str(parameter.device) for parameter in self.parameters})
        if len(devices) > 1:
            raise Problem(
                f"parameters are on {', '.join(devices)}: clocks of several devices cannot be compared. "
                "Record a rank that has one device"
            )
        device = self.parameters[0].device
        if device.type not in ("cpu", "cuda"):
            raise Problem(f"parameters are on {device}: only CPU and CUDA (or ROCm) can be timed")
        return device

    def gradient_bytes(self):
        return sum(parameter.numel() * parameter.element_size() for parameter in self.parameters)

    def parameter_entries(self):
        """One entry for each parameter of the module. A frozen one is left out if workloads do not support its type."""
        entries, trained = [], {name: i for i, name in enumerate(self.names)}
        self.entry_of = {}  # by index of a parameter that trains
        for name, parameter in self.defined:
            dtype = str(parameter.dtype).replace("torch.", "")
            if name not in trained:
                if dtype in DTYPES:
                    entries.append({"name": name, "shape": list(parameter.shape), "dtype": dtype, "frozen": True})
                continue
            i = trained[name]
            self.entry_of[i] = len(entries)
            entry = {"name": self.names[i], "shape": list(parameter.shape), "dtype": self.dtypes[i]}
            if self.sparse[i]:
                entry["sparse_gradient"] = True
            if self.ignored[i]:
                entry["ignored"] = True
            entries.append(entry)
        return entries

    def buffer_entries(self):
        groups = {}
        for _, buffer in self.buffers:
            dtype = str(buffer.dtype).replace("torch.", "")
            group = groups.setdefault(dtype, {"dtype": dtype, "bytes": 0, "tensors": 0})
            group["bytes"] += buffer.numel() * buffer.element_size()
            group["tensors"] += 1
        return [group for group in groups.values() if group["dtype"] in DTYPES]

    def provenance(self):
        facts = {}
        if self.frozen:
            facts["frozen_parameters"] = f"{len(self.frozen)}, without gradients: {some(self.frozen)}"
        if self.tied:
            facts["tied_parameters"] = f"one gradient each: {some(self.tied)}"
        return facts


def refuse_sharded(model):
    for module in model.modules():
        names = class_names(module)
        if names & {"FullyShardedDataParallel", "FSDPModule", "XlaFullyShardedDataParallel"}:
            raise Problem(
                "FSDP shards parameters and reduces them unit by unit, without DDP's buckets. Record the plain "
                "model, before it is sharded"
            )
        if names & {"DeepSpeedEngine", "DataParallel"}:
            raise Problem(
                f"{type(module).__name__} reduces gradients in its own way, without DDP's buckets; record the "
                "module inside it"
            )
    for name, parameter in model.named_parameters():
        if "DTensor" in class_names(parameter) | class_names(getattr(parameter, "data", None)):
            raise Problem(f"{name} is a DTensor, spread over ranks: DDP's buckets do not apply")


def some(names, most=4):
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict) or hasattr(value, "values"):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def first_batch(*values):
    """Size of dimension 0 of the first tensor that has one; None if there is no such tensor."""
    for tensor in tensors_in(values):
        if tensor.dim() > 0 and tensor.shape[0] > 0:
            return int(tensor.shape[0])
    return None


def autograd_nodes(tensors):
    """The nodes of the autograd graph from which these tensors were computed."""
    seen = set()
    queue = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    while queue and len(seen) < MOST_NODES:
        node = queue.pop()
        if node in seen:
            continue
        seen.add(node)
        queue += [child for child, _ in node.next_functions if child is not None]
    return seen


def kept_by(node):
    """The tensors that this node keeps for its backward. Checkpoints keep none; their hooks compute them again."""
    for name in [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]:
        raw = getattr(node, "_raw" + name.replace("saved_tensors", "_saved_tensors"), None)
        try:
            packed = [
                one
                for one in (raw if isinstance(raw, (list, tuple)) else [raw])
                if getattr(one, "unpack_hook", None) is not None
            ]  # PyTorch 2.13 has unpack_hook
            yield from list(tensors_in([one.data for one in packed] if packed else getattr(node, name)))
        # An in-place operation has overwritten the kept tensor. Backward will report that too.
        except RuntimeError:
            continue


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()  # before 2.0


class Storages:
    """Gives each storage of a temporary tensor a number, without keeping the storage alive."""

    def __init__(self):
        self._numbers, self._weak, self.bytes = {}, [], []

    def of(self, tensor):
        """The numbers of the tensor's storages."""
        parts = [tensor] if tensor.layout == torch.strided else [tensor._indices(), tensor._values()]
        return [self._number(storage_of(part)) for part in parts]

    def _number(self, storage):
        weak = StorageWeakRef(storage)
        number = self._numbers.setdefault(weak.cdata, len(self._weak))
        if number == len(self._weak):
            self._weak.append(weak)  # keeps the address from being reused
            self.bytes.append(storage.nbytes())
        return number

    def alive(self, number):
        return not self._weak[number].expired()


class Gradient:
    """An incoming or outgoing gradient of a node."""

    def __init__(self, tensor, storages):
        self.numbers, self.bytes = storages.of(tensor), tensor.numel() * tensor.element_size()
        dense = tensor.layout == torch.strided
        # A view also holds its base tensor, and with it their common storage.
        self.summed_in_place = dense and not tensor._is_view() and torch.ops.aten.is_non_overlapping_and_dense(tensor)
        self.expanded = dense and any(size > 1 and step == 0 for size, step in zip(tensor.shape, tensor.stride()))
        self.steps = [step for size, step in zip(tensor.shape, tensor.stride()) if size > 1] if dense else None


class Held:
    """Memory that is held because backward will read it, or passes it from node to node.

    Hooks on the nodes of the graph record, once, the incoming and outgoing gradients of each node. The memory is
    computed from that as if there were no hooks (torch/csrc/autograd: engine.cpp, evaluate_function; input_buffer.cpp,
    accumulate; accumulate_grad.h):

      - When a node has run, what it kept and its incoming gradients are freed. Its outgoing gradients wait for the next
        node.
      - Two gradients that wait at one place are summed: into the first if nothing else holds it, otherwise into a
        third.
      - A parameter takes its gradient as it is. It takes a copy if others hold the gradient, or if its layout differs.
      - A matrix product copies an expanded gradient, such as that of a sum.

    The script holds what still exists when backward has returned: the batch, an output.

    Not included: other memory that a node needs internally (convolutions), what checkpoints compute again, and what
    torch.compile makes of a graph.
    """

    def __init__(self, tensors, model, storages, outputs):
        """`outputs` are storages of the model's outputs, seen when forward returned."""
        self._storages = storages
        inside = model.inside
        left_out = {number for tensor in [*inside.parameters(), *inside.buffers()] for number in storages.of(tensor)}
        nodes = {node: i for i, node in enumerate(autograd_nodes(tensors))}
        parameters = {id(parameter): i for i, parameter in enumerate(model.parameters)}
        self._kept, self._next, self._parameter, self._steps, self._is_product = [], [], [], [], []
        for node in nodes:
            kept = {number for tensor in kept_by(node) for number in storages.of(tensor)}
            variable = getattr(node, "variable", None)
            self._kept.append(kept - left_out)
            self._next.append([(nodes.get(child), place) for child, place in node.next_functions])
            self._parameter.append(parameters.get(id(variable)))
            self._steps.append(None if variable is None else Gradient(variable, storages).steps)
            self._is_product.append("mm" in type(node).__name__.lower())
        # Drops what a checkpoint made only for this inspection.
        self._kept = [{number for number in kept if storages.alive(number)} for kept in self._kept]
        every = set().union(*self._kept)
        self.bytes = sum(storages.bytes[number] for number in every)  # at the end of forward
        beside = {number for number in outputs if number not in every | left_out}
        self._beside = {number for number in beside if storages.alive(number)}
        self._gone = sum(storages.bytes[number] for number in beside - self._beside)
        self._ran = []  # (node, incoming gradients, outgoing gradients), in order
        self._handles = [node.register_hook(self._noting(i)) for node, i in nodes.items()]

    def _noting(self, i):
        def hook(gives, given):
            try:
                self._ran.append((i, self._seen(given), self._seen(gives)))
            except Exception:  # noqa: BLE001  (then gradients are missing from the order)
                pass

        return hook

    def _seen(self, gradients):
        return [None if one is None else Gradient(one, self._storages) for one in gradients]

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def in_order(self):
        """The parameters whose gradients were written, in order, and the bytes held.

        The bytes are maxima before the first gradient, between consecutive gradients and after the last one, then what
        is left. Call this once, when backward has returned."""
        self.remove()
        stay = [number for number in set().union(self._beside, *self._kept) if self._storages.alive(number)]
        sizes, owners, waiting = list(self._storages.bytes), {}, {}
        level = 0

        def hold(numbers):
            nonlocal level
            for number in numbers:
                owners[number] = owners.get(number, 0) + 1
                level += sizes[number] if owners[number] == 1 else 0

        def let_go(numbers):
            nonlocal level
            for number in numbers:
                owners[number] -= 1
                level -= sizes[number] if owners[number] == 0 else 0

        def hand_on(gradient, to):
            """Passes a gradient to (node, place). Returns the largest memory in the meantime."""
            if to[0] is None:
                let_go(gradient.numbers)
            elif to not in waiting:
                waiting[to] = (gradient.numbers, gradient.summed_in_place)
            elif waiting[to][1] and all(owners[number] == 1 for number in waiting[to][0]):
                let_go(gradient.numbers)
            else:
                total = [len(sizes)]
                sizes.append(gradient.bytes)
                hold(total)
                meanwhile = level
                let_go(waiting[to][0])
                let_go(gradient.numbers)
                waiting[to] = (total, True)
                return meanwhile
            return level

        for numbers in [stay, *self._kept]:
            hold(numbers)
        order, held, most = [], [], level + self._gone
        for i, given, gives in self._ran:
            for place, one in enumerate(given):
                let_go(waiting.pop((i, place), ((), True))[0])
                hold(one.numbers if one else ())
            for one in gives:
                hold(one.numbers if one else ())
            copied = sum(
                one.bytes
                for one in given
                if one
                and (
                    self._is_product[i]
                    and one.expanded
                    or self._steps[i] is not None
                    and one.steps is not None
                    and (one.steps != self._steps[i] or any(owners[number] > 1 for number in one.numbers))
                )
            )
            most = max(most, level + copied)
            for one in given:
                let_go(one.numbers if one else ())
            if self._parameter[i] is not None:
                order.append(self._parameter[i])
                held.append(most)
                most = level
            let_go(self._kept[i])
            for to, one in zip(self._next[i], gives):
                if one is not None:
                    most = max(most, hand_on(one, to))
        return order, held + [most, sum(sizes[number] for number in stay)]


def autocast_dtype(device_type):
    """The dtype of autocast, such as torch.bfloat16; None if autocast is off. Works with old and new interfaces."""
    if hasattr(torch, "get_autocast_dtype"):  # 2.4
        return torch.get_autocast_dtype(device_type) if torch.is_autocast_enabled(device_type) else None
    if device_type == "cpu":
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
    return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


def precision_name(dtypes, autocast):
    if autocast is not None:
        return {"float16": "amp", "bfloat16": "bf16"}.get(str(autocast).replace("torch.", ""), "amp")
    short = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
    return "+".join(dict.fromkeys(short.get(dtype, dtype) for dtype in dtypes))


# ---------------------------------------------------------------- hooks on gradients


class GradientHooks:
    """Calls written(i) when the gradient of parameter i was written, and copied(i) when it is in its bucket."""

    def __init__(self, model, written, copied=None):
        self._handles = []
        self._nodes = []  # a leaf only knows its AccumulateGrad weakly
        self.kind = ""
        for i, parameter in enumerate(model.parameters):
            node = None
            if hasattr(parameter, "register_post_accumulate_grad_hook"):
                self.kind = "register_post_accumulate_grad_hook"
                self._handles.append(parameter.register_post_accumulate_grad_hook(written(i)))
            elif copied is None:
                self.kind = "hook on the AccumulateGrad node"
                node = self._accumulator(parameter)
                self._handles.append(node.register_hook(written(i)))
            else:
                self.kind = "hook on the parameter, before AccumulateGrad"
                self._handles.append(parameter.register_hook(written(i)))
            if copied is not None and not model.ignored[i]:
                self._handles.append((node or self._accumulator(parameter)).register_hook(copied(i)))

    def _accumulator(self, parameter):
        with torch.enable_grad():
            node = parameter.view_as(parameter).grad_fn.next_functions[0][0]
        self._nodes.append(node)
        return node

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles, self._nodes = [], []


# ---------------------------------------------------------------- all-reduces


class AllReduces:
    """State of the communication hook that replaces DDP's own all-reduce. It adds records to `noted`, unless that is
    None."""

    def __init__(self, job):
        self.group, self.share, self.mark = job.model.ddp.process_group, 1.0 / job.world, job.clock.mark
        self.noted = None

    def begins(self, buffer):
        noted = self.noted
        if noted is None:
            return None
        try:
            entry = [buffer.numel() * buffer.element_size(), time.perf_counter_ns(), self.mark(), None]
        except Exception:  # noqa: BLE001  (a bucket less is no reason to stop training)
            return None
        noted.append(entry)
        return entry

    def ends(self, entry):
        try:
            entry[3] = self.mark()
        except Exception:  # noqa: BLE001
            pass


def all_reduce_hook(state, bucket):
    """Does the same as the reducer without a hook: multiplies gradients by 1 / ranks, then sums them."""
    buffer = bucket.buffer()
    buffer.mul_(state.share)
    entry = state.begins(buffer)

    # On a GPU, the current stream waits for the all-reduce.
    def ended(future):
        if entry is not None:
            state.ends(entry)
        return future.value()[0]

    return torch.distributed.all_reduce(buffer, group=state.group, async_op=True).get_future().then(ended)


def why_no_hook(job):
    """The reason why all-reduces cannot be recorded without changing results; empty if they can."""
    ddp = job.model.ddp
    if ddp is None or job.world == 1:
        return "no DistributedDataParallel all-reduces over several ranks"
    if any(job.model.sparse):
        return "DDP makes no buckets for sparse gradients"
    if getattr(ddp, "gradient_as_bucket_view", False) and job.world & (job.world - 1):
        # If a gradient is already in its bucket, DDP divides; otherwise it multiplies by the reciprocal. Both give the
        # same bits only if the number of ranks is a power of two (reducer.cpp, mark_variable_ready_dense).
        return f"with gradient_as_bucket_view and {job.world} ranks, a hook cannot divide as DDP does"
    return ""


# ---------------------------------------------------------------- the recorder


class Job:
    """What is trained and where, including what one step of the warm-up revealed."""

    def __init__(self, model, path, name, batch, collectives=False):
        self.model = Model(model)
        self.device = self.model.device()
        self.on_gpu = self.device.type == "cuda"
        self.clock = CudaClock(self.device) if self.on_gpu else HostClock()
        # Nothing is written if `path` is None.
        self.rank, self.world, self.path = 0, 1, path
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            group = self.model.ddp.process_group if self.model.ddp is not None else None
            self.rank, self.world = distributed.get_rank(group), distributed.get_world_size(group)
        if self.world > 1 and path is not None:
            stem, ending = os.path.splitext(path)
            self.path = f"{stem}-rank{self.rank}{ending}"
        self.name = name or type(without_compile(self.model.inside)).__name__
        self.batch = batch
        self.autocast = None  # dtype
        self.kept = None  # bytes that forward keeps for backward
        # Bytes held while gradients arrive, including gradients in transit; None if unknown.
        self.held = None
        self.held_order = None  # the order of parameters for `held`
        # None if memory is not recorded, or was recorded already.
        self.storages = Storages() if StorageWeakRef is not None else None
        self.outputs = []  # storages of the model's outputs
        # Names of the kinds of autograd nodes that lead to the model's output.
        self.nodes = set()
        self.hook_kind = ""  # how written gradients are detected
        # `no_collectives` is the reason why requested all-reduces cannot be recorded.
        self.all_reduces, self.no_collectives = None, ""
        if collectives:
            self._see_all_reduces()

    def _see_all_reduces(self):
        self.no_collectives = why_no_hook(self)
        if self.no_collectives:
            return
        state = AllReduces(self)
        try:
            self.model.ddp.register_comm_hook(state, all_reduce_hook)
        # DDP refuses a hook if one is already registered, or if torch.compile compiled the module.
        except (RuntimeError, TypeError, ValueError) as error:
            self.no_collectives = " ".join(str(error).split())
            return
        self.all_reduces = state

    # Other versions of PyTorch may build the autograd graph differently. Then the step is recorded without its memory.

    def see_outputs(self, outputs):
        try:
            if self.storages is not None:
                self.outputs += [number for tensor in tensors_in(outputs) for number in self.storages.of(tensor)]
        except Exception:  # noqa: BLE001
            self.storages = None

    def see_kept(self, tensors):
        """Returns the object that observes memory during this backward. Only one backward is observed; returns None if
        that is impossible."""
        storages, self.storages = self.storages, None
        try:
            held = Held(tensors_in(tensors), self.model, storages, self.outputs)
            self.kept = held.bytes
            return held
        except Exception:  # noqa: BLE001
            return None

    def see_held(self, held):
        try:
            self.held_order, self.held = held.in_order()
        except Exception:  # noqa: BLE001
            pass

    def over_nccl(self):
        if not self.on_gpu or self.world == 1:
            return False
        return self.backend() != "gloo"

    def backend(self):
        group = self.model.ddp.process_group if self.model.ddp is not None else None
        return torch.distributed.get_backend(group)

    def gpu(self):
        """The GPU's model, which ddpsim compares: "V100" for "Tesla V100-SXM2-16GB"."""
        if not self.on_gpu:
            return "CPU"
        words = torch.cuda.get_device_name(self.device).replace("-", " ").split()
        families = ("NVIDIA", "Tesla", "GeForce", "Quadro", "RTX", "GTX", "AMD", "Instinct", "Graphics")
        first = next((i for i, word in enumerate(words) if word not in families), 0)
        return words[first] + "".join(word for word in words[first + 1 : first + 2] if word in ("Ti", "SUPER"))

    def is_compiled(self):
        return any(
            hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
            for module in self.model.called.modules()
        )

    def has_compiled_backward(self):
        return self.is_compiled() or any("CompiledFunction" in name for name in self.nodes)

    def precision(self):
        return precision_name(self.model.dtypes, self.autocast)

    def precision_in_full(self):
        text = "parameters " + ", ".join(dict.fromkeys(self.model.dtypes))
        if self.autocast is not None:
            text += f", autocast {str(self.autocast).replace('torch.', '')}"
        if self.on_gpu:
            try:
                text += (
                    f", TF32 {'on' if torch.backends.cuda.matmul.allow_tf32 else 'off'} in products, "
                    f"{'on' if torch.backends.cudnn.allow_tf32 else 'off'} in convolutions"
                )
            # From PyTorch 2.9 on, reading these settings raises if the script used the newer, finer ones.
            except RuntimeError:
                pass
        return text


class Recorder:
    """Records steps and writes `path`. With several ranks, each writes a file, with the rank added to its name.

    If `path` is None, nothing is written, and `document` holds what would have been written.

    - warmup, steps: After `warmup` steps, 2 * `steps` steps are measured, and every other one is recorded.
    - batch_size: Samples of one forward on this rank. The default is dimension 0 of the model's first tensor.
    - name: Name of the workload. The default is the class of the model.
    - collectives: Also records DDP's all-reduces, with a communication hook that stays registered.
    """

    def __init__(self, model, path, *, warmup=10, steps=10, batch_size=None, name=None, collectives=False):
        self.finished = False
        self.problem = None  # why the recorder stopped early
        self.document = None  # what was written
        self._given = (model, None if path is None else str(path), name, batch_size, bool(collectives))
        self._warmup, self._steps = max(2, int(warmup)), max(1, int(steps))
        self._job = self._clock = None
        self._calls = 0
        self._measured = []
        self._step = self._pass = None
        self._in_backward = False
        self._hooks, self._patched = [], None
        self._loader = None  # removes the observation of DataLoader
        # Counters of this process's threads when the first measured step began.
        self._scheduled = None
        atexit.register(self.close)
        # Refuse an unsuitable model now, not at the first step.
        self._safely(lambda: Model(model).device())

    def step(self):
        """Call once per training step, after optimizer.step()."""
        if not self.finished:
            self._safely(self._next_step)

    def close(self):
        """Ends the recording early. Writes what was recorded so far, or says that it was too little."""
        if not self.finished:
            self._safely(self._finish_early)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Errors in the recorder never reach the training.

    def _safely(self, function, *arguments):
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)

    def _give_up(self, error):
        if self.finished:
            return
        self.problem = str(error) if isinstance(error, Problem) else f"{type(error).__name__}: {error}"
        if self._given is None or self._given[1] is not None:
            say(self._job, f"stopped, and training continues: {' '.join(self.problem.split())}")
        self._leave()

    def _leave(self):
        """Releases everything, including the model."""
        self.finished = True
        try:
            self._take_out()
            if self._loader is not None:
                self._loader()
        except Exception:  # noqa: BLE001
            pass
        self._given = self._job = self._step = None
        self._measured = []
        atexit.unregister(self.close)

    # The first steps warm up. After that, plain steps and recorded steps alternate.

    def _next_step(self):
        # The model is examined here because by the first step a framework, too, has wrapped it in DDP.
        if self._job is None:
            self._job = Job(*self._given)
            self._clock = self._job.clock
            self._clock.anchor()
        now = self._clock.mark()
        if self._step is not None:
            self._step.end = now
            self._measured.append(self._step)
            self._step = None
        self._take_out()
        self._calls += 1
        if len(self._measured) == 2 * self._steps:
            self._finish()
        elif self._calls == self._warmup - 1:
            self._put_in_survey()
        elif self._calls >= self._warmup:
            if self._loader is None:
                self._loader = watch_loaders(lambda: self._step)
                self._scheduled = scheduled_threads()
            step = Step(recorded=len(self._measured) % 2 == 1)
            if step.recorded:
                self._put_in_hooks()
            self._step = step
            step.begin = self._clock.mark()

    def _finish(self):
        self._clock.anchor()
        report = Report(
            self._job, self._measured, scheduled_between(self._scheduled, scheduled_threads(), len(self._measured))
        )
        self.document = report.document()
        if self._job.path is not None:
            write_document(self._job.path, self.document)
            for line in report.lines():
                say(self._job, line)
        self._leave()

    def _finish_early(self):
        if not any(step.recorded for step in self._measured):
            raise Problem(f"only {self._calls} steps were seen, but {self._warmup + 2} are needed; nothing was written")
        self._finish()

    def _take_out(self):
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self._pass, self._in_backward = None, False
        if self._job is not None and self._job.all_reduces is not None:
            self._job.all_reduces.noted = None
        if self._patched is not None:
            ours, original = self._patched
            if torch.autograd.backward is ours:
                torch.autograd.backward = original
            self._patched = None

    def _guarded(self, function):
        """A function that torch can call. It returns None and never raises."""

        def hook(*arguments):
            if not self.finished:
                self._safely(function, *arguments)

        return hook

    # In one step of the warm-up, the recorder inspects what it will record.

    def _put_in_survey(self):
        job = self._job

        def before(_, arguments, keywords=None):
            if torch.is_grad_enabled():
                job.batch = job.batch or first_batch(arguments, keywords or {})
                note_autocast()

        def note_autocast(*_):
            job.autocast = job.autocast or autocast_dtype(job.device.type)

        def after(_, __, output):
            if torch.is_grad_enabled():
                job.batch = job.batch or first_batch(output)
                job.nodes |= {type(node).__name__ for node in autograd_nodes(tensors_in(output))}
                job.see_outputs(output)

        self._look_before_backward()
        self._hooks.append(register_pre_hook(job.model.called, self._guarded(before)))
        self._hooks.append(job.model.called.register_forward_hook(self._guarded(after)))
        if not job.is_compiled():  # autocast may begin inside the model
            leaf = next(
                (
                    module
                    for module in job.model.inside.modules()
                    if next(module.children(), None) is None and next(module.parameters(), None) is not None
                ),
                None,
            )
            if leaf is not None:
                self._hooks.append(leaf.register_forward_pre_hook(self._guarded(note_autocast)))

    def _look_before_backward(self):
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors, *arguments, **keywords):
            held = None
            if not self.finished and self._job.storages is not None:
                held = self._job.see_kept(tensors)
                self._hooks += [held] if held is not None else []
            result = original(tensors, *arguments, **keywords)
            if held is not None and not self.finished:
                self._job.see_held(held)
            return result

        torch.autograd.backward = backward
        self._patched = (backward, original)

    # Hooks of a recorded step.

    def _put_in_hooks(self):
        job, ddp = self._job, self._job.model.ddp
        hooks = GradientHooks(job.model, self._noting("written"), self._noting("copied") if ddp is not None else None)
        self._hooks.append(hooks)
        job.hook_kind = hooks.kind
        self._hooks.append(job.model.called.register_forward_pre_hook(self._guarded(self._forward_begins)))
        # In a compiled model, a hook on the inner module would be compiled, or cause a new compilation.
        if ddp is not None and not job.is_compiled():
            self._hooks.append(ddp.module.register_forward_pre_hook(self._guarded(self._module_begins)))
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors, *arguments, **keywords):
            if self.finished or self._step is None or self._in_backward:  # nested reentrant checkpoints
                return original(tensors, *arguments, **keywords)
            self._in_backward = True
            root_hooks = self._safely(self._backward_begins, tensors)
            try:
                result = original(tensors, *arguments, **keywords)
            except BaseException:
                self._in_backward = False
                if self._step is not None:
                    self._step.broken = True
                raise
            self._in_backward = False
            if not self.finished:
                self._safely(self._backward_ends, root_hooks)
            return result

        torch.autograd.backward = backward
        self._patched = (backward, original)

    def _noting(self, where):
        """Returns a function that makes the hook of a parameter. The hook appends (parameter, mark, host time) to a
        list of the current pass; `where` is the name of that list, "written" or "copied"."""
        mark, now = self._clock.mark, time.perf_counter_ns

        def for_parameter(i):
            def hook(*_):
                current = self._pass
                if current is None:
                    return
                try:
                    getattr(current, where).append((i, mark(), now()))
                except Exception as error:  # noqa: BLE001
                    self._give_up(error)

            return hook

        return for_parameter

    def _new_pass(self):
        if self._job.on_gpu and torch.cuda.is_current_stream_capturing():
            raise Problem("a CUDA graph is being captured, whose replays run no hooks. Record without graphs")
        self._pass = Pass()
        self._step.passes.append(self._pass)
        if self._job.all_reduces is not None:
            self._job.all_reduces.noted = self._pass.collectives

    def _forward_begins(self, *_):
        if self._in_backward or not torch.is_grad_enabled():  # recomputation by a checkpoint, or an evaluation
            return
        if self._pass is None or self._pass.backward is not None:
            self._new_pass()
        if self._pass.forward is None:
            self._pass.reduces = bool(getattr(self._job.model.ddp, "require_backward_grad_sync", False))
            self._pass.forward = self._clock.mark()

    def _module_begins(self, *_):
        if self._pass is not None and self._pass.backward is None and self._pass.module is None:
            self._pass.module = self._clock.mark()

    def _backward_begins(self, tensors):
        if self._pass is None or self._pass.backward is not None:
            self._new_pass()
        current = self._pass
        # A hook on the loss replaces this mark. The mark stays only if no loss can have a hook.
        current.backward = self._clock.mark()
        seen = []

        def first_node_runs(_):
            if not seen:
                seen.append(True)
                current.backward = self._clock.mark()

        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        return [
            root.register_hook(self._guarded(first_node_runs))
            for root in roots
            if getattr(root, "requires_grad", False) and root.grad_fn is not None
        ]

    def _backward_ends(self, root_hooks):
        self._pass.end = self._clock.mark()
        for hook in root_hooks or ():
            hook.remove()


def watch_loaders(step_now):
    """Records in the current step how long it waited for each batch, until the returned function is called."""
    iterator = getattr(sys.modules.get("torch.utils.data.dataloader"), "_BaseDataLoaderIter", None)
    original = getattr(iterator, "__next__", None)
    if original is None:
        return lambda: None

    @functools.wraps(original)
    def watched(self):
        begin = time.perf_counter_ns()
        batch = original(self)
        step = step_now()
        if step is not None:
            step.waits_ns.append(time.perf_counter_ns() - begin)
            step.workers_load = "MultiProcessing" in type(self).__name__
        return batch

    def take_out():
        if iterator.__next__ is watched:
            iterator.__next__ = original

    iterator.__next__ = watched
    return take_out


def scheduled_threads():
    """Scheduling of this process's threads: {thread: (it trains, nanoseconds it ran, nanoseconds it waited for a
    core)}.

    Returns None if the kernel does not record it (/proc/PID/task/TID/schedstat, Linux). The calling thread trains.
    Autograd's threads, one for each GPU, train too: they take turns with the calling thread."""
    try:
        own, seen = threading.get_native_id(), {}
        for thread in map(int, os.listdir("/proc/self/task")):
            try:
                with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
                    ran, waited, _ = map(int, file.read().split())
                with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
                    trains = thread == own or file.read().startswith("pt_autograd")
            except FileNotFoundError:  # the thread has ended
                continue
            seen[thread] = (trains, ran, waited)
        return seen
    except (OSError, ValueError, AttributeError):
        return None


def scheduled_between(first, last, steps):
    """Microseconds per step for threads that train and for all threads; None if unknown."""
    if not first or not last or not steps:
        return None
    spent = []
    for thread, (trains, ran, waited) in last.items():
        _, ran_before, waited_before = first.get(thread, (trains, 0, 0))
        spent.append((trains, ran - ran_before, waited - waited_before))
    if not any(ran for _, ran, _ in spent):
        return None

    def each(some):
        return [sum(one[k] for one in some) / steps / 1000 for k in (1, 2)]

    facts = dict(
        zip(
            ("running_us", "waiting_us", "all_running_us", "all_waiting_us"),
            each([one for one in spent if one[0]]) + each(spent),
        )
    )
    if hasattr(os, "sched_getaffinity"):
        facts = {"cores": len(os.sched_getaffinity(0)), **facts}
    return facts


def say(job, text):
    rank = f" (rank {job.rank})" if job is not None and job.world > 1 else ""
    tell(f"ddpsim recorder{rank}: {text}", sys.stderr)


def tell(line, stream):
    """Prints a line. Control characters, and characters that hide text, are written as escapes."""
    shown = "".join(
        one if one.isprintable() else one.encode("unicode_escape", "backslashreplace").decode() for one in line
    )
    try:
        if stream is not None:  # None: the stream is closed
            print(
                shown.encode(stream.encoding or "ascii", "backslashreplace").decode(stream.encoding or "ascii"),
                file=stream,
                flush=True,
            )
    # Nobody reads the stream any more, or the disk is full.
    except (OSError, ValueError):
        pass


def register_pre_hook(module, hook):
    try:
        return module.register_forward_pre_hook(hook, with_kwargs=True)  # 2.0
    except TypeError:
        return module.register_forward_pre_hook(hook)


# ---------------------------------------------------------------- from marks to times, a file, a few lines


class Times:
    """Times of a recorded step in microseconds. If the step has several backward passes, they are times of the last."""

    def __init__(self, clock, step, number):
        us = clock.us
        self.number, self.name = number, f"recorded {number}"
        passes = seen_whole(step)
        last = passes[-1]
        zero = last.backward
        # The gradient of a parameter in several checkpointed segments is written more than once.
        latest = {}
        for i, mark, host in last.written:
            latest.pop(i, None)
            latest[i] = (mark, host)
        self.written_again = len(last.written) - len(latest)
        self.order = tuple(latest)
        self.host = [clock.host_us(zero, host) for _, host in latest.values()]
        copied = {i: us(zero, mark) for i, mark, _ in last.copied}
        self.ready, reached = [], 0.0  # (parameter, written, copied or None)
        for i, (mark, _) in latest.items():
            # Events of two streams may be slightly out of order.
            reached = max(reached, us(zero, mark))
            self.ready.append((i, reached, max(copied[i], reached) if i in copied else None))
        end = max(us(zero, last.end), reached)
        self.backward = max([reached] + [at for _, _, at in self.ready if at is not None]) if copied else end
        self.tail = end - self.backward  # DDP waits for buckets and copies out
        self.forward = us(last.forward, zero) if last.forward is not None else None
        self.buffers = us(last.forward, last.module) if last.forward and last.module else None
        self.optimizer = us(last.end, step.end)
        self.passes = len(passes)
        self.other_passes = sum(us(one.forward or one.backward, one.end) for one in passes[:-1])
        self.other_tails = sum(tail_of(clock, one) for one in passes[:-1])
        self.others_reduced = sum(one.reduces for one in passes[:-1])
        self.step = us(step.begin, step.end)
        # Collectives are in launch order. NCCL's stream runs them one after the other.
        self.collectives, free = [], None
        for size, called_ns, mark, done in (
            last.collectives if all(one[3] is not None for one in last.collectives) else []
        ):
            start, end = us(zero, mark), us(zero, done)
            if isinstance(clock, CudaClock) and free is not None:
                start = max(start, free)
            free = max(end, start)
            self.collectives.append(
                {
                    "bytes": size,
                    "launch_us": clock.host_us(zero, called_ns),
                    "start_us": start,
                    "duration_us": free - start,
                }
            )


def tail_of(clock, one):
    """Time of backward() after the last copy into a bucket, when DDP waits for its all-reduces and copies out."""
    if not one.copied:
        return 0.0
    begin = one.backward
    return max(0.0, clock.us(begin, one.end) - max(clock.us(begin, mark) for _, mark, _ in one.copied))


def seen_whole(step):
    return [] if step.broken else [one for one in step.passes if one.written and one.end is not None]


def lower_median(values, key=None):
    return sorted(values, key=key)[(len(values) - 1) // 2]


class Report:
    """Chooses the recorded step to write: the one with the lower median of the backward times."""

    def __init__(self, job, measured, scheduled):
        self.job, self.model, self.ddp, self.scheduled = job, job.model, job.model.ddp, scheduled
        recorded = [step for step in measured if step.recorded]
        self.all = [Times(job.clock, step, k + 1) for k, step in enumerate(recorded) if seen_whole(step)]
        if not self.all:
            raise Problem(
                "no gradient hook ran in the recorded steps, so nothing was written. Is this the model that is "
                "trained, does backward() run outside of CUDA graphs, and is recorder.step() called once per step?"
            )
        self.times = lower_median(self.all, key=lambda times: times.backward)
        self.joinable = any(times.collectives for times in self.all)
        # All ranks must choose the same step, even if another step is more typical of some rank.
        if self.joinable:
            middle = (len(recorded) - 1) // 2
            self.median_backward = self.times.backward
            self.times = next((times for times in self.all if times.number > middle), self.all[-1])
        # The first measured step is plain, so there is a plain step whenever there is a recorded one.
        self.plain_steps = [job.clock.us(step.begin, step.end) for step in measured if not step.recorded]
        self.step = lower_median(self.plain_steps)
        self.recorded_step = lower_median([times.step for times in self.all])
        self.loader_waits = [wait / 1000 for step in measured for wait in step.waits_ns]
        self.workers_load = any(step.workers_load for step in measured)
        # Mean over all steps, because workers deliver their batches in turns. So every other step may be the one that
        # waits for all of them.
        self.mean_step = sum(job.clock.us(step.begin, step.end) for step in measured) / len(measured)

    def lines(self):
        """Lines that are printed when the file is written. Ranks other than 0 print only what is unusual."""
        for note in self.notes():
            yield "note: " + note
        if self.job.rank == 0:
            yield from self.summary()

    def summary(self):
        job, times = self.job, self.times
        yield (
            f"wrote {job.path}: {job.name}, {len(self.model.parameters)} parameters, "
            f"{self.model.gradient_bytes() / 2**20:.1f} MiB of gradients, {job.gpu()}, {job.precision()}, "
            f"batch {job.batch or 'unknown'}"
        )
        backwards = sorted(one.backward for one in self.all)
        spread = 100 * (backwards[-1] / backwards[0] - 1) if backwards[0] > 0 else 0
        forward = f"forward {times.forward / 1000:.4g} ms, " if times.forward is not None else ""
        yield (
            f"{forward}backward {times.backward / 1000:.4g} ms (lower median of {len(self.all)}, {spread:.1f} % from "
            f"fastest to slowest), optimizer {times.optimizer / 1000:.4g} ms"
        )
        if self.bound_by_workers():
            yield (
                f"the workers of the DataLoader deliver a batch every {self.mean_step / 1000:.4g} ms, which limits "
                "the step"
            )
        else:
            yield (
                f"step without the recorder {self.step / 1000:.4g} ms, with it {self.recorded_step / 1000:.4g} ms "
                f"({100 * (self.recorded_step / self.step - 1):+.1f} %)"
            )
        yield f"next: ddpsim tune {job.path} CLUSTER {' '.join(self.options())}"

    def options(self):
        """Options with which ddpsim simulates this job."""
        major, minor = torch_release()
        yield f"--torch {major}.{minor}"
        if not self.job.on_gpu:
            yield "--compute-scale RATIO"  # speed of the cluster's GPU over this CPU
        if self.ddp is not None:
            yield from ddp_options(self.ddp)
        if self.times.passes > 1 and not self.times.others_reduced:
            yield f"--accumulate {self.times.passes}"
        if self.job.world > 1:  # the current step on the current cluster
            yield f"--measured-step {(self.mean_step if self.bound_by_workers() else self.step) / 1000:.4g}ms"

    def notes(self):
        job, times = self.job, self.times
        if job.has_compiled_backward():
            yield (
                "the backward is compiled, so gradients of one graph are seen together when it ends. Ready times are "
                "no finer than that, and no bucket cap can be recommended from them"
            )
        if times.others_reduced:
            yield (
                f"{times.others_reduced + 1} of {times.passes} micro-batches per step all-reduced. DDP checks for "
                "no_sync() in forward, so it must enclose forward and backward of every micro-batch except the last"
            )
        if times.written_again:
            by = "by reentrant checkpoints" if "CheckpointFunctionBackward" in job.nodes else "within a backward"
            yield f"{times.written_again} gradients were written again {by}; the last writing counts"
        unused = [name for i, name in enumerate(self.model.names) if i not in set(times.order)]
        if unused:
            yield f"{len(unused)} parameters got no gradient: {some(unused)}"
        others = sum(one.order != times.order for one in self.all)
        if others:
            yield f"the order of gradients was different in {others} of {len(self.all)} steps"
        if times.forward is None:
            yield "the model was not called through the module given to the recorder: no forward time"
        if job.no_collectives:
            yield f"all-reduces are not recorded: {job.no_collectives}"
        if self.joinable and not 0.9 < times.backward / self.median_backward < 1.1:
            yield (
                f"the chosen step, the same on every rank, has a backward of {times.backward / 1000:.4g} ms; the lower "
                f"median is {self.median_backward / 1000:.4g} ms"
            )
        if job.kept and not self.knows_held():
            yield (
                "gradients came in another order than during warm-up, so memory is known only for the end of forward, "
                "not for backward"
            )
        if not job.batch:
            yield "the batch size was not seen: pass batch_size="
        if job.world > 1 and self.ddp is None:
            yield (
                f"{job.world} ranks run, but no DistributedDataParallel wraps this model, so it is recorded as a "
                "single rank"
            )
        elif job.world > 1:
            if job.all_reduces is not None:
                yield (
                    "the communication hook that times all-reduces stays registered, because DDP cannot remove a "
                    "hook. It reduces as DDP does, but costs one more pass over each bucket, also in steps without "
                    "the recorder"
                )
            yield (
                f"recorded with {job.world - 1} other ranks: exposed_us includes waits for them and copies out of "
                "buckets, and collectives have slowed down compute. Record a single rank for more accurate times"
            )

    def document(self):
        job, model, times = self.job, self.model, self.times
        document = head_of_document(job.name)
        document["gpu"] = job.gpu()
        document["precision"] = job.precision()
        if job.batch:
            document["batch_per_gpu"] = int(job.batch)
            document["samples_per_step"] = int(job.batch) * job.world * times.passes
        document["torch"] = str(torch.__version__)
        document["parameter_order"] = "definition"
        document["parameters"] = model.parameter_entries()
        if times.forward is not None:
            document["forward"] = {"duration_us": times.forward}
        ready = [
            {"parameter": model.entry_of[i], "at_us": at, **({"copied_at_us": copied} if copied is not None else {})}
            for i, at, copied in times.ready
        ]
        document["backward"] = {"duration_us": times.backward, "ready": ready}
        document["optimizer"] = {"duration_us": times.optimizer}
        document["iteration"] = {"duration_us": self.of_one_pass(self.step)}
        if job.on_gpu:  # on a CPU both are the same
            document["host"] = {"ready_us": times.host}
        if self.loader_waits:
            document["data_loading"] = self.data_loading()
        if self.scheduled is not None:
            document["threads"] = self.scheduled
        if times.passes > 1:
            document["earlier_micro_batches"] = {
                "count": times.passes - 1,
                "all_reduced": times.others_reduced,
                **self.of_earlier_passes(),
            }
        if model.buffers:
            document["buffers"] = model.buffer_entries()
        if job.kept:
            held = {"held_bytes": job.held} if self.knows_held() else {}
            document["activations"] = {"bytes": job.kept, "from": "recording", **held}
        document["recorded_with"] = self.recorded_with()
        document["steps"] = self.steps()
        document["provenance"] = self.provenance()
        return document

    def knows_held(self):
        """Whether the held memory is known. Reentrant checkpoints make graphs of their own, whose nodes were not
        seen."""
        return self.job.held is not None and tuple(self.job.held_order) == self.times.order

    def of_one_pass(self, step):
        """Time of a step without its earlier passes. Only their share of the step is taken from the recorded step,
        because the recorded step itself may have been slow."""
        others = self.times.other_passes
        return step * (1 - others / self.times.step) if others else step

    def of_earlier_passes(self):
        """Compute of the earlier passes, and their waits for all-reduces. Both are assumed to take the same share of a
        plain step as of the recorded step."""
        scale = self.step / self.times.step
        return {
            "compute_us": scale * (self.times.other_passes - self.times.other_tails),
            "exposed_us": scale * self.times.other_tails,
        }

    def steps(self):
        """All steps, to show their variation. A plain step has only its whole time; a recorded step has its forward and
        backward."""
        for_each = [{"iteration_us": self.of_one_pass(step)} for step in self.plain_steps]
        for times in self.all:
            forward = {"forward_us": times.forward} if times.forward is not None else {}
            named = {"name": times.name} if times.collectives else {}
            seen = {"collectives": times.collectives} if times.collectives else {}
            for_each.append({**named, **forward, "backward_us": times.backward, **seen})
        return for_each

    def mean_wait(self):
        later = self.loader_waits[1:] or self.loader_waits  # the first wait may begin an epoch
        return sum(later) / len(later)

    def bound_by_workers(self):
        """Whether workers deliver no more batches than steps consume."""
        return self.workers_load and self.times.passes == 1 and self.mean_wait() > 0.01 * self.mean_step

    def data_loading(self):
        """How long steps waited for batches, with the fields that an import of a profiler trace has."""
        waits = sorted(self.loader_waits)
        return {
            "median_us": lower_median(waits),
            "p90_us": waits[max(-(-9 * len(waits) // 10), 1) - 1],
            "mean_us": self.mean_wait(),
            "count": len(waits),
            "loads": "workers" if self.workers_load else "trainer",
            **({"interval_us": self.mean_step} if self.bound_by_workers() else {}),
        }

    def recorded_with(self):
        job, ddp, times = self.job, self.ddp, self.times
        facts = {"ddp_hooks": ddp is not None, "world_size": job.world, **nccl_version(job), "nccl_kernels": 0}
        if ddp is not None:
            broadcasts = len(self.model.buffer_entries()) if getattr(ddp, "broadcast_buffers", False) else 0
            if job.over_nccl():
                facts["nccl_kernels"] = len(ddp_buckets(ddp)) + broadcasts
            facts["exposed_us" if job.world > 1 else "finalize_us"] = times.tail
            if times.buffers is not None and broadcasts:
                facts["buffer_broadcast_us"] = times.buffers
        # The number may not be exact. With any number, ddpsim recommends no cap.
        if job.has_compiled_backward():
            facts["compiled_gradients"] = len(times.order)
        if self.model.sync_batchnorms and job.world > 1:
            facts["sync_batchnorm"] = True
        if times.passes > 1 and not times.others_reduced:
            facts["accumulate"] = times.passes
        if ddp is not None and times.collectives:
            facts["collectives"] = times.collectives
        return facts

    def provenance(self):
        job, times = self.job, self.times
        facts = {
            "source": "ddpsim_recorder.py " + VERSION,
            "kind": "recorder",
            "clock": job.clock.name,
            "ready": job.hook_kind,
            "precision": job.precision_in_full(),
            "steps": f"{'the middle one' if self.joinable else 'the lower median by backward'} of {len(self.all)} "
            "recorded steps",
            "step_us": f"{number(self.step)} without the recorder, {number(self.recorded_step)} with it",
        }
        if job.on_gpu:
            facts["gpu_name"] = torch.cuda.get_device_name(job.device)
        if job.world > 1:
            facts["rank"] = str(job.rank)
            facts["backend"] = job.backend()
        if self.joinable:
            facts["recorded_step"] = times.name
        if times.passes > 1:
            facts["accumulation"] = (
                f"{times.passes} backwards per step: the last is recorded, and the others' "
                f"{number(self.step - self.of_one_pass(self.step))} us are not in the iteration"
            )
        facts.update(self.model.provenance())
        if self.ddp is not None:
            facts["ddp_options"] = " ".join(ddp_options(self.ddp)) or "defaults"
            hook = ddp_log(self.ddp).get("comm_hook")
            if hook and job.all_reduces is None:  # not the recorder's own hook
                facts["comm_hook"] = str(hook)
            buckets = ddp_buckets(self.ddp)
            if buckets:
                facts["bucket_bytes"] = " ".join(map(str, buckets))
        facts.update((f"note_{k + 1}", note) for k, note in enumerate(self.notes()))
        return facts


def ddp_options(ddp):
    # The text is exact, so that reading it gives the same number of bytes.
    def mib(count):
        return repr(count / 2**20) if count % 2**20 else str(count // 2**20)

    cap = getattr(ddp, "bucket_bytes_cap", None)
    caps = getattr(ddp, "bucket_bytes_cap_list", None)  # 2.11
    default = getattr(ddp, "bucket_bytes_cap_default", cap == 25 * 2**20)  # since 2.5
    first = getattr(torch.distributed, "_DEFAULT_FIRST_BUCKET_BYTES", 2**20)
    config = getattr(ddp, "_bucket_config", None)
    # In PyTorch 2.12, a default cap with a larger or equal first bucket does not count as default.
    if config is not None:
        first = config.first_bucket_bytes_cap
        default = first != cap
    if caps:
        yield "--bucket-cap-mb-list " + ",".join(map(mib, caps))
    elif cap is not None and not default:
        yield "--bucket-cap-mb " + mib(cap)
    if first != 2**20 and not caps and (default or not hasattr(ddp, "bucket_bytes_cap_default")):
        yield "--first-bucket-mb " + mib(first)
    for attribute, wanted, option in (
        ("find_unused_parameters", True, "--find-unused-parameters"),
        ("static_graph", True, "--static-graph"),
        ("gradient_as_bucket_view", True, "--gradient-as-bucket-view"),
        ("broadcast_buffers", False, "--no-broadcast-buffers"),
    ):
        if getattr(ddp, attribute, not wanted) == wanted:
            yield option


def ddp_log(ddp):
    try:
        return ddp._get_ddp_logging_data()
    except Exception:  # noqa: BLE001  (a private interface)
        return {}


def ddp_buckets(ddp):
    """Bytes of the buckets in launch order, from DDP's own log."""
    log = ddp_log(ddp)
    try:
        sizes = log.get("rebuilt_bucket_sizes") or log.get("bucket_sizes") or ""
        return [int(size) for size in sizes.replace(",", " ").split()]
    except (ValueError, AttributeError):
        return []


# ---------------------------------------------------------------- the file


def head_of_document(name):
    return {"schema": "ddpsim.workload/1", "name": name}


def number(value):
    """A number as ddpsim prints it: without trailing zeros, with nanoseconds as the finest resolution."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Problem(f"a time or a size came out as {value}, which no file can hold")
        text = f"{value:.3f}".rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text
    return json.dumps(value, ensure_ascii=False)


def one_line(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {one_line(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(one_line(item) for item in value) + "]"
    return number(value)


def nccl_version(job):
    """{"nccl": "2.21.5"}, or {} if this PyTorch has no NCCL."""
    version = getattr(getattr(torch.cuda, "nccl", None), "version", None) if job.on_gpu else None
    return {"nccl": ".".join(str(part) for part in version())} if version else {}


def document_text(value, indent="", key=""):
    """The document in the layout of `ddpsim import`: one line per parameter and per gradient."""
    entries = None
    if isinstance(value, dict) and key in ("", "backward", "host", "recorded_with", "provenance", "step"):
        entries = [f"{json.dumps(name)}: {document_text(item, indent + '  ', name)}" for name, item in value.items()]
        brackets = "{}"
    elif isinstance(value, list):
        entries = [
            document_text(item, indent + "  ", "step")
            if isinstance(item, dict) and "collectives" in item
            else one_line(item)
            for item in value
        ]
        brackets = "[]"
    if not entries:
        return one_line(value)
    lines = ",\n".join(f"{indent}  {entry}" for entry in entries)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"


def write_document(path, document):
    """Writes a temporary file next to the target, under an unpredictable name, and renames it.

    So nobody can plant a link under that name, and the target is never half written. A device or a pipe is written
    directly.
    The target of a link is replaced, not the link. The mode of a replaced file is kept."""
    text = document_text(document) + "\n"
    beside = None
    try:
        place = os.path.realpath(path)
        directly = os.path.exists(place) and not os.path.isfile(place)
        if not directly:
            # The temporary name is short, because the target's name may have the maximum length.
            beside = os.path.join(os.path.dirname(place), f".ddpsim-{secrets.token_hex(8)}")
        flags = os.O_WRONLY if directly else os.O_WRONLY | os.O_CREAT | os.O_EXCL
        # Half of a surrogate pair becomes an escape, which JSON supports.
        with open(
            os.open(place if directly else beside, flags, 0o666), "w", encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
        if not directly:
            if os.path.exists(place):
                os.chmod(beside, stat.S_IMODE(os.stat(place).st_mode))
            os.replace(beside, place)
    except (OSError, ValueError) as error:
        try:
            os.unlink(beside)
        except (OSError, TypeError):
            pass
        raise Problem(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error


# ---------------------------------------------------------------- without a GPU: names, shapes, order


def record_meta(model, inputs=None, path=None, *, name=None, device=None):
    """Records names, shapes and the order of gradients, without times. Returns the document, and writes it if `path` is
    given.

    inputs: A tensor, or a tuple or dict of arguments for the model. With None, only names and shapes are recorded.

    One real backward on the CPU shows the order. If the CPU's memory is not sufficient (or device="meta"), a backward
    on torch's meta device shows it, which computes only shapes. The loss is the sum of all outputs. Gradients are
    cleared afterwards.
    """
    described = Model(model)
    order, how = None, "not recorded: no inputs were given"
    if inputs is not None:
        order, how = order_of_gradients(model, inputs, device)
    document = head_of_document(name or type(without_compile(model)).__name__)
    document["precision"] = precision_name(described.dtypes, None)
    document["torch"] = str(torch.__version__)
    document["parameter_order"] = "definition"
    document["parameters"] = described.parameter_entries()
    if order is not None:
        document["backward"] = {
            "duration_us": 0,
            "ready": [{"parameter": described.entry_of[i], "at_us": 0} for i in order],
        }
    if described.buffers:
        document["buffers"] = described.buffer_entries()
    document["recorded_with"] = {"ddp_hooks": False, "world_size": 1, "nccl_kernels": 0}
    document["provenance"] = {
        "source": "ddpsim_recorder.py " + VERSION,
        "kind": "parameters and order, no times",
        "order": how,
        **described.provenance(),
    }
    if path is not None:
        write_document(str(path), document)
    return document


def order_of_gradients(model, inputs, device=None):
    needed = 2 * sum(p.numel() * p.element_size() for p in model.parameters())
    on_meta = any(parameter.device.type == "meta" for parameter in model.parameters())
    if device == "meta" or on_meta or (device is None and needed > free_memory()):
        return order_on_meta(model, inputs, "memory" if device is None and not on_meta else "")
    try:
        return one_backward(model, inputs), "one backward on the CPU"
    except Problem:
        raise
    except Exception as error:  # noqa: BLE001  (of the model, which may raise anything)
        if device is not None or not ("memory" in str(error) or isinstance(error, MemoryError)):
            raise Problem(f"one forward and backward failed: {type(error).__name__}: {error}") from error
        return order_on_meta(model, inputs, "memory")


def order_on_meta(model, inputs, because):
    reason = ", because memory is not sufficient for the CPU" if because else ""
    try:
        order = one_backward(without_values(model), moved(inputs, "meta"))
        return order, "one backward on the meta device" + reason
    except (NotImplementedError, RuntimeError, TypeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None, f"not recorded{reason}: the meta device of torch {torch.__version__} cannot run it ({first})"


def without_values(model):
    """A copy on the meta device. The original stays unchanged."""
    empty = {}
    for tensor in [*model.parameters(), *model.buffers()]:
        shape = torch.empty_like(tensor, device="meta")
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        empty[id(tensor)] = torch.nn.Parameter(shape, tensor.requires_grad) if is_parameter else shape
    return copy.deepcopy(model, empty)


def one_backward(model, inputs):
    order = []
    described = Model(model)
    hooks = GradientHooks(described, lambda i: lambda *_: order.append(i))
    try:
        with torch.enable_grad():
            output = model(**inputs) if isinstance(inputs, dict) else model(*as_tuple(inputs))
            roots = [tensor for tensor in tensors_in(output) if tensor.requires_grad]
            if not roots:
                raise Problem("no output of the model requires a gradient")
            sum(root.float().sum() for root in roots).backward()
    finally:
        hooks.remove()
        model.zero_grad(set_to_none=True)
    return list(dict.fromkeys(reversed(order)))[::-1]  # the last writing counts


def as_tuple(inputs):
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: moved(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(moved(item, device) for item in value)
    return value


def free_memory():
    """Bytes of available memory; infinite if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return float("inf")


def input_tensor(text):
    """The tensor that "2,3,224,224" or "8,128:int64" describes."""
    shape, _, dtype = text.partition(":")
    try:
        sizes = [int(size) for size in shape.split(",")]
        kind = getattr(torch, dtype or "float32")
        if not isinstance(kind, torch.dtype) or min(sizes) < 0:
            raise ValueError
    except (ValueError, AttributeError):
        raise Problem(f'--input: "{text}" is not a shape such as 2,3,224,224 or 8,128:int64') from None
    try:
        return torch.rand(sizes).to(kind) if kind.is_floating_point else torch.zeros(sizes, dtype=kind)
    except (MemoryError, RuntimeError, TypeError, OverflowError) as error:
        raise Problem(f'--input: a tensor of "{text}" cannot be made: {error}') from error


def model_from(text, device):
    """Calls MODULE:FACTORY without arguments. Returns the model and its inputs; inputs are None if unknown."""
    module, _, factory = text.partition(":")
    if not module or not factory:
        raise Problem(f'--meta: "{text}" is not MODULE:FACTORY, such as torchvision.models:resnet50')
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), factory)
    except AttributeError:
        raise Problem(f"--meta: {module} has no {factory}") from None
    except Exception as error:  # noqa: BLE001  (of the module, which may raise anything)
        raise Problem(f"--meta: {module} cannot be imported: {type(error).__name__}: {error}") from error
    try:
        if device != "meta" or torch_release() < (2, 0):
            made = make()
        else:
            with torch.device("meta"):
                made = make()
    except Exception as error:  # noqa: BLE001
        raise Problem(f"--meta: {text} made no model: {type(error).__name__}: {error}") from error
    model, inputs = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(model, torch.nn.Module):
        raise Problem(f"--meta: {text} makes a {type(model).__name__}, not a torch.nn.Module")
    if inputs is None and isinstance(getattr(model, "dummy_inputs", None), dict):
        inputs = model.dummy_inputs
    return model, inputs


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="ddpsim_recorder.py",
        description="Parameters and gradient order of a model, without a GPU. To record a "
        "step, use the class Recorder in your training script: the top of this file shows how.",
    )
    parser.add_argument(
        "--meta",
        metavar="MODULE:FACTORY",
        required=True,
        help="function that returns the model, or the model and a tuple or dict of inputs",
    )
    parser.add_argument(
        "--input",
        metavar="SHAPE[:DTYPE]",
        action="append",
        default=[],
        help="an input, such as 2,3,224,224 or 8,128:int64; may be repeated",
    )
    parser.add_argument("--device", choices=("cpu", "meta"), help="default: cpu, or meta if memory is not sufficient")
    parser.add_argument("--name", help="name of the workload; default: the class of the model")
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    options = parser.parse_args(arguments)
    try:
        model, inputs = model_from(options.meta, options.device)
        if options.input:
            inputs = tuple(input_tensor(text) for text in options.input)
        document = record_meta(model, inputs, options.output, name=options.name, device=options.device)
    except Problem as problem:
        tell(f"ddpsim recorder: {' '.join(str(problem).split())}", sys.stderr)
        return 3
    tell(
        f"wrote {options.output}: {document['name']}, {len(document['parameters'])} parameters; "
        f"order of gradients: {document['provenance']['order']}",
        sys.stdout,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
