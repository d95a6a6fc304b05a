#!/usr/bin/env python3
"""Measures whole training steps without a profiler: their time, memory and number of launches.

It trains ten models in four forms. Four models also train under DDP, fully_shard and replicate with one rank, which
shows the cost of hooks and copies. Forms are the outer loop, so that even a short run covers every family of models."""

import time

import command
import models
from results import quantiles

FORMS = ("precise", "amp", "launch_bound", "channels_last_or_compiled")
WRAPPED = ("resnet50", "bert-base", "gpt2", "tinyllama-1.1b")
WRAPPERS = ("ddp", "fully_shard", "replicate")
STEPS, WARMUP = 10, 5
# The only form of models from other packages in a rehearsal. PyTorch's own small model takes every form.
REHEARSED_FORM = "channels_last_or_compiled"


class Stopwatch:
    """Marks times on the GPU's stream, or on the host's clock without a GPU. Times are in microseconds."""

    def __init__(self, torch, device):
        self.torch, self.cuda, self.marks = torch, device == "cuda", []

    def mark(self):
        if self.cuda:
            event = self.torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter_ns())

    def times(self):
        if not self.cuda:
            return [(mark - self.marks[0]) / 1000 for mark in self.marks]
        self.torch.cuda.synchronize()
        return [self.marks[0].elapsed_time(mark) * 1000 for mark in self.marks]


def wrapped(torch, module, wrapper, device):
    if wrapper == "ddp":
        return torch.nn.parallel.DistributedDataParallel(module, device_ids=[0] if device == "cuda" else None)
    if wrapper == "fully_shard":
        from torch.distributed.fsdp import fully_shard

        for child in module.modules():
            if isinstance(child, torch.nn.ModuleList):
                for block in child:
                    fully_shard(block)
        return fully_shard(module)
    if wrapper == "replicate":
        from torch.distributed._composable.replicate import replicate

        return replicate(module)
    return module


def launches_of(torch, step, device):
    """The number of kernels, copies and fills of one profiled step, and the time that the GPU was busy with them."""
    if device != "cuda":
        return {}
    activity = torch.profiler.ProfilerActivity.CUDA
    with torch.profiler.profile(activities=[activity]) as profiler:
        step()
        torch.cuda.synchronize()
    on_gpu = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return {"launches": len(on_gpu), "gpu_busy_us": round(sum(event.time_range.elapsed_us() for event in on_gpu), 1)}


def train(torch, model, form, wrapper, device, tiny, probe):
    cuda = device == "cuda"
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()  # left by earlier models
    torch.backends.cuda.matmul.allow_tf32 = form == "precise" and model.precise == "tf32"
    batch = model.small_batch if form == "launch_bound" else (2 if tiny else model.batch)
    module, loss, inputs = model.make(torch, device, batch, tiny)
    channels_last = form == "channels_last_or_compiled" and model.convolutions
    if channels_last:
        module = module.to(memory_format=torch.channels_last)
        inputs.data = inputs.contiguous(memory_format=torch.channels_last)
    module = wrapped(torch, module, wrapper, device)
    run = torch.compile(module) if form == "channels_last_or_compiled" and not channels_last and not tiny else module
    optimizer = models.optimizer_of(torch, model, module.parameters())
    watch, host = Stopwatch(torch, device), []

    def step():
        optimizer.zero_grad(set_to_none=True)
        watch.mark()
        with torch.autocast(device, torch.bfloat16, enabled=form != "precise"):
            value = loss(run)
        watch.mark()
        value.backward()
        watch.mark()
        optimizer.step()

    warmup, steps = (1, 1) if probe or tiny else (WARMUP, STEPS)
    for _ in range(warmup):
        step()
    if cuda:
        torch.cuda.synchronize()
    watch.marks.clear()
    for _ in range(steps + 1):
        begun = time.perf_counter()
        step()
        host.append(1e6 * (time.perf_counter() - begun))
    times = watch.times()
    parts = {"iteration_us": [], "forward_us": [], "backward_us": [], "optimizer_us": []}
    for begin in range(0, 3 * steps, 3):
        forward, backward, optimizer_begins, following = times[begin : begin + 4]
        parts["iteration_us"].append(following - forward)
        parts["forward_us"].append(backward - forward)
        parts["backward_us"].append(optimizer_begins - backward)
        parts["optimizer_us"].append(following - optimizer_begins)
    precision = model.precise if form == "precise" else "amp_bf16"
    row = {
        "model": model.name,
        "form": form,
        "precision": precision,
        "batch": batch,
        "wrapper": wrapper,
        "optimizer": model.optimizer,
        "channels_last": channels_last,
        "compiled": run is not module,
        "steps": steps,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        **{name: quantiles(values) for name, values in parts.items()},
        "host_us": quantiles(host[:-1]),
    }
    if model.estimate:
        word = {"fp32": ":fp32", "tf32": ":tf32", "amp_bf16": ":bf16"}[precision]
        row["estimate"] = f"{model.estimate}@{{gpu}}:b{batch}{model.words}{word}"
    if cuda:
        row["allocated_before_bytes"] = before
        row["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
        row["reserved_memory_bytes"] = torch.cuda.max_memory_reserved()
    watch.marks.clear()
    return {**row, **({} if probe else launches_of(torch, step, device))}


def items(probe, rehearse):
    known = models.REHEARSED if rehearse else models.MODELS
    by_name = {model.name: model for model in known}
    if probe:
        yield known[0], "precise", "none"
        yield by_name["bert-base"], "amp", "none"
        yield by_name["mixture-of-experts"], "amp", "none"
        for wrapper in WRAPPERS:
            yield known[0], "amp", wrapper
        return
    for form in FORMS:
        for model in known:
            if not rehearse or model is known[0] or form == REHEARSED_FORM:
                yield model, form, "none"
        if form == "amp":
            for name in (known[0].name,) if rehearse else WRAPPED:
                for wrapper in WRAPPERS:
                    yield by_name[name], "amp", wrapper


def main():
    part, _ = command.begin(__doc__)
    torch, device = command.with_torch(part)
    with command.ProcessGroup(torch, device):
        for model, form, wrapper in items(part.probe, part.rehearse):
            name = f"{model.name} {form}" + ("" if wrapper == "none" else f" {wrapper}")
            compiles = form == "channels_last_or_compiled" and not model.convolutions
            part.measure(
                name,
                lambda: train(torch, model, form, wrapper, device, part.rehearse, part.probe),  # noqa: B023
                limit=60 if compiles else 25,
            )
            command.forget(torch, device)
    part.end()


if __name__ == "__main__":
    main()
