#!/usr/bin/env python3
"""Records one training step of a PyTorch model as a ddpsim workload.

    from ddpsim_recorder import Recorder
    recorder = Recorder(model, "step.json")     # the model you call: plain, or wrapped in DDP
    for batch in loader:
        ...                                     # forward, backward, optimizer.step()
        recorder.step()

After 10 steps of warm-up it measures 20, every other one recorded, writes step.json, says what it saw and what it cost,
and takes itself out. It needs torch (1.13 or newer) and nothing else; copy this one file next to your script.
It never raises into training: when something stands in its way it says so once and gets out of the way.

Without a GPU at hand, names, shapes and the order of gradients:

    python3 ddpsim_recorder.py --meta torchvision.models:resnet50 --input 2,3,224,224 -o resnet50.json

What is measured
  ready      Per parameter, when its gradient was written. A hook runs right after AccumulateGrad; on a GPU it enqueues a
             timing event on the stream of that backward (nothing waits; events are read once, at the end), on a CPU
             it reads the clock. Time zero is the start of backward: the first node to run after `backward()`,
             seen by a hook on the loss.
             torch >= 2.1: register_post_accumulate_grad_hook, which runs inside AccumulateGrad and so before DDP's
             hook. Before 2.1: a hook on the AccumulateGrad node; hooks of a node run in the order they were
             registered, so under DDP (which comes first) it would see the gradient only after the copy into the bucket.
             There a hook on the parameter stands in: it runs just before the gradient is stored, so that what
             AccumulateGrad itself takes (nothing where .grad was None) counts to the copy.
  copied     Under DDP also when the copy into the bucket was enqueued and done: a hook on the node, after DDP's.
  backward   To the end of `backward()`; under DDP to the last copy, the rest being exposed communication (with
             other ranks) or copies out (alone).
  forward    From the call of the model to the start of backward, so the loss is part of it. optimizer: from the end of
             backward to `recorder.step()`. iteration: the step *without* the recorder, median of the steps between.
  accumulation: the last forward and backward of a step are recorded; the others are taken out of the iteration.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import gc
import importlib
import json
import os
import sys
import time

import torch

VERSION = "1"
DTYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
          "complex64", "complex128")
MOST_NODES = 1_000_000  # of the autograd graph, walked once while warming up


class Problem(Exception):
    """A reason to give up, in one line a user can act on."""


# ---------------------------------------------------------------- what is recorded, on which clock


class HostClock:
    """A CPU computes where it is called: a mark is the time it is made at."""

    name = "perf_counter"
    mark = staticmethod(time.perf_counter_ns)

    def anchor(self):
        pass

    def us(self, begin, end):
        return (end - begin) / 1000

    def host_us(self, begin, host_ns):
        return (host_ns - begin) / 1000


class CudaClock:
    """A mark is an event on the current stream: it is reached when the work enqueued before it is done."""

    name = "CUDA events"

    def __init__(self, device):
        self._device = device
        self._anchors = []

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def anchor(self):
        """Waits for the GPU; the first and the last anchor say where host times lie on the GPU's clock."""
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
    """One forward and backward; a step has several where gradients are accumulated. Marks, not times."""

    def __init__(self):
        self.forward = None   # the model is called
        self.module = None    # DDP calls the module inside
        self.backward = None  # the first node of backward runs
        self.end = None       # backward() returns
        self.written = []     # (parameter, mark, host ns) in the order of the hooks
        self.copied = []      # (parameter, mark), DDP only


class Step:
    def __init__(self, recorded):
        self.recorded = recorded
        self.begin = self.end = None
        self.passes = []
        self.broken = False  # an exception came out of backward


# ---------------------------------------------------------------- the model


