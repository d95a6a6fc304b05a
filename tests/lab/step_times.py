#!/usr/bin/env python3
"""Measures how the steps of real trainings vary: small models under real DistributedDataParallel over gloo.

    tests/lab/step_times.py -o tests/lab/measured/step_times.csv        28 recordings of 40 steps, two to three minutes

Each recording is a job of its own. Its ranks share the cores of this machine with each other and with other processes.
Nothing is pinned or raised in priority, as on the machines on which people train. There is one row per rank, with the
times between steps in order, in microseconds. tests/unit/simulate/step_coverage_test.cpp checks prediction intervals
against them. Exit code 77: no PyTorch."""

import argparse
import csv
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402
from torch_python import python_with_torch  # noqa: E402

WARMUP, STEPS = 5, 40
MODELS = ("wide", "deep", "images", "words", "lengths", "recurrent")
RECORDINGS = [
    *itertools.product(MODELS, (2, 8), (1, 2)),
    *itertools.product(("deep", "images", "words", "lengths"), (2,), (4,)),
]


def model_and_batches(torch, name, batch):
    """A model, and a function that draws a batch for it."""
    nn = torch.nn
    if name in ("words", "lengths"):  # batches of "lengths" vary in length
        layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
        model = nn.Sequential(nn.Embedding(4000, 64), nn.TransformerEncoder(layer, 3), nn.Linear(64, 64))
        length = (lambda: int(torch.randint(8, 49, ()))) if name == "lengths" else lambda: 32
        return model, lambda: torch.randint(0, 4000, (batch, length()))
    if name == "images":
        channels = (3, 16, 32, 64)
        blocks = [
            part
            for a, b in zip(channels, channels[1:])
            for part in (nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2))
        ]
        return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(64 * 36, 100)), lambda: torch.rand(batch, 3, 48, 48)
    if name == "recurrent":

        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.cells, self.head = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 10)

            def forward(self, x):
                return self.head(self.cells(x)[0])

        return Recurrent(), lambda: torch.rand(batch, 24, 64)
    width, layers = (768, 3) if name == "wide" else (256, 24)
    hidden = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(64, width), *hidden, nn.Linear(width, 10)), lambda: torch.rand(batch, 64)


def train(name, batch, rank, world, folder):
    """Trains one rank and prints the times between the ends of its steps."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(rank)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    model, draw = model_and_batches(torch, name, batch)
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
    marks = []
    for _ in range(WARMUP + STEPS + 1):
        optimizer.zero_grad(set_to_none=True)
        ddp(draw()).pow(2).mean().backward()
        optimizer.step()
        marks.append(time.perf_counter_ns())  # the recorder's clock
    marks = marks[WARMUP:]
    print(" ".join(str(round((after - before) / 1000)) for before, after in zip(marks, marks[1:])))


def record(python, name, batch, world):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONDONTWRITEBYTECODE": "1"}
        job = [python, __file__, "--train", name, str(batch)]
        ranks = [
            subprocess.Popen([*job, str(rank), str(world), folder], env=environment, stdout=subprocess.PIPE, text=True)
            for rank in range(world)
        ]
        try:
            said = [rank.communicate(timeout=patience.seconds(120))[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
    if any(rank.returncode for rank in ranks):
        sys.exit(f"step_times: {name}, batch {batch}, {world} ranks: a rank failed")
    return [[name, batch, world, rank, steps.strip()] for rank, steps in enumerate(said)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", help="CSV")
    parser.add_argument("--train", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        name, batch, rank, world, folder = arguments.train
        return train(name, int(batch), int(rank), int(world), folder)
    if arguments.output is None:
        parser.error("-o FILE is needed")
    python = python_with_torch()
    if python is None:
        print("step_times: no python3 here has PyTorch (scripts/setup.sh --torch installs it)")
        return 77
    rows = [row for recording in RECORDINGS for row in record(python, *recording)]
    with open(arguments.output, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "batch", "world_size", "rank", "iteration_us"])
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
