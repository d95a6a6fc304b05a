"""Small trainings under DDP on a CPU in which the profiler sees every allocation, for test_memory.py.

    main(FOLDER)

There is one rank: it has the same buckets as many ranks, and the work of other ranks takes none of its memory. Prints
one line of JSON per training: the recorder's file, its options, DDP's log of its buckets, and the most bytes allocated
in a step after the recorded ones."""

import contextlib
import io
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "traces" / "recorder"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

from ddpsim_recorder import Recorder  # noqa: E402
from profiled_memory import allocated  # noqa: E402
from torch_models import Bert, Gpt2  # noqa: E402
from torch_resnet import resnet  # noqa: E402

WARMUP, RECORDED = 2, 1
STEPS = WARMUP + 2 * RECORDED + 1


def layers(width, count):
    return torch.nn.Sequential(
        *(layer for _ in range(count) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU()))
    )


def images(batch, side):
    return lambda: torch.rand(batch, 3, side, side)


def tokens(batch, length):
    return lambda: torch.randint(0, 1000, (batch, length))


MODELS = {
    "resnet18": (lambda: resnet(18), images(16, 96)),
    "resnet50": (lambda: resnet(50), images(4, 112)),
    "resnet50, large batch": (lambda: resnet(50), images(16, 64)),
    "layers, no activations": (lambda: layers(1000, 8), lambda: torch.rand(4, 1000)),
    "layers, all activations": (lambda: layers(256, 8), lambda: torch.rand(4096, 256)),
    "bert": (lambda: Bert(3, 128, 2), tokens(16, 64)),
    "bert, long": (lambda: Bert(3, 128, 2), tokens(4, 384)),
    "gpt2": (lambda: Gpt2(4, 128, 2), tokens(2, 128)),
}
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.01),
    "momentum": lambda parameters: torch.optim.SGD(parameters, 0.01, momentum=0.9, weight_decay=1e-4),
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
}


def cases():
    """The cases: model, optimizer, gradient_as_bucket_view and micro-batches."""
    for k, model in enumerate(MODELS):
        for j, optimizer in enumerate(OPTIMIZERS):
            if (k + j) % 2 == 0:
                yield model, optimizer, j // 2 != k // 2 % 2, 2 if (k + 2 * j) % 7 == 6 else 1


def train(folder, number, model, optimizer, views, parts):
    build, batch = MODELS[model]
    said = io.StringIO()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        torch.manual_seed(0)
        ddp = torch.nn.parallel.DistributedDataParallel(build(), gradient_as_bucket_view=views)
        steps = OPTIMIZERS[optimizer](ddp.parameters())
        data = batch()
        recorder = Recorder(ddp, f"{folder}/{number}.json", warmup=WARMUP, steps=RECORDED)
        for step in range(STEPS):
            # DDP frees its first buckets here. If a worker of gloo still held one, the profiler would not see it freed.
            if step == 1:
                time.sleep(0.2)
            with record_function(f"step {step}"), contextlib.redirect_stderr(said):
                steps.zero_grad()
                for part in range(parts):
                    with ddp.no_sync() if part < parts - 1 else contextlib.nullcontext():
                        ddp(data).sum().backward()
                steps.step()
                recorder.step()
    trace = pathlib.Path(folder, "trace.json")
    profiler.export_chrome_trace(str(trace))
    return {
        "model": model,
        "optimizer": optimizer,
        "views": views,
        "parts": parts,
        "problem": recorder.problem,
        "buckets": ddp._get_ddp_logging_data()["rebuilt_bucket_sizes"],
        "allocated": allocated(trace, f"step {STEPS - 1}"),
    }


def main(folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
    for number, case in enumerate(cases()):
        print(json.dumps({"file": f"{number}.json", **train(folder, number, *case)}), flush=True)
    dist.destroy_process_group()
