#!/usr/bin/env python3
"""Learns the constants of sim/nccl/pipeline_cost.hpp from open nccl-tests logs.

    fit_cost_model.py DATA --tests build/dev/tests/ddpsim_tests [--leave-one-out] [--refit]

DATA is the folder with the logs' index.json. NCCL's choices and the clusters come from the unit test "pipeline cost
model: open logs", so that its tables exist only once. The fit minimises the mean absolute logarithmic error. Every log
has the same weight, and sizes below 1 MiB count a quarter. It is a pattern search with the standard library only.

--leave-one-out fits once without each family of clusters and judges that family by the fit. It prints the bands of
sim/certainty/uncertainty.cpp with their coverage. These fits take minutes and depend only on the rows and this script,
so left_out_fits.json stores them. They are made again if either has changed, or with --refit.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from quantile import quantile

KIB = 1 << 10
MIB = 1 << 20
INTRA_PCIE = 3
NETWORKS = {0: "", 1: "rdma", 2: "rdma", 3: "socket", 4: "efa", 5: "slingshot"}
KINDS = ("one NVLink node", "one PCIe node", "network")

# Expected values before seeing any log, from which the search starts. Names are those of pipeline_cost.hpp; times are
# in us and rates in GB/s.
START = {
    "launch": 7.2,
    "ll128_start": 30,
    "simple_start": 35,
    "nvls_start": 26,
    "nvls_wave": 2.3,
    "nvlink_ll": 0.8,
    "nvlink_ll128": 2.2,
    "nvlink_simple": 4.3,
    "hopper_latency": 0.41,
    "pcie_ll": 4.0,
    "pcie_simple": 4.0,
    "rdma_ll": 5.0,
    "rdma_ll128": 12.0,
    "rdma_simple": 25.0,
    "efa_ll": 40.0,
    "efa_simple": 50.0,
    "efa_rendezvous": 80.0,
    "slingshot_ll": 10.0,
    "slingshot_simple": 60.0,
    "socket_ll": 23.0,
    "socket_simple": 110.0,
    "nvlink2": 0.92,
    "nvlink3": 0.78,
    "nvlink4": 0.82,
    "nvls_hopper": 0.69,
    "pcie": 0.49,
    "rdma_share": 0.94,
    "efa_share": 0.90,
    "slingshot_share": 0.92,
    "socket_share": 0.73,
    "socket_nic": 4.9,
    "host_bridge": 18.5,
    "first_efa": 0.48,
    "overlap": 2.5,
    "channel_us": 0.3,
    "volta_ll": 2.9,
    "ampere_ll": 1.6,
    "hopper_ll": 5.6,
    "volta_ll128": 6.5,
    "ampere_ll128": 9.5,
    "hopper_ll128": 18.3,
    "tree_start": 0.3,
    "tree_slingshot_hop": 0.3,
    "tree_shared_nics": 0.55,
    "tree_branches": 0.7,
}
# Blackwell's share of NVLS is Hopper's share times the ratio of NCCL's own efficiencies for both.
BLACKWELL_NVLS = 0.74 / 0.85

SHARES = {
    "nvlink2",
    "nvlink3",
    "nvlink4",
    "nvls_hopper",
    "pcie",
    "rdma_share",
    "efa_share",
    "slingshot_share",
    "socket_share",
    "first_efa",
}
# Physical limits. Without them the search would trade one constant for another.
LEAST = {
    "volta_ll128": 6.0,
    "ampere_ll128": 9.5,  # measured in a log
    "pcie_ll": 2.0,
    "pcie_simple": 2.0,
    "efa_share": 0.8,
    "overlap": 1.0,
}
MOST = {name: 0.97 for name in SHARES} | {"overlap": 6.0}

# GB/s of one thread block through host memory (pipeline_cost.hpp). No log here uses peer-to-peer under one PCIe root.
HOST_BLOCK = 7.4

# GB/s of data that one process sends with LL (pipeline_cost.hpp).
LL_PROXY = 3.3

# Factor for the first EFA if one process both sends and receives (pipeline_cost.hpp).
FIRST_EFA_BOTH_WAYS = 0.5

# These logs are judged but not learned from. The first has its own transport with its own tuner plugin (TCPXO). The
# page of the second does not say where its NICs are (33 of 100 GB/s). The third has one GPU per node, and its page does
# not say whether the NIC can read its memory.
NOT_LEARNED = {"gcp-a3mega-n2g8", "abci-a100-n2g8", "gke-h200-n2g1"}
# These ran only five iterations per process, and start-up adds tens of us to each. So only sizes from 16 MiB on are
# learned from.
SHORT_RUNS = {"v100-sxm2-32gb-n1g8", "h800-n1g8", "a100-pcie-n1g8"}


def protocol_key(row):
    return row["protocol"].lower()


def move_us(size, gbps):
    return size / gbps * 1e-3 if size > 0 else 0.0


def tree_depth(nodes):
    return (nodes - 1).bit_length()


def tree_traffic(nodes):
    return {1: 0, 2: 1, 3: 1.5}.get(nodes, 2)


def tree_share(row, k):
    """A tree's rate through the NICs as a share of a ring's."""
    if row["algorithm"] != "tree" or row["nodes"] == 1:
        return 1
    if row["nodes"] > 2:
        return k["tree_branches"]
    return k["tree_shared_nics"] if row["nics"] < row["gpus"] else 1


def network_rate(row, k):
    """The rate of all NICs of a node in GB/s."""
    network = row["network"]
    nic = row["per_nic"] * k[network + "_share"]
    if network == "socket":
        return min(nic, k["socket_nic"]) * row["nics"]
    if network == "slingshot" and row["generation"] == 1:
        nic = min(nic, k["host_bridge"])
    if network == "efa" and row["generation"] == 0:
        nic *= k["first_efa"] * (FIRST_EFA_BOTH_WAYS if row["gpus"] == 1 else 1)
    return nic * row["nics"]


def network_hop(row, k, message):
    """The time of one hop between nodes in us, for a message of `message` bytes of data."""
    network, protocol = row["network"], protocol_key(row)
    if protocol == "ll128" and network != "rdma":
        protocol = "simple"
    latency = k[f"{network}_{protocol}"]
    if network == "slingshot" and (row["algorithm"], row["protocol"]) == ("tree", "Simple"):
        latency *= k["tree_slingshot_hop"]
    if network == "efa":
        on_wire = max(message / row["payload"], 1)
        latency += k["efa_rendezvous"] * min(max(math.log2(on_wire / (8 * KIB)) / 3, 0), 1)
    return latency + k["channel_us"] * (row["channels"] - 1)


def bytes_us(row, rate):
    """The time of all bytes in us. `rate` has the rates inside a node and between nodes in GB/s."""
    inside, outside = rate
    nodes, n, size = row["nodes"], row["nodes"] * row["gpus"], row["size"]
    if row["algorithm"] == "ring":
        return move_us(2 * (n - 1) / n * size, min(inside, outside))
    if row["algorithm"] == "tree":
        return max(move_us(tree_traffic(nodes) * size, outside), move_us(min(row["gpus"] - 1, 2) * size, inside))
    between = move_us(tree_traffic(nodes) * size, outside) if nodes > 1 else 0
    return max(move_us(size, inside), between)


def ring(row, k, local, inside, outside):
    nodes, n = row["nodes"], row["nodes"] * row["gpus"]
    size, channels, simple = row["size"], row["channels"], row["protocol"] == "Simple"
    network_hops = 2 * (nodes - 1)
    share = size / (channels * n)
    chunk = {"LL": 32 * KIB, "LL128": 576000, "Simple": 2 * MIB}[row["protocol"]]
    message = min(share, chunk) / (2 if simple else 1)
    time = (2 * (n - 1) - network_hops) * local
    busy = bytes_us(row, (inside, outside))
    if nodes == 1:
        return time + busy
    walk = network_hops * (network_hop(row, k, message) + move_us(message * channels, outside))
    if simple:
        busy = max(busy, (max(1, math.ceil(share / chunk)) - 1) * walk)
    return time + (walk ** k["overlap"] + busy ** k["overlap"]) ** (1 / k["overlap"])


def tree_chunk(row, share, depth):
    """The chunk of a tree in bytes. NCCL halves chunks until enough of them fill the depth; this function is smooth."""
    if row["protocol"] == "LL":
        return min(share, 32 * KIB)
    if row["protocol"] == "LL128":
        return min(share, 576000, max(share / (4 * depth), 32 * KIB))
    if row["nccl"] >= (2, 20):  # no longer for Simple
        return min(share, 512 * KIB)
    per_hop = share / depth
    chunk = min(512 * KIB, max(128 * KIB, per_hop / 8))
    chunk = min(chunk, max(64 * KIB, per_hop / 4), max(32 * KIB, per_hop))
    return min(share, chunk)


def tree(row, k, local, inside, outside):
    nodes, size, channels = row["nodes"], row["size"], row["channels"]
    local_depth, network_depth = row["gpus"] - 1, tree_depth(nodes)
    depth = local_depth + network_depth
    share = size / channels
    chunk = tree_chunk(row, share, depth)
    if row["protocol"] == "Simple":
        time = 2 * local_depth * move_us(chunk * channels, inside)
        time += 2 * network_depth * move_us(chunk * channels / 2, outside)
    else:
        time = 2 * network_depth * move_us(chunk * channels, outside)
    time += 2 * local_depth * local
    if nodes > 1:
        time += 2 * network_depth * network_hop(row, k, chunk)
    return time + bytes_us(row, (inside, outside))


def nvls(row, k):
    nodes, size = row["nodes"], row["size"]
    rate, outside = rates(row, k)
    streams = row["channels"] * row["gpus"]
    steps = 16 * (size / (4 * streams * 128 * KIB)) ** (2 / 3)
    waves = max(1, steps, size / (streams * (64 if nodes > 1 else 128) * KIB))
    wave = size / waves
    time = k["launch"] + k["nvls_start"] + waves * k["nvls_wave"] + move_us(wave, rate)
    if nodes > 1:
        hops = 2 * tree_depth(nodes)
        time += hops * (network_hop(row, k, wave / streams) + move_us(wave / 2, outside))
    return time + bytes_us(row, (rate, outside))


def rates(row, k):
    """Rates of data inside a node and between nodes in GB/s."""
    if row["algorithm"] in ("nvls", "nvlstree"):
        share = k["nvls_hopper"] * (BLACKWELL_NVLS if row["capability"] >= 100 else 1)
        return (row["per_gpu"] * share / (1 + 1 / row["gpus"]), network_rate(row, k) if row["nodes"] > 1 else math.inf)
    generation, protocol = row["generation"], protocol_key(row)
    blocks = inside = outside = math.inf
    if protocol != "simple":
        blocks = row["channels"] * k[("volta", "ampere", "hopper")[generation] + "_" + protocol]
    if row["gpus"] > 1:
        links = k["pcie" if row["intra"] == INTRA_PCIE else ("nvlink2", "nvlink3", "nvlink4")[generation]]
        slot = row["per_gpu"] * links
        if row["intra"] == INTRA_PCIE and row["peers"] == "no-p2p":
            slot *= row["to_host"] / row["per_gpu"]
        if row["intra"] == INTRA_PCIE and protocol == "simple":
            blocks = HOST_BLOCK * row["channels"]
        inside = min(slot * row["payload"], blocks)
    if row["nodes"] > 1:
        outside = min(network_rate(row, k) * tree_share(row, k) * row["payload"], blocks)
        if row["protocol"] == "LL":
            outside = min(outside, LL_PROXY * min(row["gpus"], row["nics"], row["channels"]))
    return inside, outside


def modelled_us(row, k):
    if row["algorithm"] in ("nvls", "nvlstree"):
        return nvls(row, k)
    protocol = protocol_key(row)
    pcie = row["intra"] == INTRA_PCIE
    pace = k["hopper_latency"] if row["generation"] == 2 else 1
    start = 0 if protocol == "ll" else k[protocol + "_start"] * pace
    if row["algorithm"] == "tree" and row["nodes"] > 1:
        start *= k["tree_start"]
    start += k["launch"]
    if pcie:
        local = k["pcie_ll" if protocol == "ll" else "pcie_simple"]
    else:
        local = k["nvlink_" + protocol] * pace
    inside, outside = rates(row, k)
    shape = ring if row["algorithm"] == "ring" else tree
    return start + shape(row, k, local, inside, outside)


def read_rows(tests, data):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        subprocess.run(
            [tests, "-tc=pipeline cost model: open logs"],
            check=True,
            env={**os.environ, "DDPSIM_PIPELINE_ROWS": path},
            stdout=subprocess.DEVNULL,
        )
        rows = list(csv.DictReader(open(path)))
    index = json.load(open(os.path.join(data, "index.json")))
    family = {e["slug"]: e.get("family", e["slug"]) for e in index["logs"] + index["curves"]}
    for row in rows:
        for key in ("kind", "nodes", "gpus", "capability", "intra", "nics", "channels", "size"):
            row[key] = int(row[key])
        for key in ("per_gpu", "to_host", "per_nic", "measured_us", "modelled_us", "nccl_us", "constant_us"):
            row[key] = float(row[key])
        row["network"] = NETWORKS[int(row["network"])]
        row["nccl"] = tuple(map(int, row["nccl"].split(".")))
        row["generation"] = (row["capability"] >= 80) + (row["capability"] >= 90)
        row["payload"] = {"LL": 0.5, "LL128": 0.9375, "Simple": 1.0}[row["protocol"]]
        row["family"] = family[row["slug"]]
    return rows


def weigh(rows):
    total = {}
    for row in rows:
        row["weight"] = 1.0 if row["size"] >= MIB else 1 / 4
        if row["slug"] in NOT_LEARNED or row["slug"] in SHORT_RUNS and row["size"] < 16 * MIB:
            row["weight"] = 0
        total[row["slug"]] = total.get(row["slug"], 0) + row["weight"]
    for row in rows:
        if row["weight"]:
            row["weight"] /= total[row["slug"]]


# The penalty of a constant that is twice its expected value, relative to the error of one log. It keeps a constant near
# its expected value if few logs depend on it. 0, 0.05 and 0.15 were tried, and left-out clusters decided.
DOUBT = 0.15


def objective(rows, k):
    """The error to minimise. PCIe uses squares, because with two logs the absolute error has a plateau and no
    minimum."""
    power = 2 if rows and rows[0]["kind"] == 1 else 1
    error = sum(row["weight"] * abs(math.log(modelled_us(row, k) / row["measured_us"])) ** power for row in rows)
    return error + DOUBT * sum(math.log(value / START[name]) ** 2 for name, value in k.items())


NETWORK = ("tree", "rdma", "efa", "slingshot", "socket", "first_efa", "host_bridge", "overlap", "channel_us")


def stage_of(name):
    """The stage that fits a constant: 0 one NVLink node, 1 one PCIe node, 2 network. Each keeps the earlier
    constants."""
    return 2 if name.startswith(NETWORK) else 1 if name.startswith("pcie") else 0


def fit(rows):
    k = dict(START)
    for stage in range(3):
        mine = [row for row in rows if row["kind"] == stage and row["weight"] > 0]
        names = [name for name in k if stage_of(name) == stage]
        # Coordinate search stops in valleys. Leave each valley on both sides, and keep the best.
        trials = []
        for latency in (1.0, 0.5, 2.0) if stage == 2 else (1.0,):
            trial = {
                name: value * latency
                if name in names and name.endswith(("_ll", "_ll128", "_simple", "_rendezvous"))
                else value
                for name, value in k.items()
            }
            fit_stage(mine, trial, names)
            trials.append((objective(mine, trial), trial))
        k = min(trials, key=lambda pair: pair[0])[1]
    return k


def fit_stage(rows, k, names):
    step = 0.4
    best = objective(rows, k)
    while step > 0.02:
        improved = False
        for name in names:
            for factor in (1 + step, 1 / (1 + step)):
                value = k[name] * factor
                if not LEAST.get(name, 0) <= value <= MOST.get(name, math.inf):
                    continue
                error = objective(rows, {**k, name: value})
                if error < best - 1e-9:
                    k[name], best, improved = value, error, True
                    break
        if not improved:
            step /= 2


def one_more(values, share):
    """The bound below which one more value of the same kind lies with probability `share`.

    With few values, it lies further out than their own quantile.
    """
    values = sorted(values)
    place = min(max(share * (len(values) + 1) - 1, 0), len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def summary(rows, predict):
    if not rows:
        return "no rows"
    errors = [(100 * abs(predict(r) / r["measured_us"] - 1), f"{r['slug']} at {r['size']}") for r in rows]
    plain = [error for error, _ in errors]
    return (
        f"median {statistics.median(plain):5.1f} %  p90 {quantile(plain, 0.9):6.1f} %  "
        f"worst {max(errors)[0]:6.1f} % ({max(errors)[1]})"
    )


def report(rows, predict):
    for large in (True, False):
        for kind, name in list(enumerate(KINDS)) + [(None, "all clusters")]:
            mine = [r for r in rows if kind in (None, r["kind"]) and (r["size"] >= MIB) == large]
            print(f"{name:16} {'>= 1 MiB' if large else '<  1 MiB'} {summary(mine, predict)}")


CLASSES = ((0, 64 * KIB, "below 64 KiB"), (64 * KIB, MIB, "64 KiB to 1 MiB"), (MIB, 1 << 62, "from 1 MiB"))


def bands(rows, predict):
    """Prints the middle 80 % of measured over predicted. Also the coverage of such a band for the logs of each family,
    learned from the other families."""
    for kind, name in enumerate(KINDS):
        for low, high, words in CLASSES:
            mine = [r for r in rows if r["kind"] == kind and low <= r["size"] < high]
            ratios = [r["measured_us"] / predict(r) for r in mine]
            held = 0
            for family in {r["family"] for r in mine}:
                others = [r["measured_us"] / predict(r) for r in mine if r["family"] != family]
                if others:
                    inside = (quantile(others, 0.1), quantile(others, 0.9))
                    held += sum(
                        inside[0] <= r["measured_us"] / predict(r) <= inside[1] for r in mine if r["family"] == family
                    )
            print(
                f"{name:16} {words:16} measured / predicted {quantile(ratios, 0.1):.2f} to "
                f"{quantile(ratios, 0.9):.2f}, median {statistics.median(ratios):.2f}; "
                f"band of the others held {100 * held / len(mine):.0f} % of {len(mine)}"
            )


NETWORK_KINDS = ("rdma", "efa", "slingshot", "socket")
NETWORK_WORDS = {"rdma": "InfiniBand", "efa": "EFA and its like", "slingshot": "Slingshot", "socket": "sockets"}
NETWORK_CLASSES = ((KIB, 64 * KIB, "1 to 64 KiB"), *CLASSES[1:])
# Factor on the half-width of a band from three or four families. With it, the band held 80 % of the large sizes of the
# next family.
FEW = 1.5


def network_ratios(rows, predict, kind, low, high, without):
    """Measured over predicted for one kind of network, or for all. RDMA counts only with several GPUs per node."""
    return [
        r["measured_us"] / predict(r)
        for r in rows
        if low <= r["size"] < high
        and r["kind"] == 2
        and r["family"] != without
        and (kind is None or (r["network"] == kind and (kind != "rdma" or r["gpus"] > 1)))
    ]


def network_band(rows, predict, kind, low, high, without=None):
    """The band of one kind of network: the middle 80 % of its logs, widened by FEW.

    Below 64 KiB it is at least the band of all networks.
    """
    everywhere = network_ratios(rows, predict, None, low, high, without)
    own = network_ratios(rows, predict, kind, low, high, without)
    ends = quantile(everywhere, 0.1), quantile(everywhere, 0.9)
    if kind is None or len(own) < 4:
        return ends
    middle = statistics.median(own)
    wide = [middle * (quantile(own, q) / middle) ** FEW for q in (0.1, 0.9)]
    return (min(wide[0], ends[0]), max(wide[1], ends[1])) if high <= 64 * KIB else wide


def networks(rows, predict):
    """Prints the bands of each kind of network, and the coverage of such a band learned from the other families."""
    for kind in NETWORK_KINDS:
        for low, high, words in NETWORK_CLASSES:
            mine = [
                r
                for r in rows
                if r["kind"] == 2
                and r["network"] == kind
                and low <= r["size"] < high
                and (kind != "rdma" or r["gpus"] > 1)
            ]
            held = 0
            for row in mine:
                faster, slower = network_band(rows, predict, kind, low, high, row["family"])
                held += faster <= row["measured_us"] / predict(row) <= slower
            faster, slower = network_band(rows, predict, kind, low, high)
            print(
                f"{kind:10} {words:16} {{{faster:.2f}, {slower:.2f}}}; {len({r['family'] for r in mine})} families; "
                f"band of the others held {100 * held / len(mine):.0f} % of {len(mine)}"
            )


def kind_of_machine(row):
    if row["kind"] < 2:
        return KINDS[row["kind"]]
    return "one GPU a node" if row["gpus"] == 1 else NETWORK_WORDS[row["network"]]


def band_of_others(rows, predict, row, low, high):
    """The band of a row's kind of machine, learned from the other families as in uncertainty.cpp."""
    if row["kind"] == 2:
        return network_band(rows, predict, None if row["gpus"] == 1 else row["network"], low, high, row["family"])
    others = [
        r["measured_us"] / predict(r)
        for r in rows
        if r["kind"] == row["kind"] and low <= r["size"] < high and r["family"] != row["family"]
    ]
    return (quantile(others, 0.1), quantile(others, 0.9)) if others else None


