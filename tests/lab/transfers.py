#!/usr/bin/env python3
"""Measures single all-reduces of real steps in the lab: the transfer of every bucket.

A transfer lasts from the arrival of the last rank to the end.

    tests/lab/transfers.py --program build/release/real/ddpsim-real --ranks 2,4 -o measured/transfers.csv

The transfers come from the timelines of ddpsim-real (the median step, with all ranks on one machine's clock). The same
job also times all-reduces alone. predict_transfers.py compares both with predictions."""

import argparse
import csv
import json
import os
import pathlib
import platform
import sys
import tempfile

import lab
import lab_workloads

COLUMNS = [
    "model",
    "ranks",
    "rate",
    "backend",
    "launch",
    "kind",
    "name",
    "bucket",
    "size_bytes",
    "median_us",
    "arrivals_us",
]


def transfers(timeline):
    """For each bucket: the time from last arrival to last end, and from first to last arrival, in microseconds."""
    spans = {}
    for rank in timeline["ranks"]:
        for span in rank["spans"]:
            if span["track"] == "communication" and span["name"] == "all_reduce":
                spans.setdefault(span["bucket"], []).append((span["start_us"], span["end_us"]))
    for bucket, times in sorted(spans.items()):
        arrivals = [start for start, _ in times]
        yield bucket, max(end for _, end in times) - max(arrivals), max(arrivals) - min(arrivals)


def rows_of(measurement, folder, common):
    for one in measurement["all_reduces"]:
        yield {
            **common,
            "kind": "all_reduce",
            "name": "all_reduce",
            "size_bytes": one["size_bytes"],
            "median_us": one["time_us"]["median"],
        }
    for one in measurement["configurations"]:
        timeline = json.loads((folder / one["timeline"]).read_text(encoding="utf-8"))
        sizes = timeline["provenance"]["bucket_bytes"].split()
        for bucket, transfer, arrivals in transfers(timeline):
            yield {
                **common,
                "kind": "transfer",
                "name": one["name"],
                "bucket": bucket,
                "size_bytes": sizes[bucket],
                "median_us": f"{transfer:.3f}",
                "arrivals_us": f"{arrivals:.3f}",
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim-real")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--models", default="resnet-like,bert-like")
    parser.add_argument(
        "--backend",
        default="cpu-gloo",
        help="c10d-gloo does not show when an all-reduce starts: its times would hold the queue",
    )
    parser.add_argument("--caps", default="1,2,5,10,25")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=9)
    parser.add_argument("-o", "--output", required=True, help="CSV file")
    arguments = parser.parse_args()
    lab.own_namespaces()
    lab.require_backend(arguments.program, arguments.backend)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, value in lab_workloads.all_workloads().items():
            (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
        for ranks in map(int, arguments.ranks.split(",")):
            lab.build_network(ranks, arguments.rate)
            try:
                for model in arguments.models.split(","):
                    for launch in range(arguments.launches):
                        command = [
                            os.path.abspath(arguments.program),
                            str(folder / f"{model}.json"),
                            "--backend",
                            arguments.backend,
                            "--caps",
                            arguments.caps,
                            "--views",
                            "no",
                            "--torch",
                            "1.13",
                            "--iterations",
                            str(arguments.iterations),
                            "--all-reduce",
                            lab.ALL_REDUCES,
                        ]
                        measurement = lab.launch(command, ranks, folder, 600)
                        common = {
                            "model": model,
                            "ranks": ranks,
                            "rate": arguments.rate,
                            "backend": arguments.backend,
                            "launch": launch,
                        }
                        rows += rows_of(measurement, folder, common)
                        print(f"lab: {model}, {ranks} ranks, launch {launch}", file=sys.stderr)
            finally:
                lab.remove_network(ranks)
    with open(arguments.output, "w", encoding="utf-8", newline="") as out:
        for key in ("program", "communication", "kernel", "iterations", "torch_rules"):
            if key in measurement["setup"]:
                out.write(f"# {key}: {measurement['setup'][key]}\n")
        out.write(
            f"# links: one namespace per rank, tbf {arguments.rate} per egress, reno; priority: "
            f"{' '.join(lab.priority()) or 'none'}; {os.cpu_count()} cores, Python {platform.python_version()}\n"
        )
        out.write("# transfers: of the step that took the median, from the last rank's start to the last rank's end\n")
        out.write(
            "# command: tests/lab/transfers.py "
            + " ".join(argument for argument in sys.argv[1:] if "/" not in argument)
            + "\n"
        )
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
