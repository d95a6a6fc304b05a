#!/usr/bin/env python3
"""The tables of docs/accuracy.md and the README's lines of figures, with what scripts/accuracy.sh has just measured.

    tests/accuracy/accuracy_page.py build/accuracy.md [--write]

Each row below is its words, with {names} where figures stand, and where in accuracy.md to find these: a section and the text
around them, <name> for a number, ... for anything between. Figures are given to two digits. Without --write the pages are compared, but
for one in a last digit, which another machine's mathematics may move: exit code 4 where one says something else, and the lines. A figure that is not found is an error: the table it stood in has changed."""

import argparse
import dataclasses
import difflib
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- made by tests/accuracy/accuracy_page.py -->", "<!-- end of what accuracy_page.py makes -->"
PUBLISHED = "Published data-parallel scaling"
PAPER = "The DDP paper"
RANKS = "What several ranks cost"
SCHEMES = "Other schemes"
CALIBRATED = "All-reduce: calibrated on logs"
BY_KIND = "All-reduce: intervals by kind of machine"
LEFT_OUT = "All-reduce: the cost model, each family left out"


@dataclasses.dataclass(frozen=True)
class Row:
    what: str
    data: str
    error: str
    beside: str
    figures: tuple = ()  # (section, text)


def published(group, prefix=""):
    """A group's lines of the published scaling: {p90}, {out_p90} of the slowdown that has not seen the source, {none_p90} of no
    communication, {one_p90} of one constant, {own_p90} of the one best for the group."""
    numbers = "<{0}median> % | <{0}p90> % | <{0}worst> % | <{0}loss> %"
    predictors = {
        "ddpsim": "",
        "ddpsim, slowdown learned without the source": "out_",
        "no communication": "none_",
        "efficiency 0.95": "one_",
    } | ({"efficiency <_>, best for the group": "own_"} if group != "all" else {})
    return tuple(
        (
            PUBLISHED,
            f"| {group} | {predictor} | <{'_' if name else prefix + 'rows'}> | {numbers.format(prefix + name)}"
            + ("" if name else f" | ... | <{prefix}held> % |"),
        )
        for predictor, name in predictors.items()
    )


def pairs(kind, prefix):
    """A kind's line of the published pairs."""
    return (
        (
            "Pairs of clusters that ran one job",
            f"| {kind} | <{prefix}n> | <{prefix}decided> % | <{prefix}right> % | <{prefix}held> % | <{prefix}median> % | "
            f"<{prefix}p90> % | <{prefix}blind> %, p90 <{prefix}blind_p90> %",
        ),
    )


def schemes(table, subset, prefix=""):
    """A table's lines of the other schemes: {median} of ddpsim, {same_median} of the same as DDP, {wire_median} and {hidden_median} of
    the bytes over bandwidth, in the open or behind compute."""
    predictors = (
        {"ddpsim": ""}
        if table in ("memory", "steps")
        else {
            "ddpsim": "",
            "same as DDP": "same_",
            "bytes over bandwidth, all exposed": "wire_",
            "bytes over bandwidth, all hidden": "hidden_",
        }
    )
    signs = "<{0}signs> % of <{0}signed> | " if table == "ratios" else ""
    return tuple(
        (
            SCHEMES,
            f"| {table} | predictor ... | {subset} | {predictor} | <{prefix + name}n> | "
            + (signs + "<{0}median> % | <{0}p90> % | <{0}worst> %").format(prefix + name),
        )
        for predictor, name in predictors.items()
    )


def paper(environment, backend, predictors, prefix=""):
    """A predictor's line of the paper's data, {median} for ddpsim and {name_median} for another, and what its intervals hold."""
    line = "{1} <pairs_n> <{0}median>% <{0}p90>% <{0}worst>% <{0}signs>% of <pairs>"
    found = []
    for predictor, name in predictors.items():
        regret = f" <{prefix + name}regret>%" if environment == "A" else ""
        held = f" ... its 80 % intervals hold <{prefix + name}held>% of" if predictor.startswith("ddpsim") else ""
        found.append(
            (
                PAPER,
                f"environment {environment}, {backend}: ... " + line.format(prefix + name, predictor) + regret + held,
            )
        )
    return tuple(found)


def left_out(scale, name):
    return (
        CALIBRATED,
        f"-{scale} <{name}> <_> <_> all <{name}_all> <_> <_> small <_> held <_> (...) % model <_> <_> "
        f"LogGP <{name}_loggp> <{name}_loggp_all>",
    )


def model(kind, prefix=""):
    return (
        (
            LEFT_OUT,
            f"leave one family out ... {kind} >= 1 MiB median <{prefix}median> % p90 <{prefix}p90> % worst <{prefix}worst> %",
        ),
        (LEFT_OUT, f"one constant efficiency ... {kind} >= 1 MiB median <{prefix}one> % p90 <{prefix}one_p90> %"),
        (LEFT_OUT, f"NCCL's own estimate ... {kind} >= 1 MiB median <{prefix}nccl> % p90 <{prefix}nccl_p90> %"),
    )


def intervals(section, begin, prefix):
    """What intervals hold, how wide they are, and their interval score."""
    return (section, f"{begin} held <{prefix}> % of <{prefix}_n> times, width <{prefix}_w>, score <{prefix}_s>")


KINDS = {
    "nv": "one NVLink node",
    "pc": "one PCIe node",
    "lone": "one GPU a node",
    "ib": "InfiniBand",
    "efa": "EFA and its like",
    "sl": "Slingshot",
    "tcp": "sockets",
}
DISTANCES = {
    "gpus": "other GPUs a node",
    "d4": "up to 4 times the nodes",
    "d16": "up to 16 times the nodes",
    "d270": "up to 270 times the nodes",
    "side": "one node by several, or several by one",
}

OWNERS = {"same": "the job shape published", "other": "another number of GPUs"}


def each(words, suffix=""):
    """'InfiniBand {ib} %, {ib_w}, {ib_s}; …'"""
    return "; ".join(
        f"{word} {{{name}{suffix}}} %, {{{name}{suffix}_w}}, {{{name}{suffix}_s}}" for name, word in words.items()
    )


