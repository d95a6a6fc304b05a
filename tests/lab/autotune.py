#!/usr/bin/env python3
"""Checks `ddpsim.autotune` in real trainings against measurements of every cap.

    tests/lab/autotune.py --program build/release/cli/ddpsim -o tests/lab/measured/autotune.json
    tests/lab/autotune.py --table tests/lab/measured/autotune.json [--check]

The first measures every set-up in half an hour.

Two and four ranks between shaped links train with real DistributedDataParallel over gloo, under every PyTorch found
here. Compute is a timed wait (settings_job.py). One job per set-up measures a grid of caps in turns. It then runs
autotune several times, each from PyTorch's default. At the end it measures in turns the chosen settings, the default,
the best cap of the grid, and the settings that the simulator alone would have chosen.

Limits (--check) over all set-ups: if the best cap gains more than 3 % over the default, autotune gains 70 % of that in
90 % of runs. If it gains less than 1 %, the default stays in 95 % of runs. The median regret is at most 0.5 %.
Exit code 4: a limit was missed. 77: no namespaces, or no torch."""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import lab
import loop
from setting_setups import setup

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from torch_python import pythons_with_torch  # noqa: E402

JOB = pathlib.Path(__file__).resolve().with_name("autotune_job.py")
WORTH, GAINED, RUNS_GAINED = 3, 70, 90  # per cent
NOTHING, RUNS_KEPT, MEDIAN_REGRET = 1, 95, 0.5


def layers(shapes):
    return [
        entry
        for k, (rows, columns) in enumerate(shapes)
        for entry in ((f"layer{k}.weight", [rows, columns]), (f"layer{k}.bias", [rows]))
    ]


def transformer():
    """The parameters of three layers of width 256 after an embedding of 4096 words, in definition order."""
    parameters = [("embedding.weight", [4096, 256])]
    for layer in range(3):
        shapes = [
            ("query", 256, 256),
            ("key", 256, 256),
            ("value", 256, 256),
            ("output", 256, 256),
            ("intermediate", 1024, 256),
            ("last", 256, 1024),
        ]
        parameters += [(f"layer{layer}.{name}.weight", [rows, columns]) for name, rows, columns in shapes]
    return parameters


def all_setups():
    """Each set-up with its number of ranks, by name."""
    models = {
        "uneven": (layers([(128, 128)] * 4 + [(768, 768)] * 2 + [(256, 256)] * 6 + [(512, 512)] * 2), 10, 70),
        "transformer": (transformer(), 20, 60),
    }
    found = {}
    for name, (parameters, forward_ms, backward_ms) in models.items():
        for ranks in (2, 4):
            for rate in ("500mbit", "1gbit", "4gbit"):
                one = f"{name}, {ranks} ranks, {rate}"
                found[one] = setup(one, "", parameters, forward_ms, backward_ms, rate), ranks
    for ranks, rate in ((2, "1gbit"), (2, "4gbit")):  # no cap can gain here
        one = f"small, {ranks} ranks, {rate}"
        found[one] = setup(one, "", layers([(128, 128)] * 4), 30, 60, rate), ranks
    return found


def scheduling(ranks):
    """The scheduling command. With more ranks than cores, gloo's threads have the same priority as compute.

    A thread of gloo spins if data arrives before its rank waits for it. With a higher priority than compute, it would
    keep that rank from getting there.
    """
    return loop.scheduling() if ranks == 2 else lab.priority()


