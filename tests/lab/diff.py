#!/usr/bin/env python3
"""Checks what `ddpsim diff` says about deliberate changes to a real job, from recordings before and after.

    tests/lab/diff.py --program build/release/cli/ddpsim

Two ranks between shaped links train with real DistributedDataParallel over gloo (diff_job.py). Every rank is recorded
with its all-reduces. Each change has the class that must come first, the row that contains it, and its effect on the
step if that is known beforehand. Exit code 4: a limit was missed. 77: no namespaces, or no torch.

Limits: the class comes first, its row is within 10 % of the known effect, and less than 10 % of the change is
unexplained. For two runs of the same job, no difference exceeds the noise."""

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
# Backward covers all its all-reduces.
CORES = {
    **BASE,
    "name": "cores",
    "cores": True,
    "gradients": [16384] * 16,
    "cap_mb": 0.25,
    "steps": 40,
}
NORMS = {**BASE, "name": "norms", "norms": 8, "gradients": [16384] * 16, "cap_mb": 0.25, "steps": 25}
STEPS_OF_FOUR = {**BASE, "name": "accumulated", "micro_batches": 4}
# Without the recorder's own hook, so that another hook can be registered.
HOOKLESS = {**BASE, "name": "hookless", "collectives": False}
BYTES = 4 * sum(BASE["gradients"])
GOODPUT = 1448 / 1514  # payload per byte that the shaper counts


def extra_compute(before, after):
    """The extra compute time of rank 1 in microseconds, by its own timing."""
    was, is_now = (json.loads((folder / "compute-ratio-rank1.json").read_text()) for folder in (before, after))
    return (is_now - was) * (CORES["forward_us"] + CORES["backward_us"])


# Each case has its base, and the changes of the base, of the links and of PyTorch. Then come the expected class, the
# row, and its length in us if it is known beforehand.
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
    # The first all-reduce starts when the late rank has filled its first bucket, after forward and a quarter of
    # backward.
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
    # Rank 0 sends its buffers while the others wait for them. Then it waits for the others.
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
    "slow core": (CORES, {"burner": 1}, {}, None, "slow_rank", "slowest_gpu", extra_compute),
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
    # Three more all-reduces of all gradients. Backward hides as much of each as of the last one.
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
    """Runs a case and returns the files of all ranks, as `ddpsim diff` takes them.

    `queue`: the length of a switch's queue in front of each rank, slightly slower than links, so that packets are lost.
    The sender's own shaper loses none, because it slows the sender down.
    """
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
            # With real-time priority, nothing else could share a core of the ranks.
            [] if case.get("cores") else None,
        )
    finally:
        lab.remove_network(RANKS)
    if not case.get("collectives", True):  # its ranks cannot be matched
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
            # A change may cost too little to exceed the noise. Then nothing may be named.
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