def by_kind(rows, predict):
    """Prints coverage, width and interval score for each kind of machine, with intervals learned from the other
    families.

    The interval score is the width plus ten times the miss of a time outside, in logarithms (Gneiting and Raftery).
    Less is better.
    """
    found = {}
    for low, high, _ in NETWORK_CLASSES:
        for row in rows:
            if low <= row["size"] < high and (band := band_of_others(rows, predict, row, low, high)):
                found.setdefault(kind_of_machine(row), []).append(
                    [math.log(x) for x in (*band, row["measured_us"] / predict(row))]
                )
    for kind, times in sorted(found.items()):
        misses = [max(low - time, time - high, 0) for low, high, time in times]
        widths = [high - low for low, high, _ in times]
        held = sum(miss == 0 for miss in misses)
        score = statistics.mean(width + 10 * miss for width, miss in zip(widths, misses))
        print(
            f"{kind:18} left out: held {100 * held / len(times):.0f} % of {len(times)} times, "
            f"width {math.exp(statistics.median(widths)):.2f}, score {score:.2f}"
        )


def split(rows, unseen):
    """For each log with sizes from 128 MiB on: its kind, its family, and two comparisons with the cost model.

    The first is the least time per byte from 128 MiB on, divided by the model's. The second are the times of sizes from
    1 to 64 MiB beyond their bytes at that rate, each divided by the model's.
    """
    logs = {}
    for slug in dict.fromkeys(row["slug"] for row in rows):
        mine = [r for r in rows if r["slug"] == slug]
        k = unseen[mine[0]["family"]]
        moved = {id(r): bytes_us(r, rates(r, k)) for r in mine}
        ends = [r["measured_us"] / moved[id(r)] for r in mine if r["size"] >= 128 * MIB]
        if ends:
            fixed = [
                (r["measured_us"] - moved[id(r)] * min(ends)) / (modelled_us(r, k) - moved[id(r)])
                for r in mine
                if MIB <= r["size"] <= 64 * MIB
            ]
            logs[slug] = mine[0]["kind"], mine[0]["family"], min(ends), fixed
    return logs


