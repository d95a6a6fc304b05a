#!/usr/bin/env python3
"""Compares our reducer with PyTorch's on the points of the lab: bucket bytes exact, steps within 2 %.

    tests/lab/compare_reducers.py measured.csv [--backends cpu-gloo c10d-gloo] [--bound 2]

The value of a point is the median of its launches' medians. Its noise is the spread of its launches; with four or more,
the best and the worst are left out. A point with more noise than the bound is listed but not judged. Exit code 4: a
point differs."""

import argparse
import csv
import statistics
import sys

BACKENDS = ["cpu-gloo", "c10d-gloo"]  # ours, then the reference
BOUND = 2  # per cent


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def points(rows, backend):
    """The medians of launches and the bucket bytes, by model, ranks and name."""
    found = {}
    for row in rows:
        if row["backend"] != backend or row["kind"] != "step":
            continue
        medians, sizes = found.setdefault((row["model"], int(row["ranks"]), row["name"]), ([], set()))
        medians.append(float(row["median_us"]))
        sizes.add(row["bucket_bytes"])
    return found


def spread(values):
    """The spread of launches in per cent. With four or more, the best and the worst are left out."""
    kept = sorted(values)[1:-1] if len(values) > 3 else values
    return (max(kept) / min(kept) - 1) * 100


def compare(table, backends, bound):
    """Prints the points in pairs. Returns for each judged point whether it is within the bound."""
    rows = read(table)
    ours, theirs = (points(rows, backend) for backend in backends)
    shared = [key for key in ours if key in theirs]
    if not shared:
        sys.exit(f"{table}: no point was measured with both {' and '.join(backends)}")
    print(f"{'model':<12} ranks {'point':<13} {backends[0]:>9} {backends[1]:>9} ms  difference  noise")
    verdicts, errors, bytes_differ = {}, [], []
    for key in shared:
        (mine, sizes), (reference, expected) = ours[key], theirs[key]
        value, truth = statistics.median(mine), statistics.median(reference)
        difference, noise = (value / truth - 1) * 100, max(spread(mine), spread(reference))
        quiet = noise <= bound
        if quiet:
            verdicts[key] = abs(difference) <= bound
            errors.append((abs(difference), key))
        if sizes != expected:
            bytes_differ.append(key)
            verdicts[key] = False
        print(
            f"{key[0]:<12} {key[1]:>5} {key[2]:<13} {value / 1000:>9.2f} {truth / 1000:>9.2f}    {difference:>+8.2f} %"
            f" {noise:>5.2f} %{'' if quiet else '  too noisy to judge'}"
        )
    if errors:
        worst, where = max(errors)
        print(
            f"{len(errors)} of {len(shared)} points judged: median {statistics.median(e for e, _ in errors):.2f} %, "
            f"worst {worst:.2f} % ({', '.join(map(str, where))}); bucket bytes "
            f"{'exact' if not bytes_differ else 'DIFFER at ' + str(bytes_differ)}",
            flush=True,
        )
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("--backends", nargs=2, default=BACKENDS)
    parser.add_argument("--bound", type=float, default=BOUND, help="percent")
    arguments = parser.parse_args()
    if not all(compare(arguments.table, arguments.backends, arguments.bound).values()):
        sys.exit(4)


if __name__ == "__main__":
    main()
