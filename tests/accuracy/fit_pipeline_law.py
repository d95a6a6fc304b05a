#!/usr/bin/env python3
"""Learns the constants of sim/src/pipeline_law.hpp from open nccl-tests logs.

    fit_pipeline_law.py DATA --tests build/dev/tests/ddpsim_tests [--leave-one-out]

DATA is the folder with the logs' index.json. NCCL's choices and the clusters come from the unit
test "pipeline law: open logs", so that its tables exist once. The fit minimises the mean absolute
log error, every log weighing the same, sizes below 1 MiB a third; NVLS systems are left out.
Pattern search from the standard library: no third-party package. --leave-one-out fits once per
family of clusters without it and judges it by the rest.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
KIND_INFINIBAND, KIND_ROCE, KIND_TCP, KIND_EFA, KIND_SLINGSHOT = 1, 2, 3, 4, 5
INTRA_PCIE = 3

# Starting values; names as in pipeline_law.hpp. Times in us, rates in GB/s.
START = {
    "launch": 5.0, "ll128_start": 20.0, "simple_start": 10.0,
    "nvlink_ll": 1.0, "nvlink_ll128": 3.0, "nvlink_simple": 5.0,
    "pcie_ll": 1.5, "pcie_simple": 8.0,
    "rdma_ll": 5.0, "rdma_ll128": 8.0, "rdma_simple": 15.0,
    "fabric_ll": 8.0, "fabric_simple": 30.0,
    "socket_ll": 20.0, "socket_simple": 60.0,
    "hopper_latency": 0.5,
    "nvlink2": 0.92, "nvlink3": 0.80, "nvlink4": 0.82, "pcie": 0.5,
    "rdma": 0.94, "fabric": 0.88, "socket_nic": 4.7, "socket_share": 0.7,
    "lone_gpu": 0.7, "staged": 0.45,
    "volta_ll": 1.3, "ampere_ll": 1.6, "hopper_ll": 6.0,
    "volta_ll128": 8.0, "ampere_ll128": 8.0, "hopper_ll128": 15.0,
}

# A network hop cannot beat the wire and the proxy thread.
FLOOR = {name: 4.0 for name in START if name.startswith(("rdma_", "fabric_", "socket_"))
         and name.endswith(("_ll", "_ll128", "_simple"))} | {"pcie_ll": 2.0, "pcie_simple": 4.0}
# Judged, not learned from: a container whose driver forbids GPUs to reach each other.
NOT_LEARNED = {"rtx2080ti-n1g2-nop2p"}

# Five timed iterations per process: start-up adds tens of us to each; learned from 16 MiB up.
SHORT_RUNS = {"v100-sxm2-32gb-n1g8", "h800-n1g8", "a100-pcie-n1g8"}
SHARES = {"nvlink2", "nvlink3", "nvlink4", "pcie", "rdma", "fabric", "socket_share", "lone_gpu",
          "staged"}


def ceil_div(a, b):
    return -(-a // b)


def generation(row):
    return 0 if row["capability"] < 80 else 1 if row["capability"] < 90 else 2


def network_rate(row, k):
    if row["network"] == KIND_TCP:
        nic = min(row["per_nic"] * k["socket_share"], k["socket_nic"])
    elif row["network"] in (KIND_INFINIBAND, KIND_ROCE):
        nic = row["per_nic"] * k["rdma"]
    else:
        nic = row["per_nic"] * k["fabric"]
    rate = nic * row["nics"]
    if row["network"] in (KIND_INFINIBAND, KIND_ROCE, KIND_EFA):
        if not row["gpudirect"]:
            rate *= k["staged"]
    if row["gpus"] == 1 and row["network"] != KIND_TCP:
        rate *= k["lone_gpu"]
    return rate


def local_rate(row, k):
    share = k["pcie"] if row["intra"] == INTRA_PCIE else k[
        ("nvlink2", "nvlink3", "nvlink4")[generation(row)]]
    return row["per_gpu"] * share


def latencies(row, k):
    p = {"LL": "ll", "LL128": "ll128", "Simple": "simple"}[row["protocol"]]
    path = "pcie" if row["intra"] == INTRA_PCIE else "nvlink"
    local = k[f"{path}_{'simple' if path == 'pcie' and p == 'll128' else p}"]
    if row["network"] == KIND_TCP:
        net = k["socket_ll" if p == "ll" else "socket_simple"]
    elif row["network"] in (KIND_EFA, KIND_SLINGSHOT):
        net = k["fabric_ll" if p == "ll" else "fabric_simple"]
    else:
        net = k["rdma_" + p]
    extra = 0 if p == "ll" else k[p + "_start"]
    if generation(row) == 2:
        local *= k["hopper_latency"]
        extra *= k["hopper_latency"]
    start = k["launch"] + extra
    return start, local, net


def law(row, k):
    n, nodes, per_node = row["nodes"] * row["gpus"], row["nodes"], row["gpus"]
    size, channels, protocol = row["size"], row["channels"], row["protocol"]
    start, local, net = latencies(row, k)
    payload = {"LL": 0.5, "LL128": 0.9375, "Simple": 1.0}[protocol]
    gen = ("volta", "ampere", "hopper")[generation(row)]
    cap = math.inf
    if protocol == "LL":
        cap = channels * k[gen + "_ll"]
    if protocol == "LL128":
        cap = channels * k[gen + "_ll128"]
    inside = min(local_rate(row, k) * payload, cap)
    outside = min(network_rate(row, k) * payload, cap) if nodes > 1 else math.inf
    if row["algorithm"] == "ring":
        bottleneck = min(inside if per_node > 1 else math.inf, outside)
        chunk = {"LL": 32768, "LL128": 576000, "Simple": 2 * MIB}[protocol]
        share = size / (channels * n)
        loops = max(1, ceil_div(size, channels * n * chunk)) if protocol == "Simple" else 1
        network_hops = 2 * (nodes - 1)
        hops = 2 * (n - 1) - network_hops
        time = loops * (hops * local + network_hops * net)
        if nodes > 1 and protocol == "Simple":
            time += network_hops * min(MIB, share / 2) / (outside / channels * 1e3)
        return start + time + 2 * (n - 1) / n * size / (bottleneck * 1e3)
    depth_net = int(math.log2(nodes)) if nodes > 1 else 0
    depth = per_node - 1 + depth_net
    edges = 0 if nodes == 1 else 1 if nodes == 2 else 1.5 if nodes == 3 else 2
    body = edges * size / (outside * 1e3)
    if per_node > 1:
        body = max(body, (1 if per_node == 2 else 2) * size / (inside * 1e3))
    fill = 0
    if protocol == "Simple":
        share = size / channels
        chunk = min(share, max(32 * 1024, min(512 * 1024, share / (4 * depth))))
        rate = min(inside if per_node > 1 else math.inf, outside) / channels
        fill = 2 * depth * chunk / (rate * 1e3)
    return start + 2 * ((per_node - 1) * local + depth_net * net) + fill + body


def read_rows(tests, data):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        subprocess.run([tests, "-tc=pipeline law: open logs"], check=True,
                       env={**os.environ, "DDPSIM_PIPELINE_ROWS": path},
                       stdout=subprocess.DEVNULL)
        rows = list(csv.DictReader(open(path)))
    index = json.load(open(os.path.join(data, "index.json")))
    family = {e["slug"]: e.get("family", e["slug"]) for e in index["logs"] + index["curves"]}
    for row in rows:
        for key in ("kind", "nodes", "gpus", "capability", "intra", "network", "nics",
                    "gpudirect", "channels", "size"):
            row[key] = int(row[key])
        for key in ("per_gpu", "per_nic", "measured_us", "law_us", "nccl_us"):
            row[key] = float(row[key])
        row["family"] = family[row["slug"]]
    return [row for row in rows if row["kind"] != 3]


def weigh(rows):
    total = {}
    for row in rows:
        row["weight"] = 1.0 if row["size"] >= MIB else 1 / 3
        total[row["slug"]] = total.get(row["slug"], 0) + row["weight"]
    for row in rows:
        row["weight"] /= total[row["slug"]]
        if row["slug"] in NOT_LEARNED:
            row["weight"] = 0
        if row["slug"] in SHORT_RUNS and row["size"] < 16 * MIB:
            row["weight"] = 0


def objective(rows, k):
    return sum(row["weight"] * abs(math.log(law(row, k) / row["measured_us"])) for row in rows)


NETWORK = ("rdma", "fabric", "socket", "lone_gpu", "staged")


def stage_of(name):
    """0: one NVLink node, 1: one PCIe node, 2: network. Each stage keeps what came before."""
    return 2 if name.startswith(NETWORK) else 1 if name.startswith("pcie") else 0


def fit(rows, start):
    k = dict(start)
    for stage in range(3):
        mine = [row for row in rows if row["kind"] == stage and row["weight"] > 0]
        names = [name for name in k if stage_of(name) == stage]
        # Coordinate search stops in valleys: leave them from both sides and keep the best.
        trials = []
        for latency in (1.0, 0.5, 2.0):
            for begin in (1.0, 0.5):
                trial = {**k}
                for name in names:
                    if name.endswith("_start"):
                        trial[name] *= begin
                    elif name not in SHARES and not name.endswith(("launch", "_nic")):
                        trial[name] *= latency
                fit_stage(mine, trial, names)
                trials.append((objective(mine, trial), trial))
        k = min(trials, key=lambda pair: pair[0])[1]
    return k


def fit_stage(rows, k, names):
    step = 0.4
    best = objective(rows, k)
    while step > 0.01:
        improved = False
        for name in names:
            for factor in (1 + step, 1 / (1 + step)):
                value = k[name] * factor
                if value < FLOOR.get(name, 0) or (name in SHARES and value > 0.97):
                    continue
                error = objective(rows, {**k, name: value})
                if error < best - 1e-9:
                    k[name], best, improved = value, error, True
                    break
        if not improved:
            step /= 2


def summary(errors):
    if not errors:
        return "no rows"
    errors = sorted(errors)
    q = lambda f: 100 * errors[int(f * (len(errors) - 1) + 0.5)][0]
    return f"median {q(.5):5.1f} %  p90 {q(.9):6.1f} %  worst {q(1):6.1f} % ({errors[-1][1]})"


def report(rows, predict):
    kinds = ("one NVLink node", "one PCIe node", "network")
    for large in (True, False):
        for kind, name in enumerate(kinds):
            errors = [(abs(predict(r) / r["measured_us"] - 1), f"{r['slug']} at {r['size']}")
                      for r in rows if r["kind"] == kind and (r["size"] >= MIB or not large)]
            print(f"{name:16} {'>= 1 MiB' if large else 'all     '} {summary(errors)}")


def band(rows, predict):
    """Measured over predicted, the middle 80 % from 1 MiB: the factors of sim/src/uncertainty.cpp."""
    for kind, name in enumerate(("one NVLink node", "one PCIe node", "network")):
        ratios = sorted(r["measured_us"] / predict(r) for r in rows
                        if r["kind"] == kind and r["size"] >= MIB)
        q = lambda f: ratios[int(f * (len(ratios) - 1) + 0.5)]
        print(f"{name:16} measured / predicted from {q(.1):.2f} to {q(.9):.2f}, median {q(.5):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--tests", required=True)
    parser.add_argument("--leave-one-out", action="store_true")
    options = parser.parse_args()
    rows = read_rows(options.tests, options.data)
    weigh(rows)
    constants = fit(rows, START)
    for name, value in constants.items():
        print(f"{name:16} {value:.4g}")
    report(rows, lambda row: law(row, constants))
    for slug in dict.fromkeys(row["slug"] for row in rows):
        mine = [r for r in rows if r["slug"] == slug and r["size"] >= MIB]
        print(f"  {slug:32}", summary([(abs(law(r, constants) / r["measured_us"] - 1),
                                        f"{r['protocol']} {r['size']}") for r in mine]))
    if options.leave_one_out:
        unseen = {}
        for name in dict.fromkeys(row["family"] for row in rows):
            rest = [row for row in rows if row["family"] != name]
            unseen[name] = fit(rest, constants)
        print("leave one family out")
        report(rows, lambda row: law(row, unseen[row["family"]]))
        band(rows, lambda row: law(row, unseen[row["family"]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