def torch_release():
    """(2, 1) of "2.1.0a0+git1234"."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in torch.__version__.split(".")[:2])


def class_names(module):
    return {base.__name__ for base in type(module).__mro__}


def is_ddp(module):
    return "DistributedDataParallel" in class_names(module)


def without_compile(module):
    return getattr(module, "_orig_mod", module)


class Model:
    """The parameters DDP would see, in its order, and the module whose call is the forward."""

    def __init__(self, model):
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"expected a torch.nn.Module, got {type(model).__name__}")
        refuse_sharded(model)
        self.ddp = self._find_ddp(model)
        self.called = self.ddp if self.ddp is not None and without_compile(model) is not self.ddp else model
        self.inside = self.ddp.module if self.ddp is not None else model
        ignored = set(getattr(without_compile(self.inside), "_ddp_params_and_buffers_to_ignore", ()))
        self.names, self.parameters, self.ignored, self.sparse, seen = [], [], [], [], {}
        self.tied, self.frozen = [], []
        for prefix, module in self.inside.named_modules():
            for leaf, parameter in module.named_parameters(recurse=False):
                full = f"{prefix}.{leaf}"  # spelled as DDP compares it with the ignored names
                name = (f"{prefix}.{leaf}" if prefix else leaf).replace("_orig_mod.", "")
                if id(parameter) in seen:
                    if seen[id(parameter)] != name:
                        self.tied.append(f"{name} = {seen[id(parameter)]}")
                    continue
                seen[id(parameter)] = name
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

    @staticmethod
    def _find_ddp(model):
        plain = without_compile(model)
        if is_ddp(plain):
            return plain
        if any(is_ddp(module) for module in model.modules()):
            raise Problem("a part of this model is wrapped in DistributedDataParallel: give the recorder that part")
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return None
        # Frameworks wrap what they were given and keep the wrapper to themselves.
        wrapper = torch.nn.parallel.DistributedDataParallel
        for candidate in gc.get_objects():  # asked for its type alone: objects of others may react to more
            if issubclass(type(candidate), wrapper) and without_compile(candidate.module) is plain:
                return candidate
        return None

    def device(self):
        devices = sorted({str(parameter.device) for parameter in self.parameters})
        if len(devices) > 1:
            raise Problem(f"parameters on {', '.join(devices)}: clocks of several devices cannot be compared; "
                          "record a rank that has one")
        device = self.parameters[0].device
        if device.type not in ("cpu", "cuda"):
            raise Problem(f"parameters on {device}: only CPU and CUDA (or ROCm) can be timed")
        return device

    def gradient_bytes(self):
        return sum(parameter.numel() * parameter.element_size() for parameter in self.parameters)

    def parameter_entries(self):
        entries = []
        for i, parameter in enumerate(self.parameters):
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
            facts["frozen_parameters"] = f"{len(self.frozen)} left out, they have no gradient: {some(self.frozen)}"
        if self.tied:
            facts["tied_parameters"] = f"one gradient each: {some(self.tied)}"
        return facts


def refuse_sharded(model):
    for module in model.modules():
        names = class_names(module)
        if names & {"FullyShardedDataParallel", "FSDPModule", "XlaFullyShardedDataParallel"}:
            raise Problem("FSDP shards parameters and reduces them unit by unit, without DDP's buckets; record the plain "
                          "model, before it is sharded")
        if names & {"DeepSpeedEngine", "DataParallel"}:
            raise Problem(f"{type(module).__name__} reduces gradients in its own way, without DDP's buckets; record the "
                          "module inside it")
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
    """Size of dimension 0 of the first tensor that has one; None where there is none."""
    for tensor in tensors_in(values):
        if tensor.dim() > 0 and tensor.shape[0] > 0:
            return int(tensor.shape[0])
    return None


def autograd_nodes(tensors):
    """Names of the kinds of nodes behind these tensors."""
    names, seen = set(), set()
    queue = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    while queue and len(seen) < MOST_NODES:
        node = queue.pop()
        if node in seen:
            continue
        seen.add(node)
        names.add(type(node).__name__)
        queue += [child for child, _ in node.next_functions if child is not None]
    return names


def autocast_dtype(device_type):
    """torch.bfloat16 where autocast is on, None where it is off, whichever way this torch asks."""
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
    """Calls written(i) when the gradient of parameter i was written, copied(i) when it is in its bucket."""

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


# ---------------------------------------------------------------- the recorder


class Recorder:
    """Writes `path` (with several ranks, one file each: the rank is added to its name).

    warmup, steps: 2 * `steps` steps are measured after `warmup` ones, every other one recorded.
    batch_size: samples of one forward on this rank; by default dimension 0 of the model's first tensor.
    name: of the workload; by default the class of the model.
    """

    def __init__(self, model, path, *, warmup=10, steps=10, batch_size=None, name=None):
        self.finished = False
        self.problem = None  # why it gave up, if it did
        self.path = str(path)
        self._warmup, self._steps = max(2, int(warmup)), max(1, int(steps))
        self._batch, self._name = batch_size, name
        self._calls = 0
        self._measured = []
        self._step = self._pass = None
        self._in_backward = False
        self._hooks, self._patched = [], None
        self._kind = ""
        self._autocast, self._nodes = None, set()
        self._notes = []
        self._rank, self._world = 0, 1
        self._safely(self._prepare, model)
        atexit.register(self.close)

    def step(self):
        """Call once per training step, after optimizer.step()."""
        if not self.finished:
            self._safely(self._next_step)

    def close(self):
        """Ends early: writes what was recorded so far, or says that it was too little."""
        atexit.unregister(self.close)
        if not self.finished:
            self._safely(self._close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Whatever goes wrong in here stays in here.

    def _safely(self, function, *arguments):
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)

    def _give_up(self, error):
        if self.finished:
            return
        self.finished = True
        self.problem = str(error) if isinstance(error, Problem) else f"{type(error).__name__}: {error}"
        self._say(f"gave up, training goes on: {' '.join(self.problem.split())}")
        try:
            self._take_out()
        except Exception:  # noqa: BLE001
            pass

    def _say(self, text):
        rank = f" (rank {self._rank})" if self._world > 1 else ""
        print(f"ddpsim recorder{rank}: {text}", file=sys.stderr, flush=True)

    def _prepare(self, model):
        self._model = Model(model)
        device = self._model.device()
        self._clock = CudaClock(device) if device.type == "cuda" else HostClock()
        self._device = device
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            group = self._model.ddp.process_group if self._model.ddp is not None else None
            self._rank = distributed.get_rank(group)
            self._world = distributed.get_world_size(group)
        if self._world > 1:
            stem, ending = os.path.splitext(self.path)
            self.path = f"{stem}-rank{self._rank}{ending}"
            if self._model.ddp is None:
                self._note(f"{self._world} ranks run, but no DistributedDataParallel wraps this model: it is recorded as "
                           "if alone")
        self._name = self._name or type(without_compile(self._model.inside)).__name__

    def _note(self, text):
        if text not in self._notes:
            self._notes.append(text)

    # Steps: warm-up, then plain and recorded ones in turn.

    def _next_step(self):
        now = self._clock.mark()
        if self._step is not None:
            self._step.end = now
            self._measured.append(self._step)
            self._step = None
        self._take_out()
        self._calls += 1
        if len(self._measured) == 2 * self._steps:
            self._finish()
            return
        if self._calls == 1:
            self._clock.anchor()
        if self._calls == self._warmup - 1:
            self._put_in_survey()
        if self._calls >= self._warmup:
            step = Step(recorded=len(self._measured) % 2 == 1)
            if step.recorded:
                self._put_in_hooks()
            self._step = step
            step.begin = self._clock.mark()

    def _close(self):
        self._step = None
        self._take_out()
        if any(step.recorded for step in self._measured):
            self._finish()
        else:
            raise Problem(f"only {self._calls} steps were seen, {self._warmup + 2} are needed; nothing was written")

    def _take_out(self):
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self._pass, self._in_backward = None, False
        if self._patched is not None:
            ours, original = self._patched
            if torch.autograd.backward is ours:
                torch.autograd.backward = original
            self._patched = None

    # Warming up: one look at what is to be recorded.

    def _put_in_survey(self):
        def before(_, arguments, keywords=None):
            if torch.is_grad_enabled() and not self._batch:
                self._batch = first_batch(arguments, keywords or {})
            note_autocast()

        def note_autocast(*_):
            self._autocast = self._autocast or autocast_dtype(self._device.type)

        def after(_, __, output):
            if torch.is_grad_enabled():
                self._batch = self._batch or first_batch(output)
                self._nodes |= autograd_nodes(list(tensors_in(output)))

        called = self._model.called
        self._hooks.append(register_pre_hook(called, self._guarded(before)))
        self._hooks.append(called.register_forward_hook(self._guarded(after)))
        # Autocast may begin inside the model's own forward.
        for module in self._model.inside.modules():
            if next(module.children(), None) is None and next(module.parameters(), None) is not None:
                if not self._is_compiled_module():
                    self._hooks.append(module.register_forward_pre_hook(self._guarded(note_autocast)))
                break

    def _is_compiled_module(self):
        return any(hasattr(m, "_orig_mod") or getattr(m, "_compiled_call_impl", None) is not None
                   for m in self._model.called.modules())

    def _guarded(self, function):
        """For torch to call: returns None, never raises."""
        def hook(*arguments):
            if not self.finished:
                self._safely(function, *arguments)
        return hook

    # A recorded step.

    def _put_in_hooks(self):
        ddp = self._model.ddp
        hooks = GradientHooks(self._model, self._written, self._copied if ddp is not None else None)
        self._hooks.append(hooks)
        self._kind = hooks.kind
        self._hooks.append(self._model.called.register_forward_pre_hook(self._guarded(self._forward_begins)))
        if ddp is not None:
            self._hooks.append(ddp.module.register_forward_pre_hook(self._guarded(self._module_begins)))
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors, *arguments, **keywords):
            if self.finished or self._step is None or self._in_backward:  # reentrant checkpoints nest
                return original(tensors, *arguments, **keywords)
            self._in_backward = True
            root = self._safely(self._backward_begins, tensors)
            try:
                result = original(tensors, *arguments, **keywords)
            except BaseException:
                self._in_backward = False
                if self._step is not None:
                    self._step.broken = True
                raise
            self._in_backward = False
            if not self.finished:
                self._safely(self._backward_ends, root)
            return result

        torch.autograd.backward = backward
        self._patched = (backward, original)

    def _written(self, i):
        clock, now = self._clock, time.perf_counter_ns

        def hook(*_):
            current = self._pass
            if current is None:
                return
            try:
                current.written.append((i, clock.mark(), now()))
            except Exception as error:  # noqa: BLE001
                self._give_up(error)
        return hook

    def _copied(self, i):
        clock = self._clock

        def hook(*_):
            current = self._pass
            if current is None:
                return
            try:
                current.copied.append((i, clock.mark()))
            except Exception as error:  # noqa: BLE001
                self._give_up(error)
        return hook

    def _new_pass(self):
        if self._device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            raise Problem("a CUDA graph is being captured: its replays run no hooks; record without graphs")
        self._pass = Pass()
        self._step.passes.append(self._pass)

    def _forward_begins(self, *_):
        if self._in_backward or not torch.is_grad_enabled():  # a checkpoint's recomputation, an evaluation
            return
        if self._pass is None or self._pass.backward is not None:
            self._new_pass()
        if self._pass.forward is None:
            self._pass.forward = self._clock.mark()

    def _module_begins(self, *_):
        if self._pass is not None and self._pass.backward is None and self._pass.module is None:
            self._pass.module = self._clock.mark()

    def _backward_begins(self, tensors):
        if self._pass is None or self._pass.backward is not None:
            self._new_pass()
        current = self._pass
        current.backward = self._clock.mark()  # stands where no loss can be hooked
        seen = []

        def first_node_runs(_):
            if not seen:
                seen.append(True)
                current.backward = self._clock.mark()

        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        return [root.register_hook(self._guarded(first_node_runs)) for root in roots
                if root.requires_grad and root.grad_fn is not None]

    def _backward_ends(self, roots):
        self._pass.end = self._clock.mark()
        for root in roots or ():
            root.remove()

    # From marks to times.

    def _times(self, step):
        """Times of a recorded step in microseconds; None where its backward was not seen whole."""
        passes = [one for one in step.passes if one.written and one.end is not None]
        if step.broken or not passes:
            return None
        last, us = passes[-1], self._clock.us
        zero = last.backward
        latest = {}  # a parameter used in several checkpointed segments is written more than once
        for i, mark, host in last.written:
            latest.pop(i, None)
            latest[i] = (mark, host)
        copied = {i: us(zero, mark) for i, mark in last.copied}
        ready, reached = [], 0.0
        for i, (mark, host) in latest.items():
            reached = max(reached, us(zero, mark))  # events of two streams may be out of order by a little
            ready.append((i, reached, max(copied[i], reached) if i in copied else None,
                          self._clock.host_us(zero, host)))
        end = max(us(zero, last.end), reached)
        backward = max([reached] + [entry[2] for entry in ready if entry[2] is not None]) if copied else end
        return {
            "ready": ready,
            "order": tuple(latest),
            "backward": backward,
            "tail": max(0.0, end - backward),
            "forward": us(last.forward, zero) if last.forward is not None else None,
            "buffers": us(last.forward, last.module) if last.forward and last.module else None,
            "optimizer": us(last.end, step.end),
            "elsewhere": sum(us(one.forward or one.backward, one.end) for one in passes[:-1]),
            "passes": len(passes),
            "again": len(last.written) - len(latest),
        }

    def _finish(self):
        self._clock.anchor()
        us = self._clock.us
        plain = [us(step.begin, step.end) for step in self._measured if not step.recorded]
        steps = [(us(step.begin, step.end), self._times(step)) for step in self._measured if step.recorded]
        steps = [(period, times) for period, times in steps if times is not None]
        if not steps:
            raise Problem("no gradient hook ran in the recorded steps: is this the model that is trained, does backward() "
                          "run outside of CUDA graphs, and is recorder.step() called once per step? Nothing was written")
        times = lower_median(steps, key=lambda entry: entry[1]["backward"])[1]
        self._describe(times, [entry[1] for entry in steps])
        document = self._document(times, steps, plain)
        write_document(self.path, document)
        self.finished = True
        self._summarise(times, steps, plain)

    def _describe(self, times, all_times):
        model = self._model
        if self._is_compiled_module() or any("Compiled" in name for name in self._nodes):
            self._note("the backward is compiled: gradients of one graph are seen together when it ends, so ready times "
                       "are no finer than that and no bucket cap can be recommended from them")
        if times["again"] and "CheckpointFunctionBackward" in self._nodes:
            self._note(f"{times['again']} gradients were written again by reentrant checkpoints; the last writing counts")
        elif times["again"]:
            self._note(f"{times['again']} gradients were written more than once in a backward; the last writing counts")
        unused = [model.names[i] for i in range(len(model.names)) if i not in set(times["order"])]
        if unused:
            self._note(f"{len(unused)} parameters got no gradient: {some(unused)}")
        others = sum(one["order"] != times["order"] for one in all_times)
        if others:
            self._note(f"the order of gradients was another in {others} of {len(all_times)} steps")
        if times["forward"] is None:
            self._note("the model was not called through the module given to the recorder: no forward time")
        if not self._batch:
            self._note("the batch size was not seen: pass batch_size=")
        if model.ddp is not None and self._world > 1:
            self._note(f"recorded beside {self._world - 1} other ranks: exposed_us holds waits and copies out alike, and "
                       "compute slowed by the collectives is recorded slow; one rank alone records cleaner")

    def _document(self, times, steps, plain):
        model, ddp = self._model, self._model.ddp
        plain_us = lower_median(plain) if plain else None
        recorded = {"ddp_hooks": ddp is not None, "world_size": self._world, "nccl_kernels": 0}
        provenance = {
            "source": "ddpsim_recorder.py " + VERSION,
            "kind": "recorder",
            "clock": self._clock.name,
            "ready": self._kind,
            "steps": f"the lower median by backward of {len(steps)} recorded steps",
            "precision": self._precision_text(),
        }
        if plain_us is not None:
            with_us = lower_median([period for period, _ in steps])
            provenance["step_us"] = f"{number(plain_us)} without the recorder, {number(with_us)} with it"
        if self._device.type == "cuda":
            provenance["gpu_name"] = torch.cuda.get_device_name(self._device)
        if self._world > 1:
            provenance["rank"] = str(self._rank)
        if times["passes"] > 1:
            provenance["accumulation"] = (f"{times['passes']} backwards a step: the last is recorded, the others' "
                                          f"{number(times['elsewhere'])} us are not in the iteration")
        provenance.update(model.provenance())
        if ddp is not None:
            provenance["ddp_options"] = ddp_options(ddp) or "defaults"
            buckets = ddp_buckets(ddp)
            if buckets:
                provenance["bucket_bytes"] = " ".join(map(str, buckets))
                if self._device.type == "cuda" and self._world > 1:
                    broadcasts = len(model.buffer_entries()) if getattr(ddp, "broadcast_buffers", False) else 0
                    recorded["nccl_kernels"] = len(buckets) + broadcasts
            if self._world > 1:
                recorded["exposed_us"] = times["tail"]
            else:
                recorded["finalize_us"] = times["tail"]
            if times["buffers"] is not None and model.buffers and getattr(ddp, "broadcast_buffers", False):
                recorded["buffer_broadcast_us"] = times["buffers"]
        for k, note in enumerate(self._notes):
            provenance[f"note_{k + 1}"] = note

        document = head_of_document(self._name)
        document["gpu"] = gpu_model(self._device)
        document["precision"] = precision_name(model.dtypes, self._autocast)
        if self._batch:
            document["batch_per_gpu"] = int(self._batch)
            document["samples_per_step"] = int(self._batch) * self._world * times["passes"]
        document["torch"] = str(torch.__version__)
        document["parameter_order"] = "definition"
        document["parameters"] = model.parameter_entries()
        if times["forward"] is not None:
            document["forward"] = {"duration_us": times["forward"]}
        ready = []
        for i, at, copied, _ in times["ready"]:
            entry = {"parameter": i, "at_us": at}
            if copied is not None:
                entry["copied_at_us"] = copied
            ready.append(entry)
        document["backward"] = {"duration_us": times["backward"], "ready": ready}
        document["optimizer"] = {"duration_us": times["optimizer"]}
        if plain_us is not None:
            document["iteration"] = {"duration_us": plain_us - times["elsewhere"]}
        document["host"] = {"ready_us": [host for _, _, _, host in times["ready"]]}
        if model.buffers:
            document["buffers"] = model.buffer_entries()
        document["recorded_with"] = recorded
        document["provenance"] = provenance
        return document

    def _precision_text(self):
        text = "parameters " + ", ".join(dict.fromkeys(self._model.dtypes))
        text += f", autocast {str(self._autocast).replace('torch.', '')}" if self._autocast is not None else ""
        if self._device.type == "cuda":
            text += (f", TF32 {'on' if torch.backends.cuda.matmul.allow_tf32 else 'off'} in products, "
                     f"{'on' if torch.backends.cudnn.allow_tf32 else 'off'} in convolutions")
        return text

    def _summarise(self, times, steps, plain):
        for note in self._notes:
            self._say("note: " + note)
        if self._rank != 0:
            return
        model = self._model
        backwards = sorted(one["backward"] for _, one in steps)
        spread = 100 * (backwards[-1] / backwards[0] - 1) if backwards[0] > 0 else 0
        forward = f"forward {times['forward'] / 1000:.4g} ms, " if times["forward"] is not None else ""
        self._say(f"wrote {self.path}: {self._name}, {len(model.parameters)} parameters, "
                  f"{model.gradient_bytes() / 2**20:.1f} MiB of gradients, {gpu_model(self._device)}, "
                  f"{precision_name(model.dtypes, self._autocast)}, batch {self._batch or 'unknown'}")
        self._say(f"{forward}backward {times['backward'] / 1000:.4g} ms (lower median of {len(steps)}, {spread:.1f} % from "
                  f"fastest to slowest), optimizer {times['optimizer'] / 1000:.4g} ms")
        if not plain:
            return
        without, with_it = lower_median(plain), lower_median([period for period, _ in steps])
        self._say(f"step without the recorder {without / 1000:.4g} ms, with it {with_it / 1000:.4g} ms "
                  f"({100 * (with_it / without - 1):+.1f} %)")
        major, minor = torch_release()
        options = [f"--torch {major}.{minor}"]
        if self._device.type == "cpu":
            options.append("--compute-scale 1")
        if model.ddp is not None:
            options.append(ddp_options(model.ddp))
        if times["passes"] > 1:
            options.append(f"--accumulate {times['passes']}")
        if self._world > 1:  # today's step on today's cluster
            options.append(f"--measured-step {without / 1000:.4g}ms")
        self._say(" ".join(["next: ddpsim tune", self.path, "CLUSTER", *filter(None, options)]))


def register_pre_hook(module, hook):
    try:
        return module.register_forward_pre_hook(hook, with_kwargs=True)  # 2.0
    except TypeError:
        return module.register_forward_pre_hook(hook)


def lower_median(values, key=None):
    return sorted(values, key=key)[(len(values) - 1) // 2]


def ddp_options(ddp):
    """How ddpsim is told what this DistributedDataParallel was told."""
    options = []
    cap = getattr(ddp, "bucket_bytes_cap", None)
    default = getattr(ddp, "bucket_bytes_cap_default", cap == 25 * 2**20)  # 2.5 knows whether it was given
    if cap is not None and not default:
        mib = cap / 2**20  # exact, so that the same bytes come out again
        options.append(f"--bucket-cap-mb {int(mib) if mib == int(mib) else mib!r}")
    for attribute, wanted, option in (("find_unused_parameters", True, "--find-unused-parameters"),
                                      ("static_graph", True, "--static-graph"),
                                      ("gradient_as_bucket_view", True, "--gradient-as-bucket-view"),
                                      ("broadcast_buffers", False, "--no-broadcast-buffers")):
        if getattr(ddp, attribute, not wanted) == wanted:
            options.append(option)
    return " ".join(options)


def ddp_buckets(ddp):
    """Bytes of the buckets in launch order, from DDP's own log."""
    try:
        log = ddp._get_ddp_logging_data()
        sizes = log.get("rebuilt_bucket_sizes") or log.get("bucket_sizes") or ""
        return [int(size) for size in sizes.replace(",", " ").split()]
    except Exception:  # noqa: BLE001  (a private interface)
        return []


