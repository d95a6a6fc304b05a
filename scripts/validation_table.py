#!/usr/bin/env python3
"""Predicted beside measured for every configuration of a measurement.json, with the regret of the cap ddpsim would choose."""

import argparse
import json
import statistics
import subprocess
import sys


def predict(arguments, one):
    command = [arguments.program, "simulate", arguments.workload, arguments.cluster, "--torch", arguments.torch, "--json"]
    if one["bucket_cap_mb"] is not None:
        command += ["--bucket-cap-mb", str(one["bucket_cap_mb"])]
    if one["gradient_as_bucket_view"]:
        command.append("--gradient-as-bucket-view")
    run = subprocess.run(command + arguments.options, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr.strip())
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="ddpsim")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--torch", default="2.8")
    parser.add_argument("measurement")
    parser.add_argument("options", nargs="*", help="further options of ddpsim simulate, after --")
    arguments = parser.parse_args()
    with open(arguments.measurement, encoding="utf-8") as file:
        measurement = json.load(file)
    print(f"{'configuration':<16} {'measured ms':>11} {'p10':>8} {'p90':>8} {'predicted':>9} {'error':>8}  buckets")
    points = []
    for one in measurement["configurations"]:
        result = predict(arguments, one)
        measured, predicted = one["iteration_us"]["median"], result["iteration_us"]
        points.append((measured, predicted))
        same = [bucket["bytes"] for bucket in one["buckets"]] == [bucket["bytes"] for bucket in result["buckets"]]
        print(f"{one['name']:<16} {measured / 1000:>11.2f} {one['iteration_us']['p10'] / 1000:>8.2f} "
              f"{one['iteration_us']['p90'] / 1000:>8.2f} {predicted / 1000:>9.2f} {(predicted / measured - 1) * 100:>+7.1f} %"
              f"  {'exact' if same else 'DIFFER'}")
    errors = [abs(predicted / measured - 1) * 100 for measured, predicted in points]
    regret = (min(points, key=lambda point: point[1])[0] / min(measured for measured, _ in points) - 1) * 100
    print(f"error: median {statistics.median(errors):.1f} %, worst {max(errors):.1f} %; regret of the chosen cap {regret:.1f} %")


if __name__ == "__main__":
    main()
