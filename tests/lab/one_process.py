#!/usr/bin/env python3
"""Compares two ranks in one process with two processes of one rank: the same steps within 2 %, bucket bytes exact.

    tests/lab/one_process.py --program build/release/real/ddpsim-real

The ranks use a network namespace with a shaped loopback, whose rate both directions share. The two ways take turns. The
value of a point is the median of its launches' medians, and its noise is their spread (compare_reducers.py). A point
noisier than the limit is listed but not judged. A point counts only if it differs again (repeated.py). Exit code 4: a
point differs. 77: no namespaces."""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import compare_reducers
import lab
import lab_workloads
import patience
import repeated

RANKS = 2


def shape_loopback(rate):
    lab.do("ip", "link", "set", "lo", "up")
    lab.do("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", rate, "burst", "128kb", "limit", "8mb")
    for key, value in lab.TCP:
        pathlib.Path(f"/proc/sys/net/ipv4/{key}").write_text(value, encoding="utf-8")


def measure(arguments, folder):
    rows = []
    for launch in range(arguments.launches):
        for way, each in (("processes", 1), ("threads", RANKS)):
            out = folder / f"{way}{launch}"
            subprocess.run(
                [
                    *lab.priority(),
                    os.path.abspath(arguments.program),
                    str(folder / f"{arguments.model}.json"),
                    "--backend",
                    "cpu-gloo",
                    "--ranks",
                    str(RANKS),
                    "--ranks-per-process",
                    str(each),
                    "--torch",
                    "1.13",
                    "--caps",
                    arguments.caps,
                    "--iterations",
                    str(arguments.iterations),
                    "-o",
                    str(out),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=patience.seconds(200),
            )
            measurement = json.loads((out / "measurement.json").read_text(encoding="utf-8"))
            rows += lab.rows_of(
                measurement,
                {"model": arguments.model, "ranks": RANKS, "rate": arguments.rate, "backend": way, "launch": launch},
            )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim-real")
    parser.add_argument("--rate", default="2gbit")
    parser.add_argument("--model", default="resnet-like")
    parser.add_argument("--caps", default="1,5,25")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=7)
    arguments = parser.parse_args()
    lab.own_namespaces()
    lab.require_backend(arguments.program, "cpu-gloo")
    shape_loopback(arguments.rate)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, value in lab_workloads.all_workloads().items():
            (folder / f"{model}.json").write_text(json.dumps(value), encoding="utf-8")

        def attempt():
            with open(folder / "measured.csv", "w", encoding="utf-8", newline="") as out:
                writer = csv.DictWriter(out, lab.COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(measure(arguments, folder))
            return compare_reducers.compare(folder / "measured.csv", ["threads", "processes"], compare_reducers.BOUND)

        failed, _ = repeated.failures(attempt)
    sys.exit(4 if failed else 0)


if __name__ == "__main__":
    main()