# ---------------------------------------------------------------- the file


def head_of_document(name):
    return {"schema": "ddpsim.workload/1", "name": name}


def gpu_model(device):
    """"V100" of "Tesla V100-SXM2-16GB", as ddpsim compares GPUs by model."""
    if device.type != "cuda":
        return "CPU"
    name = torch.cuda.get_device_name(device)
    words = [word for part in name.split() for word in part.split("-")]
    for i, word in enumerate(words):
        if word in ("NVIDIA", "Tesla", "GeForce", "Quadro", "RTX", "GTX", "AMD", "Instinct", "Graphics"):
            continue
        return word + (words[i + 1] if words[i + 1:i + 2] in (["Ti"], ["SUPER"]) else "")
    return name


def number(value):
    """As ddpsim prints it: no trailing zeros; a nanosecond is the finest a clock gives."""
    if isinstance(value, float):
        text = f"{value:.3f}".rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text
    return json.dumps(value, ensure_ascii=False)


def one_line(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {one_line(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(one_line(item) for item in value) + "]"
    return number(value)


def document_text(value, indent="", key=""):
    """Laid out as `ddpsim import` writes it: a line per parameter and per gradient."""
    entries = None
    if isinstance(value, dict) and key in ("", "backward", "host", "recorded_with", "provenance"):
        entries = [f"{json.dumps(name)}: {document_text(item, indent + '  ', name)}" for name, item in value.items()]
        brackets = "{}"
    elif isinstance(value, list):
        entries = [one_line(item) for item in value]
        brackets = "[]"
    if not entries:
        return one_line(value)
    lines = ",\n".join(f"{indent}  {entry}" for entry in entries)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"


def write_document(path, document):
    """Beside, then renamed: there is never half a file."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write(document_text(document) + "\n")
        os.replace(beside, path)
    except OSError as error:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise Problem(f"{path} cannot be written: {error.strerror}") from error


# ---------------------------------------------------------------- without a GPU: names, shapes, order


def record_meta(model, inputs=None, path=None, *, name=None, device=None):
    """Names, shapes and the order of gradients, without times. Returns the document; writes it where `path` is given.

    inputs: a tensor, or a tuple or dict of arguments for the model; None records names and shapes alone. The order is
    seen in one real backward on the CPU, or, where its memory does not suffice (or device="meta"), in one on torch's
    meta device, which computes shapes alone. All outputs are summed to make a loss.
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
        document["backward"] = {"duration_us": 0, "ready": [{"parameter": i, "at_us": 0} for i in order]}
    if described.buffers:
        document["buffers"] = described.buffer_entries()
    document["recorded_with"] = {"ddp_hooks": False, "world_size": 1, "nccl_kernels": 0}
    document["provenance"] = {"source": "ddpsim_recorder.py " + VERSION, "kind": "parameters and order, no times",
                              "order": how, **described.provenance()}
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
    except (MemoryError, RuntimeError) as error:
        if device is not None or not ("memory" in str(error) or isinstance(error, MemoryError)):
            raise Problem(f"one forward and backward failed: {error}") from error
        return order_on_meta(model, inputs, "memory")


def order_on_meta(model, inputs, because):
    reason = ", memory not sufficing for the CPU" if because else ""
    try:
        order = one_backward(model.to("meta"), moved(inputs, "meta"))
        return order, "one backward on the meta device" + reason
    except (NotImplementedError, RuntimeError, TypeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return None, f"not recorded{reason}: the meta device of torch {torch.__version__} cannot run it ({first})"


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
    """Bytes the machine can still give, where it says so."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return float("inf")


def input_tensor(text):
    """"2,3,224,224" or "8,128:int64"."""
    shape, _, dtype = text.partition(":")
    try:
        sizes = [int(size) for size in shape.split(",")]
        kind = getattr(torch, dtype or "float32")
        if not isinstance(kind, torch.dtype) or min(sizes) < 0:
            raise ValueError
    except (ValueError, AttributeError):
        raise Problem(f'--input: "{text}" is not a shape such as 2,3,224,224 or 8,128:int64') from None
    return torch.rand(sizes).to(kind) if kind.is_floating_point else torch.zeros(sizes, dtype=kind)


def model_from(text, device):
    """MODULE:FACTORY, called without arguments: a model, or a model and its inputs."""
    module, _, factory = text.partition(":")
    if not module or not factory:
        raise Problem(f'--meta: "{text}" is not MODULE:FACTORY, such as torchvision.models:resnet50')
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), factory)
    except ImportError as error:
        raise Problem(f"--meta: {module} cannot be imported: {error}") from error
    except AttributeError:
        raise Problem(f"--meta: {module} has no {factory}") from None
    if device != "meta" or torch_release() < (2, 0):
        made = make()
    else:
        with torch.device("meta"):
            made = make()
    model, inputs = made if isinstance(made, tuple) else (made, None)
    if not isinstance(model, torch.nn.Module):
        raise Problem(f"--meta: {text} makes a {type(model).__name__}, not a torch.nn.Module")
    if inputs is None and isinstance(getattr(model, "dummy_inputs", None), dict):
        inputs = model.dummy_inputs
    return model, inputs


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="ddpsim_recorder.py", description="Parameters and gradient order of a model, without a GPU. To record a "
        "step, use the class Recorder in your training script: the top of this file shows how.")
    parser.add_argument("--meta", metavar="MODULE:FACTORY", required=True,
                        help="makes the model when called, or the model and a tuple or dict of inputs")
    parser.add_argument("--input", metavar="SHAPE[:DTYPE]", action="append", default=[],
                        help="an input, such as 2,3,224,224 or 8,128:int64; may be repeated")
    parser.add_argument("--device", choices=("cpu", "meta"), help="default: cpu, or meta where memory does not suffice")
    parser.add_argument("--name", help="of the workload; default: the class of the model")
    parser.add_argument("-o", "--output", metavar="FILE", required=True)
    options = parser.parse_args(arguments)
    try:
        model, inputs = model_from(options.meta, options.device)
        if options.input:
            inputs = tuple(input_tensor(text) for text in options.input)
        document = record_meta(model, inputs, options.output, name=options.name, device=options.device)
    except Problem as problem:
        print(f"ddpsim recorder: {problem}", file=sys.stderr)
        return 3
    print(f"wrote {options.output}: {document['name']}, {len(document['parameters'])} parameters; "
          f"order of gradients: {document['provenance']['order']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
