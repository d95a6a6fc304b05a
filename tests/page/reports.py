"""Reports for the tests: written by ddpsim, or made from documents that no run would give."""

import base64
import gzip
import html
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from html_report import DOCUMENTS, PLAIN, envelope  # noqa: E402

INPUTS = ROOT / "tests" / "golden" / "inputs"
SLOW = "node:2 gpu:1xV100 pcie:12GBps nic:1x10Gbps:tcp"
LAB = "node:1 gpu:4xV100 nvlink:6x25GBps:mesh nic:2x100Gbps:ib"

COMMANDS = {
    "simulate": ["simulate", "three-layers.json", "2xv100-nvlink", "--measured", "measured.json"],
    "queues": ["simulate", "three-layers.json", SLOW, "--bucket-cap-mb", "5", "--straggler", "1:1.2"],
    "tune": ["tune", "three-layers.json", "dgx1v@2", "--torch", "2.8"],
    "measure_first": ["tune", "resnet50-v100-b32", "p3dn@2", "--torch", "2.8", "--caps", "8,25"],
    "keep": ["tune", "resnet50-v100-b32", "2xv100-nvlink", "--caps", "5,25,100", "--measured-step", "99ms"],
    "advise": ["advise", "three-layers.json", "2xv100-nvlink"],
    "compare": [
        "compare",
        "three-layers.json",
        "2xv100-nvlink",
        "dgx1v@1..4*2",
        "nowhere=node:1 gpu:1xH100",
        "--no-tune",
        "--price",
        "dgx1v@2=20USD/node_hour",
    ],
    "prices": [
        "compare",
        "resnet50-v100-b32",
        "p3dn@1..8*2",
        "own=dgx1v@{1,2,4,8}",
        "--no-tune",
        "--price",
        "list",
        "--price",
        "own=25USD/node_hour",
    ],
    "allreduce": ["allreduce", "lab.json@2", "-b", "4K", "-e", "64M", "--measured", "n2.txt@2x4"],
    "calibrate": ["calibrate", "n1.txt", "n2.txt", "--cluster", LAB, "-o", "out.json"],
    "calibrate_gloo": [
        "calibrate",
        "gloo-sizes.csv",
        "--backend",
        "gloo",
        "--cluster",
        "node:4 gpu:1xV100 nic:1x1Gbps:tcp",
        "-o",
        "gloo.json",
    ],
    "validate": ["validate", "predicted-table.json", "n2.txt"],
}


def write_all(folder):
    """Writes a report for each of COMMANDS. Returns their paths by name."""
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
    pages = {}
    for name, arguments in COMMANDS.items():
        pages[name] = folder / f"{name}.html"
        run = subprocess.run(
            [os.environ["DDPSIM_BIN"], *arguments, "--report", pages[name]], cwd=folder, text=True, capture_output=True
        )
        assert run.returncode == 0, f"{name}: {run.stderr}"
    return pages


def remade(page, change):
    """A copy of the page with other documents. `change` modifies the envelope."""
    whole = envelope(page)
    change(whole)
    packed = base64.b64encode(gzip.compress(json.dumps(whole).encode())).decode()
    page = PLAIN.sub(lambda _: f'<pre id="plain">{html.escape(whole["text"], quote=False)}</pre>', page)
    return DOCUMENTS.sub(lambda _: f'<script type="application/gzip" id="documents">{packed}</script>', page)


def every_text(value, change):
    """A copy of `value` with every text changed, except keys and texts with a fixed choice of words."""
    if isinstance(value, dict):
        return {
            key: child if key in ("schema", "track", "grade", "action") else every_text(child, change)
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [every_text(child, change) for child in value]
    return change(value) if isinstance(value, str) else value


def large(whole, ranks=64, buckets=100, caps=1000):
    """Makes a report as large as they get. `whole` is the envelope of a `tune`."""
    documents = whole["documents"]
    result = documents["result"]
    step = 1e5 + 0.123456
    one = result["buckets"][0]
    starts = [step * (0.3 + 0.6 * i / buckets) for i in range(buckets)]
    result["iteration_us"] = step
    result["buckets"] = [
        {
            **one,
            "index": i,
            "ready_us": at,
            "launch_us": at - 50.5,
            "start_us": at + 20.25,
            "last_arrival_us": at + 80.125,
            "end_us": at + 400.0625,
            "parameter_indices": list(range(5 * i, 5 * i + 5)),
        }
        for i, at in enumerate(starts)
    ]

    def rank(r):
        late = r * 13.077
        spans = [{"track": "compute", "name": "forward", "bucket": None, "start_us": late, "end_us": 0.3 * step + late}]
        for i, at in enumerate(starts):
            names = {"first": f"layer{i}.weight", "last": f"layer{i}.bias", "count": 5}
            a = at + late + 7.31 * (r * i % 11)
            spans += [
                {"track": "host", "name": "launch", "bucket": i, "start_us": a - 60.123457, "end_us": a - 50.654321},
                {
                    "track": "compute",
                    "name": "backward",
                    "bucket": i,
                    "start_us": a - 500.111,
                    "end_us": a - 20.222,
                    "parameters": names,
                },
                {"track": "compute", "name": "copy into bucket", "bucket": i, "start_us": a - 20.222, "end_us": a},
                {
                    "track": "communication",
                    "name": "all_reduce",
                    "bucket": i,
                    "start_us": a + 20.25,
                    "end_us": at + 400.0625 + late,
                    "parameters": names,
                },
            ]
        spans.append(
            {
                "track": "compute",
                "name": "optimizer",
                "bucket": None,
                "start_us": 0.95 * step + late,
                "end_us": step + late,
            }
        )
        return {"rank": r, "spans": spans}

    documents["timeline"]["ranks"] = [rank(r) for r in range(ranks)]
    point = documents["tune"]["curve"][0]
    documents["tune"]["curve"] = [
        {
            **point,
            "bucket_cap_mb": 0.25 + i * 0.1,
            "first_bucket_mb": 0.25 + i * 0.1,
            "cap_range_mb": [0.25 + i * 0.1, 0.3499 + i * 0.1],
            "iteration_us": step + 700.3 * ((i * 37) % 23),
            "reachable": True,
        }
        for i in range(caps)
    ]
