#!/usr/bin/env python3
"""Compares prediction and measurement for every configuration of a measurement.json, and prints the cap's regret."""

import argparse
import json
import signal
import statistics
import subprocess
import sys


def predict(arguments, one):
    command = [
        arguments.program,
        "simulate",
        arguments.workload,
        arguments.cluster,
        "--torch",
        arguments.torch,
        "--json",
    ]
    if one["bucket_cap_mb"] is not None:
        command += ["--bucket-cap-mb", str(one["bucket_cap_mb"])]
    if one["gradient_as_bucket_view"]:
        command.append("--gradient-as-bucket-view")
    run = subprocess.run(command + arguments.options, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr.strip())
    return json.loads(run.stdout)


def points_of(file):
    """Each configuration of a measurement.json: name, options of the prediction, bytes of buckets, and step time.

    The step time is in microseconds: median, p10, p90.
    """

    def number(value):
        # The comparison also refuses NaN.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= sys.float_info.max:
            raise ValueError(value)
        return value

    def text(value):
        if not isinstance(value, str):
            raise ValueError(value)
        return value

    with open(file, encoding="utf-8") as measurement:
        return [
            {
                "name": text(one["name"]),
                "gradient_as_bucket_view": bool(one["gradient_as_bucket_view"]),
                "bucket_cap_mb": None if one["bucket_cap_mb"] is None else number(one["bucket_cap_mb"]),
                "bytes": [bucket["bytes"] for bucket in one["buckets"]],
                **{key: number(one["iteration_us"][key]) for key in ("median", "p10", "p90")},
            }
            for one in json.load(measurement)["configurations"]
        ]


def main():
    if hasattr(signal, "SIGCHLD"):
        # If SIGCHLD is ignored, Python takes every exit code for 0.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="ddpsim")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--torch", default="2.8")
    parser.add_argument("measurement")
    parser.add_argument("options", nargs="*", help="more options for ddpsim simulate, after --")
    arguments = parser.parse_args()
    try:
        measured_points = points_of(arguments.measurement)
    except OSError as error:
        sys.exit(f"validate: {arguments.measurement!r} cannot be read: {error.strerror}")
    except (LookupError, TypeError, ValueError, RecursionError):
        sys.exit(f"validate: {arguments.measurement!r} is not a measurement of ddpsim-real. Measure again")
    if not all(point["median"] > 0 for point in measured_points):
        sys.exit(f"validate: {arguments.measurement!r} has a step that took no time. Measure again")
    if not measured_points:
        sys.exit(f"validate: {arguments.measurement!r} has no configuration. Measure again")
    print(f"{'configuration':<16} {'measured ms':>11} {'p10':>8} {'p90':>8} {'predicted':>9} {'error':>8}  buckets")
    points = []
    for one in measured_points:
        result = predict(arguments, one)
        measured, predicted = one["median"], result["iteration_us"]
        points.append((measured, predicted))
        same = one["bytes"] == [bucket["bytes"] for bucket in result["buckets"]]
        print(
            f"{one['name']:<16} {measured / 1000:>11.2f} {one['p10'] / 1000:>8.2f} "
            f"{one['p90'] / 1000:>8.2f} {predicted / 1000:>9.2f} {(predicted / measured - 1) * 100:>+7.1f} %"
            f"  {'exact' if same else 'DIFFER'}"
        )
    errors = [abs(predicted / measured - 1) * 100 for measured, predicted in points]
    regret = (min(points, key=lambda point: point[1])[0] / min(measured for measured, _ in points) - 1) * 100
    print(
        f"error: median {statistics.median(errors):.1f} %, worst {max(errors):.1f} %; regret of the chosen cap {regret:.1f} %"
    )


if __name__ == "__main__":
    main()
