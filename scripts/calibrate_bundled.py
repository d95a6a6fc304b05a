#!/usr/bin/env python3
"""Calibrates the bundled clusters with the published logs that describe them.

    scripts/calibrate_bundled.py --data ../shared/data [--program build/release/cli/ddpsim] [--check]

Each row of CALIBRATED is one run of `ddpsim calibrate NAME:spec --published`; its "calibration" replaces that of
topologies/data/NAME.json, with the repository a log was published in as its source. --check writes nothing and fails
where a file would change. What is not named here is its specification alone:

    dgx1v, dgx1v-1xedr, p3.16xlarge   the open log of 8 V100 does not state their wiring
    2xv100-nvlink, dgx2, perlmutter-a100   no open log is of them
    h200                              a curve drawn by PyTorch, without its small sizes, is all there is

Logs of these clusters that are not fitted: abci-a100-n8g8 (slower than 4 and 16 nodes: disturbed), mit-b200-n2g8-*
(a third of what their NICs carry; their page calls them suspicious), p3dn-efa-n2g8-nccl246-ring (a plugin of 2019).
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
P4D = {"p4d-efa-n2g8": "2x8"}
# cluster: {log: what its page states and its text does not say}
CALIBRATED = {
    "8xpcie": {"a100-pcie-n1g8": "1x8,NCCL_VERSION=2.12.10"},
    "a3-mega": {"gcp-a3mega-n2g8": "2x8,NCCL_VERSION=2.21.5"},
    "abci-a100": {"abci-a100-n1g8": "1x8,NCCL_VERSION=2.8.4", "abci-a100-n2g8": "2x8,NCCL_VERSION=2.8.4"},
    "abci-v100": {
        "abci-v100-n1g4": "1x4,NCCL_VERSION=2.8.4",
        "abci-v100-n2g4": "2x4,NCCL_VERSION=2.8.4",
        "abci-v100-n8g4": "8x4,NCCL_VERSION=2.8.4",
    },
    "alps-gh200": {f"alps-gh200-n{nodes}g4": f"{nodes}x4,NCCL_VERSION=2.23.4" for nodes in (1, 2, 8, 32, 128)},
    "b200": {
        **{f"mit-b200-n1g8-{run}": "1x8,NCCL_VERSION=2.29.2" for run in ("a", "b", "ubuntu")},
        "lambda-b200-n2g8": "2x8,NCCL_VERSION=2.26.2",
    },
    "dgxa100": {"dgxa100-ib-n2g8": "2x8,NCCL_ALGO=RING,NCCL_VERSION=2.10.3"},
    "dgxh100": {"dgxh100-n1g8": "1x8,NCCL_VERSION=2.21.5"},
    "p3dn": {"p3dn-efa-n2g8": "2x8", "p3dn-efa-n2g1": "2x1"},
    "p4d": P4D,
    "p4de": P4D,  # the same board and adapters, GPUs with more memory
    "p5": {"p5-efa-n2g8": "2x8,NCCL_VERSION=2.21.5"},
    "polaris-a100": {
        "polaris-a100-n2g4-nccl221": "2x4,NCCL_VERSION=2.21.5",
        "polaris-a100-n8g4-nccl218": "8x4,NCCL_VERSION=2.18.3",
        "polaris-a100-n540g4-nccl221": "540x4,NCCL_VERSION=2.21.5",
    },
}


def published(data):
    """{log: (file, where it was published)}"""
    found = {}
    for folder in ("nccl-tests", "nccl-tests-more"):
        index = json.loads((data / folder / "index.json").read_text())
        for entry in index["logs"] if isinstance(index, dict) else index:
            source = entry["source"].removeprefix("github ").split(",")[0].split("@")[0].split(" (")[0]
            found[entry["slug"]] = (data / folder / f"{entry['slug']}.txt", source)
    return found


def calibrated(program, name, logs, found):
    """The text of NAME.json with its calibration."""
    cluster = ROOT / "topologies" / "data" / f"{name}.json"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        words = [f"{found[log][0]}@{stated}" for log, stated in logs.items()]
        subprocess.run(
            [program, "calibrate", *words, "--cluster", f"{cluster}:spec", "--published", "-o", out],
            check=True,
            capture_output=True,
            text=True,
        )
        text = out.read_text()
    begin = text.index('"calibration"')
    section = text[begin:]
    for log in logs:
        file, source = found[log]
        section = section.replace(f'"{file.name}"', json.dumps(source))
    own = cluster.read_text()
    if '\n  "calibration"' in own:
        own = own[: own.index(',\n  "calibration"')] + "\n}\n"
    return own.rstrip().removesuffix("}").rstrip() + ",\n  " + section


def alike(one, other):
    """Equal but for the last figures of numbers: another machine's logarithm rounds otherwise."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-4)
    return one == other


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of nccl-tests/ and nccl-tests-more/")
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/ddpsim"))
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file would change")
    arguments = parser.parse_args()
    found = published(arguments.data)
    stale = []
    for name, logs in CALIBRATED.items():
        text = calibrated(arguments.program, name, logs, found)
        file = ROOT / "topologies" / "data" / f"{name}.json"
        if alike(json.loads(file.read_text()), json.loads(text)):
            continue
        stale.append(name)
        if not arguments.check:
            file.write_text(text)
    print(
        "would change: " + ", ".join(stale)
        if arguments.check and stale
        else f"{len(CALIBRATED)} clusters, {len(stale)} changed"
    )
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