INTERIOR = {"abci-v100-n2g4": "v2", "alps-gh200-n8g4": "g8", "alps-gh200-n32g4": "g32", "a100-sxm4-80gb-n1g4": "a4"}
OTHERS = {
    "abci-v100-n1g4": "o0",
    "abci-v100-n8g4": "o1",
    "abci-a100-n1g8": "o2",
    "abci-a100-n2g8": "o3",
    "alps-gh200-n1g4": "o4",
    "alps-gh200-n2g4": "o5",
    "alps-gh200-n128g4": "o6",
    "polaris-a100-n2g4-nccl221": "o7",
    "polaris-a100-n8g4-nccl218": "o8",
    "polaris-a100-n540g4-nccl221": "o9",
    "a100-sxm4-80gb-n1g2": "oa",
    "a100-sxm4-80gb-n1g8": "ob",
    "p3dn-efa-n2g1": "oc",
    "p3dn-efa-n2g8": "od",
}
MODELS = ("alexnet", "densenet121", "inception_v3", "resnet18", "resnet50", "resnet101", "resnext101", "vgg16")
VARY = "How steps vary"
KNOWN = (2, 3, 5, 8, 12, 20)  # steps
LAB = "The lab, one_gigabit: "
HOOK = "The lab, fp16_hook: "
LEVERS = "The lab: levers"
TUNED = "The lab: autotune"
SCHEMES_ON_GLOO = "The lab: schemes"
CARDS = {"H100": "nvidia-h100-80gb-hbm3", "H200": "nvidia-h200"}


def measured_on(card):
    """The rows of one GPU; `card`: its section of accuracy.md."""
    return [
        Row(
            "our reducer over NCCL, two ranks (threads) on the one GPU; calibrated from the run's own all-reduces alone",
            "{n} steps: three workloads, caps 1 to 100, views",
            "step: median {median} %, p90 **{p90} %**, worst {worst} % (BERT-large, whose backward takes {bert} µs a gradient longer than predicted); "
            "bucket bytes differ in {wrong}",
            "no communication: {none}, {none_p90}, {none_worst} %; all exposed: {open}, {open_p90}, {open_worst} %",
            (
                (card, "reducer, ddpsim: <n> steps, median <median> %, p90 <p90> %, worst <worst> %"),
                (card, "reducer, no communication: <_> steps, median <none> %, p90 <none_p90> %, worst <none_worst> %"),
                (card, "reducer, all exposed: <_> steps, median <open> %, p90 <open_p90> %, worst <open_worst> %"),
                (card, "bucket bytes differ in <wrong> of"),
                (card, "a gradient: ... bert-large <bert>"),
            ),
        ),
        Row(
            "the cap chosen there, over the measured best",
            "six curves",
            "least predicted step: mean {mean} %, worst **{worst} %**; kept at 25 unless 1 % is predicted to be saved, as `tune` does: {kept}, "
            "{kept_worst} %",
            "cap 25: mean {default} %; the worst cap: up to {most} %",
            (
                (
                    card,
                    "regret: predicted cap mean <mean> %, worst <worst> %; cap 25 mean <default> %; the worst cap up to <most> %",
                ),
                (
                    card,
                    "regret of the rule that keeps cap 25 unless <_> % are predicted to be saved: mean <kept> %, worst <kept_worst> %",
                ),
            ),
        ),
        Row(
            "estimates: steps that the GPU bounds",
            "{n} steps of torchvision's and transformers' models",
            "median **{median} %**, p90 **{p90} %**, all too fast",
            "one share of the peak rate, the best for these: {flat}, {flat_p90} %",
            (
                (
                    card,
                    "step, bound by the GPU: <n> rows, median <median> %, p90 <p90> %, worst <_> %; one share of the peak rate, the best: median "
                    "<flat> %, p90 <flat_p90> %",
                ),
            ),
        ),
        Row(
            "estimates: time of the GPU's kernels, full batches",
            "{n} steps",
            "median **{median} %**, p90 {p90} %; ResNets in fp32 {images} %, autocast without channels_last {amp} %, with it {channels} %, decoders "
            "{decoders} %",
            "one share of the peak rate: {flat}, {flat_p90} %",
            (
                (
                    card,
                    "busy, all full batches: <n> rows, median <median> %, p90 <p90> %, worst <_> %; one share of the peak rate, the best: median <flat> %, "
                    "p90 <flat_p90> %",
                ),
                (card, "busy, images, precise: <_> rows, median <images> %"),
                (card, "busy, images, amp, not channels_last: <_> rows, median <amp> %"),
                (card, "busy, channels_last_or_compiled: <_> rows, median <channels> %"),
                (card, "busy, decoders, full batches: <_> rows, median <decoders> %"),
            ),
        ),
        Row(
            "estimates: steps that launches bound, on a slow host ({host} µs a launch; 16 assumed)",
            "{n} steps",
            "median **{median} %**, p90 {p90} %, all too fast",
            "one share of the peak rate: {flat}, {flat_p90} %",
            (
                (
                    card,
                    "step, bound by launches: <n> rows, median <median> %, p90 <p90> %, worst <_> %; one share of the peak rate, the best: median "
                    "<flat> %, p90 <flat_p90> %",
                ),
                (card, "host: <host> µs a launch"),
            ),
        ),
        Row(
            "estimates: peak memory",
            "{n} full batches",
            "median {median} %, p90 **{p90} %**, worst {worst} % (a 1B Llama in tf32)",
            "",
            ((card, "memory, full batches: <n> rows, median <median> %, p90 <p90> %, worst <worst> %"),),
        ),
        Row(
            "DDP's copies with one rank",
            "{n} models",
            "predicted {ratio} times the measured in the mean",
            "",
            ((card, "DDP's copies with one rank: <n> models, ... mean <ratio>"),),
        ),
        Row(
            "recorder beside torch.profiler",
            "{n} models, every gradient",
            "ready times within {worst} % of the backward; the recorder costs {least} to **{most} %** of the step",
            "",
            (
                (
                    card,
                    "recorder: <n> models, ready times apart by at most <worst> % of the backward (aim: 2); its cost <least> to <most> %",
                ),
            ),
        ),
        Row(
            "DDP's copies and casts alone",
            "five kernels to 256 MiB",
            "{least} to {most} of the memory's rate, 0.85 assumed; a launch {launch} to {launch_most} µs, 6 assumed",
            "",
            (
                (
                    card,
                    "copies: <least> to <most> of the memory's rate, assumed <_>; a launch takes the host <launch> to <launch_most> µs",
                ),
            ),
        ),
        Row(
            "compute beside 2 to 32 thread blocks that move 0 to 400 GB/s",
            "{n} pairs of five kernels",
            "slowdown: median **{median} %**, p90 {p90} %, worst {worst} % (matrix products lose more, layer norms less)",
            "no slowdown: {none}, {none_p90}, {none_worst} %",
            (
                (card, "interference, ddpsim: <n> rows, median <median> %, p90 <p90> %, worst <worst> %"),
                (card, "interference, no slowdown: <_> rows, median <none> %, p90 <none_p90> %, worst <none_worst> %"),
            ),
        ),
    ]


