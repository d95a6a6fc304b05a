#!/usr/bin/env python3
"""Measures PyTorch's DistributedDataParallel with two ranks on one GPU, with the workloads and caps of our reducer.

It uses NCCL if a newer NCCL can replace the one of PyTorch and lets two ranks share the GPU; else gloo with tensors on
the GPU."""

import ctypes
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import command
from programs import Programs, SHARES_A_GPU
from reducer import CURVES, TINY, WORKLOADS

RUNNER = pathlib.Path(__file__).resolve().parents[2] / "real/torch_runner.py"
CAPS = "1,5,25,100,400"
MODELS = WORKLOADS | CURVES


def environment(programs, collectives):
    """Variables that load the newer NCCL before PyTorch's own. PyTorch finds its other libraries itself."""
    if collectives != "nccl":
        return {}
    newer = {"LD_PRELOAD": str(programs.newer_nccl)} if programs.newer_nccl.exists() else {}
    return {**newer, **SHARES_A_GPU}


def preloaded_version(programs):
    """The version of the newer NCCL. `communication` in a measurement has the version that PyTorch was compiled
    with."""
    found = ctypes.c_int()
    ctypes.CDLL(str(programs.newer_nccl)).ncclGetVersion(ctypes.byref(found))
    return f"{found.value // 10000}.{found.value // 100 % 100}.{found.value % 100}"


def trained(programs, workload, out, collectives, options, timeout):
    """Trains with two ranks and returns a row with what rank 0 measured. Both end if one fails or the time is over."""
    processes = []
    with socket.socket() as held:
        # Holding the port keeps others from taking it. Rank 0 can still listen on it, because both sockets set
        # SO_REUSEADDR.
        held.bind(("127.0.0.1", 0))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for rank in (0, 1):
            variables = {
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(held.getsockname()[1]),
                **environment(programs, collectives),
            }
            processes.append(
                subprocess.Popen(
                    [sys.executable, str(RUNNER), str(workload), *options, "-o", str(out)],
                    env=variables,
                    text=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            )
        ends = time.monotonic() + timeout
        while (
            time.monotonic() < ends
            and any(p.poll() is None for p in processes)
            and not any(p.poll() for p in processes)
        ):
            time.sleep(0.1)
    late = all(process.poll() is None for process in processes)
    for process in processes:
        process.kill()
    said = "".join(process.communicate()[0] for process in processes)
    if any(process.returncode for process in processes):
        raise RuntimeError((f"took longer than {timeout} s: " if late else "") + said[-900:].strip())
    measured = json.loads((pathlib.Path(out) / "measurement.json").read_text(encoding="utf-8"))
    preloaded = "LD_PRELOAD" in environment(programs, collectives)
    return {
        "ranks": 2,
        "as": "processes",
        "collectives": collectives,
        **({"nccl_preloaded": preloaded_version(programs)} if preloaded else {}),
        "measurement": measured,
    }


def main():
    part, given = command.begin(__doc__)
    folder = pathlib.Path(given.out).with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    programs = Programs(given.programs)

    def measured(name, collectives):
        workload = folder / f"{name}.json"
        if given.rehearse:
            workload.write_text(json.dumps(TINY), encoding="utf-8")
        else:
            programs.run(programs.ddpsim, "import", MODELS[name], "-o", workload, timeout=20)
        steps = ["--iterations", "2"] if given.rehearse or part.probe else ["--iterations", "7"]
        where = [] if given.rehearse else ["--gpu"]
        options = [
            "--caps",
            "25" if part.probe or given.rehearse else CAPS,
            "--collectives",
            collectives,
            *steps,
            *where,
        ]
        row = trained(
            programs, workload, folder / f"{name}-{collectives}", collectives, options, timeout=min(45, part.left() - 1)
        )
        return {"workload": MODELS[name], **row}

    # A rehearsal uses the same tiny workload for every name.
    for name in ("resnet50",) if part.probe or given.rehearse else ("resnet50", "bert-large", "gpt2", "vgg16"):
        worked = len(part.document["rows"])
        if not given.rehearse:
            part.measure(f"{name} nccl", lambda: measured(name, "nccl"))  # noqa: B023
        if len(part.document["rows"]) == worked:
            part.measure(f"{name} gloo", lambda: measured(name, "gloo"))  # noqa: B023
    part.end()


if __name__ == "__main__":
    main()
