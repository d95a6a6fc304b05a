#!/usr/bin/env python3
"""Measures our reducer over NCCL in a sweep of caps, with two ranks on one GPU.

Averages are checked, and all spans are kept. The ranks are threads of one process, so that their kernels run at the
same time. A second run uses processes, whose kernels take turns. If NCCL refuses two ranks on one GPU, the refusal is
noted and one rank runs."""

import json
import os
import pathlib
import shutil

import command
from programs import Programs

# The recording from the reference card, and two steps that are short on current cards: one with few bytes, one with
# many.
WORKLOADS = {
    "resnet50-v100": "resnet50-v100-b32",
    "resnet50": "resnet50@H100:b128:bf16",
    "bert-large": "bert-large@H100:b16:s128:bf16",
}
CAPS = "1,5,25,50,100"
# Models for whole cap curves, with and without views. Their gradients are large, very different in size, or many.
CURVES = {
    "vgg16": "vgg16@H100:b64:bf16",
    "gpt2": "gpt2@H100:b8:s1024:bf16",
    "gpt2-medium": "gpt2-medium@H100:b4:s1024:bf16",
    "resnet152": "resnet152@H100:b64:bf16",
}
CURVE_CAPS = "1,2,5,10,25,50,100,200,400,1000"
SIZES = "64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB"
TINY = {
    "schema": "ddpsim.workload/1",
    "name": "tiny",
    "parameters": [{"name": f"p{i}", "shape": [4000 * (i + 1) + i % 2], "dtype": "float32"} for i in range(4)],
    "forward": {"duration_us": 100},
    "backward": {"duration_us": 200, "ready": [{"parameter": i, "at_us": 50 * (4 - i)} for i in (3, 2, 1, 0)]},
}
RANKS = {
    "threads": ("--ranks", "2", "--ranks-per-process", "2"),
    "processes": ("--ranks", "2"),
    "one rank": ("--ranks", "1"),
}


class Sweeps:
    def __init__(self, programs, folder, tiny):
        self.programs, self.folder, self.tiny = programs, folder, tiny
        self.mode = None
        self.refusals = []
        self.small = folder / "tiny.json"
        self.small.write_text(json.dumps(TINY), encoding="utf-8")

    def run(self, name, workload, *options, ranks=None, timeout=40, **environment):
        """Runs ddpsim-real and returns a row with its measurement. Its timelines stay in the folder."""
        ranks = ranks or self.mode
        out = self.folder / name.replace(" ", "-")
        shutil.rmtree(out, ignore_errors=True)
        self.programs.run(
            self.programs.ddpsim_real,
            self.small if self.tiny else workload,
            "--backend",
            "cuda-nccl",
            *RANKS[ranks],
            "--timeout",
            str(timeout // 3),
            *options,
            "-o",
            out,
            timeout=timeout,
            shared=ranks != "one rank",
            **environment,
        )
        measured = json.loads((out / "measurement.json").read_text(encoding="utf-8"))
        measured["setup"].pop("hosts", None)
        return {"workload": workload, "ranks": measured["ranks"], "as": ranks, "measurement": measured}

    def choose(self):
        """Finds out whether NCCL lets two ranks share the GPU. Tries threads, processes and one rank, and keeps the
        first that works."""
        rows = []
        for ranks in RANKS:
            try:
                row = self.run(
                    f"choose {ranks}",
                    str(self.small),
                    "--iterations",
                    "2",
                    "--caps",
                    "0.01,25",
                    ranks=ranks,
                    timeout=20,
                    NCCL_DEBUG="INFO",
                    NCCL_DEBUG_FILE=str(self.folder / f"nccl-{ranks.replace(' ', '-')}.log"),
                )
            except RuntimeError as error:
                rows.append({"as": ranks, "refused": str(error)})
                continue
            self.mode = self.mode or ranks
            rows.append({"as": ranks, "setup": row["measurement"]["setup"]})
        if self.mode is None:
            raise RuntimeError("; ".join(row["refused"] for row in rows))
        return rows


def findings(log):
    return (
        [line for line in log.read_text(encoding="utf-8").splitlines() if "=========" in line] if log.exists() else []
    )


def sanitised(sweeps, tool, ranks):
    """Runs compute-sanitizer over a short run. Its findings are raised, and so become a problem of this item."""
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not pathlib.Path(program).exists():
        raise RuntimeError("compute-sanitizer is not installed")
    environment = sweeps.programs.environment(shared=ranks != "one rank")
    # The tool must find its own libraries, the program ours.
    said = sweeps.folder / f"sanitised-{tool}-{ranks.replace(' ', '-')}.txt"
    try:
        sweeps.programs.run(
            program,
            "--tool",
            tool,
            "--log-file",
            said,
            "--target-processes",
            "all",
            "--error-exitcode",
            "9",
            "/usr/bin/env",
            f"LD_LIBRARY_PATH={environment['LD_LIBRARY_PATH']}",
            sweeps.programs.ddpsim_real,
            sweeps.small,
            "--backend",
            "cuda-nccl",
            *RANKS[ranks],
            "--timeout",
            "30",
            "--iterations",
            "1",
            "--caps",
            "0.01",
            "--comm-hook",
            "fp16",
            "-o",
            sweeps.folder / f"sanitised-{tool}",
            timeout=35,
            shared=ranks != "one rank",
            LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""),
        )
    except RuntimeError as error:
        raise RuntimeError("; ".join([*findings(said)[1:6], str(error)])) from None
    return {"tool": tool, "as": ranks, "said": findings(said)[-1:]}