def measured(arguments, one, ranks, torch, python):
    lab.build_network(ranks, one["rate"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "setup.json").write_text(json.dumps(one), encoding="utf-8")
            found = lab.launch(
                [
                    python,
                    "-W",
                    "ignore",
                    str(JOB),
                    "--setup",
                    str(folder / "setup.json"),
                    "--runs",
                    str(arguments.runs),
                    "--rounds",
                    str(arguments.rounds),
                    "--steps",
                    str(arguments.steps),
                    "--horizon",
                    str(arguments.horizon),
                ],
                ranks,
                folder,
                300,
                scheduling(ranks),
            )
    finally:
        lab.remove_network(ranks)
    return {"setup": one["name"], "torch": torch, "ranks": ranks, "rate": one["rate"], **found}


def percent(of, than):
    return (1 - of / than) * 100


def report(records):
    """Prints a table and returns the limits that were missed."""
    gained, kept, regrets, worth = [], [], [], []
    others = {"always the default": [], "always the simulator's": []}
    for record in records:
        medians = {name: statistics.median(blocks) for name, blocks in record["turns"].items()}
        default, best = medians["default"], min(medians["default"], medians["best"])
        to_win = percent(best, default)
        worth.append(to_win)
        line = []
        for number, run in enumerate(record["runs"]):
            settled = medians[f"run {number}"]
            regrets.append(max(0.0, -percent(settled, best)))
            others["always the default"].append(max(0.0, -percent(default, best)))
            others["always the simulator's"].append(max(0.0, -percent(medians[f"predicted {number}"], best)))
            if to_win > WORTH:
                gained.append((percent(settled, default) / to_win * 100, record["setup"], record["torch"]))
            if to_win < NOTHING:
                kept.append(not run["chosen"])
            line.append(
                f"{next((f'{value}' if not isinstance(value, list) else f'{len(value)} caps' for value in run['chosen'].values()), 'default')} "
                f"{percent(settled, default):+.1f} %"
            )
        print(
            f"{record['setup']:<30} torch {record['torch']:<5} {default / 1000:>6.1f} ms, best {record['best']:<18} {to_win:>5.1f} %; "
            f"autotune {'; '.join(line)}; {statistics.median(run['steps'] for run in record['runs']):.0f} steps, "
            f"{statistics.median(run['spent_us'] for run in record['runs']) / 1e6:.1f} s"
        )
    enough = [share >= GAINED for share, *_ in gained]
    print(
        f"autotune: {len(regrets)} runs of {len(records)} set-ups, {sum(one > 5 for one in worth)} with more than 5 % to win: gained "
        f"{GAINED} % of it in {sum(enough)} of {len(enough)} runs where that is more than {WORTH} %, kept the default in {sum(kept)} of "
        f"{len(kept)} where less than {NOTHING} %"
    )
    if gained:
        print("least share gained: {0:.0f} % ({1}, torch {2})".format(*min(gained)))
    for name, values in (("autotune", regrets), *others.items()):
        ordered = sorted(values)
        print(
            f"regret, {name}: median {statistics.median(ordered):.2f} %, p90 {ordered[int(0.9 * (len(ordered) - 1))]:.2f} %, "
            f"worst {ordered[-1]:.2f} %"
        )
    runs = [run for record in records for run in record["runs"]]
    print(
        f"spent: median {statistics.median(run['spent_us'] for run in runs) / 1e6:.2f} s beyond its steps, of which there were "
        f"{statistics.median(run['steps'] for run in runs):.0f}; most {max(run['spent_us'] for run in runs) / 1e6:.1f} s"
    )
    missed = []
    if enough and 100 * sum(enough) < RUNS_GAINED * len(enough):
        missed.append("gains")
    if kept and 100 * sum(kept) < RUNS_KEPT * len(kept):
        missed.append("keeps")
    if len(records) > 1 and statistics.median(regrets) > MEDIAN_REGRET:  # one set-up is too noisy
        missed.append("regret")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="ddpsim")
    parser.add_argument("--setups", help="part of a name; default: all")
    parser.add_argument("--torch", help="1.13; default: every one found")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--table", help="measured once: print it")
    parser.add_argument("--check", action="store_true", help="judge by the bars")
    parser.add_argument("-o", "--output", help="JSON")
    arguments = parser.parse_args()
    if arguments.table:
        records = json.loads(pathlib.Path(arguments.table).read_text(encoding="utf-8"))
    else:
        pythons = {torch: python for torch, python in pythons_with_torch().items() if arguments.torch in (None, torch)}
        if not pythons:
            lab.skip("no Python here has torch (Debian: python3-torch)")
        lab.own_namespaces()
        os.environ["DDPSIM_PROGRAM"] = os.path.abspath(arguments.program)
        os.environ["PYTHONPATH"] = str(
            pathlib.Path(arguments.program).resolve().parents[1] / "python"
        )  # the build puts it there
        records = []
        for name, (one, ranks) in all_setups().items():
            if arguments.setups and arguments.setups not in name:
                continue
            for torch, python in pythons.items():
                records.append(measured(arguments, one, ranks, torch, python))
                report(records[-1:])
                if arguments.output:
                    text = ",\n".join(json.dumps(record, separators=(",", ":")) for record in records)
                    pathlib.Path(arguments.output).write_text(f"[{text}]\n", encoding="utf-8")
    missed = report(records)
    if arguments.check and missed:
        print("missed: " + ", ".join(missed))
        sys.exit(4)


if __name__ == "__main__":
    main()
