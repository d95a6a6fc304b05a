#!/usr/bin/env python3
"""Changes made on purpose to a real job, and what `ddpsim diff` makes of the recordings before and after.

    tests/lab/diff.py --program build/release/cli/ddpsim

Two ranks between shaped links, real DistributedDataParallel over gloo (diff_job.py); every rank recorded with its
all-reduces. For each change: the class that must come first, the row that holds it, and what was done to the step where that is known
beforehand. Exit 4: a bar was missed; 77: no
namespaces, no torch.

Bars: the class first, its row within 10 % of what was done, unexplained below 10 % of the change; two runs of the same
thing: no difference larger than noise."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from torch_python import pythons_with_torch  # noqa: E402

RANKS = 2
BASE = {"name": "base", "gradients": [262144] * 16, "forward_us": 20000, "backward_us": 40000, "cap_mb": 4, "steps": 10}
MANY = {**BASE, "name": "many", "gradients": [4096] * 120, "cap_mb": 0.5}
SMALL = {
    **MANY,
    "name": "small",
    "gradients": [256] * 120,
    "forward_us": 2000,
    "backward_us": 4000,
    "cap_mb": 25,
    "steps": 20,
}
CORES = {
    **BASE,
    "name": "cores",
    "cores": True,
    "gradients": [16384] * 16,
    "cap_mb": 0.25,
    "steps": 40,
}  # backward covers its all-reduces
NORMS = {**BASE, "name": "norms", "norms": 8, "gradients": [16384] * 16, "cap_mb": 0.25, "steps": 25}
STEPS_OF_FOUR = {**BASE, "name": "accumulated", "micro_batches": 4}
HOOKLESS = {**BASE, "name": "hookless", "collectives": False}  # the recorder's own hook stands in the way of another
BYTES = 4 * sum(BASE["gradients"])
GOODPUT = 1448 / 1514  # of what the shaper counts


def stretched(before, after):
    """How much longer rank 1's compute took, as it timed itself."""
    was, is_now = (json.loads((folder / "stretch-rank1.json").read_text()) for folder in (before, after))
    return (is_now - was) * (CORES["forward_us"] + CORES["backward_us"])


# name -> base, what changes of it, of the links and of the PyTorch; what names it: the class, the row, and its length in us
# where it is known beforehand
CASES = {
    "again": (BASE, {}, {}, None, None, None, None),
    "slower link": (
        BASE,
        {},
        {"rate": "500mbit"},
        None,
        "network_slower",
        "all_reduce_transfer",
        BYTES * 8 / GOODPUT * (1 / 500 - 1 / 1000),
    ),
    "short queue": (BASE, {}, {"queue": "32kb"}, None, "network_slower", "all_reduce_transfer", None),
    # The first all-reduce begins when the late rank has written its first bucket: a quarter of backward, and forward.
    "slow rank": (BASE, {"slow": {"1": 1.5}}, {}, None, "slow_rank", "slowest_gpu", 0.5 * (20000 + 40000 / 4)),
    "tiny buckets": (MANY, {"cap_mb": 0.001}, {}, None, "bucket_sizes", None, None),
    "sleeping loader": (BASE, {"loader_us": 30000}, {}, None, "data_loading", "input", 30000),
    "find_unused_parameters": (
        BASE,
        {"arguments": {"find_unused_parameters": True}},
        {},
        None,
        "find_unused_parameters",
        None,
        None,
    ),
    # Rank 0 sends its buffers while the others wait for them; then it waits for the others.
    "buffers": (
        BASE,
        {"buffers": [2_000_000]},
        {},
        None,
        "buffers_broadcast",
        "slowest_gpu",
        2_000_000 * 4 * 8 / GOODPUT / 1000,
    ),
    "find_unused_parameters of a short step": (
        SMALL,
        {"arguments": {"find_unused_parameters": True}},
        {},
        None,
        "find_unused_parameters",
        None,
        None,
    ),
    "slow core": (CORES, {"burner": 1}, {}, None, "slow_rank", "slowest_gpu", stretched),
    "host threads": (CORES, {"threads": 4}, {}, None, "host_threads", "kernels", None),
    "host overhead": (
        CORES,
        {"overhead_us": 1000},
        {},
        None,
        "kernels_changed",
        "kernels",
        lambda before, after: json.loads((after / "overhead-rank0.json").read_text()),
    ),
    "sync batchnorm": (NORMS, {"sync_batchnorm": True}, {}, None, "sync_batchnorm", "kernels", None),
    "blocking hook": (HOOKLESS, {"comm_hook": "blocking"}, {}, None, "comm_hook", "copies", BYTES * 8 / GOODPUT / 1000),
    # Three more all-reduces of all gradients, of which backward covers what it covers of the last.
    "no_sync around backward": (
        STEPS_OF_FOUR,
        {"no_sync": "backward"},
        {},
        None,
        "no_sync_misplaced",
        "all_reduce_transfer",
        None,
    ),
    "another version": (BASE, {}, {}, "1.13", "version_changed", None, None),
}


