#!/usr/bin/env python3
"""What ddpsim predicts of single all-reduces inside steps, beside what the lab timed (transfers.py).

    tests/lab/predict_transfers.py --program build/release/cli/ddpsim tests/lab/measured/transfers.csv

The transfer is the time from the last rank's arrival to the end. No transfer of a step enters the prediction: the links are
those of the job's own all-reduces, each timed alone (predict.py), so every cap is left out. Bar: median error 10 %. Beside it
a trivial predictor: the volume through each process at the link's rate. Two in flight share a link evenly in ddpsim; here a small
one that came first is nearly done before the second moves, so p90 is far off and no bar is set on it: what both take together is
right. Exit 4: the bar was missed; 77: no gloo in this ddpsim."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import compare_reducers
import lab_workloads
import predict

MEDIAN = 10  # percent


def measured(rows):
    """(model, ranks, cap) -> for each bucket its bytes and the times of the launches, microseconds."""
    found = {}
    for row in rows:
        if row["kind"] == "transfer":
            buckets = found.setdefault((row["model"], int(row["ranks"]), row["name"]), {})
            buckets.setdefault((int(row["bucket"]), int(row["size_bytes"])), []).append(float(row["median_us"]))
    return {key: [(size, times) for (_, size), times in sorted(buckets.items())] for key, buckets in found.items()}


def p90(errors):
    return sorted(errors)[round(0.9 * (len(errors) - 1))]


def quantiles(errors):
    return f"median {statistics.median(errors):.2f} %, p90 {p90(errors):.2f} %, worst {max(errors):.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim")
    parser.add_argument("table")
    arguments = parser.parse_args()
    rows = compare_reducers.read(arguments.table)
    backend = {row["backend"] for row in rows}.pop()
    groups, everything, trivial, repeats = {}, [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for (model, ranks, name), buckets in measured(rows).items():
            workload = pathlib.Path(folder) / f"{model}.json"
            workload.write_text(json.dumps(lab_workloads.all_workloads()[model]), encoding="utf-8")
            gloo, rate = predict.links(arguments.program, predict.all_reduces(rows, model, ranks, backend), ranks)
            result = predict.simulate(arguments.program, workload, ranks, gloo, name)
            if [bucket["bytes"] for bucket in result["buckets"]] != [size for size, _ in buckets]:
                sys.exit(f"{model}, {ranks} ranks, {name}: other buckets than measured")
            errors = []
            for one, (size, times) in zip(result["buckets"], buckets):
                truth = statistics.median(times)
                errors.append(abs((one["end_us"] - one["last_arrival_us"]) / truth - 1) * 100)
                trivial.append(abs(2 * (ranks - 1) / ranks * size / rate / truth - 1) * 100)
                repeats.append((max(times) / min(times) - 1) * 100)
            groups.setdefault((model, ranks), []).extend(errors)
            everything += errors
            print(f"{model:<12} {ranks} ranks {name:<6} {len(errors):>3} all-reduces: {quantiles(errors)}")
    for (model, ranks), errors in groups.items():
        print(f"{model:<12} {ranks} ranks, every cap, {len(errors)} all-reduces: {quantiles(errors)}")
    print(f"{len(everything)} all-reduces: {quantiles(everything)}")
    print(
        f"beside it, volume at the link's rate: {quantiles(trivial)}; launches of one all-reduce apart: {quantiles(repeats)}"
    )
    if statistics.median(everything) > MEDIAN:
        sys.exit(4)


if __name__ == "__main__":
    main()
