#!/usr/bin/env python3
"""Checks the answers of `tune` for seventy jobs on current GPUs whose machines were never measured.

    tests/accuracy/todays_gpus.py --ddpsim build/release/cli/ddpsim [--before BEFORE.json] [--answers ANSWERS.json]
                                  [--more-neighbours] [--check] [--random CASES [--seed SEED]]

The cases are ten models on seven clusters of A100 and H100 that are known only by their data sheets. There are no
measured steps, so the script cannot tell whether an answer is right, only whether it is possible. It counts the answers
"set", "keep" and "measure first". It checks whether the interval of a gain reaches below zero, or above the largest
possible gain. It also checks whether an answer turns when the cluster has one node more or less. With --before, the
results of an earlier run are shown for comparison.

The largest possible gain is the step minus its lower bound, which is the step whose collectives take no time. Some
costs that the lower bound still contains are added: copies into and out of buckets, hooks, and waits for other ranks.
They come from `simulate`.

An answer turns if one says "set" and its neighbour plainly "keep". It also turns if both name a cap, and neither cap
lies in the other's `cap_range_mb`. "Measure first" is no turn. --more-neighbours also asks with NICs 5 % slower and
faster, and with the neighbouring minor versions of NCCL. With --check, the exit code is 4 if an interval is impossible
or an answer turns. --random asks about random jobs instead: any model, GPU, cluster line, PyTorch version and current
options, as random_advice.py draws them. Standard library only.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import random
import re
import statistics
import sys

import random_advice
from ddp_paper import Ddpsim

TORCH = "2.8"
WORKLOADS = (
    "resnet50@{gpu}:b128:bf16",
    "resnet152@{gpu}:b64:bf16",
    "vgg16@{gpu}:b64:bf16",
    "bert-base@{gpu}:b32:s512:bf16",
    "bert-large@{gpu}:b32:s512:bf16",
    "gpt2@{gpu}:b8:s1024:bf16",
    "gpt2-medium@{gpu}:b4:s1024:bf16",
    "gpt2-xl@{gpu}:b1:s1024:bf16",
    "t5-large@{gpu}:b4:s512:bf16",
    "tinyllama-1.1b@{gpu}:b2:s2048:bf16",
)
CLUSTERS = (
    "node:1 gpu:8xA100 nvswitch:300GBps",
    "node:4 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
    "node:32 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib",
    "node:4 gpu:4xA100 pcie:25GBps nic:1x100Gbps:ib",
    "node:4 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib",
    "node:32 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib",
    "node:8 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:roce",
)
NCCL_NEIGHBOURS = ("2.26.2", "2.28.9")  # PyTorch 2.8 ships 2.27.3
LARGEST_MEASURED_MIB = 200
DEFAULT_MIB = 25
# Causes in loss[] that the lower bound still contains.
BEYOND_LOWER_BOUND = (
    "copies",
    "hooks",
    "slowest_gpu",
    "straggler",
    "jitter",
)
ROUNDING_US = 1e-5
SET, KEEP, MEASURE = "set", "keep", "measure first"


def kind(recommended):
    """The kind of advice. "Measure first" wins, even if the answer also says to keep a setting meanwhile.

    An answer that depends on the version of PyTorch also counts as "measure first".
    """
    if recommended.get("measure_first") or "depends on PyTorch's version" in recommended["reason"]:
        return MEASURE
    return SET if recommended["action"] == "set" else KEEP


def gain_of(recommended):
    """The interval of the gain, of the advised setting or else of the cap that came closest to being advised."""
    return recommended["gain_us"] if recommended["action"] == "set" else recommended.get("most_robust_gain_us")


def answered(tuned):
    recommended = tuned["recommended"]
    found = {
        "kind": kind(recommended),
        "cap_mb": recommended["bucket_cap_mb"],
        "cap_range_mb": recommended["cap_range_mb"],
        "gain_us": gain_of(recommended),
        "reason": recommended["reason"],
    }
    if found["kind"] == MEASURE:
        found["measure_first"] = recommended.get("measure_first")
    return found


def turns(one, other):
    """Whether an engineer who follows both answers would have to undo one of them."""
    if {one["kind"], other["kind"]} == {SET, KEEP}:
        return True
    if one["kind"] != SET or other["kind"] != SET:
        return False

    def holds(answer, named):
        cap = DEFAULT_MIB if named["cap_mb"] is None else named["cap_mb"]  # None: only the first bucket's cap
        return answer["cap_range_mb"][0] <= cap <= answer["cap_range_mb"][1]

    return not holds(one, other) and not holds(other, one)


def nodes_of(cluster):
    return int(re.match(r"node:(\d+)", cluster)[1])


def neighbours(cluster, options, more):
    """The neighbours of a job: cluster and options, by the difference."""
    nodes, found = nodes_of(cluster), {}
    for count in (nodes - 1, nodes + 1) if nodes > 2 else (nodes + 1,) if nodes == 2 else ():  # one node has no network
        found[f"{count} nodes"] = re.sub(r"^node:\d+", f"node:{count}", cluster), ()
    if more:
        if nic := re.search(r"nic:(\d+)x(\d+)Gbps", cluster):
            for percent in (95, 105):
                found[f"NICs at {percent} %"] = (
                    cluster.replace(nic[0], f"nic:{nic[1]}x{int(nic[2]) * percent / 100:g}Gbps"),
                    (),
                )
        for nccl in NCCL_NEIGHBOURS if options == ("--torch", TORCH) else ():
            found[f"NCCL {nccl}"] = cluster, ("--nccl", nccl)
    return found


def ask(ddpsim, workload, cluster, options, more):
    def tune(line, *further):
        return ddpsim(workload, line, *options, "--threads", "1", *further, command="tune")

    tuned = tune(cluster)
    step = ddpsim(workload, cluster, *options)
    low, high = tuned["confidence"]["interval_percent"]
    communication = step["iteration_us"] - tuned["lower_bound_us"]
    return {
        "workload": workload,
        "cluster": cluster,
        "options": options,
        **answered(tuned),
        "step_us": step["iteration_us"],
        "measurable_us": tuned["recommended"]["measurable_us"],
        "communication_us": communication,
        "to_gain_us": communication + sum(loss["us"] for loss in step["loss"] if loss["cause"] in BEYOND_LOWER_BOUND),
        "step_width_percent": high - low,
        "neighbours": {
            what: answered(tune(other, *further))
            for what, (other, further) in neighbours(cluster, options, more).items()
        },
    }


def seventy_jobs():
    return [
        (workload.format(gpu=re.search(r"gpu:\d+x(\w+)", cluster)[1]), cluster, ("--torch", TORCH))
        for workload in WORKLOADS
        for cluster in CLUSTERS
    ]


def random_jobs(program, seed):
    """Random jobs on cluster lines with several nodes, because these have neighbours with other numbers of nodes."""
    rng = random.Random(seed)
    while True:
        job, options = random_advice.draw(rng, program)
        if len(job) == 2 and job[1].startswith("node:") and nodes_of(job[1]) > 1:
            yield (*job, tuple(random_advice.arguments_of(options)))


def answers_of_random(ddpsim, given):
    """The number of random cases that was asked for. Options that conflict, here or for a neighbour, are skipped."""

    def answer(job):
        try:
            return ask(ddpsim, *job, given.more_neighbours)
        except SystemExit:
            return None

    jobs, cases = random_jobs(random_advice.Program(given.ddpsim), given.seed), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        while len(cases) < given.random:
            drawn = list(itertools.islice(jobs, given.random - len(cases)))
            cases += [case for case in pool.map(answer, drawn) if case]
    return cases


def faults(case):
    """The faults of an answer. Only intervals of advised gains are checked, because the others promise nothing."""
    found = [
        f"turns with {what}: {words_of(other)}" for what, other in case["neighbours"].items() if turns(case, other)
    ]
    if case["kind"] == SET:
        gain = case["gain_us"]
        if gain["low"] < -case["measurable_us"] - ROUNDING_US:
            found.append(
                f"may lose {-gain['low'] / 1000:.2g} ms, of which {case['measurable_us'] / 1000:.2g} could be measured"
            )
        elif gain["low"] < -ROUNDING_US:
            found.append(f"may lose {-gain['low'] / 1000:.2g} ms, too little to be measured")
        for most, words in (("to_gain_us", "there is to gain"), ("communication_us", "communication costs")):
            if gain["high"] > case[most] + ROUNDING_US:
                found.append(
                    f"gains up to {gain['high'] / 1000:.3g} ms, more than the {case[most] / 1000:.3g} ms that {words}"
                )
                break
    return found


def figures(cases):
    """The lines of the summary, each a label and a value."""
    said = [case for case in cases if case["kind"] == SET]
    many = [case for case in cases if any("nodes" in what for what in case["neighbours"])]

    def count(mark, of):
        return f"{sum(any(mark in fault for fault in faults(case)) for case in of)} of {len(of)}"

    def width(case):
        gain = case["gain_us"]
        return 100 * (gain["high"] - gain["low"]) / case["step_us"] if gain else None

    def median(values):
        values = [value for value in values if value is not None]
        return f"{statistics.median(values):.1f} % of the step, of {len(values)}" if values else "none"

    lines = [(name, str(sum(case["kind"] == name for case in cases))) for name in (SET, KEEP, MEASURE)]
    lines += [
        (
            f"set: above {LARGEST_MEASURED_MIB} MiB",
            str(sum((case["cap_mb"] or DEFAULT_MIB) > LARGEST_MEASURED_MIB for case in said)),
        ),
        ("set: the largest cap, MiB", f"{max((case['cap_mb'] or DEFAULT_MIB for case in said), default=0):g}"),
        ("set: interval of the gain below zero", count("may lose", said)),
        ("of these below zero by more than can be measured", count("could be measured", said)),
        (
            "set: interval above what communication costs (the step less its lower bound)",
            f"{sum(case['gain_us']['high'] > case['communication_us'] + ROUNDING_US for case in said)} of {len(said)}",
        ),
        ("of these above communication, copies, hooks and waits together", count("there is to gain", said)),
        ("turn with one node more or less", count("nodes", many)),
    ]
    for mark, words in (
        ("NICs", "turn with NICs 5 % slower or faster"),
        ("NCCL", "turn with a neighbouring minor version of NCCL"),
    ):
        of = [case for case in cases if any(mark in what for what in case["neighbours"])]
        if of:
            lines.append((words, count(mark, of)))
    lines += [
        ("width of the step's 80 % interval, median", median([case["step_width_percent"] for case in cases])),
        ("width of the gain's 80 % interval, median", median(map(width, cases))),
        ("the same of what is set", median(map(width, said))),
    ]
    return lines


def words_of(case):
    if case["kind"] == KEEP:
        return KEEP
    gain = case["gain_us"]
    cap = f" {case['cap_mb']:g}" if case["cap_mb"] is not None else ""  # none: only the first bucket's cap
    return (
        case["kind"]
        + cap
        + (f": {gain['value'] / 1000:.3g} ms ({gain['low'] / 1000:.3g} to {gain['high'] / 1000:.3g})" if gain else "")
    )


def tables(cases, before):
    yield "| what | " + ("before | now |" if before else "answers |")
    yield "|---|---|" + ("---|" if before else "")
    was = dict(figures(before)) if before else {}
    for what, value in figures(cases):
        yield f"| {what} | " + (f"{was.get(what, '')} | " if before else "") + f"{value} |"
    yield ""
    yield "| workload | cluster | step ms | " + ("before | now" if before else "answer") + " | what cannot be |"
    yield "|---|---|---|---|---|" + ("---|" if before else "")
    old = {(case["workload"], case["cluster"]): case for case in before or ()}
    for case in cases:
        earlier = old.get((case["workload"], case["cluster"]))
        yield (
            f"| {case['workload']} | {case['cluster']} | {case['step_us'] / 1000:.1f} | "
            + ((f"{words_of(earlier)} | " if earlier else "| ") if before else "")
            + f"{words_of(case)} | {'; '.join(faults(case))} |"
        )


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["cases"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddpsim", help="absent: the answers are read, not asked for")
    parser.add_argument("--before", help="answers of an earlier program, as --answers wrote them")
    parser.add_argument(
        "--answers", default="build/todays_gpus.json", help="where the answers are written, or read without --ddpsim"
    )
    parser.add_argument(
        "--more-neighbours", action="store_true", help="NICs 5 %% slower and faster, NCCL's neighbouring versions"
    )
    parser.add_argument("--random", type=int, metavar="CASES", help="so many drawn jobs in place of the seventy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="exit code 4 where an answer cannot be")
    given = parser.parse_args()
    if given.ddpsim:
        ddpsim = Ddpsim(given.ddpsim)
        if given.random:
            cases = answers_of_random(ddpsim, given)
        else:
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                cases = list(pool.map(lambda job: ask(ddpsim, *job, given.more_neighbours), seventy_jobs()))
        os.makedirs(os.path.dirname(os.path.abspath(given.answers)), exist_ok=True)
        with open(given.answers, "w", encoding="utf-8") as file:
            json.dump({"torch": TORCH, "cases": cases}, file, indent=1)
            file.write("\n")
    cases = read(given.answers)
    before = read(given.before) if given.before else None
    print("\n".join(tables(cases, before)))
    if given.check and any("too little" not in fault for case in cases for fault in faults(case)):
        sys.exit(4)


if __name__ == "__main__":
    main()
