"""One rank of the job of levers.py: real DistributedDataParallel over timed waits, under one setting after the other.

    levers_job.py --setup SETUP.json record  -o FOLDER      all-reduces, then the step of a rank by itself, recorded
    levers_job.py --setup SETUP.json measure SETTINGS.json -o FOLDER   every setting in turns

Compute is a wait as long as the set-up says; what DDP does in between (copies, casts, launches) comes on top, as on a GPU's
compute stream and as on a processor that computes itself."""

import argparse
import contextlib
import gc
import json
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("traces/recorder", "real", "tests/cli")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ddpsim_recorder import Recorder  # noqa: E402
from rank_of_job import begin_rank  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: E402
from torch_runner import HostClock, Replayed  # noqa: E402

WARMUP = 4  # buckets are rebuilt after the first backward; PowerSGD compresses from the third on
START_POWER_SGD = 3


class Waits(HostClock):
    """A wait counts from where it is called. What one is woken late the next ones wait less."""

    def begin(self):
        self.late_ns = 0

    def compute(self, microseconds):
        begin = time.monotonic_ns()
        wait_ns = max(0, round(microseconds * 1000) - self.late_ns)
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        self.late_ns = max(0, self.late_ns + time.monotonic_ns() - begin - round(microseconds * 1000))


class Model(Replayed):
    """Of `parameters`, those in `ready` take part; buffers beside them."""

    def __init__(self, setup):
        super().__init__(setup["workload"], torch.device("cpu"), Waits())
        for index, size in enumerate(setup.get("buffers", [])):
            self.register_buffer(f"buffer{index}", torch.ones(size))
        self.optimizer_us = setup["workload"].get("optimizer", {}).get("duration_us", 0)
        self.adds = False  # into the gradient of an earlier micro-batch
        self.zeros = {}

    def gradient(self, index):
        gradient = super().gradient(index)
        if not self.adds:
            return gradient
        if index not in self.zeros:
            self.zeros[index] = torch.zeros_like(gradient)
        return self.zeros[index].detach()


class Training:
    """setting: None for one rank by itself, without DDP."""

    def __init__(self, setup, setting):
        self.model = self.called = Model(setup)
        self.accumulate, self.parameters = (setting or {}).get("accumulate", 1), list(self.model.parameters())
        if setting is not None:
            with first_bucket(setting.get("first_bucket_bytes")):
                self.called = torch.nn.parallel.DistributedDataParallel(self.model, **setting.get("arguments", {}))
            register(self.called, setting)

    def rebind(self, wrapper):
        self.called = wrapper

    def step(self):
        for parameter in self.parameters:
            parameter.grad = None
        self.model.clock.begin()
        for batch in range(self.accumulate):
            self.model.adds = batch > 0
            with contextlib.nullcontext() if batch + 1 == self.accumulate else self.called.no_sync():
                self.called(torch.zeros((), requires_grad=True)).backward()
        self.model.clock.compute(self.model.optimizer_us)

    def steps(self, count):
        """Microseconds of each, per today's batch."""
        marks = [time.perf_counter_ns()]
        for _ in range(count):
            self.step()
            marks.append(time.perf_counter_ns())
        return [(after - before) / 1000 / self.accumulate for before, after in zip(marks, marks[1:])]

    def bucket_bytes(self):
        log = self.called._get_ddp_logging_data()
        return [int(size) for size in (log.get("rebuilt_bucket_sizes") or log["bucket_sizes"]).split(",")]


@contextlib.contextmanager
def first_bucket(limit):
    before = dist._DEFAULT_FIRST_BUCKET_BYTES
    dist._DEFAULT_FIRST_BUCKET_BYTES = before if limit is None else limit
    try:
        yield
    finally:
        dist._DEFAULT_FIRST_BUCKET_BYTES = before


def register(ddp, setting):
    hook = setting.get("hook")
    if hook == "powerSGD_hook":
        from power_sgd_state import new_state
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
        ddp.register_comm_hook(new_state(START_POWER_SGD, **setting["power_sgd"]), powerSGD_hook.powerSGD_hook)
    elif hook:
        plain = getattr(default_hooks, hook)

        # DDP refuses a function called bf16_compress_hook where PyTorch was not built for CUDA, over gloo too.
        def by_another_name(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            return plain(state, bucket)

        ddp.register_comm_hook(None, by_another_name)


def all_reduce(size, repetitions):
    """Microseconds."""
    tensor, times = torch.zeros(size // 4), []
    for _ in range(WARMUP + repetitions):
        dist.barrier()
        begin = time.perf_counter_ns()
        dist.all_reduce(tensor)
        times.append((time.perf_counter_ns() - begin) / 1000)
    return statistics.median(times[WARMUP:])


def record(arguments, setup, folder):
    all_reduces = {size: all_reduce(size, 15) for size in setup["all_reduces"]}
    training = Training(setup, None)
    recorder = Recorder(training.model, folder / "step.json", warmup=2, steps=setup["recorded_steps"], name=setup["name"])
    while not recorder.finished:
        training.step()
        recorder.step()
    if recorder.problem:
        sys.exit(recorder.problem)
    return {"torch": torch.__version__, "all_reduces": all_reduces}


def measure(arguments, setup):
    """Rounds, in each of them a block of every setting, forwards and backwards in turns."""
    settings = json.loads(pathlib.Path(arguments.settings).read_text(encoding="utf-8"))
    trainings = {}
    for name, setting in settings.items():
        trainings[name] = Training(setup, setting)
        trainings[name].steps(WARMUP)
    blocks = {name: [] for name in trainings}
    gc.collect()
    gc.freeze()
    gc.disable()
    for number in range(arguments.rounds):
        for name in list(trainings) if number % 2 == 0 else list(reversed(trainings)):
            dist.barrier()
            blocks[name].append(statistics.median(trainings[name].steps(arguments.steps + 1)[1:]))
        gc.collect()
    return {"torch": torch.__version__, "blocks": blocks,
            "buckets": {name: training.bucket_bytes() for name, training in trainings.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setup", required=True, help="JSON")
    parser.add_argument("--settings", help="JSON; absent: record")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    begin_rank()
    setup = json.loads(pathlib.Path(arguments.setup).read_text(encoding="utf-8"))
    folder = pathlib.Path(arguments.output)
    found = measure(arguments, setup) if arguments.settings else record(arguments, setup, folder)
    if dist.get_rank() == 0:
        (folder / "measurement.json").write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()


if __name__ == "__main__":
    main()
