"""Imports exported plans, wraps models with them and measures them, for test_export.py; one of RANKS ranks.

    main(FOLDER, RANK, RANKS, "plans", FILE…)      wraps with each module, trains, prints the arguments that DDP got

    main(FOLDER, RANK, RANKS, "compare", FILE)     compares current and proposed setting with and without a difference

Rank 0 prints lines of JSON."""

import gc
import importlib.util
import json
import os
import pathlib
import random
import sys
import types

import torch
import torch.distributed as dist
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import ab  # noqa: E402


def imported(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 256), nn.Linear(256, 8))


def stepper(model):
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)

    def step(wrapped):
        optimizer.zero_grad()
        wrapped(torch.rand(8, 64)).square().mean().backward()
        optimizer.step()

    return step


def seen(plan, setting):
    """The arguments that DDP reports after training."""
    model = network()
    with plan.first_bucket(setting["first_bucket_bytes"]):
        within = dist._DEFAULT_FIRST_BUCKET_BYTES
    wrapped = plan.wrap(model, setting=setting, optimizer=(torch.optim.SGD, {"lr": 0.01}))
    before = True
    sent = []
    all_reduce = dist.all_reduce
    dist.all_reduce = lambda tensor, **arguments: (
        sent.append(tensor) or all_reduce(tensor, **arguments)
    )  # called by the hook
    for index in range(0 if setting["optimizer_in_backward"] else 4):  # its hook needs an accelerator
        with plan.micro_batch(wrapped, index, setting=setting):
            before = wrapped.require_backward_grad_sync
            sent.clear()
            wrapped(torch.rand(8, 64)).square().mean().backward()
    dist.all_reduce = all_reduce
    told = wrapped._get_ddp_logging_data()
    return {
        "sent": [[str(tensor.dtype).split(".")[1], tensor.numel()] for tensor in sent],
        "cap": wrapped.bucket_bytes_cap,
        "broadcast": wrapped.broadcast_buffers,
        "view": wrapped.gradient_as_bucket_view,
        "static": wrapped.static_graph,
        "unused": wrapped.find_unused_parameters,
        "hook": told.get("comm_hook"),
        "synchronizes": before,
        "first_within": within,
        "first": dist._DEFAULT_FIRST_BUCKET_BYTES,
    }


def plans(files):
    for file in files:
        plan = imported(file)
        print(json.dumps({"plan": file.stem, "today": seen(plan, plan.TODAY), "proposed": seen(plan, plan.PROPOSED)}))


class Clock:
    """A clock that only a step moves, so that a busy machine does not matter."""

    def __init__(self):
        self.now, self.noise = 0.0, random.Random(1)

    def perf_counter(self):
        return self.now

    def stepping(self, step):
        def timed(wrapped):
            step(wrapped)
            self.now += self.noise.uniform(0.010, 0.012)

        return timed


def slowed(plan, name, clock, seconds):
    """The plan, with its setting TODAY or PROPOSED slower by `seconds` per step."""

    def wrap(model, setting, **arguments):
        wrapped = plan.wrap(model, setting=setting, **arguments)
        if setting is getattr(plan, name):
            wrapped.register_forward_pre_hook(lambda module, inputs: setattr(clock, "now", clock.now + seconds))
        return wrapped

    return types.SimpleNamespace(TODAY=plan.TODAY, PROPOSED=plan.PROPOSED, PREDICTED=plan.PREDICTED, wrap=wrap)


def compare(file):
    plan = imported(file)
    model = network()
    clock = ab.time = Clock()
    step = clock.stepping(stepper(model))
    again = types.SimpleNamespace(TODAY=plan.TODAY, PROPOSED=dict(plan.TODAY), PREDICTED=None, wrap=plan.wrap)
    cases = {
        "faster": slowed(plan, "TODAY", clock, 0.005),
        "slower": slowed(plan, "PROPOSED", clock, 0.005),
        "alike": again,
    }
    for name, each in cases.items():
        # Without a difference, the interval misses zero once in 512 times.
        level, rounds = (0.998, 10) if name == "alike" else (0.95, 8)
        result = ab.compare(each, model, step, steps=5, rounds=rounds, discard=2, level=level)
        tell({"case": name, "gain": result.gain, "low": result.low, "high": result.high})
    tell({"case": "hooks", "all_reduced": reduced_once(plan, model)})
    kept = []
    try:
        ab.compare(plan, model, kept.append, steps=1, rounds=6, discard=2)
    except RuntimeError as error:
        tell({"case": "kept", "error": str(error)})
    parted = types.SimpleNamespace(
        TODAY=plan.TODAY,
        PROPOSED={**plan.PROPOSED, "environment": {"NCCL_ALGO": "tree"}},
        PREDICTED=None,
        wrap=plan.wrap,
    )
    try:
        ab.compare(parted, model, step)
    except ValueError as error:
        tell({"case": "environment", "error": str(error)})


def reduced_once(plan, model):
    """Checks that, after all these wrappers, gradients are the mean over ranks. No old wrapper may reduce them
    again."""
    wrapped = plan.wrap(model, setting=plan.TODAY)
    model.zero_grad()
    inputs = torch.full((8, 64), float(dist.get_rank()))
    wrapped.eval()
    wrapped(inputs).sum().backward()
    mean = next(model.parameters()).grad.clone()
    del wrapped
    gc.collect()
    for parameter in model.parameters():
        parameter.grad = None
    model(inputs).sum().backward()
    own = next(model.parameters()).grad.clone()
    dist.all_reduce(own)
    assert mean.norm() > 0  # not zero and not NaN
    return torch.allclose(mean, own / dist.get_world_size(), rtol=1e-4, atol=1e-6)


def tell(document):
    if dist.get_rank() == 0:
        print(json.dumps(document), flush=True)


def main(folder, rank, ranks, what, *files):
    files = [pathlib.Path(folder, file) for file in files]
    torch.set_num_threads(1)
    if what == "environment":
        print(
            json.dumps(
                {
                    file.stem: {name: os.environ.get(name) for name in imported(file).SETTING["environment"]}
                    for file in files
                }
            )
        )
        return
    meeting = pathlib.Path(folder, f"meeting-{what}").resolve()
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(rank), world_size=int(ranks))
    plans(files) if what == "plans" else compare(files[0])
    dist.barrier()
