#!/usr/bin/env python3
"""Calibrates the bundled clusters with the published logs that describe them.

    scripts/calibrate_bundled.py --data ../shared/data [--program build/release/cli/ddpsim] [--check]

Each row of CALIBRATED is one run of `ddpsim calibrate NAME:spec --published`. Its "calibration" replaces the one in
topologies/data/NAME.json; the source is the repository in which a log was published. --check writes nothing and fails
if a file would change. Clusters without a row have data sheet values only:

    dgx1v, dgx1v-1xedr, p3.16xlarge        The open log of 8 V100 does not state their wiring.

    2xv100-nvlink, dgx2, perlmutter-a100   They have no open log.

    h200                                   There is only a curve plotted by PyTorch, without small sizes.

Some logs of these clusters are not fitted:

    abci-a100-n8g8                The run was disturbed: it is slower than those on 4 and 16 nodes.

    mit-b200-n2g8-*               They reach a third of what their NICs carry, and their page calls them suspicious.

    p3dn-efa-n2g8-nccl246-ring    It used a plugin of 2019.
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
# For each cluster its logs, each with what its page states but its text does not.
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
    # The board and adapters of p4d; only the GPUs have more memory.
    "p4de": P4D,
    "p5": {"p5-efa-n2g8": "2x8,NCCL_VERSION=2.21.5"},
    "polaris-a100": {
        "polaris-a100-n2g4-nccl221": "2x4,NCCL_VERSION=2.21.5",
        "polaris-a100-n8g4-nccl218": "8x4,NCCL_VERSION=2.18.3",
        "polaris-a100-n540g4-nccl221": "540x4,NCCL_VERSION=2.21.5",
    },
}


def published(data):
    """For each log its file and the repository in which it was published."""
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


def equal_within_rounding(one, other):
    """Whether two texts are equal except for the last digits of numbers. Logarithms are rounded differently on other
    machines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal_within_rounding(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal_within_rounding, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-4)
    return one == other


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with nccl-tests/ and nccl-tests-more/")
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/ddpsim"))
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file would change")
    arguments = parser.parse_args()
    found = published(arguments.data)
    stale = []
    for name, logs in CALIBRATED.items():
        text = calibrated(arguments.program, name, logs, found)
        file = ROOT / "topologies" / "data" / f"{name}.json"
        if equal_within_rounding(json.loads(file.read_text()), json.loads(text)):
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
