#!/usr/bin/env python3
"""Measures how fast a large trace is imported, and how much memory that takes.

Grows a trace to the requested size by repeating its events, with shifted times and new correlation numbers. Imports two
sizes and the compressed larger one. Reads the larger one with Python's json for comparison. Grown traces are the same
in each run, and are deleted at the end.

    tests/bench/import_speed.py build/release/cli/ddpsim TRACE.json.gz [--megabytes 1024] [--no-json]
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def templates(events):
    """Each event as text with gaps for time and correlation, and the values of the gaps."""
    parts = []
    number = re.compile(r'"(ts|correlation)": (-?[0-9.]+)')
    marker = re.compile(r'"ProfilerStep#(\d+)"')
    for event in events:
        text = json.dumps(event)
        pieces, values, at = [], [], 0
        found = [(m.span(2), m.group(1), m.group(2)) for m in number.finditer(text)]
        found += [(m.span(1), "step", m.group(1)) for m in marker.finditer(text)]
        for (start, end), kind, value in sorted(found):
            pieces.append(text[at:start])
            # Integer nanoseconds, so that repetition adds no rounding error.
            values.append((kind, round(float(value) * 1000) if kind == "ts" else int(value)))
            at = end
        parts.append((pieces, values, text[at:]))
    return parts


def grow(trace, path, megabytes):
    """Writes the grown trace. Returns the numbers of its kernels and of all its GPU activities."""
    with (gzip.open if trace.endswith(".gz") else open)(trace, "rt") as file:
        document = json.load(file)
    events = [e for e in document["traceEvents"] if e.get("ph") == "X" and e.get("cat") != "Trace"]
    times = [e["ts"] for e in events]
    period = round((max(e["ts"] + e["dur"] for e in events) - min(times)) * 1000) + 1_000_000
    correlations = 1 + max(e.get("args", {}).get("correlation", 0) for e in events)
    steps = sum(e["name"].startswith("ProfilerStep") for e in events)
    parts = templates(events)
    rest = {k: v for k, v in document.items() if k != "traceEvents"}
    written = copies = 0
    with open(path, "w") as out:
        out.write(json.dumps(rest)[:-1] + ',\n"traceEvents": [\n')
        while written < megabytes << 20:
            lines = []
            for pieces, values, tail in parts:
                text = ""
                for piece, (kind, value) in zip(pieces, values):
                    if kind == "ts":
                        shifted = value + copies * period
                        text += f"{piece}{shifted // 1000}.{shifted % 1000:03}"
                    else:
                        text += f"{piece}{value + copies * (steps if kind == 'step' else correlations)}"
                lines.append(text + tail)
            chunk = (",\n" if copies else "") + ",\n".join(lines)
            out.write(chunk)
            written += len(chunk)
            copies += 1
        out.write("\n]}\n")
    kernels = copies * sum(e.get("cat") in ("kernel", "Kernel") for e in events)
    return kernels, copies * sum(e.get("cat") in GPU for e in events)


def measured(command):
    """The duration (s) and the peak resident memory (MiB) of a command.

    wait4 would not do, because its peak includes the memory of this process, from which the command is forked."""
    begin = time.monotonic()
    peak = 0
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status") as status:
                found = re.search(r"VmHWM:\s+(\d+)", status.read())
            peak = max(peak, int(found.group(1)) if found else 0)
            time.sleep(0.002)
        seconds = time.monotonic() - begin
        if process.returncode != 0:
            said.seek(0)
            sys.exit(f"{command[0]} failed: {said.read().decode()}")
    return seconds, peak / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ddpsim")
    parser.add_argument("trace")
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--no-json", action="store_true", help="leave out Python's json, which takes 5 GiB")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for megabytes in (arguments.megabytes // 4, arguments.megabytes):
            path = os.path.join(folder, f"{megabytes}.json")
            kernels, launches = grow(arguments.trace, path, megabytes)
            sizes.append((path, kernels, launches))
        results = []
        for path, kernels, launches in sizes:
            results.append(measured([arguments.ddpsim, "import", path]))
            rows.append(("ddpsim import", os.path.getsize(path), launches, *results[-1]))
        path = sizes[-1][0]
        if not arguments.no_json:
            code = "import json,sys; json.load(open(sys.argv[1]))"
            rows.append(
                ("python json", os.path.getsize(path), sizes[-1][2], *measured([sys.executable, "-c", code, path]))
            )
        with open(path, "rb") as raw, gzip.open(path + ".gz", "wb", 1) as out:
            while piece := raw.read(1 << 20):
                out.write(piece)
        rows.append(
            (
                "ddpsim import .gz",
                os.path.getsize(path + ".gz"),
                sizes[-1][2],
                *measured([arguments.ddpsim, "import", path + ".gz"]),
            )
        )
    print(f"{'':18} {'MiB':>8} {'launches':>10} {'s':>8} {'MiB/s':>8} {'peak MiB':>9}")
    for name, size, launches, seconds, peak in rows:
        print(f"{name:18} {size / 2**20:8.0f} {launches:10} {seconds:8.2f} {size / 2**20 / seconds:8.0f} {peak:9.1f}")
    more = (results[1][1] - results[0][1]) * 2**20
    print(
        f"growth: {more / (sizes[1][2] - sizes[0][2]):.1f} bytes per launch (kernels, copies, sets), "
        f"{more / (sizes[1][1] - sizes[0][1]):.1f} per kernel"
    )


if __name__ == "__main__":
    main()