TABLES = {
    "PyTorch's own rules, and reading traces": [
        Row("bucket assignment", "90 outputs of PyTorch's function; DDP's own logs (1.13)", "exact", ""),
        Row(
            "import of a trace",
            "{steps} steps of 15 open traces, 2021 to 2025",
            "gradients ready within {ready} µs, all-reduces start within {start} µs, bucket bytes exact",
            "",
            (
                (
                    "Import of traces",
                    "<steps> steps gradient ready, us: worst <ready> ... all-reduce start, us: worst <start> ",
                ),
            ),
        ),
        Row(
            "eight ranks joined: when each all-reduce starts and ends",
            "64 recorded durations of a DLRM job",
            "start: median {start} µs, worst {start_worst}; end: {end}, {end_worst}",
            "rank 0's duration for all: 5.5 ms",
            (
                (
                    "Replay of recorded steps",
                    "start: median <start> us, worst <start_worst> us; end: median <end> us, worst <end_worst> us",
                ),
            ),
        ),
        Row(
            "replay, recorded all-reduce times",
            "3 steps of a 2×A100 trace",
            "tail ≤ {tail} µs, starts ≤ {start} µs",
            "",
            (("Replay of recorded steps", "worst tail <tail> us, worst start <start> us"),),
        ),
        Row(
            "recorder: ready times",
            "a backward that waits for set deadlines, on a CPU",
            "≤ 0.6 %",
            "cost +0.7 % of the step",
        ),
    ],
    "Collectives": [
        Row(
            "all-reduce ≥ 1 MiB, one NVLink node, its family left out",
            "14 open nccl-tests logs",
            "median {median} %, p90 {p90} %, worst {worst} %",
            "NCCL's own estimate: {nccl}, {nccl_p90} %; one constant efficiency: {one}, {one_p90} %",
            model("one NVLink node"),
        ),
        Row(
            "the same over a network",
            "22 logs",
            "median {median} %, p90 {p90} %, worst {worst} %",
            "{nccl}, {nccl_p90} %; {one}, {one_p90} %",
            model("network"),
        ),
        Row(
            "the same, PCIe node",
            "3 logs, no two alike",
            "median {median} %, worst {worst} %",
            "{nccl}, {nccl_p90} %; {one}, {one_p90} %",
            model("one PCIe node"),
        ),
        Row(
            "80 % intervals over a network, ≥ 1 MiB, its family left out",
            "{ib_n} times over InfiniBand, {efa_n} EFA, {slingshot_n} Slingshot, {socket_n} sockets",
            "hold {ib}, {efa}, {slingshot}, {socket} %",
            "",
            tuple(
                (LEFT_OUT, f"{word} from 1 MiB ... band of the others held <{name}> % of <{name}_n>")
                for name, word in (("ib", "rdma"), ("efa", "efa"), ("slingshot", "slingshot"), ("socket", "socket"))
            ),
        ),
        Row(
            "80 % intervals from 1 KiB by kind of machine: times held, median of high over low, interval score (width and ten times the miss, in logarithms)",
            "the same logs",
            "its family left out: " + each(KINDS),
            "as answered, learned from all: " + each(KINDS, "_all"),
            tuple(intervals(LEFT_OUT, f"{word} left out:", name) for name, word in KINDS.items())
            + tuple(intervals(BY_KIND, word, f"{name}_all") for name, word in KINDS.items()),
        ),
        Row(
            "the same, calibrated: by how far the nearest log is",
            "18 job shapes, each by all others of its cluster and by each alone",
            each(DISTANCES),
            "",
            tuple(intervals(CALIBRATED, word, name) for name, word in DISTANCES.items()),
        ),
        Row(
            "the same, another owner's machine of the kind by one published log",
            "9 logs of six owners",
            each(OWNERS),
            "",
            tuple(intervals(CALIBRATED, word, name) for name, word in OWNERS.items()),
        ),
        Row(
            "bundled clusters that published logs calibrate: by their specification instead",
            "{n} times of 25 logs",
            "80 % intervals hold {held} %",
            "",
            (("Bundled clusters beside the published logs they rest on", "specifications held <held> % of <n>"),),
        ),
        Row(
            "calibrated, ≥ 1 MiB: a job shape between measured ones left out",
            "ABCI V100 n2, Alps n8, n32, A100-80GB g4",
            "median {v2}, {g8}, {g32}, {a4} %; all sizes {v2_all}, {g8_all}, {g32_all}, {a4_all} %",
            "LogGP fit: {v2_loggp}, {g8_loggp}, {g32_loggp}, {a4_loggp} %; {v2_loggp_all}, {g8_loggp_all}, {g32_loggp_all}, "
            "{a4_loggp_all} %",
            tuple(left_out(scale, name) for scale, name in INTERIOR.items()),
        ),
        Row(
            "the same, any other job shape left out",
            "14 job shapes of six clusters",
            "median {o*:min} to {o*:max} %; all sizes {o*_all:min} to {o*_all:max} % (p3dn's two: {oc}, {od}; {oc_all}, {od_all}); 80 % intervals of all 18 hold {held} %, width {held_w}, score {held_s}",
            "LogGP fit: {o*_loggp:min} to {o*_loggp:max} %; {o*_loggp_all:min} to {o*_loggp_all:max} %",
            tuple(left_out(scale, name) for scale, name in OTHERS.items()) + (intervals(CALIBRATED, "in all", "held"),),
        ),
        Row(
            "logs that do not describe their machine",
            "3 of {logs}, two more suspect",
            "the three and one suspect flagged, no false alarm",
            "",
            (("Logs: sound or not", "<logs> logs "),),
        ),
        Row(
            "flow network = cost model, nothing else on the links",
            "1,260 cases",
            "≤ {worst:percent} %",
            "",
            (("Flow network beside the cost model", "worst difference between flow and cost model: <worst> "),),
        ),
        Row(
            "flow network = SimGrid on the same physics",
            "rings of 8 to 1024 ranks, fat tree",
            "equal to the picosecond",
            "",
        ),
    ],
    "Whole steps of jobs nobody here ran": [
        Row(
            "ResNet-50 on 1, 2, 4, 8, 16 V100",
            "PyTorch's DDP benchmark",
            "{e1:+}, {e2:+}, {e4:+}, {e8:+}, {e16:+} %",
            "4.5 % and 2.5 % a doubling of nodes: {c1:+}, {c2:+}, {c4:+}, {c8:+}, {c16:+} %; DDP's copies and the wire alone: {n1:+}, {n2:+}, "
            "{n4:+}, {n8:+}, {n16:+} %",
            tuple(
                ("PyTorch's DDP benchmark, part by part", f" 25 {n} <_> <_> <e{n}> % <c{n}> % <n{n}> %")
                for n in (1, 2, 4, 8, 16)
            ),
        ),
        Row(
            "published scaling, one V100 node; 1-GPU step given",
            "{rows} rows, 5 sources",
            "step: median {median} %, p90 {p90} %, worst {worst} %; loss {loss} %; without the source's own rows {out_median}, {out_p90} %",
            "no communication: {none_median}, {none_p90}, {none_worst}, {none_loss} %; constant 0.95: {one_median}, {one_p90}, "
            "{one_worst}, {one_loss} %; the best for these: {own_median}, {own_p90} %",
            published("V100 single node"),
        ),
        Row(
            "the same, several V100 nodes",
            "{rows} rows",
            "median {median} %, p90 **{p90} %**, worst {worst} % (ten rows of two stacks lose more than their whole wire; NCCL, caps "
            "and fusion as the sources' own scripts state); loss {loss} %; {out_median}, {out_p90} %",
            "{none_median}, {none_p90}, {none_worst}, {none_loss} %; {one_median}, {one_p90}, {one_worst}, {one_loss} %; {own_median}, "
            "{own_p90} %",
            published("V100 multi-node"),
        ),
        Row(
            "of these fp32",
            "{rows} rows",
            "median {median} %, p90 {p90} %; {out_median}, {out_p90} %; the {stated_rows} whose network's rate is stated {stated} %; with "
            "other percentiles of one run and vaguer rows ({wide_rows}) {wide} %",
            "{none_median}, {none_p90} %; {one_median}, {one_p90} %; {own_median}, {own_p90} %",
            published("V100 multi-node, fp32")
            + (
                (PUBLISHED, "| the same, network's rate stated | ddpsim | <stated_rows> | <stated> %"),
                (PUBLISHED, "every row the words admit ... | V100 multi-node, fp32 | <wide_rows> | <wide> %"),
            ),
        ),
        Row(
            "the same, one A100 node",
            "{rows} rows, one source",
            "median {median} %, p90 {p90} %, worst {worst} %; loss {loss} %; {out_median}, {out_p90} %",
            "{none_median}, {none_p90}, {none_worst}, {none_loss} %; {one_median}, {one_p90}, {one_worst}, {one_loss} %; **{own_median}**, "
            "{own_p90} %",
            published("A100"),
        ),
        Row(
            "what each mechanism adds: one V100 node, several, A100, 64 to 256 GPUs",
            "the rows above",
            "all: {all_v}, {all_m}, {all_a}, {all_n} %",
            "without the slowest GPU {slow_v}, {slow_m}, {slow_a}, {slow_n}; without what is unexplained "
            "{un_v}, {un_m}, {un_a}, {un_n}; without both {both_v}, {both_m}, {both_a}, {both_n}; compute not slowed by NCCL {in_v}, {in_m}, {in_a}, "
            "{in_n}; NCCL not by compute {nc_v}, {nc_m}, {nc_a}, {nc_n} %",
            tuple(
                (
                    PUBLISHED,
                    f"| switched off ... | {what} | <{name}_v> %, p90 <_> % | <{name}_m> %, p90 <_> % | <{name}_a> %, p90 <_> % | "
                    f"<{name}_n> %, p90 <_> %",
                )
                for name, what in (
                    ("all", "nothing"),
                    ("slow", "the slowest GPU"),
                    ("un", "what is unexplained"),
                    ("both", "both (--rank-slowdown 0%)"),
                    ("in", "compute slowed by NCCL"),
                    ("nc", "NCCL slowed by compute"),
                )
            ),
        ),
        Row(
            "also stacks that lose over 15 % within one node, which the result alone tells",
            "{v_rows}, {m_rows}, {a_rows} rows",
            "one V100 node {v} %, several {m} %, A100 {a} %; intervals hold {v_held}, {m_held}, {a_held} %",
            "the constant best for these: {v_one}, {m_one}, {a_one} %",
            tuple(
                (
                    PUBLISHED,
                    f"every row inputs alone admit ... | {group} | <{name}_rows> | <{name}> % | <_> % | <_> % | <{name}_held> % | <{name}_one> %",
                )
                for name, group in (("v", "V100 single node"), ("m", "V100 multi-node"), ("a", "A100"))
            ),
        ),
        Row(
            "the slowest of n: Megatron jobs on 2 to 16 GPUs with a time per rank",
            "{b_jobs} jobs on B200, {r_jobs} on RTX PRO 6000",
            "loss beyond logged synchronisation: RMSE {b_job}, {r_job} points over the job's middle rank, {b}, {r} over one-GPU jobs",
            "4.5 % and 2.5 % a doubling: {b_job_old}, {r_job_old}, {b_old}, {r_old}; the best constant: {b_job_one}, {r_job_one}, {b_one}, {r_one}",
            tuple(
                (RANKS, f"| {gpu}, over {over} | <{jobs}> | RMSE <{name}> | <{name}_old> | <_> | <{name}_one>")
                for gpu, over, jobs, name in (
                    ("B200", "one-GPU jobs", "b_jobs", "b"),
                    ("B200", "the job's middle rank", "_", "b_job"),
                    ("RTX PRO 6000", "one-GPU jobs", "r_jobs", "r"),
                    ("RTX PRO 6000", "the job's middle rank", "_", "r_job"),
                )
            ),
        ),
        Row(
            "PyTorch DDP on 8 and 16 B200, ResNets; one-GPU step given",
            "{n} steps",
            "loss: RMSE **{rmse}** points (over two nodes too slow); intervals hold {held}",
            "4.5 % and 2.5 % a doubling: {old}; nothing: {none}",
            ((RANKS, "| RMSE, points | <n> | | <rmse> | <held> held | <old> | <none>"),),
        ),
        Row(
            "MLPerf, one submitter at two scales, runs within 1 %",
            "{n} pairs SXM, {p_n} PCIe",
            "efficiency: median error {sxm}, **{pcie}** points",
            "4.5 % and 2.5 % a doubling: {old}, {p_old}; efficiency 1: {one}, {p_one}",
            (
                (RANKS, "| SXM | <n> | <sxm> points | <_> | <old> | <one>"),
                (RANKS, "| PCIe | <p_n> | <pcie> points | <_> | <p_old> | <p_one>"),
            ),
        ),
        Row(
            "overlap on or off: six trainings of two GPUs; the step without given",
            "6 settings, by three guesses of the optimizer's time",
            "ratio of the steps: median **{a}**, {b}, {c}; worst **{aw}, {bw}, {cw}**",
            "NCCL not slowed by compute: {an}, {bn}, {cn}",
            tuple(
                (RANKS, f"| off by | {ms} ms | <{name}>, worst <{name}w> | <{name}n>, worst <_>")
                for ms, name in ((50, "a"), (100, "b"), (150, "c"))
            ),
        ),
        Row(
            "80 % intervals of these",
            "{rows} rows",
            "hold {held} % (one V100 node {v_held}, several {m_held}, A100 {a_held})",
            "",
            published("V100 single node", "v_")
            + published("V100 multi-node", "m_")
            + published("A100", "a_")
            + published("all"),
        ),
        Row(
            "FSDP, ZeRO, checkpointing: one over another of a group of published steps, one step given",
            "{k_n} pairs whose links are known; all {n}",
            "sign right in {k_signs} % of {k_signed} that differ by over 5 %; ratio: median {k_median} %, p90 {k_p90} %, worst {k_worst} %; all: "
            "**{signs} %**, **{median}, {p90}**, {worst} % (what DeepSpeed takes the host is not known; half of them are whole runs, start and evaluation in them)",
            "the same as DDP: no sign, {k_same_median}, {k_same_p90}, {k_same_worst} %; bytes over bandwidth, in the open: {k_wire_signs} %, "
            "{k_wire_median}, {k_wire_p90} %, behind compute: {k_hidden_signs} %, {k_hidden_median}, {k_hidden_p90} %",
            schemes("ratios", "links known", "k_") + schemes("ratios", "all"),
        ),
        Row(
            "FSDP and TensorFlow's all-reduce of each gradient at two sizes; the smaller's step given",
            "{n} rows, up to 512 GPUs",
            "efficiency: median {median} %, p90 {p90} %, worst {worst} %",
            "efficiency 1: {same_median}, {same_p90}, {same_worst} %; bytes over "
            "bandwidth, in the open: {wire_median}, {wire_p90}, {wire_worst} %, behind compute: {hidden_median}, {hidden_p90}, {hidden_worst} %",
            schemes("efficiencies", "all"),
        ),
        Row(
            "whole steps of all these, nothing given",
            "{k_n} rows whose links are known, some of which estimates learned from; all {n}",
            "median {k_median} %, p90 {k_p90} %, worst {k_worst} %; all: {median}, {p90}, {worst} %",
            "",
            schemes("steps", "links known", "k_") + schemes("steps", "all"),
        ),
        Row(
            "peak memory under FSDP",
            "{n} figures of Llama 7B and 8B",
            "median {median} %, worst {worst} % (what the allocator reserves beyond its tensors)",
            "",
            schemes("memory", "all"),
        ),
        Row(
            "`compare`: which of two sizes of a job trains faster, by how much; of two machines, the first's one-GPU step alone given",
            "{s_n} and {m_n} pairs",
            "decided {s_decided}, {m_decided} %; of these ordered as published {s_right}, {m_right} %; 80 % intervals hold "
            "{s_held}, {m_held} %; ratio: median {s_median}, {m_median} %, p90 {s_p90}, {m_p90} %",
            "every GPU worth as much as any other, or as its peak rate: ratio {s_blind}, {m_blind} %, p90 {s_blind_p90}, {m_blind_p90} %",
            pairs("sizes", "s_") + pairs("machines", "m_"),
        ),
        Row(
            "DDP paper, NCCL, 1 to 32 V100; three points a curve given",
            "{pairs_n} steps",
            "median {median} %, p90 {p90} %, worst {worst} %; 80 % intervals hold {held} % (nothing fitted: {free_held})",
            "no communication: {none_median}, {none_p90} %; LogGP fit: {loggp_median}, {loggp_p90} %",
            paper(
                "A",
                "nccl",
                {"ddpsim": "", "ddpsim, nothing fitted": "free_", "no communication": "none_", "LogGP fit": "loggp_"},
            ),
        ),
        Row(
            "the same, gloo (that a host's cache matters is seen in these data alone)",
            "{pairs_n} steps",
            "median {median} %, p90 {p90} %, worst {worst} %; intervals hold {held} % (nothing fitted: {free_held})",
            "gloo's plain cost model: {plain_median}, {plain_p90} %; LogGP fit: {loggp_median}, {loggp_p90} %",
            paper(
                "A",
                "gloo",
                {"ddpsim": "", "ddpsim, nothing fitted": "free_", "gloo, plain model": "plain_", "LogGP fit": "loggp_"},
            ),
        ),
        Row(
            "which of two points of a curve is slower",
            "{pairs} pairs NCCL, {g_pairs} gloo",
            "right {signs} %, **{g_signs} %** (in {more} of gloo's pairs more GPUs are faster); in the shared pool below {b_signs}, {bg_signs} %; "
            "all figures together {together} % of {all}",
            "LogGP fit: {loggp_signs}, {g_loggp_signs} %",
            tuple(
                (PAPER, text.replace("<pairs>", "<g_pairs>"))
                for _, text in paper("A", "gloo", {"ddpsim": "g_", "LogGP fit": "g_loggp_"})
            )
            + paper("A", "nccl", {"ddpsim": "", "LogGP fit": "loggp_"})
            + tuple(
                (PAPER, text.replace("<pairs>", "<_>"))
                for _, text in paper("B", "nccl", {"ddpsim": "b_"}) + paper("B", "gloo", {"ddpsim": "bg_"})
            )
            + (
                (PAPER, "Figures 7 to 12, both backends and clusters <together>% of <all>"),
                (PAPER, "Figures 7 to 12, both ... more GPUs measured faster: ... more GPUs measured faster: <more>;"),
            ),
        ),
        Row(
            "the cap `tune` picks on the paper's grid, over its measured best",
            "4 curves NCCL, 4 gloo",
            "costs ≤ {regret} %, {g_regret} % (nothing fitted: {free_regret}, {g_free_regret} %)",
            "LogGP fit: {loggp_regret}, {g_loggp_regret} %",
            paper("A", "nccl", {"ddpsim": "", "ddpsim, nothing fitted": "free_", "LogGP fit": "loggp_"})
            + paper("A", "gloo", {"ddpsim": "", "ddpsim, nothing fitted": "free_", "LogGP fit": "loggp_"}, "g_"),
        ),
        Row(
            "the paper's shared pool, to 256 GPUs",
            "{pairs_n} steps NCCL, {pairs_n} gloo",
            "median {median}, {g_median} %; p90 {p90}, {g_p90} %; intervals hold {held}, {g_held} %",
            "LogGP fit: {loggp_median}, {g_loggp_median} %; {loggp_p90}, {g_loggp_p90} %",
            paper("B", "nccl", {"ddpsim": "", "LogGP fit": "loggp_"})
            + paper("B", "gloo", {"ddpsim": "", "LogGP fit": "loggp_"}, "g_"),
        ),
    ],
    "Steps measured here: two cores, shaped links": [
        Row(
            "our real reducer beside PyTorch's",
            "{points} points, 2 and 4 ranks",
            "median {median} %, worst {worst} %; bucket bytes exact",
            "noise up to 0.95 %",
            (
                (
                    LAB + "our reducer beside PyTorch's",
                    "<points> of <_> points judged: median <median> %, worst <worst> %",
                ),
            ),
        ),
        Row(
            "predicted beside it, from the job's own all-reduces",
            "the same points, gloo",
            "mean {mean} %, worst {worst} %; regret ≤ {regret2} % (2 ranks), {regret4} % (4, where launches lie {apart} % apart)",
            "all hidden {hidden} %, none hidden {exposed} %",
            (
                (LAB + "predicted beside it", "points: mean <mean> %, median <_> %, worst <worst> %"),
                (LAB + "predicted beside it", "all hidden <hidden> %, <_> %; none hidden <exposed> %"),
                (LAB + "predicted beside it", "resnet-like 2 ranks, views chosen ... regret <regret2> %"),
                (
                    LAB + "predicted beside it",
                    "resnet-like 4 ranks chosen ... regret <regret4> % (noise <_> %, all launches <apart> %)",
                ),
            ),
        ),
        Row(
            "the same with an fp16 hook",
            "{points} points, 2 ranks",
            "ours beside PyTorch's: worst {ours} %; predicted: mean {mean} %, worst {worst} % (with the processor's casts measured beside; "
            "without, 3 % short at the largest bucket)",
            "all hidden {hidden} %, none hidden {exposed} %",
            (
                (HOOK + "our reducer beside PyTorch's", "<points> of <_> points judged: median <_> %, worst <ours> %"),
                (HOOK + "predicted beside it", "points: mean <mean> %, median <_> %, worst <worst> %"),
                (HOOK + "predicted beside it", "all hidden <hidden> %, <_> %; none hidden <exposed> %"),
            ),
        ),
        Row(
            "real DDP of a real model, recorded at one cap, others predicted",
            "39 points, 2 ranks, gloo",
            "median 1.5 %, worst 6.8 %; bucket bytes exact, signs right, regret 0 %",
            "as at the recorded cap: up to 33 %",
        ),
        Row(
            "levers of `advise`, each beside today's setting (PyTorch 1.13 and 2.13)",
            "{n} gains, {jobs} jobs made on purpose",
            "median {median} % of the step; signs {right} of {noticed} above 2 %; intervals meet {held} of {ranged}",
            "no effect: {none} %",
            (
                (
                    LEVERS,
                    "levers: <n> gains of <jobs> jobs: sign right <right> of <noticed> noticed, ... intervals held <held> of "
                    "<ranged>, median error <median> % of the step, of no effect <none> %",
                ),
            ),
        ),
        Row(
            "what `advise` puts first, numerics kept; changed too",
            "the same jobs",
            "right in {kept} of {kept_measured}, {all} of {all_measured} whose advice was measured, of {jobs}; costs {kept_mean}, {all_mean} % over the best measured, worst {kept_worst}, {all_worst} %",
            "today's setting: {today} %",
            (
                (
                    LEVERS,
                    "top advice, numerics kept: right in <kept> of <kept_measured> measured, <jobs> jobs; regret mean <kept_mean> %, worst <kept_worst> %",
                ),
                (
                    LEVERS,
                    "top advice, numerics changed too: right in <all> of <all_measured> measured, <_> jobs; regret mean <all_mean> %, worst <all_worst> %",
                ),
                (LEVERS, "always today, numerics kept: regret mean <today> %"),
            ),
        ),
        Row(
            "schemes beside DDP: all-reduces one by one, local SGD, ZeroRedundancyOptimizer, parameter servers (PyTorch 2.13)",
            "{n} steps, 2 and 4 ranks",
            "median {median} %, p90 {p90} %, worst {worst} %",
            "the same as DDP: {same} %, p90 {same_p90} %; nothing hidden: {opened} %, p90 {opened_p90} %",
            (
                (SCHEMES_ON_GLOO, "predicted: <n> steps, median <median>, p90 <p90>, worst <worst> %"),
                (SCHEMES_ON_GLOO, "as DDP: <_> steps, median <same>, p90 <same_p90>, "),
                (SCHEMES_ON_GLOO, "nothing hidden: <_> steps, median <opened>, p90 <opened_p90>, "),
            ),
        ),
        Row(
            "`ddpsim.autotune` in a running job, from PyTorch's default (2 and 4 ranks, three link rates, PyTorch 1.13 and 2.13)",
            "{runs} runs of {setups} set-ups, {worth} with more than 5 % to win",
            "70 % of what the best cap of a grid wins in {gained} of {large} runs (where that is over 3 %), default kept in {kept} of {small} "
            "(under 1 %); regret median {median} %, p90 {p90} %, worst {worst} %",
            "the simulator's first: {sim}, {sim_p90}, {sim_worst} %; the default: {none}, {none_p90}, {none_worst} %",
            (
                (
                    TUNED,
                    "autotune: <runs> runs of <setups> set-ups, <worth> with more than 5 % to win: gained <_> % of it in <gained> of <large> runs "
                    "where that is more than <_> %, kept the default in <kept> of <small> where",
                ),
                (TUNED, "regret, autotune: median <median> %, p90 <p90> %, worst <worst> %"),
                (TUNED, "regret, always the default: median <none> %, p90 <none_p90> %, worst <none_worst> %"),
                (TUNED, "regret, always the simulator's: median <sim> %, p90 <sim_p90> %, worst <sim_worst> %"),
            ),
        ),
    ],
    **{f"Measured on one GPU ({gpu})": measured_on(f"Measured on one GPU: {card}") for gpu, card in CARDS.items()},
    "How steps vary: 80 % intervals for a further step": [
        Row(
            "each step left out of its open trace",
            "{all} steps of five traces; four have 4 or 5: {few} steps",
            "{held} held; of the short ones {few_held}",
            "of all: median ± 5 % {median} %, least to most of the others {range} %",
            (
                (VARY, "of fewer than ten steps <few_held> of <few> "),
                (VARY, "all traces <held> of <all> <_> % | <median> % | <range> %"),
            ),
        ),
        Row(
            "the next step, from 2, 3, 5, 8, 12, 20 just before it",
            "{trainings} real trainings here of 40 steps, on two cores that others use",
            "held {n2}, {n3}, {n5}, {n8}, {n12}, {n20} %; the tenth step after: {t2}, {t3}, {t5}, {t8}, {t12}, {t20} %",
            "median ± 5 %: {m*:min} to {m*:max} %; least to most: {r*:min} to {r*:max} %",
            (
                (VARY, "all, <trainings> trainings"),
                *((VARY, f" {n} known, the next after <_> of <_> <n{n}> % | <m{n}> % | <r{n}> %") for n in KNOWN),
                *((VARY, f" {n} known, the tenth after <_> of <_> <t{n}> %") for n in KNOWN),
            ),
        ),
    ],
    "Estimates, where nothing was recorded": [
        Row(
            "one V100 without DDP → DDP on another V100",
            "ResNet-50, two open traces",
            "buckets exact, ready within 3.6 ms of 66",
            "proportional to bytes: 36 ms",
        ),
        Row(
            "backward on a V100, the model left out",
            "per-layer tables of eight models",
            "{b*:min} to {b*:max} %",
            "time ∝ FLOPs: {f*:min} to {f*:max} %",
            tuple(
                (
                    "Layer costs",
                    f"learned from the other seven ... {model} forward <_> %, of a layer <_> / <_> % backward <b{n}> %, "
                    f"of a layer <_> / <_> % ~ FLOPs <f{n}> %",
                )
                for n, model in enumerate(MODELS)
            ),
        ),
        Row(
            "single layers of these",
            "1567 modules",
            "median {m*:min} to {m*:max} % a model, p90 up to {q*:max} %",
            "∝ FLOPs: median {p*:max} %",
            tuple(
                (
                    "Layer costs",
                    f"learned from the other seven ... {model} forward <_> %, of a layer <_> / <_> % backward <_> %, "
                    f"of a layer <m{n}> / <q{n}> %",
                )
                for n, model in enumerate(MODELS)
            )
            + tuple(
                (
                    "Layer costs",
                    f"{model} forward ... ~ FLOPs forward <_> %, of a layer <_> / <_> % backward <_> %, of a layer <p{n}>",
                )
                for n, model in enumerate(MODELS)
            ),
        ),
        Row(
            "whole steps, model left out",
            "32 published single-GPU figures, four GPUs",
            "median {median} %, p90 {p90} %, worst {worst} %",
            "one FLOP rate: {f_median}, {f_p90}, {f_worst} %",
            (
                ("Whole steps, estimated", "left out: median <median> %, p90 <p90> %, worst <worst> %"),
                ("Whole steps, estimated", "~ FLOPs: median <f_median> %, p90 <f_p90> %, worst <f_worst> %"),
            ),
        ),
        Row(
            "decoders under FSDP on A100 and H100, communication not counted",
            "26 published figures of three teams",
            "median {median} %, p90 {p90} %, worst {worst} %",
            "one FLOP rate, that of the other teams: {f_median}, {f_p90}, {f_worst} %",
            (
                ("Decoders, estimated", "estimate: median <median> %, p90 <p90> %, worst <worst> %"),
                ("Decoders, estimated", "~ FLOPs: median <f_median> %, p90 <f_p90> %, worst <f_worst> %"),
            ),
        ),
        Row(
            "V100 → A100, H100",
            "eight published pairs",
            "median {median} %, worst {worst} %",
            "peak rates: {peak} %",
            (
                ("Whole steps, estimated", "transfer: median <median> %, p90 <_> %, worst <worst> %"),
                ("Whole steps, estimated", "peak rates: median <peak> %"),
            ),
        ),
    ],
}