def apart(rows, unseen):
    """Prints bands of the fixed cost of buckets and of the bandwidth, and how both correlate from log to log.

    Also the coverage of an interval of both, learned from the other families.
    """
    logs = split(rows, unseen)

    def middle(kind, family=None):
        mine = [log for log in logs.values() if log[0] == kind and log[1] != family]
        fixed, rate = [f for log in mine for f in log[3]], [log[2] for log in mine]
        return [one_more(values, share) for values in (fixed, rate) if values for share in (0.1, 0.9)]

    def inside(row):
        k = unseen[row["family"]]
        moved = bytes_us(row, rates(row, k))
        fixed = modelled_us(row, k) - moved
        band = middle(row["kind"], row["family"])
        low = math.hypot(fixed * min(0, band[0] - 1), moved * min(0, band[2] - 1))
        high = math.hypot(fixed * max(0, band[1] - 1), moved * max(0, band[3] - 1))
        return fixed + moved - low <= row["measured_us"] <= fixed + moved + high

    for kind, name in enumerate(KINDS):
        mine = [log for log in logs.values() if log[0] == kind]
        band = middle(kind)
        x = [statistics.median(log[3]) for log in mine]
        y = [log[2] for log in mine]
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        both = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
        spread = math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))
        large = [r for r in rows if r["kind"] == kind and r["size"] >= MIB]
        held = sum(map(inside, large))
        print(
            f"{name:16} fixed cost of 1 to 64 MiB {band[0]:.2f} to {band[1]:.2f}, time per byte "
            f"{band[2]:.2f} to {band[3]:.2f} of the cost model's, {len(mine)} logs; correlation "
            f"{both / spread:+.2f}; both of the others held {100 * held / len(large):.0f} % of "
            f"{len(large)} sizes from 1 MiB"
        )


