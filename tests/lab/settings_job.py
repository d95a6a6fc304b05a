"""One rank of the job of settings.py: real DistributedDataParallel over timed waits, with one setting after another.

    settings_job.py --setup SETUP.json record  -o FOLDER      all-reduces, then one rank alone is recorded
    settings_job.py --setup SETUP.json measure SETTINGS.json -o FOLDER   every setting in turns

Compute is a wait of the length in the set-up. DDP's copies, casts and launches in between add to it, as they do on a
GPU's compute stream and on a processor that computes itself."""

import argparse
import contextlib
import functools
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
from loader_trainings import loading  # noqa: E402
from rank_of_job import begin_rank  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: E402
from torch_runner import HostClock, Replayed  # noqa: E402

# DDP rebuilds its buckets after the first backward, and PowerSGD compresses from the third on.
WARMUP = 4
START_POWER_SGD = 3
MANY = 1_000_000  # batches, so that no epoch ends


class Waits(HostClock):
    """Waits that start when they are called and take `times` as long. If one ends late, the next ones are shorter."""

    def __init__(self, times=1):
        super().__init__()
        self.times = times

    def begin(self):
        self.late_ns = 0

    def compute(self, microseconds):
        microseconds *= self.times
        begin = time.monotonic_ns()
        wait_ns = max(0, round(microseconds * 1000) - self.late_ns)
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        self.late_ns = max(0, self.late_ns + time.monotonic_ns() - begin - round(microseconds * 1000))


class Model(Replayed):
    """A model in which the parameters in `ready` take part in backward. It may have buffers."""

    def __init__(self, setup, times=1):
        super().__init__(setup["workload"], torch.device("cpu"), Waits(times))
        for index, size in enumerate(setup.get("buffers", [])):
            self.register_buffer(f"buffer{index}", torch.ones(size))
        self.optimizer_us = setup["workload"].get("optimizer", {}).get("duration_us", 0)
        self.adds = False  # accumulates over micro-batches
        self.zeros = {}

    def gradient(self, index):
        gradient = super().gradient(index)
        if not self.adds:
            return gradient
        if index not in self.zeros:
            self.zeros[index] = torch.zeros_like(gradient)
        return self.zeros[index].detach()


class Batches:
    """Batches of a DataLoader whose data set sleeps. Its queues fill up if no batch is taken for a while."""

    def __init__(self, batch_ms, num_workers, prefetch_factor=None):
        self.workers, self.queued = num_workers, num_workers * (prefetch_factor or 0)
        self.iterator = iter(loading(batch_ms / 1000, MANY, num_workers, prefetch_factor))

    def take(self):
        next(self.iterator)


@functools.lru_cache(maxsize=None)
def batches_of(batch_ms, *loader):
    """The batches for all settings with the same loader, which take turns."""
    return Batches(batch_ms, **dict(loader))


class Training:
    """Trains with a setting. None means one rank alone without DDP, and never a slow one."""

    def __init__(self, setup, setting):
        slow, times = (setting is not None and setup.get("slow")) or (None, 1)
        self.model = self.called = Model(setup, times if dist.get_rank() == slow else 1)
        loader = (setup["today"] if setting is None else setting).get("loader")
        self.batches = batches_of(setup["batch_ms"], *sorted(loader.items())) if loader else None
        self.pause_s = setup.get("pause_ms", 0) / 1000
        self.accumulate, self.parameters = (setting or {}).get("accumulate", 1), list(self.model.parameters())
        if setting is not None:
            with first_bucket(setting.get("first_bucket_bytes")):
                self.called = torch.nn.parallel.DistributedDataParallel(self.model, **setting.get("arguments", {}))
            register(self.called, setting)

    def rebind(self, wrapper):
        self.called = wrapper

    def step(self):
        time.sleep(self.pause_s)  # after the recorder's step()
        for parameter in self.parameters:
            parameter.grad = None
        self.model.clock.begin()
        for batch in range(self.accumulate):
            if self.batches:
                self.batches.take()
            self.model.adds = batch > 0
            with contextlib.nullcontext() if batch + 1 == self.accumulate else self.called.no_sync():
                self.called(torch.zeros((), requires_grad=True)).backward()
        self.model.clock.compute(self.model.optimizer_us)

    def empty_queues(self):
        if self.batches:
            self.steps(self.batches.queued + 1)

    def block(self, count):
        """The time of a usual step in microseconds, as a mean over whole rounds.

        Workers deliver batches in turns, sometimes at once and sometimes after a wait.
        """
        if not self.batches or not self.batches.workers:
            return statistics.median(self.steps(count + 1)[1:])
        self.empty_queues()
        workers = self.batches.workers
        return statistics.mean(self.steps(-(-max(count, 2 * workers) // workers) * workers))

    def steps(self, count):
        """The time of each step in microseconds per batch of the current setting."""
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

        # DDP refuses a function with the name bf16_compress_hook if PyTorch was not built for CUDA, even over gloo.
        def by_another_name(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            return plain(state, bucket)

        ddp.register_comm_hook(None, by_another_name)


def all_reduce(size, repetitions):
    """The times of all-reduces of `size` bytes in microseconds."""
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
    training.empty_queues()
    recorder = Recorder(
        training.model, folder / "step.json", warmup=2, steps=setup["recorded_steps"], name=setup["name"]
    )
    while not recorder.finished:
        training.step()
        recorder.step()
    if recorder.problem:
        sys.exit(recorder.problem)
    return {"torch": torch.__version__, "all_reduces": all_reduces}


def measure(arguments, setup):
    """Measures in rounds. Each round has a block of every setting, and the order alternates."""
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
            blocks[name].append(trainings[name].block(arguments.steps))
        gc.collect()
    return {
        "torch": torch.__version__,
        "blocks": blocks,
        "buckets": {name: training.bucket_bytes() for name, training in trainings.items()},
    }


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
