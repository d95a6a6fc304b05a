"""One rank of the jobs of diff.py: real DistributedDataParallel over timed waits, recorded with its all-reduces.

    diff_job.py --case CASE.json -o FOLDER

Compute is a wait of the length in the case. Buckets, hooks, copies, launches and the network are real. A case has:

- "gradients": sizes in elements, in the order of definition
- "forward_us", "backward_us", and "slow": {rank: factor} of compute
- "cap_mb", "arguments" (of DDP), and "comm_hook" ("blocking")
- "buffers": elements of each
- "loader_us": the time of a batch in the data set
- "steps", and "collectives" (false: the recorder leaves DDP's hook alone)
- "micro_batches", and "no_sync" (what it encloses: "both" or "backward")
- "overhead_us": time of Python in each layer's forward
- "norms": batch norms in addition to the layers, and "sync_batchnorm" (they exchange statistics)
- "cores": each rank has a core of its own, and compute is work instead of a wait. It takes that much time of
  the core, however long that lasts.
- "burner", with "cores": a rank whose core also runs something else
- "threads", with "cores": the number of threads per rank that share the work"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("traces/recorder", "real", "tests/cli")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ddpsim_recorder import Recorder  # noqa: E402
from settings_job import Waits  # noqa: E402
from rank_of_job import begin_rank  # noqa: E402


CHANNELS = 64


class Work:
    """Computes sines for a given time on a core, however long that lasts. Several threads share the work of one."""

    def __init__(self, threads):
        self.taken_s = self.worked_s = 0.0
        self.angles, self.threads = torch.rand(50_000), threads  # ATen splits it between threads
        begin = time.thread_time()
        for _ in range(500):
            self.angles.sin()
        self.each_s = (time.thread_time() - begin) / 500
        torch.set_num_threads(threads)

    def begin(self):
        pass

    def compute(self, microseconds):
        begin, until = time.perf_counter(), time.thread_time() + microseconds / 1e6
        if self.threads == 1:
            while time.thread_time() < until:
                self.angles.sin()
        else:
            for _ in range(round(microseconds / 1e6 / self.each_s)):
                self.angles.sin()
        self.taken_s += time.perf_counter() - begin
        self.worked_s += microseconds / 1e6


def blocking_hook(group, bucket):
    """A hook that all-reduces the bucket and waits for it at once."""
    buffer = bucket.buffer().div_(dist.get_world_size())
    dist.all_reduce(buffer, group=group)
    done = torch.futures.Future()
    done.set_result(buffer)
    return done


def synced(norm):
    """A SyncBatchNorm that uses PyTorch's own function. Its module, and DDP with it, refuse CPU tensors.

    See sync_batchnorm_trainings.
    """
    from sync_batchnorm_trainings import SyncBatchNorm as Function

    class SyncBatchNorm(torch.nn.BatchNorm2d):
        def forward(self, images):
            return Function.apply(
                images,
                self.weight,
                self.bias,
                None,
                None,
                self.eps,
                self.momentum,
                dist.group.WORLD,
                dist.get_world_size(),
            )

    return SyncBatchNorm(norm.num_features)


class Layer(torch.autograd.Function):
    """A layer whose backward takes a given time and produces a gradient of a given size."""

    @staticmethod
    def forward(context, value, parameter, model, microseconds):
        context.model, context.microseconds, context.size = model, microseconds, parameter.shape
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        context.model.clock.compute(context.microseconds)
        return gradient, context.model.ones[context.size[0]].detach(), None, None


class Model(torch.nn.Module):
    def __init__(self, case, factor):
        super().__init__()
        self.clock = Work(case.get("threads", 1)) if case.get("cores") else Waits()
        sizes = case["gradients"]
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(size)) for size in sizes])
        self.ones = {size: torch.ones(size) for size in sizes}
        for index, size in enumerate(case.get("buffers", [])):
            self.register_buffer(f"buffer{index}", torch.ones(size))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(CHANNELS) for _ in range(case.get("norms", 0)))
        if case.get("sync_batchnorm"):
            self.norms = torch.nn.ModuleList(map(synced, self.norms))
        self.overheads_s = []
        self.overhead_us = case.get("overhead_us", 0)
        self.forward_us = case["forward_us"] * factor
        self.backward_us = case["backward_us"] * factor / len(sizes)

    def forward(self, batch):
        self.clock.compute(self.forward_us)
        value = torch.zeros((), requires_grad=True)
        for weight in self.weights:
            if self.overhead_us:
                begin = time.perf_counter()
                self.clock.compute(self.overhead_us)
                self.overheads_s.append(time.perf_counter() - begin)
            value = Layer.apply(value, weight, self, self.backward_us)
        images = torch.ones(4, CHANNELS, 8, 8)
        for norm in self.norms:
            images = norm(images)
        return value + images.sum()


class Batches(torch.utils.data.Dataset):
    def __init__(self, microseconds, count):
        self.microseconds, self.count = microseconds, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.microseconds / 1e6)
        return torch.zeros(4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", required=True, help="JSON")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    case = json.loads(pathlib.Path(arguments.case).read_text(encoding="utf-8"))
    rank, beside = int(os.environ["RANK"]), None
    begin_rank()
    if case.get("cores"):  # gloo's threads already run, on any core
        core = sorted(os.sched_getaffinity(0))[rank]
        os.sched_setaffinity(0, {core})
        if case.get("burner") == rank:
            beside = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        train(case, arguments)
    finally:
        if beside is not None:
            beside.kill()


def train(case, arguments):
    folder = pathlib.Path(arguments.output)
    model = Model(case, case.get("slow", {}).get(str(dist.get_rank()), 1))
    options = dict(case.get("arguments", {}))
    if "cap_mb" in case:
        options["bucket_cap_mb"] = case["cap_mb"]
    ddp = torch.nn.parallel.DistributedDataParallel(model, **options)
    if case.get("comm_hook") == "blocking":
        ddp.register_comm_hook(None, blocking_hook)
    count, holds = case.get("micro_batches", 1), case.get("no_sync", "both")
    loader = torch.utils.data.DataLoader(Batches(case.get("loader_us", 0), 100 + 2 * case["steps"]), batch_size=1)
    recorder = Recorder(
        ddp,
        folder / "step.json",
        warmup=4,
        steps=case["steps"],
        name=case["name"],
        collectives=case.get("collectives", True),
    )
    for batch in loader:
        model.clock.begin()
        for weight in model.weights:
            weight.grad = None
        for micro_batch in range(count):
            with ddp.no_sync() if micro_batch + 1 < count and holds == "both" else contextlib.nullcontext():
                loss = ddp(batch)
                with ddp.no_sync() if micro_batch + 1 < count else contextlib.nullcontext():
                    loss.backward()
        recorder.step()
        if recorder.finished:
            break
    if recorder.problem:
        sys.exit(recorder.problem)
    if model.overheads_s:  # the measured overhead per step
        mean = sum(model.overheads_s) / len(model.overheads_s)
        (folder / f"overhead-rank{dist.get_rank()}.json").write_text(json.dumps(1e6 * mean * len(model.weights)))
    if case.get("cores"):  # time taken per time of work
        (folder / f"compute-ratio-rank{dist.get_rank()}.json").write_text(
            json.dumps(model.clock.taken_s / model.clock.worked_s)
        )
    if dist.get_rank() == 0:
        (folder / "measurement.json").write_text(json.dumps({"torch": torch.__version__}), encoding="utf-8")
    dist.barrier()


if __name__ == "__main__":
    main()