# The README's figures: lines of text, and where their figures are found, as above. The largest error stands first.
LINES = [
    (
        "| Predicted | Data | Median error | 90th percentile | Simple predictor | Its median error |\n|---|---|---|---|---|---|",
        (),
    ),
    (
        "| all-reduce ≥ 1 MiB over a network, from data sheets | 22 logs | {median} % | {p90} % | NCCL's own estimate | {nccl} % |",
        model("network"),
    ),
    (
        "| all-reduce ≥ 1 MiB in an NVLink node, from data sheets | 14 logs | {median} % | {p90} % | NCCL's own estimate | {nccl} % |",
        model("one NVLink node"),
    ),
    (
        "| step on several V100 nodes | {rows} rows | {median} % | {p90} % | no communication | {none_median} % |",
        published("V100 multi-node"),
    ),
    (
        "| step on one V100 node | {rows} rows | {median} % | {p90} % | no communication | {none_median} % |",
        published("V100 single node"),
    ),
    (
        "\nThe 80 % intervals hold {a_held} % of all {a_rows} published steps. After calibration, a job shape between measured ones is predicted with a "
        "median\nerror of {i*:min} to {i*:max} %. On the DDP paper's curves, the cap that `tune` picks costs at most {regret} % over the best measured "
        "one (NCCL).",
        published("all", "a_")
        + tuple(left_out(scale, f"i{n}") for n, scale in enumerate(INTERIOR))
        + paper("A", "nccl", {"ddpsim": ""}),
    ),
]


