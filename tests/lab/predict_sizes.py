#!/usr/bin/env python3
"""Compares ddpsim's predictions with the lab's steps at a number of ranks that was left out of the fit.

    tests/lab/predict_sizes.py --program build/release/cli/ddpsim tests/lab/measured/one_gigabit.csv

The links are fitted to the all-reduces at the other number of ranks (predict.py). No time at the predicted number of
ranks is used. Limits: the error of steps has a median of 2 % and a p90 of 5 %. Two trivial predictors are shown for
comparison: the steps of the other number of ranks, and no communication hidden. Exit code 4: a limit was missed. 77: no
gloo in this ddpsim."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import compare_reducers
import lab_workloads
import predict
import predict_transfers

MEDIAN, P90 = 2, 5  # per cent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim")
    parser.add_argument("table")
    parser.add_argument("--backend", default="c10d-gloo", help="whose steps are the truth")
    arguments = parser.parse_args()
    rows = compare_reducers.read(arguments.table)
    truth = compare_reducers.points(rows, arguments.backend)
    sizes = sorted({ranks for _, ranks, _ in truth})
    if len(sizes) != 2:
        sys.exit(f"{arguments.table}: two numbers of ranks are needed, not {sizes}")
    other = dict(zip(sizes, reversed(sizes)))
    groups, carried, exposed = {}, [], []
    with tempfile.TemporaryDirectory() as folder:
        for (model, ranks, name), (medians, _) in truth.items():
            workload = pathlib.Path(folder) / f"{model}.json"
            workload.write_text(json.dumps(lab_workloads.all_workloads()[model]), encoding="utf-8")
            points = predict.all_reduces(rows, model, other[ranks], arguments.backend)
            gloo, rate = predict.links(points, other[ranks], ranks)
            result = predict.simulate(arguments.program, workload, ranks, gloo, name)
            truth_us, predicted = statistics.median(medians), result["iteration_us"]
            error = (predicted / truth_us - 1) * 100
            groups.setdefault(ranks, []).append(abs(error))
            carried.append(abs(statistics.median(truth[model, other[ranks], name][0]) / truth_us - 1) * 100)
            total = sum(bucket["bytes"] for bucket in result["buckets"])
            compute = predicted - result["exposed_communication_us"]
            exposed.append(abs((compute + 2 * (ranks - 1) / ranks * total / rate) / truth_us - 1) * 100)
            print(
                f"{model:<12} {ranks} ranks {name:<12} links of {other[ranks]} ranks: measured {truth_us / 1000:>8.2f} ms, "
                f"predicted {predicted / 1000:>8.2f} ms {error:>+6.2f} %"
            )
    for ranks, errors in groups.items():
        print(f"{ranks} ranks, links of {other[ranks]}: {len(errors)} steps, {predict_transfers.quantiles(errors)}")
    errors = [error for group in groups.values() for error in group]
    print(f"{len(errors)} steps: {predict_transfers.quantiles(errors)}")
    print(
        f"beside it: as at the other size {predict_transfers.quantiles(carried)}; none hidden "
        f"{predict_transfers.quantiles(exposed)}"
    )
    if statistics.median(errors) > MEDIAN or predict_transfers.p90(errors) > P90:
        sys.exit(4)


if __name__ == "__main__":
    main()
