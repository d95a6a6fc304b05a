"""One rank of the job of loop.py: a small model trained under real DistributedDataParallel on the CPU.

One job runs the all-reduces, the recording at PyTorch's default cap, and then every cap in turns, several times."""

import argparse
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "traces" / "recorder"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ddpsim_recorder import Recorder  # noqa: E402
from rank_of_job import begin_rank  # noqa: E402

WARMUP = 2


def make_model():
    """A model of eight equal layers with an input and an output: 36 tensors, 8 MiB of gradients, and an even
    backward."""
    torch.manual_seed(1)
    width, layers = 512, 8
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.ReLU()]
    return torch.nn.Sequential(torch.nn.Linear(64, width), *parts, torch.nn.Linear(width, 10))


class Training:
    def __init__(self, cap, batch):
        options = {} if cap is None else {"bucket_cap_mb": cap}
        self.ddp = torch.nn.parallel.DistributedDataParallel(make_model(), **options)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=1e-3)
        self.inputs, self.targets = torch.rand(batch, 64), torch.zeros(batch, dtype=torch.long)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(self.ddp(self.inputs), self.targets).backward()
        self.optimizer.step()

    def steps(self, count):
        """The time of each step after the warm-up, in microseconds."""
        for _ in range(WARMUP):
            self.step()
        marks = [time.perf_counter_ns()]
        for _ in range(count):
            self.step()
            marks.append(time.perf_counter_ns())
        return [(after - before) / 1000 for before, after in zip(marks, marks[1:])]

    def bucket_bytes(self):
        return [int(size) for size in self.ddp._get_ddp_logging_data()["rebuilt_bucket_sizes"].split(",")]


def all_reduce(size, repetitions):
    """The time in microseconds, and the share of a core that gloo's threads take meanwhile."""
    tensor, times, shares = torch.zeros(size // 4), [], []
    for _ in range(WARMUP + repetitions):
        dist.barrier()
        begin, used = time.perf_counter_ns(), time.process_time_ns()
        dist.all_reduce(tensor)
        times.append((time.perf_counter_ns() - begin) / 1000)
        shares.append((time.process_time_ns() - used) / 1000 / times[-1])
    return statistics.median(times[WARMUP:]), statistics.median(shares[WARMUP:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", required=True, help="default,cap1: bucket_cap_mb not given, 1")
    parser.add_argument("--all-reduces", required=True, help="bytes")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    begin_rank()
    folder = pathlib.Path(arguments.output)

    all_reduces = {size: all_reduce(int(size), 7) for size in arguments.all_reduces.split(",")}

    training = Training(None, arguments.batch)
    training.steps(1)
    recorder = Recorder(training.ddp, folder / "step.json", warmup=WARMUP, steps=arguments.iterations, name="loop")
    while not recorder.finished:
        training.step()
        recorder.step()
    if recorder.problem:
        sys.exit(recorder.problem)

    steps, buckets = {}, {}
    for _ in range(arguments.rounds):
        for point in arguments.points.split(","):
            training = Training(None if point == "default" else int(point.removeprefix("cap")), arguments.batch)
            steps.setdefault(point, []).append(training.steps(arguments.iterations))
            buckets[point] = training.bucket_bytes()
    if dist.get_rank() == 0:
        (folder / "measurement.json").write_text(
            json.dumps({"torch": torch.__version__, "all_reduces": all_reduces, "steps": steps, "buckets": buckets}),
            encoding="utf-8",
        )
    dist.barrier()


if __name__ == "__main__":
    main()
