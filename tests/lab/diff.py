#!/usr/bin/env python3
"""Changes made on purpose to a real job, and what `ddpsim diff` makes of the recordings before and after.

    tests/lab/diff.py --program build/release/cli/ddpsim

Two ranks between shaped links, real DistributedDataParallel over gloo (diff_job.py); every rank recorded with its
all-reduces. For each change: the row that names it, what was done to the step by it (from the two recordings' own figures
where that is not exact: a link's transfer), and the class that must come first. Exit 4: a bar was missed; 77: no
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
MEGABYTES = 4 * sum(BASE["gradients"])

# name -> changes of the case, rate; the row and by how much, in us (None: said by `done`), the class
CASES = {
    "same": ({}, "1gbit", None, None, None),
    "slower link": ({}, "500mbit", "all_reduce_transfer", None, "network_slower"),
    "slow rank": ({"slow": {"1": 1.5}}, "1gbit", "slowest_gpu", None, "slow_rank"),
    "tiny buckets": ({"cap_mb": 0.25}, "1gbit", None, None, "bucket_sizes"),
    "sleeping loader": ({"loader_us": 30000}, "1gbit", "input", 30000, "data_loading"),
    "find_unused_parameters": ({"arguments": {"find_unused_parameters": True}}, "1gbit", None, None,
                               "find_unused_parameters"),
    "buffers": ({"buffers": [2_000_000]}, "1gbit", "buffer_broadcast", None, "buffers_broadcast"),
}


def record(python, case, rate, folder):
    folder.mkdir()
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
    job = pathlib.Path(__file__).resolve().with_name("diff_job.py")
    lab.build_network(RANKS, rate)
    try:
        lab.launch([python, "-W", "ignore", str(job), "--case", str(folder / "case.json")], RANKS, folder, 100)
    finally:
        lab.remove_network(RANKS)
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
        before = record(python, BASE, "1gbit", root / "base")
        missed = []
        for name in names:
            changes, rate, row, done_us, cause = CASES[name]
            after = record(python, {**BASE, **changes}, rate, root / name.replace(" ", "-"))
            answer = diff(arguments.program, before, after)
            rows = {one["cause"]: one["us"] for one in answer["rows"]}
            first = answer["causes"][0]["class"] if answer["causes"] else "no difference larger than noise"
            print(f"{name}: {answer['before']['step_us'] / 1000:.2f} -> {answer['after']['step_us'] / 1000:.2f} ms, "
                  f"first {first}; " + ", ".join(f"{key} {us / 1000:+.2f}" for key, us in rows.items()), flush=True)
            if cause is None:
                ok = not answer["beyond_noise"]
            else:
                ok = first == cause and abs(rows.get("unexplained", 0)) < 0.1 * abs(answer["change_us"])
                if done_us is not None:
                    ok = ok and abs(rows.get(row, 0) - done_us) <= 0.1 * done_us
            if not ok:
                missed.append(name)
    print(f"missed: {', '.join(missed) or 'none'}")
    if missed:
        sys.exit(4)


if __name__ == "__main__":
    main()
