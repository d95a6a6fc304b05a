#!/usr/bin/env python3
"""Real DistributedDataParallel over the same workload and sweep as ddpsim-real, with the same output.

    torchrun --nproc-per-node 2 real/torch_runner.py WORKLOAD.json --caps 1,5,25 --views both -o measured

There is one process per rank, started by torchrun, or by hand with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.

- With --gpu, ranks use NCCL and one GPU each, and compute is a kernel that waits.
- Without it, they use gloo, and compute is a wait of the host until each gradient's deadline.

Backward is a chain of autograd nodes, one per parameter, in the workload's ready order. The work inside DDP cannot be
observed here, so a bucket has its bytes (from DDP's own log) but no times."""

import argparse
import gc
import json
import os
import pathlib
import platform
import secrets
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

WIRE_DTYPES = {"none": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
DTYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16}


def write(path, text):
    """Writes a temporary file next to the target and renames it, so that an interrupt leaves only whole files.

    Its name is random and the file is new, so that nobody can put a link in its place. The permissions of a replaced
    file are kept."""
    target = path.resolve()
    beside = target.with_name(f".ddpsim-{secrets.token_hex(8)}")
    try:
        with open(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "w", encoding="utf-8"
        ) as file:
            if target.exists():
                os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
            file.write(text)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def quantiles(values):
    """Median, p10 and p90, as sim/quantile.hpp defines them."""
    ordered = sorted(values)

    def at(percent):
        return ordered[max(-(-percent * len(ordered) // 100), 1) - 1]

    return {"median": round(statistics.median(ordered), 3), "p10": round(at(10), 3), "p90": round(at(90), 3)}


class HostClock:
    """Compute is a wait until an absolute deadline, which is how a host sees a GPU."""

    def __init__(self):
        try:  # reduces the timer slack from 50 us
            import ctypes

            ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)
        except OSError:
            pass

    def mark(self):
        return time.monotonic_ns()

    def begin(self):
        self.deadline_ns = time.monotonic_ns()

    def compute(self, microseconds):
        self.deadline_ns += round(microseconds * 1000)
        left = self.deadline_ns - time.monotonic_ns()
        if left > 0:
            time.sleep(left / 1e9)

    def times_us(self, marks):
        return [mark / 1000 for mark in marks]


class GpuClock:
    """Compute is a kernel that waits, and marks are CUDA events."""

    def __init__(self):
        self.zero = torch.cuda.Event(enable_timing=True)
        self.zero.record()
        self.cycles_per_us = self.calibrate()

    @staticmethod
    def calibrate():
        cycles = 10_000_000
        times = []
        for _ in range(5):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            torch.cuda._sleep(cycles)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1000)
        return cycles / statistics.median(times)

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def begin(self):
        pass

    def compute(self, microseconds):
        if microseconds > 0:
            torch.cuda._sleep(int(microseconds * self.cycles_per_us))

    def times_us(self, marks):
        torch.cuda.synchronize()
        return [self.zero.elapsed_time(mark) * 1000 for mark in marks]


class GradientNode(torch.autograd.Function):
    """Waits for its gradient's time, then returns it."""

    @staticmethod
    def forward(context, chain, parameter, model, index):
        context.model, context.index = model, index
        return chain.clone()

    @staticmethod
    def backward(context, outputs):
        return outputs, context.model.gradient(context.index), None, None


class Replayed(torch.nn.Module):
    def __init__(self, workload, device, clock):
        super().__init__()
        self.clock = clock
        self.forward_us = workload.get("forward", {}).get("duration_us", 0)
        self.ready = [(entry["parameter"], entry["at_us"]) for entry in workload["backward"]["ready"]]
        self.gaps = {}
        reached = 0
        for index, at_us in self.ready:
            self.gaps[index] = at_us - reached
            reached = at_us
        self.rest_us = max(0, workload["backward"]["duration_us"] - reached)
        self.all = torch.nn.ParameterList(
            [
                torch.nn.Parameter(torch.zeros(entry["shape"], dtype=DTYPES[entry["dtype"]], device=device))
                for entry in workload["parameters"]
            ]
        )
        self.memory = [torch.full_like(parameter, dist.get_rank() + 1.0) for parameter in self.all]
        self.marks = []

    def gradient(self, index):
        self.clock.compute(self.gaps[index])
        if index == self.ready[-1][0]:
            self.clock.compute(self.rest_us)
            self.marks.append(self.clock.mark())  # end of backward compute
        # Each step gets a new tensor over the same memory, as if PyTorch's allocator had reused freed memory.
        return self.memory[index].detach()

    def forward(self, chain):
        for index, _ in reversed(self.ready):
            chain = GradientNode.apply(chain, self.all[index], self, index)
        self.clock.compute(self.forward_us)
        return chain


def measure(workload, cap, views, arguments, device):
    clock = GpuClock() if arguments.gpu else HostClock()
    model = Replayed(workload, device, clock)
    # Passing 25 differs from the default, because the first bucket differs.
    options = {} if cap is None else {"bucket_cap_mb": cap}
    ddp = torch.nn.parallel.DistributedDataParallel(
        model,
        gradient_as_bucket_view=views,
        broadcast_buffers=False,
        device_ids=[device.index] if arguments.gpu else None,
        **options,
    )
    if arguments.comm_hook != "none":
        ddp.register_comm_hook(None, getattr(default_hooks, f"{arguments.comm_hook}_compress_hook"))
    optimizer_us = workload.get("optimizer", {}).get("duration_us", 0)
    steps = []
    for _ in range(arguments.warmup + arguments.iterations + 1):
        for parameter in model.all:
            parameter.grad = None
        model.marks = [clock.mark()]
        clock.begin()
        output = ddp(torch.zeros((), device=device, requires_grad=True))
        model.marks.append(clock.mark())
        output.backward()
        model.marks.append(clock.mark())
        clock.begin()
        clock.compute(optimizer_us)
        model.marks.append(clock.mark())
        steps.append(model.marks)
    log = ddp._get_ddp_logging_data()
    sizes = log.get("rebuilt_bucket_sizes") or log["bucket_sizes"]
    return [clock.times_us(marks) for marks in steps[arguments.warmup :]], [int(size) for size in sizes.split(",")]


def configuration(name, cap, views, steps, sizes):
    """Writes ddpsim-real's format. Steps hold begin and the ends of forward, backward, finalize and optimizer."""
    counted = list(zip(steps, steps[1:]))
    periods = [following[0] - step[0] for step, following in counted]

    def between(first, last):
        return quantiles([step[last] - step[first] for step, _ in counted])

    return {
        "name": name,
        "bucket_cap_mb": cap,
        "gradient_as_bucket_view": views,
        "iteration_us": quantiles(periods),
        "forward_us": between(0, 1),
        "backward_us": between(1, 2),
        "communication_us": None,
        "exposed_communication_us": between(2, 3),
        "finalize_us": quantiles([0]),
        "optimizer_us": between(3, 4),
        "iterations_us": [round(period, 3) for period in periods],
        "buckets": [{"index": index, "bytes": size} for index, size in enumerate(sizes)],
        "timeline": f"{name}.timeline.json",
    }


def timeline(steps, setup, name):
    counted = sorted(zip((following[0] - step[0] for step, following in zip(steps, steps[1:])), steps))
    step = counted[(len(counted) - 1) // 2][1]
    names = ["forward", "backward", "communication and copies after backward", "optimizer"]
    spans = [
        {
            "track": "compute",
            "name": span,
            "bucket": None,
            "start_us": round(begin - step[0], 3),
            "end_us": round(end - step[0], 3),
        }
        for span, begin, end in zip(names, step, step[1:])
        if end > begin
    ]
    return {
        "schema": "ddpsim.timeline/1",
        "ranks": [{"rank": 0, "spans": spans}],
        "clock": "measured; zero is the start of forward of rank 0",
        "provenance": {**setup, "configuration": name},
    }


def all_reduce_row(size, repetitions, device, dtype):
    """Times an all-reduce of this size, and a hook's casts around it, separately. The values stay the same."""
    hooked = dtype != torch.float32
    wide = torch.full((size // torch.zeros((), dtype=dtype).element_size(),), 1.5, device=device)
    times = []
    for _ in range(repetitions + 2):
        marks = []

        def mark():
            if device.type == "cuda":
                torch.cuda.synchronize()
            marks.append(time.monotonic_ns())

        mark()
        tensor = wide.to(dtype).div_(dist.get_world_size())
        mark()
        dist.all_reduce(tensor)
        mark()
        if hooked:
            wide.copy_(tensor)
        mark()
        times.append([(end - begin) / 1000 for begin, end in zip(marks, marks[1:])])
    compress, all_reduce, decompress = (quantiles(part) for part in zip(*times[2:]))
    row = {"size_bytes": size, "dtype": str(dtype).removeprefix("torch."), "time_us": all_reduce}
    return {**row, "compress_us": compress, "decompress_us": decompress} if hooked else row


def bytes_of(text):
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
        if text.endswith(unit):
            return int(float(text[:-3]) * factor)
    return int(text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", help="a ddpsim.workload/1 file with shapes and ready times")
    parser.add_argument("--caps", help="bucket caps in MiB: 1,5,25; absent: PyTorch's default")
    parser.add_argument("--views", choices=["no", "yes", "both"], default="no")
    parser.add_argument("--all-reduce", help="measure all-reduces of these sizes first: 4KiB,1MiB")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=9)
    parser.add_argument(
        "--comm-hook",
        choices=list(WIRE_DTYPES),
        default="none",
        help="fp16_compress_hook or bf16_compress_hook of default_hooks.py",
    )
    parser.add_argument(
        "--gpu",
        action="store_true",
        help="tensors on the rank's own GPU; several share one where NCCL_MULTI_RANK_GPU_ENABLE=1 or gloo carries them",
    )
    parser.add_argument("--collectives", choices=["nccl", "gloo"], help="absent: NCCL with --gpu, gloo without")
    parser.add_argument("-o", "--output", required=True)
    # lab.py passes the same options to every program
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.gpu and not torch.cuda.is_available():
        sys.exit("torch_runner: no GPU to run on")
    workload = json.loads(pathlib.Path(arguments.workload).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    collectives = arguments.collectives or ("nccl" if arguments.gpu else "gloo")
    device = torch.device("cpu")
    if arguments.gpu:
        gpu = int(os.environ.get("LOCAL_RANK", 0))
        if os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE", "0") != "0" or collectives == "gloo":
            gpu %= torch.cuda.device_count()  # ranks may share one
        device = torch.device("cuda", gpu)
        torch.cuda.set_device(device)
    dist.init_process_group(collectives)
    setup = {
        "program": "torch_runner.py",
        "command": "torch_runner.py " + " ".join(sys.argv[1:]),
        "workload": workload.get("name", ""),
        "backend": "torch",
        "ranks": str(dist.get_world_size()),
        "iterations": f"{arguments.iterations} after {arguments.warmup}",
        "torch_rules": torch.__version__,
        "device": torch.cuda.get_device_name(device) if arguments.gpu else "CPU; compute is a timed wait",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "communication": "NCCL " + ".".join(map(str, torch.cuda.nccl.version()))
        if collectives == "nccl"
        else f"ProcessGroupGloo of PyTorch {torch.__version__}",
    }
    if arguments.comm_hook != "none":
        setup["comm_hook"] = f"{arguments.comm_hook}_compress_hook"
    caps = [float(cap) for cap in arguments.caps.split(",")] if arguments.caps else [None]
    views = {"no": [False], "yes": [True], "both": [False, True]}[arguments.views]
    document = {
        "schema": "ddpsim.measurement/1",
        "ranks": dist.get_world_size(),
        "setup": setup,
        "configurations": [],
        "all_reduces": [],
    }
    folder = pathlib.Path(arguments.output)
    if dist.get_rank() == 0:
        folder.mkdir(parents=True, exist_ok=True)
    for size in arguments.all_reduce.split(",") if arguments.all_reduce else []:
        document["all_reduces"].append(all_reduce_row(bytes_of(size), 15, device, WIRE_DTYPES[arguments.comm_hook]))
    gc.disable()
    for cap in caps:
        for view in views:
            name = ("default" if cap is None else f"cap{cap:g}") + ("-views" if view else "")
            steps, sizes = measure(workload, cap, view, arguments, device)
            gc.collect()
            dist.barrier()
            if dist.get_rank() == 0:
                document["configurations"].append(configuration(name, cap, view, steps, sizes))
                write(folder / f"{name}.timeline.json", json.dumps(timeline(steps, setup, name), indent=1) + "\n")
                write(folder / "measurement.json", json.dumps(document, indent=1) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