def record(python, case, folder, rate="1gbit", queue=None):
    """The files of all ranks, as `ddpsim diff` takes them. `queue`: of the switch in front of each rank, a little slower than
    links; behind the sender's own shaper nothing is lost, since it holds the sender back."""
    folder.mkdir()
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
    job = pathlib.Path(__file__).resolve().with_name("diff_job.py")
    lab.build_network(RANKS, rate)
    try:
        for rank in range(RANKS if queue else 0):
            lab.do(
                "ip",
                "netns",
                "exec",
                "switch",
                "tc",
                "qdisc",
                "add",
                "dev",
                f"port{rank}",
                "root",
                "tbf",
                "rate",
                "950mbit",
                "burst",
                "32kb",
                "limit",
                queue,
            )
        lab.launch(
            [python, "-W", "ignore", str(job), "--case", str(folder / "case.json")],
            RANKS,
            folder,
            100,
            [] if case.get("cores") else None,
        )  # real-time priority would keep from a core what is to share it
    finally:
        lab.remove_network(RANKS)
    if not case.get("collectives", True):  # nothing joins its ranks
        return str(folder / "step-rank0.json")
    return ",".join(str(folder / f"step-rank{rank}.json") for rank in range(RANKS))


def diff(program, before, after):
    done = subprocess.run([program, "diff", before, after, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim")
    parser.add_argument("--torch", help="2.13; default: the first found")
    parser.add_argument("--cases", help="comma list; default: all")
    parser.add_argument("--keep", help="a folder for the recordings")
    arguments = parser.parse_args()
    found = pythons_with_torch()
    python = found.get(arguments.torch) if arguments.torch else next(iter(found.values()), None)
    if python is None:
        lab.skip("no Python here has this torch")
    lab.own_namespaces()
    names = arguments.cases.split(",") if arguments.cases else list(CASES)
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(arguments.keep or scratch)
        root.mkdir(exist_ok=True)
        bases, missed = {}, []
        for name in names:
            if name == "sync batchnorm" and found and python == found.get("1.13"):
                print(f"{name}: the CPU build of torch 1.13 has no such function")
                continue
            base, changes, links, torch, cause, row, done_us = CASES[name]
            if torch is not None and torch not in found:
                print(f"{name}: no Python here has torch {torch}")
                continue
            if base["name"] not in bases:
                bases[base["name"]] = record(python, base, root / base["name"])
            place = root / name.replace(" ", "-")
            after = record(found[torch] if torch else python, {**base, **changes}, place, **links)
            if callable(done_us):
                done_us = done_us(root / base["name"], place)
            answer = diff(arguments.program, bases[base["name"]], after)
            change_us, rows = answer["change_us"], {one["cause"]: one["us"] for one in answer["rows"]}
            first = answer["causes"][0]["class"] if answer["causes"] else None
            # Some changes cost little: then nothing may be named.
            below_noise = not answer["beyond_noise"] and row is None
            ok = below_noise or first == cause
            if not below_noise:
                ok = ok and abs(rows.get("unexplained", 0)) < 0.1 * abs(change_us)
            if row is not None and done_us is None:
                ok = ok and max(rows, key=lambda key: abs(rows[key])) == row
            if done_us is not None:
                ok = ok and abs(rows.get(row, 0) - done_us) <= 0.1 * done_us
            print(
                f"{name}: {answer['before']['step_us'] / 1000:.2f} -> {answer['after']['step_us'] / 1000:.2f} ms, "
                f"{first or 'no difference larger than noise'} first; "
                + ", ".join(f"{key} {us / 1000:+.2f}" for key, us in rows.items() if abs(us) >= 10)
                + (f"; done to {row}: {done_us / 1000:+.2f}" if done_us is not None else "")
                + ("" if ok else "  MISSED"),
                flush=True,
            )
            if not ok:
                missed.append(name)
    print(f"missed: {', '.join(missed) or 'none'}")
    if missed:
        sys.exit(4)


if __name__ == "__main__":
    main()