class Figure(float):
    """{x}: two digits, and no more than were printed. {x:+}: as printed, with its sign. {x:percent}: a share as per cent."""

    def __new__(cls, text):
        figure = super().__new__(cls, text)
        figure.text = text
        return figure

    def __format__(self, how):
        if how == "+":
            return f"{float(self):+.1f}".replace("-", "−")
        value, printed = abs(float(self)), len(self.text.partition(".")[2])
        if how == "percent":
            value, printed = value * 100, printed - 2
        return f"{value:.{max(0, min(printed, 1 - math.floor(math.log10(value or 1))))}f}"


class Figures(dict):
    """By name; {o*} is all whose names begin with o and end alike, of which :min and :max are shown."""

    def __missing__(self, name):
        begin, _, end = name.partition("*")
        return Extremes(
            value for key, value in self.items() if re.fullmatch(re.escape(begin) + "[a-z0-9]+" + re.escape(end), key)
        )


class Extremes(list):
    def __format__(self, how):
        return format((min if how == "min" else max)(self, key=abs))


def pattern(text):
    out = []
    for part in re.split(r"(<\w+>|\s*\.\.\.\s*|\s+)", text):
        if part.startswith("<") and part.endswith(">") and len(part) > 2:
            out.append(r"[-+\d.,e]+?" if part == "<_>" else rf"(?P<{part[1:-1]}>[-+]?\d+(?:\.\d+)?)")
        elif part.strip() == "...":
            out.append(r".*?")
        else:
            out.append(r"\s+" if part.isspace() else re.escape(part))
    return re.compile("".join(out), re.DOTALL)


