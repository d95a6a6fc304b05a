#!/usr/bin/env python3
"""Compares the recorder with torch.profiler in the same step, and measures the cost of recording.

Each model is trained twice. The first time it is only recorded, which gives a workload to keep. The second time one
step is recorded and profiled, and `ddpsim import` reads the trace. The ready times of each gradient are compared, as a
share of the backward; the limit is 2 %."""

import json
import pathlib
import statistics
import sys

import command
import models
from programs import Programs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "traces/recorder"))
RECORDED = ("resnet50", "bert-base", "gpt2", "vit_b_16")
TARGET_PERCENT = 2  # of the backward pass


def host_times(events):
    """Ready times without a GPU: the end of each AccumulateGrad of the first backward, after the start of its first
    node."""
    node = "autograd::engine::evaluate_function"
    begin = min(event.time_range.start for event in events if event.name.startswith(node))
    ends = [
        end
        for _, end in sorted(
            (event.time_range.start, event.time_range.end)
            for event in events
            if event.name == "torch::autograd::AccumulateGrad"
        )
    ]
    # The profiler saw two steps; take the first.
    return [end - begin for end in ends[: len(ends) // 2]]


def imported_times(programs, trace, workload):
    programs.run(programs.ddpsim, "import", trace, "-o", workload, "--iteration", "0", timeout=40)
    return [entry["at_us"] for entry in json.loads(workload.read_text(encoding="utf-8"))["backward"]["ready"]]


def recorded(torch, programs, model, device, folder, tiny):
    from ddpsim_recorder import Recorder

    module, loss, _ = model.make(torch, device, 2 if tiny else model.batch, tiny)
    optimizer = models.optimizer_of(torch, model, module.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            value = loss(module)
        value.backward()
        optimizer.step()

    kept = folder / f"{model.name}.json"
    recorder = Recorder(
        module, str(kept), name=model.name, batch_size=model.batch, warmup=2 if tiny else 5, steps=2 if tiny else 10
    )
    while not recorder.finished:
        step()
        recorder.step()
    watched_file = folder / f"{model.name}-profiled.json"
    watched = Recorder(module, str(watched_file), name=model.name, batch_size=model.batch, warmup=3, steps=1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    # Steps 0 to 3 warm up. Step 4 is recorded, and step 5 marks its end in the trace.
    with torch.profiler.profile(
        activities=activities, record_shapes=True, schedule=torch.profiler.schedule(wait=2, warmup=2, active=2)
    ) as profiler:
        for _ in range(6):
            step()
            watched.step()
            profiler.step()
    document = json.loads(watched_file.read_text(encoding="utf-8"))
    ready = [entry["at_us"] for entry in document["backward"]["ready"]]
    if device == "cuda":
        trace = folder / f"{model.name}-trace.json.gz"
        profiler.export_chrome_trace(str(trace))
        profiled = imported_times(programs, trace, folder / f"{model.name}-imported.json")
    else:
        profiled = host_times(profiler.events())
    if len(profiled) != len(ready):
        raise RuntimeError(f"{len(ready)} gradients were recorded, but {len(profiled)} were profiled")
    backward = document["backward"]["duration_us"]
    errors = sorted(100 * abs(a - b) / backward for a, b in zip(ready, profiled))
    alone = json.loads(kept.read_text(encoding="utf-8"))
    return {
        "model": model.name,
        "batch": model.batch,
        "gradients": len(errors),
        "backward_us": backward,
        "median_percent": round(statistics.median(errors), 3),
        "p90_percent": round(errors[-(-9 * len(errors) // 10) - 1], 3),
        "worst_percent": round(errors[-1], 3),
        "target_percent": TARGET_PERCENT,
        "recorded": {
            "forward_us": alone["forward"]["duration_us"],
            "backward_us": alone["backward"]["duration_us"],
            "optimizer_us": alone["optimizer"]["duration_us"],
            "iteration_us": alone["iteration"]["duration_us"],
            "provenance": alone["provenance"],
        },
    }


def main():
    part, given = command.begin(__doc__)
    torch, device = command.with_torch(part)
    folder = pathlib.Path(given.out).with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    programs = Programs(given.programs)
    by_name = {model.name: model for model in (models.REHEARSED if given.rehearse else models.MODELS)}
    names = ("perceptron", *(name for name in ("gpt2",) if name in by_name)) if given.rehearse else RECORDED
    for name in names[:1] if part.probe else names:
        part.measure(name, lambda: recorded(torch, programs, by_name[name], device, folder, given.rehearse))  # noqa: B023
        command.forget(torch, device)
    part.end()


if __name__ == "__main__":
    main()
