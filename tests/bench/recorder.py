#!/usr/bin/env python3
"""Measures what recording costs a training step, and how exact the recorded times are.

    tests/bench/recorder.py [PAIRS]

Cost: ResNet-50 on one CPU thread, without DDP and with it (gloo, one rank). PAIRS plain steps (default 20) alternate
with as many recorded ones, so that other load affects both equally. Times include the calls of recorder.step().

Exactness: a backward waits for given deadlines. Recorded times are compared with the deadlines, and with the ends of
the waits. The ends are later if others use the processor."""

import json
import pathlib
import statistics
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "cli"), str(TESTS.parent / "traces" / "recorder")]

import torch  # noqa: E402
import torchvision  # noqa: E402

from ddpsim_recorder import Recorder  # noqa: E402
from recorder_trainings import ROWS, Deadlines, WallClock  # noqa: E402

WARMUP = 3


def measure(title, model, pairs, folder):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    images, labels = torch.rand(4, 3, 64, 64), torch.zeros(4, dtype=torch.long)
    recorder = Recorder(model, pathlib.Path(folder) / "step.json", warmup=WARMUP, steps=pairs)
    # Wall-clock and CPU time in seconds, of each training step and of the call of recorder.step() after it.
    training, calls = [], []

    def clocks():
        return time.perf_counter(), time.process_time()

    while not recorder.finished:
        begin = clocks()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        middle = clocks()
        recorder.step()
        end = clocks()
        training.append([b - a for a, b in zip(begin, middle)])
        calls.append([b - a for a, b in zip(middle, end)])
    # From step WARMUP on, plain and recorded steps alternate. The call before a recorded step adds hooks, and the call
    # after it removes them. The last call writes the file.
    for clock, name in enumerate(("wall clock", "CPU time")):
        plain = [entry[clock] for entry in training[WARMUP::2]]
        recorded = [entry[clock] for entry in training[WARMUP + 1 :: 2]]
        adds = [entry[clock] for entry in calls[WARMUP::2]]
        removes = [entry[clock] for entry in calls[WARMUP + 1 : -1 : 2]]
        hooks = statistics.median(b - a for a, b in zip(plain, recorded))
        around = statistics.median(adds) + statistics.median(removes)
        step = statistics.median(plain)
        print(
            f"{title:12} {name:10}  step {1000 * step:7.1f} ms   hooks {1000 * hooks:+7.3f} ms "
            f"({100 * hooks / step:+.2f} %)   adding and removing them {1000 * around:.3f} ms "
            f"({100 * around / step:.2f} %)"
        )


def compare_with_deadlines(folder):
    model = Deadlines(WallClock())
    recorder = Recorder(model, pathlib.Path(folder) / "deadlines.json", warmup=WARMUP)
    while not recorder.finished:
        model(ROWS).sum().backward()
        recorder.step()
    document = json.loads((pathlib.Path(folder) / "deadlines.json").read_text())
    recorded = [entry["at_us"] for entry in document["backward"]["ready"]]
    ended = [[(at - start) / 1000 for at in times] for start, *times in model.done]
    # The waits of the written step.
    ended = min(ended, key=lambda times: abs(times[-1] - recorded[-1]))
    for name, truth in (("their deadlines", model.AT_US), ("when the waits ended", ended)):
        errors = ", ".join(f"{100 * (at / true - 1):+.3f} %" for at, true in zip(recorded, truth))
        print(f"deadlines    recorded ready times differ from {name} by {errors}")


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        compare_with_deadlines(folder)
        measure("alone", torchvision.models.resnet50(), pairs, folder)
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
        measure("under DDP", torch.nn.parallel.DistributedDataParallel(torchvision.models.resnet50()), pairs, folder)
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