def sections(text):
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def figures_of(what, places, accuracy):
    found = Figures()
    for section, text in places:
        if section not in accuracy:
            sys.exit(f'accuracy.md has no section "{section}"; {what} needs it')
        match = pattern(text).search(accuracy[section])
        if not match:
            sys.exit(f'accuracy.md, {section}: nothing reads "{text}" ({what})')
        found.update({name: Figure(value) for name, value in match.groupdict().items()})
    return found


def tables(accuracy):
    for title, rows in TABLES.items():
        yield f"\n**{title}**\n"
        yield "| what | data | error | beside it |\n|---|---|---|---|"
        for row in rows:
            found = figures_of(row.what, row.figures, accuracy)
            yield (
                "| " + " | ".join(cell.format_map(found) for cell in (row.what, row.data, row.error, row.beside)) + " |"
            )


def lines(accuracy):
    yield ""
    for words, places in LINES:
        yield words.format_map(figures_of(words, places, accuracy))


def agree(stated, made):
    """The same words, and the same figures to one in their last digit."""
    ours, theirs = (re.split(r"(\d+(?:\.\d+)?)", text) for text in (stated, made))
    if ours[::2] != theirs[::2]:
        return False
    unit = [10.0 ** -len(figure.partition(".")[2]) for figure in ours[1::2]]
    return all(abs(float(a) - float(b)) < 1.5 * u for a, b, u in zip(ours[1::2], theirs[1::2], unit))


def hold(page, made, write):
    """Whether the page says between its two comments what was made; `write` makes it so."""
    before, _, rest = (ROOT / page).read_text(encoding="utf-8").partition(BEGIN + "\n")
    stated, end, after = rest.partition(END)
    if not end:
        sys.exit(f'{page}: no "{BEGIN}" before "{END}"')
    if write:
        (ROOT / page).write_text(f"{before}{BEGIN}\n{made}{END}{after}", encoding="utf-8")
    elif not agree(stated, made):
        sys.stdout.writelines(difflib.unified_diff(stated.splitlines(True), made.splitlines(True), page, "measured"))
        print(f"{page} says something else than was measured; with --write it is brought up to date")
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("accuracy", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    accuracy = sections(arguments.accuracy.read_text(encoding="utf-8"))
    made = {"docs/accuracy.md": tables(accuracy), "README.md": lines(accuracy)}
    if not all([hold(page, "\n".join(text) + "\n\n", arguments.write) for page, text in made.items()]):
        sys.exit(4)


if __name__ == "__main__":
    main()