def main():
    part, given = command.begin(__doc__)
    folder = pathlib.Path(given.out).with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    sweeps = Sweeps(Programs(given.programs), folder, given.rehearse)
    short = ("--iterations", "1", "--warmup", "2") if given.rehearse else ("--iterations", "7")
    part.measure("two ranks on one GPU", sweeps.choose, limit=95)
    if sweeps.mode is None:  # an earlier process chose it
        sweeps.mode = next((row["as"] for row in part.document["rows"] if "setup" in row), "one rank")
    if part.probe:
        part.measure(
            "a sweep", lambda: sweeps.run("a sweep", WORKLOADS["resnet50"], "--iterations", "2", "--caps", "25")
        )
        return part.end()
    for name, workload in WORKLOADS.items():
        # Reading back 1.3 GB of averages takes 8 s per point, so only the run with the hook checks this workload.
        checks = ("--no-check",) if name == "bert-large" else ()
        part.measure(
            name,
            lambda: sweeps.run(
                name,
                workload,
                "--caps",
                CAPS,
                "--views",
                "both",
                "--all-reduce",  # noqa: B023
                "64KiB,1MiB" if given.rehearse else SIZES,
                *checks,
                *short,
            ),
        )
    for name, workload in CURVES.items():
        part.measure(
            name,
            lambda: sweeps.run(
                name,
                workload,
                "--caps",
                CURVE_CAPS,
                "--views",
                "both",
                "--all-reduce",  # noqa: B023
                "64KiB,1MiB" if given.rehearse else SIZES,
                "--no-check",
                *short,
            ),
        )
    part.measure(
        "resnet50 one rank",
        lambda: sweeps.run(
            "resnet50 one rank", WORKLOADS["resnet50"], "--caps", "1,25", "--views", "both", *short, ranks="one rank"
        ),
    )
    part.measure(
        "bert-large fp16 hook",
        lambda: sweeps.run(
            "bert-large fp16 hook", WORKLOADS["bert-large"], "--caps", "25", "--comm-hook", "fp16", *short
        ),
    )
    for name in ("resnet50", "bert-large"):
        part.measure(
            f"{name} processes",
            lambda: sweeps.run(
                f"{name} processes",
                WORKLOADS[name],
                "--caps",
                "1,25,100",  # noqa: B023
                "--no-check",
                *short,
                ranks="processes",
            ),
        )
    part.measure(
        "resnet50 busy", lambda: sweeps.run("resnet50 busy", WORKLOADS["resnet50"], "--caps", "1,25", "--busy", *short)
    )
    for tool, ranks in (
        ("memcheck", sweeps.mode),
        ("memcheck", "one rank"),
        ("racecheck", "one rank"),
        ("synccheck", "one rank"),
    ):
        if not given.rehearse:
            part.measure(f"{tool}, {ranks}", lambda: sanitised(sweeps, tool, ranks), limit=40)  # noqa: B023
    part.end()


if __name__ == "__main__":
    main()