def by_log(rows, predict):
    for slug in dict.fromkeys(row["slug"] for row in rows):
        mine = [r for r in rows if r["slug"] == slug and r["size"] >= MIB]
        print(f"  {slug:32}", summary(mine, predict))


KEPT = pathlib.Path(__file__).with_name("left_out_fits.json")


def fits(rows, families, refit):
    """The constants learned from all rows, and for each family those learned from the other families."""
    made_of = hashlib.sha256(pathlib.Path(__file__).read_bytes() + repr(rows).encode()).hexdigest()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() and not refit else {}
    if kept.get("made_of") != made_of:
        parts = [rows, *([row for row in rows if row["family"] != name] for name in families)]
        with concurrent.futures.ProcessPoolExecutor() as pool:
            together, *without = pool.map(fit, parts)
        kept = {"made_of": made_of, "all": together, "without": dict(zip(families, without))}
    if refit:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return kept["all"], kept["without"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--tests", required=True)
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--refit", action="store_true")
    options = parser.parse_args()
    rows = read_rows(options.tests, options.data)
    weigh(rows)
    families = list(dict.fromkeys(row["family"] for row in rows)) if options.leave_one_out else []
    constants, unseen = fits(rows, families, options.refit) if families else (fit(rows), {})
    for name, value in constants.items():
        print(f"{name:16} {value:.4g}")
    report(rows, lambda row: modelled_us(row, constants))
    by_log(rows, lambda row: modelled_us(row, constants))
    if options.leave_one_out:
        print("leave one family out")
        report(rows, lambda row: modelled_us(row, unseen[row["family"]]))
        by_log(rows, lambda row: modelled_us(row, unseen[row["family"]]))
        bands(rows, lambda row: modelled_us(row, unseen[row["family"]]))
        networks(rows, lambda row: modelled_us(row, unseen[row["family"]]))
        by_kind(rows, lambda row: modelled_us(row, unseen[row["family"]]))
        apart(rows, unseen)
        print("one constant efficiency")
        report(rows, lambda row: row["constant_us"])
        print("NCCL's own estimate")
        report(rows, lambda row: max(row["nccl_us"], 1e-3))
    return 0


if __name__ == "__main__":
    sys.exit(main())
