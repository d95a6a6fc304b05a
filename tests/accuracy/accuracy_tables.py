"""What docs/accuracy.md and the README say about errors: tables of cells, and where in accuracy.md each figure is found.

A cell is text with {names} where figures stand. A figure is found by a section of accuracy.md and the text around it: <name> for
a number, ... for anything between. The largest errors stand first."""

import dataclasses

PUBLISHED = "Published data-parallel scaling"
PAPER = "The DDP paper"
RANKS = "What several ranks cost"
SCHEMES = "Other schemes"
CALIBRATED = "All-reduce: calibrated on logs"
BY_KIND = "All-reduce: intervals by kind of machine"
LEFT_OUT = "All-reduce: the cost model, each family left out"


def published(group, prefix=""):
    """A group's lines of the published scaling, one for each predictor. The prefix of a figure names the predictor:

    - out_: ddpsim, with an overhead learned without the source's own rows
    - none_: no communication
    - one_: one constant efficiency
    - own_: the constant efficiency best for the group"""
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
    """A table's lines of the other schemes, one for each predictor. The prefix of a figure names the predictor:

    - same_: the same step as DDP
    - wire_: bytes over bandwidth, all exposed
    - hidden_: bytes over bandwidth, hidden behind compute"""
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
    "pc": "one PCIe node",
    "lone": "one GPU a node",
    "nv": "one NVLink node",
    "efa": "EFA and its like",
    "tcp": "sockets",
    "ib": "InfiniBand",
    "sl": "Slingshot",
}
DISTANCES = {
    "gpus": "other GPUs a node",
    "d4": "up to 4 times the nodes",
    "d16": "up to 16 times the nodes",
    "d270": "up to 270 times the nodes",
    "side": "one node by several, or several by one",
}

OWNERS = {"same": "the job shape published", "other": "another number of GPUs"}


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
SETTINGS = "The lab: settings"
TUNED = "The lab: autotune"
SCHEMES_ON_GLOO = "The lab: schemes"
CARDS = {"H200": "nvidia-h200", "H100": "nvidia-h100-80gb-hbm3"}


@dataclasses.dataclass(frozen=True)
class Group:
    """Rows of a table whose figures are found together. Each row is its cells; missing cells at its end stay empty."""

    figures: tuple  # (section, text)
    rows: tuple


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    says: str  # a sentence or two above the table
    head: tuple
    groups: tuple


def group(figures, *rows):
    return Group(tuple(figures), rows)


def stated(*rows):
    """Rows whose figures no script measures anew."""
    return Group((), rows)


ERRORS = ("What", "Data", "Predictor", "Median error", "90th percentile", "Worst error")
LOSSES = (*ERRORS, "Error of the loss")
VALUES = ("What", "Data", "Figure", "Value")
HELD = ("What", "Data", "Truth held", "Width", "Score")


def card_worst(gpu, card):
    return group(
        (
            (card, "step, bound by launches: <n> rows, median <median> %, p90 <p90> %"),
            (card, "host: <host> µs a launch"),
            (card, "step, bound by the GPU: <b_n> rows, median <b_median> %, p90 <b_p90> %"),
            (card, "busy, all full batches: <k_n> rows, median <k_median> %"),
        ),
        (f"estimated steps that launches bound, {gpu}", "{n} steps", "median error", "{median} %"),
        (f"estimated steps that the GPU bounds, {gpu}", "{b_n} steps", "median error", "{b_median} %"),
        (f"estimated kernel time, {gpu}", "{k_n} steps", "median error", "{k_median} %"),
    )


def measured_on(card):
    """Errors on one GPU; `card`: its section of accuracy.md."""
    return (
        group(
            (
                (
                    card,
                    "step, bound by launches: <n> rows, median <median> %, p90 <p90> %, worst <_> %; one share of the peak rate, the best: median "
                    "<flat> %, p90 <flat_p90> %",
                ),
                (card, "host: <host> µs a launch"),
            ),
            (
                "estimated step that launches bound, on a slow host ({host} µs a launch; 25 assumed for an operator)",
                "{n} steps",
                "ddpsim",
                "{median} %",
                "{p90} %",
            ),
            ("", "", "best share of the peak rate", "{flat} %", "{flat_p90} %"),
        ),
        group(
            (
                (
                    card,
                    "step, bound by the GPU: <n> rows, median <median> %, p90 <p90> %, worst <_> %; one share of the peak rate, the best: median "
                    "<flat> %, p90 <flat_p90> %",
                ),
            ),
            (
                "estimated step that the GPU bounds, models of torchvision and transformers; all too fast",
                "{n} steps",
                "ddpsim",
                "{median} %",
                "{p90} %",
            ),
            ("", "", "best share of the peak rate", "{flat} %", "{flat_p90} %"),
        ),
        group(
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
            ("estimated kernel time, full batches", "{n} steps", "ddpsim", "{median} %", "{p90} %"),
            ("", "", "best share of the peak rate", "{flat} %", "{flat_p90} %"),
            ("… decoders", "", "ddpsim", "{decoders} %"),
            ("… autocast without channels_last", "", "ddpsim", "{amp} %"),
            ("… autocast with channels_last", "", "ddpsim", "{channels} %"),
            ("… ResNets in fp32", "", "ddpsim", "{images} %"),
        ),
        group(
            (
                (card, "interference, ddpsim: <n> rows, median <median> %, p90 <p90> %, worst <worst> %"),
                (card, "interference, no slowdown: <_> rows, median <none> %, p90 <none_p90> %, worst <none_worst> %"),
            ),
            (
                "slowdown of compute beside 2 to 32 thread blocks that move 0 to 400 GB/s; matrix products lose more, layer norms less",
                "{n} pairs of five kernels",
                "ddpsim",
                "{median} %",
                "{p90} %",
                "{worst} %",
            ),
            ("", "", "no slowdown", "{none} %", "{none_p90} %", "{none_worst} %"),
        ),
        group(
            ((card, "memory, full batches: <n> rows, median <median> %, p90 <p90> %, worst <worst> %"),),
            (
                "estimated peak memory of tensors",
                "{n} full batches",
                "ddpsim",
                "{median} %",
                "{p90} %",
                "{worst} %",
            ),
        ),
        group(
            (
                (card, "reducer, ddpsim: <n> steps, median <median> %, p90 <p90> %, worst <worst> %"),
                (card, "reducer, no communication: <_> steps, median <none> %, p90 <none_p90> %, worst <none_worst> %"),
                (card, "reducer, all exposed: <_> steps, median <open> %, p90 <open_p90> %, worst <open_worst> %"),
            ),
            (
                "step of our reducer over NCCL, two ranks (threads) on the one GPU, calibrated by the run's own all-reduces",
                "{n} steps: three workloads, caps 1 to 100, views",
                "ddpsim",
                "{median} %",
                "{p90} %",
                "{worst} %",
            ),
            ("", "", "no communication", "{none} %", "{none_p90} %", "{none_worst} %"),
            ("", "", "all communication exposed", "{open} %", "{open_p90} %", "{open_worst} %"),
        ),
    )


def values_on(gpu, card):
    """Other figures of one GPU."""
    return group(
        (
            (card, "bucket bytes differ in <wrong> of"),
            (card, "a gradient: ... bert-large <bert>"),
            (
                card,
                "regret: predicted cap mean <mean> %, worst <worst> %; cap 25 mean <default> %; the worst cap up to <most> %",
            ),
            (
                card,
                "regret of the rule that keeps cap 25 unless <_> % are predicted to be saved: mean <kept> %, worst <kept_worst> %",
            ),
            (card, "DDP's copies with one rank: <models> models, ... mean <ratio>"),
            (
                card,
                "recorder: <recorded> models, ready times apart by at most <ready> % of the backward (aim: 2); its cost <cost> to <cost_most> %",
            ),
            (
                card,
                "copies: <rate> to <rate_most> of the memory's rate, assumed <_>; a launch takes the host <launch> to <launch_most> µs",
            ),
        ),
        (f"cost of the recorder, {gpu}", "{recorded} models", "largest share of the step", "{cost_most} %"),
        ("", "", "smallest", "{cost} %"),
        (
            f"ready times: recorder beside torch.profiler, {gpu}",
            "{recorded} models, every gradient",
            "apart by at most, of the backward pass",
            "{ready} %",
        ),
        (f"cap with the least predicted step, over the measured best, {gpu}", "six curves", "mean cost", "{mean} %"),
        ("", "", "worst cost", "{worst} %"),
        (f"cap by the rule of `tune` (keep 25 unless 1 % is saved), {gpu}", "six curves", "mean cost", "{kept} %"),
        ("", "", "worst cost", "{kept_worst} %"),
        (f"cap 25 always, {gpu}", "six curves", "mean cost", "{default} %"),
        (f"worst cap of a curve, {gpu}", "six curves", "largest cost", "{most} %"),
        (f"BERT-large: backward longer than predicted, for each gradient, {gpu}", "", "", "{bert} µs"),
        (f"bucket bytes that differ from our reducer's, {gpu}", "", "", "{wrong}"),
        (f"DDP's copies with one rank: predicted over measured, {gpu}", "{models} models", "mean", "{ratio}"),
        (
            f"copies and casts, as a share of the memory's rate (0.85 assumed), {gpu}",
            "five kernels to 256 MiB",
            "least",
            "{rate}",
        ),
        ("", "", "most", "{rate_most}"),
        (f"host time of one launch (6 µs assumed), {gpu}", "", "least", "{launch} µs"),
        ("", "", "most", "{launch_most} µs"),
    )


def of_published(kind, what, data="{rows} rows", own=True):
    """A group of published steps beside the predictors that know no simulation."""
    rows = [
        (what, data, "ddpsim", "{median} %", "{p90} %", "{worst} %", "{loss} %"),
        ("", "", "ddpsim, learned without the source's own rows", "{out_median} %", "{out_p90} %"),
        ("", "", "no communication", "{none_median} %", "{none_p90} %", "{none_worst} %", "{none_loss} %"),
        ("", "", "efficiency 0.95", "{one_median} %", "{one_p90} %", "{one_worst} %", "{one_loss} %"),
        ("", "", "the efficiency best for these rows", "{own_median} %", "{own_p90} %"),
    ]
    return group(published(kind), *rows)


def of_model(kind, what, data, p90=True):
    return group(
        model(kind),
        (what, data, "ddpsim", "{median} %", "{p90} %" if p90 else "", "{worst} %"),
        ("", "", "NCCL's own estimate", "{nccl} %", "{nccl_p90} %"),
        ("", "", "one constant efficiency", "{one} %", "{one_p90} %"),
    )


def held_rows(what, data, names):
    """A row for each kind, with the figures that `intervals` finds."""
    return tuple(
        (f"{what}: {word}", data, f"{{{name}}} %", f"{{{name}_w}}", f"{{{name}_s}}") for name, word in names.items()
    )


def curve(backend, figures, what, rows):
    return group(figures, (what, "{pairs_n} steps", "ddpsim", "{median} %", "{p90} %", "{worst} %"), *rows)


TABLES = (
    Table(
        "The misses",
        "These are the largest errors, and those that miss what was aimed at. The tables below have the rest.",
        VALUES,
        (
            group(
                schemes("ratios", "all"),
                (
                    "FSDP, ZeRO or checkpointing over another published step, links not always known",
                    "{n} pairs",
                    "worst error of the ratio",
                    "{worst} %",
                ),
                ("", "", "90th percentile", "{p90} %"),
                ("", "", "median", "{median} %"),
                ("", "", "sign right", "{signs} %"),
            ),
            *(card_worst(gpu, f"Measured on one GPU: {card}") for gpu, card in CARDS.items()),
            group(
                model("network"),
                ("all-reduce ≥ 1 MiB over a network, from data sheets", "22 logs", "90th percentile", "{p90} %"),
            ),
            group(
                published("V100 multi-node"),
                ("step on several V100 nodes", "{rows} rows", "90th percentile", "{p90} %"),
            ),
            group(
                ((RANKS, "| PCIe | <p_n> | <pcie> points | <_> | <p_old> | <p_one>"),),
                ("MLPerf at two scales, PCIe nodes: efficiency", "{p_n} pairs", "median error", "{pcie} points"),
            ),
            group(
                ((RANKS, "| off by | 50 ms | <a>, worst <aw> | <an>, worst <_>"),),
                (
                    "overlap on or off, two GPUs: ratio of the steps, optimizer guessed at 50 ms",
                    "6 settings",
                    "worst error",
                    "{aw}",
                ),
            ),
            group(
                tuple(
                    (PAPER, text.replace("<pairs>", "<g_pairs>")) for _, text in paper("A", "gloo", {"ddpsim": "g_"})
                ),
                ("which of two points of a gloo curve is slower", "{g_pairs} pairs", "right", "{g_signs} %"),
            ),
            group(
                ((RANKS, "| RMSE, points | <n> | | <rmse> | <held> held | <old> | <none>"),),
                ("loss of ResNets on 8 and 16 B200", "{n} steps", "root mean square error", "{rmse} points"),
            ),
        ),
    ),
    Table(
        "Whole steps of jobs that others published",
        "The step of one GPU is given, the rest is predicted. The loss is 1 − efficiency.",
        LOSSES,
        (
            of_published(
                "V100 multi-node", "several V100 nodes; ten rows of two stacks lose more than their whole wire"
            ),
            group(
                published("V100 multi-node, fp32")
                + (
                    (PUBLISHED, "| the same, network's rate stated | ddpsim | <stated_rows> | <stated> %"),
                    (PUBLISHED, "every row the words admit ... | V100 multi-node, fp32 | <wide_rows> | <wide> %"),
                ),
                ("… in fp32", "{rows} rows", "ddpsim", "{median} %", "{p90} %"),
                ("", "", "ddpsim, learned without the source's own rows", "{out_median} %", "{out_p90} %"),
                ("", "", "no communication", "{none_median} %", "{none_p90} %"),
                ("", "", "efficiency 0.95", "{one_median} %", "{one_p90} %"),
                ("", "", "the efficiency best for these rows", "{own_median} %", "{own_p90} %"),
                ("… in fp32, the network's rate stated", "{stated_rows} rows", "ddpsim", "{stated} %"),
                (
                    "… in fp32, with vaguer rows and other percentiles of one run",
                    "{wide_rows} rows",
                    "ddpsim",
                    "{wide} %",
                ),
            ),
            of_published("V100 single node", "one V100 node", "{rows} rows, 5 sources"),
            of_published("A100", "one A100 node", "{rows} rows, one source"),
            group(
                tuple(
                    (
                        PUBLISHED,
                        f"every row inputs alone admit ... | {kind} | <{name}_rows> | <{name}> % | <_> % | <_> % | <{name}_held> % | <{name}_one> %",
                    )
                    for name, kind in (("v", "V100 single node"), ("m", "V100 multi-node"), ("a", "A100"))
                ),
                (
                    "several V100 nodes, also stacks that lose over 15 % within one node",
                    "{m_rows} rows",
                    "ddpsim",
                    "{m} %",
                ),
                ("", "", "the efficiency best for these rows", "{m_one} %"),
                ("one V100 node, the same", "{v_rows} rows", "ddpsim", "{v} %"),
                ("", "", "the efficiency best for these rows", "{v_one} %"),
                ("one A100 node, the same", "{a_rows} rows", "ddpsim", "{a} %"),
                ("", "", "the efficiency best for these rows", "{a_one} %"),
            ),
            curve(
                "gloo",
                paper(
                    "A",
                    "gloo",
                    {
                        "ddpsim": "",
                        "ddpsim, nothing fitted": "free_",
                        "gloo, plain model": "plain_",
                        "LogGP fit": "loggp_",
                    },
                ),
                "DDP paper over gloo, 1 to 32 V100; three points of each curve given",
                (
                    ("", "", "gloo's plain cost model", "{plain_median} %", "{plain_p90} %"),
                    ("", "", "LogGP fit", "{loggp_median} %", "{loggp_p90} %"),
                ),
            ),
            curve(
                "nccl",
                paper(
                    "A",
                    "nccl",
                    {
                        "ddpsim": "",
                        "ddpsim, nothing fitted": "free_",
                        "no communication": "none_",
                        "LogGP fit": "loggp_",
                    },
                ),
                "DDP paper over NCCL, the same",
                (
                    ("", "", "no communication", "{none_median} %", "{none_p90} %"),
                    ("", "", "LogGP fit", "{loggp_median} %", "{loggp_p90} %"),
                ),
            ),
            group(
                paper("B", "gloo", {"ddpsim": "g_", "LogGP fit": "g_loggp_"}),
                (
                    "the paper's shared pool over gloo, to 256 GPUs",
                    "{pairs_n} steps",
                    "ddpsim",
                    "{g_median} %",
                    "{g_p90} %",
                ),
                ("", "", "LogGP fit", "{g_loggp_median} %", "{g_loggp_p90} %"),
            ),
            group(
                paper("B", "nccl", {"ddpsim": "", "LogGP fit": "loggp_"}),
                ("the paper's shared pool over NCCL", "{pairs_n} steps", "ddpsim", "{median} %", "{p90} %"),
                ("", "", "LogGP fit", "{loggp_median} %", "{loggp_p90} %"),
            ),
            group(
                schemes("steps", "links known", "k_") + schemes("steps", "all"),
                (
                    "steps under FSDP, ZeRO and others, nothing given; two do not say how long their samples are",
                    "{n} rows",
                    "ddpsim",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                (
                    "… links known; estimates learned from some of them",
                    "{k_n} rows",
                    "ddpsim",
                    "{k_median} %",
                    "{k_p90} %",
                    "{k_worst} %",
                ),
            ),
            group(
                (
                    ("Peak memory", "ddpsim: <n> peaks, median <median> %, p90 <p90> %, worst <worst> % ..."),
                    (
                        "Peak memory",
                        "parameters, gradients and optimizer alone: <_> peaks, median <fixed> %, p90 <fixed_p90> %, worst <fixed_worst> % ...",
                    ),
                ),
                (
                    "peak memory under DDP, FSDP and ZeroRedundancyOptimizer; worst: 405B parameters offloaded to the host",
                    "{n} peaks",
                    "ddpsim",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                ("", "", "no activations", "{fixed} %", "{fixed_p90} %", "{fixed_worst} %"),
            ),
            group(
                schemes("memory", "all"),
                (
                    "peak memory under FSDP, Llama 7B and 8B; the allocator reserves more than its tensors",
                    "{n} figures",
                    "ddpsim",
                    "{median} %",
                    "",
                    "{worst} %",
                ),
            ),
        ),
    ),
    Table(
        "ResNet-50 on 1 to 16 V100",
        "PyTorch's own DDP benchmark. Signed errors of the step; the last column counts 4.5 % in a node and 2.5 % for each doubling of nodes.",
        ("GPUs", "ddpsim", "DDP's copies and the wire alone", "constant per doubling"),
        (
            group(
                tuple(
                    ("PyTorch's DDP benchmark, part by part", f" 25 {n} <_> <_> <e{n}> % <c{n}> % <n{n}> %")
                    for n in (1, 2, 4, 8, 16)
                ),
                *((f"{n}", f"{{e{n}:+}} %", f"{{n{n}:+}} %", f"{{c{n}:+}} %") for n in (16, 8, 4, 2, 1)),
            ),
        ),
    ),
    Table(
        "What each part of the model adds",
        "Median error of the published steps when one part is switched off.",
        ("Switched off", "several V100 nodes", "one V100 node", "one A100 node", "64 to 256 GPUs"),
        (
            group(
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
                *(
                    (words, f"{{{name}_m}} %", f"{{{name}_v}} %", f"{{{name}_a}} %", f"{{{name}_n}} %")
                    for name, words in (
                        ("both", "the slowest GPU and the multi-GPU overhead"),
                        ("un", "the multi-GPU overhead"),
                        ("nc", "NCCL slowed by compute"),
                        ("slow", "the slowest GPU"),
                        ("in", "compute slowed by NCCL"),
                        ("all", "nothing"),
                    )
                ),
            ),
        ),
    ),
    Table(
        "The loss to several GPUs",
        "Errors of the loss or of the efficiency, in points.",
        ("What", "Data", "Predictor", "Error"),
        (
            group(
                (
                    (RANKS, "| SXM | <n> | <sxm> points | <_> | <old> | <one>"),
                    (RANKS, "| PCIe | <p_n> | <pcie> points | <_> | <p_old> | <p_one>"),
                ),
                ("MLPerf, one submitter at two scales, PCIe: median", "{p_n} pairs", "ddpsim", "{pcie}"),
                ("", "", "constant per doubling", "{p_old}"),
                ("", "", "efficiency 1", "{p_one}"),
                ("MLPerf, the same, SXM: median", "{n} pairs", "ddpsim", "{sxm}"),
                ("", "", "constant per doubling", "{old}"),
                ("", "", "efficiency 1", "{one}"),
            ),
            group(
                ((RANKS, "| RMSE, points | <n> | | <rmse> | <held> held | <old> | <none>"),),
                (
                    "ResNets on 8 and 16 B200: root mean square; over two nodes too slow",
                    "{n} steps",
                    "ddpsim",
                    "{rmse}",
                ),
                ("", "", "constant per doubling", "{old}"),
                ("", "", "no loss", "{none}"),
            ),
            group(
                tuple(
                    (RANKS, f"| {gpu}, over {over} | <{jobs}> | RMSE <{name}> | <{name}_old> | <_> | <{name}_one>")
                    for gpu, over, jobs, name in (
                        ("B200", "one-GPU jobs", "b_jobs", "b"),
                        ("B200", "the job's middle rank", "_", "b_job"),
                        ("RTX PRO 6000", "one-GPU jobs", "r_jobs", "r"),
                        ("RTX PRO 6000", "the job's middle rank", "_", "r_job"),
                    )
                ),
                *(
                    cells
                    for name, gpu, over in (
                        ("b", "B200", "one-GPU jobs"),
                        ("b_job", "B200", "the job's middle rank"),
                        ("r", "RTX PRO 6000", "one-GPU jobs"),
                        ("r_job", "RTX PRO 6000", "the job's middle rank"),
                    )
                    for cells in (
                        (
                            f"slowest of 2 to 16 GPUs, Megatron on {gpu}, over {over}: root mean square",
                            f"{{{name[0]}_jobs}} jobs",
                            "ddpsim",
                            f"{{{name}}}",
                        ),
                        ("", "", "constant per doubling", f"{{{name}_old}}"),
                        ("", "", "best constant", f"{{{name}_one}}"),
                    )
                ),
            ),
        ),
    ),
    Table(
        "Overlap on or off",
        "Six trainings on two GPUs; the step without overlap is given. Errors of the ratio of the steps, by a guess of the optimizer's time.",
        ("Optimizer guessed at", "Median error", "Worst error", "Median, NCCL not slowed by compute"),
        (
            group(
                tuple(
                    (RANKS, f"| off by | {ms} ms | <{name}>, worst <{name}w> | <{name}n>, worst <_>")
                    for ms, name in ((50, "a"), (100, "b"), (150, "c"))
                ),
                *(
                    (f"{ms} ms", f"{{{name}}}", f"{{{name}w}}", f"{{{name}n}}")
                    for ms, name in ((50, "a"), (100, "b"), (150, "c"))
                ),
            ),
        ),
    ),
    Table(
        "Which one is faster",
        "Signs and ratios: what decides between two configurations.",
        ("What", "Data", "Predictor", "Sign right", "Median error of the ratio", "90th percentile", "Worst error"),
        (
            group(
                schemes("ratios", "all"),
                (
                    "FSDP, ZeRO, checkpointing: one over another of a group of published steps; "
                    "half are whole runs, and what DeepSpeed takes on the host was measured without a GPU",
                    "{n} pairs",
                    "ddpsim",
                    "{signs} %",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
            ),
            group(
                schemes("ratios", "links known", "k_"),
                (
                    "… links known; signs of {k_signed} that differ by over 5 %",
                    "{k_n} pairs",
                    "ddpsim",
                    "{k_signs} %",
                    "{k_median} %",
                    "{k_p90} %",
                    "{k_worst} %",
                ),
                ("", "", "the same as DDP", "none", "{k_same_median} %", "{k_same_p90} %", "{k_same_worst} %"),
                (
                    "",
                    "",
                    "bytes over bandwidth, all exposed",
                    "{k_wire_signs} %",
                    "{k_wire_median} %",
                    "{k_wire_p90} %",
                ),
                (
                    "",
                    "",
                    "bytes over bandwidth, all hidden",
                    "{k_hidden_signs} %",
                    "{k_hidden_median} %",
                    "{k_hidden_p90} %",
                ),
            ),
            group(
                schemes("efficiencies", "all"),
                (
                    "efficiency of FSDP, and of TensorFlow's all-reduce of each gradient, at two sizes",
                    "{n} rows, up to 512 GPUs",
                    "ddpsim",
                    "",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                ("", "", "efficiency 1", "", "{same_median} %", "{same_p90} %", "{same_worst} %"),
                ("", "", "bytes over bandwidth, all exposed", "", "{wire_median} %", "{wire_p90} %", "{wire_worst} %"),
                (
                    "",
                    "",
                    "bytes over bandwidth, all hidden",
                    "",
                    "{hidden_median} %",
                    "{hidden_p90} %",
                    "{hidden_worst} %",
                ),
            ),
            group(
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
                    (
                        PAPER,
                        "Figures 7 to 12, both ... more GPUs measured faster: ... more GPUs measured faster: <more>;",
                    ),
                ),
                (
                    "two points of a curve of the DDP paper, gloo; in {more} of the pairs more GPUs are faster",
                    "{g_pairs} pairs",
                    "ddpsim",
                    "{g_signs} %",
                ),
                ("", "", "LogGP fit", "{g_loggp_signs} %"),
                ("… NCCL", "{pairs} pairs", "ddpsim", "{signs} %"),
                ("", "", "LogGP fit", "{loggp_signs} %"),
                ("… shared pool, NCCL", "", "ddpsim", "{b_signs} %"),
                ("… shared pool, gloo", "", "ddpsim", "{bg_signs} %"),
                ("… all figures together", "{all} pairs", "ddpsim", "{together} %"),
            ),
        ),
    ),
    Table(
        "What `compare` decides",
        "Of two machines, only the one-GPU step of the first is given.",
        (
            "What",
            "Data",
            "Decided",
            "… ordered as published",
            "80 % intervals hold",
            "Median error of the ratio",
            "90th percentile",
            "Median, every GPU worth the same or its peak rate",
            "90th percentile of that",
        ),
        (
            group(
                pairs("sizes", "s_") + pairs("machines", "m_"),
                *(
                    (
                        what,
                        f"{{{name}_n}} pairs",
                        f"{{{name}_decided}} %",
                        f"{{{name}_right}} %",
                        f"{{{name}_held}} %",
                        f"{{{name}_median}} %",
                        f"{{{name}_p90}} %",
                        f"{{{name}_blind}} %",
                        f"{{{name}_blind_p90}} %",
                    )
                    for name, what in (
                        ("m", "which of two machines trains faster"),
                        ("s", "which of two sizes of a job"),
                    )
                ),
            ),
        ),
    ),
    Table(
        "What the chosen cap costs",
        "The cap that `tune` picks on the DDP paper's grid, over the best measured cap: the largest cost of four curves.",
        ("Predictor", "gloo", "NCCL"),
        (
            group(
                paper("A", "nccl", {"ddpsim": "", "ddpsim, nothing fitted": "free_", "LogGP fit": "loggp_"})
                + paper("A", "gloo", {"ddpsim": "", "ddpsim, nothing fitted": "free_", "LogGP fit": "loggp_"}, "g_"),
                ("ddpsim", "{g_regret} %", "{regret} %"),
                ("ddpsim, nothing fitted", "{g_free_regret} %", "{free_regret} %"),
                ("LogGP fit", "{g_loggp_regret} %", "{loggp_regret} %"),
            ),
        ),
    ),
    Table(
        "All-reduces from 1 MiB up",
        "From data sheets, learned without the log's own family of machines.",
        ERRORS,
        (
            of_model("network", "over a network", "22 logs"),
            of_model("one NVLink node", "one NVLink node", "14 logs"),
            of_model("one PCIe node", "one PCIe node", "3 logs, no two alike", p90=False),
        ),
    ),
    Table(
        "All-reduces of a calibrated cluster",
        "One job shape is left out and predicted from the others of its cluster. Median errors.",
        ("Left out", "from 1 MiB", "all sizes", "LogGP fit, from 1 MiB", "LogGP fit, all sizes"),
        (
            group(
                tuple(left_out(scale, name) for scale, name in OTHERS.items()),
                (
                    "any other of 14 job shapes, six clusters: the worst",
                    "{o*:max} %",
                    "{o*_all:max} %",
                    "{o*_loggp:max} %",
                    "{o*_loggp_all:max} %",
                ),
                ("… the best", "{o*:min} %", "{o*_all:min} %", "{o*_loggp:min} %", "{o*_loggp_all:min} %"),
                ("… p3dn, one GPU a node", "{oc} %", "{oc_all} %"),
                ("… p3dn, eight GPUs a node", "{od} %", "{od_all} %"),
            ),
            group(
                tuple(left_out(scale, name) for scale, name in INTERIOR.items()),
                *(
                    (what, f"{{{name}}} %", f"{{{name}_all}} %", f"{{{name}_loggp}} %", f"{{{name}_loggp_all}} %")
                    for name, what in (
                        ("g8", "between measured ones: Alps, 8 nodes"),
                        ("g32", "… Alps, 32 nodes"),
                        ("v2", "… ABCI V100, 2 nodes"),
                        ("a4", "… A100-80GB, 4 GPUs"),
                    )
                ),
            ),
        ),
    ),
    Table(
        "What the 80 % intervals hold",
        "A good interval holds 80 % and is narrow. Width is high over low (median); the score adds to the width ten times the miss, both as logarithms.",
        HELD,
        (
            group(
                tuple(intervals(LEFT_OUT, f"{word} left out:", name) for name, word in KINDS.items()),
                *held_rows("all-reduces from 1 KiB, family left out", "the same logs", KINDS),
            ),
            group(
                published("V100 single node", "v_")
                + published("V100 multi-node", "m_")
                + published("A100", "a_")
                + published("all"),
                ("published steps, all", "{rows} rows", "{held} %"),
                ("… several V100 nodes", "", "{m_held} %"),
                ("… one V100 node", "", "{v_held} %"),
                ("… one A100 node", "", "{a_held} %"),
            ),
            group(
                tuple(
                    (
                        PUBLISHED,
                        f"every row inputs alone admit ... | {kind} | <{name}_rows> | <{name}> % | <_> % | <_> % | <{name}_held> % | <{name}_one> %",
                    )
                    for name, kind in (("v", "V100 single node"), ("m", "V100 multi-node"), ("a", "A100"))
                ),
                (
                    "… several V100 nodes, also stacks that lose over 15 % within one node",
                    "{m_rows} rows",
                    "{m_held} %",
                ),
                ("… one V100 node, the same", "{v_rows} rows", "{v_held} %"),
                ("… one A100 node, the same", "{a_rows} rows", "{a_held} %"),
            ),
            group(
                paper("A", "nccl", {"ddpsim": "", "ddpsim, nothing fitted": "free_"})
                + paper("A", "gloo", {"ddpsim": "", "ddpsim, nothing fitted": "free_"}, "g_"),
                ("steps of the DDP paper, NCCL", "{pairs_n} steps", "{held} %"),
                ("… nothing fitted", "", "{free_held} %"),
                ("… gloo", "{pairs_n} steps", "{g_held} %"),
                ("… gloo, nothing fitted", "", "{g_free_held} %"),
            ),
            group(
                paper("B", "nccl", {"ddpsim": ""}) + paper("B", "gloo", {"ddpsim": ""}, "g_"),
                ("the paper's shared pool, NCCL", "{pairs_n} steps", "{held} %"),
                ("… gloo", "{pairs_n} steps", "{g_held} %"),
            ),
            group(
                ((RANKS, "| RMSE, points | <n> | | <rmse> | <held> held | <old> | <none>"),),
                ("loss of ResNets on 8 and 16 B200: steps held of {n}", "{n} steps", "{held}"),
            ),
            group(
                tuple(
                    (LEFT_OUT, f"{word} from 1 MiB ... band of the others held <{name}> % of <{name}_n>")
                    for name, word in (("ib", "rdma"), ("efa", "efa"), ("slingshot", "slingshot"), ("socket", "socket"))
                ),
                ("all-reduces ≥ 1 MiB, family left out: EFA", "{efa_n} times", "{efa} %"),
                ("… sockets", "{socket_n} times", "{socket} %"),
                ("… InfiniBand", "{ib_n} times", "{ib} %"),
                ("… Slingshot", "{slingshot_n} times", "{slingshot} %"),
            ),
            group(
                tuple(intervals(BY_KIND, word, f"{name}_all") for name, word in KINDS.items()),
                *held_rows(
                    "all-reduces from 1 KiB, learned from all logs",
                    "the same logs",
                    {f"{name}_all": word for name, word in KINDS.items()},
                ),
            ),
            group(
                tuple(intervals(CALIBRATED, word, name) for name, word in DISTANCES.items()),
                *held_rows("calibrated, nearest log", "18 job shapes", DISTANCES),
            ),
            group(
                (intervals(CALIBRATED, "in all", "held"),),
                ("calibrated, one job shape left out: all 18", "18 job shapes", "{held} %", "{held_w}", "{held_s}"),
            ),
            group(
                tuple(intervals(CALIBRATED, word, name) for name, word in OWNERS.items()),
                *held_rows("another owner's machine by one published log", "9 logs of six owners", OWNERS),
            ),
            group(
                (("Bundled clusters beside the published logs they rest on", "specifications held <held> % of <n>"),),
                (
                    "bundled clusters with published logs, by their data sheets instead",
                    "{n} times of 25 logs",
                    "{held} %",
                ),
            ),
        ),
    ),
    Table(
        "Estimates: nothing was recorded",
        "The model, or its team, is left out of what the estimates learned from.",
        ERRORS,
        (
            group(
                (
                    ("Decoders, estimated", "estimate: median <median> %, p90 <p90> %, worst <worst> %"),
                    ("Decoders, estimated", "~ FLOPs: median <f_median> %, p90 <f_p90> %, worst <f_worst> %"),
                ),
                (
                    "decoders under FSDP on A100 and H100, communication not counted",
                    "26 figures of three teams",
                    "ddpsim",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                ("", "", "one FLOP rate of the other teams", "{f_median} %", "{f_p90} %", "{f_worst} %"),
            ),
            group(
                (
                    ("Whole steps, estimated", "left out: median <median> %, p90 <p90> %, worst <worst> %"),
                    ("Whole steps, estimated", "~ FLOPs: median <f_median> %, p90 <f_p90> %, worst <f_worst> %"),
                ),
                ("whole steps", "32 single-GPU figures, four GPUs", "ddpsim", "{median} %", "{p90} %", "{worst} %"),
                ("", "", "one FLOP rate", "{f_median} %", "{f_p90} %", "{f_worst} %"),
            ),
            group(
                (
                    (
                        "Steps at many batch sizes",
                        "field steps: <n> rows, median <median> %, p90 <p90> %, worst <worst> %; interval holds <held> of <_>, width <width>",
                    ),
                    (
                        "Steps at many batch sizes",
                        "one share of the peak rate for each model: median <s_median> %, p90 <s_p90> %, worst <s_worst> %",
                    ),
                    (
                        "Steps at many batch sizes",
                        "that share with a floor: median <f_median> %, p90 <f_p90> %, worst <f_worst> %",
                    ),
                ),
                (
                    "steps of 8 to 128 images on 1 to 8 V100, fp16, synchronised; 80 % intervals hold {held}, width {width}",
                    "{n} rows of one source",
                    "ddpsim",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                ("", "", "best share of the peak rate", "{s_median} %", "{s_p90} %", "{s_worst} %"),
                ("", "", "… with the shortest step as a floor", "{f_median} %", "{f_p90} %", "{f_worst} %"),
            ),
            group(
                (
                    (
                        "Launches of a step",
                        "launches, nvidia-h200: <n> rows, median <median> %, p90 <p90> %, worst <worst> %; one an operator: median <o_median> %, "
                        "p90 <o_p90> %, worst <o_worst> %",
                    ),
                ),
                (
                    "launches of a step, ResNets and transformers",
                    "{n} steps",
                    "ddpsim",
                    "{median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                ("", "", "one for each operator", "{o_median} %", "{o_p90} %", "{o_worst} %"),
            ),
            group(
                (
                    ("Whole steps, estimated", "transfer: median <median> %, p90 <_> %, worst <worst> %"),
                    ("Whole steps, estimated", "peak rates: median <peak> %"),
                ),
                (
                    "V100 carried over to A100 and H100",
                    "eight published pairs",
                    "ddpsim",
                    "{median} %",
                    "",
                    "{worst} %",
                ),
                ("", "", "peak rates", "{peak} %"),
            ),
        ),
    ),
    Table(
        "Estimates of layers",
        "Per-layer tables of eight models on a V100; the model is left out.",
        ("What", "Data", "Predictor", "Best model", "Worst model"),
        (
            group(
                tuple(
                    (
                        "Layer costs",
                        f"learned from the other seven ... {name} forward <_> %, of a layer <_> / <_> % backward <b{n}> %, "
                        f"of a layer <_> / <_> % ~ FLOPs <f{n}> %",
                    )
                    for n, name in enumerate(MODELS)
                ),
                ("error of the backward pass", "eight models", "ddpsim", "{b*:min} %", "{b*:max} %"),
                ("", "", "in proportion to FLOPs", "{f*:min} %", "{f*:max} %"),
            ),
            group(
                tuple(
                    (
                        "Layer costs",
                        f"learned from the other seven ... {name} forward <_> %, of a layer <_> / <_> % backward <_> %, "
                        f"of a layer <m{n}> / <q{n}> %",
                    )
                    for n, name in enumerate(MODELS)
                )
                + tuple(
                    (
                        "Layer costs",
                        f"{name} forward ... ~ FLOPs forward <_> %, of a layer <_> / <_> % backward <_> %, of a layer <p{n}>",
                    )
                    for n, name in enumerate(MODELS)
                ),
                ("median error of single layers", "1567 modules", "ddpsim", "{m*:min} %", "{m*:max} %"),
                ("", "", "in proportion to FLOPs", "", "{p*:max} %"),
                ("90th percentile of single layers", "1567 modules", "ddpsim", "", "{q*:max} %"),
            ),
        ),
    ),
    *(
        Table(
            f"Measured on one GPU ({gpu})",
            "Launches, BatchNorm in bfloat16, products of an odd length and fused attention in fp32 were learned from some of these models; nothing else was.",
            ERRORS,
            measured_on(f"Measured on one GPU: {card}"),
        )
        for gpu, card in CARDS.items()
    ),
    Table(
        "Measured on one GPU: further figures",
        "Costs are over the best measured cap.",
        VALUES,
        tuple(values_on(gpu, f"Measured on one GPU: {card}") for gpu, card in CARDS.items()),
    ),
    Table(
        "Steps measured here: two cores, shaped links",
        "Real trainings over gloo between links of known rate. Errors of the step.",
        ("What", "Data", "Predictor", "Typical error", "90th percentile", "Worst error"),
        (
            group(
                (
                    (SCHEMES_ON_GLOO, "predicted: <n> steps, median <median>, p90 <p90>, worst <worst> %"),
                    (SCHEMES_ON_GLOO, "as DDP: <_> steps, median <same>, p90 <same_p90>, "),
                    (SCHEMES_ON_GLOO, "nothing hidden: <_> steps, median <opened>, p90 <opened_p90>, "),
                ),
                (
                    "other schemes: all-reduces one by one, local SGD, ZeroRedundancyOptimizer, parameter servers (PyTorch 2.13)",
                    "{n} steps, 2 and 4 ranks",
                    "ddpsim",
                    "median {median} %",
                    "{p90} %",
                    "{worst} %",
                ),
                ("", "", "the same as DDP", "median {same} %", "{same_p90} %"),
                ("", "", "nothing hidden", "median {opened} %", "{opened_p90} %"),
            ),
            stated(
                (
                    "real DDP of a real model, recorded at one cap, others predicted",
                    "39 points, 2 ranks",
                    "ddpsim",
                    "median 1.5 %",
                    "",
                    "6.8 %",
                ),
                ("", "", "as at the recorded cap", "", "", "33 %"),
            ),
            group(
                (
                    (
                        SETTINGS,
                        "<n> gains of <jobs> jobs: sign right <right> of <noticed> noticed, ... intervals held <held> of "
                        "<ranged>, median error <median> % of the step, of no effect <none> %",
                    ),
                ),
                (
                    "gains of the settings of `advise` (PyTorch 1.13 and 2.13), of the step",
                    "{n} gains, {jobs} jobs",
                    "ddpsim",
                    "median {median} %",
                ),
                ("", "", "no effect", "median {none} %"),
            ),
            group(
                (
                    (LAB + "predicted beside it", "points: mean <mean> %, median <_> %, worst <worst> %"),
                    (LAB + "predicted beside it", "all hidden <hidden> %, <_> %; none hidden <exposed> %"),
                ),
                (
                    "our real reducer, predicted from the job's own all-reduces",
                    "24 points, 2 and 4 ranks",
                    "ddpsim",
                    "mean {mean} %",
                    "",
                    "{worst} %",
                ),
                ("", "", "all hidden", "mean {hidden} %"),
                ("", "", "none hidden", "mean {exposed} %"),
            ),
            group(
                (
                    (
                        HOOK + "our reducer beside PyTorch's",
                        "<points> of <_> points judged: median <_> %, worst <ours> %",
                    ),
                    (HOOK + "predicted beside it", "points: mean <mean> %, median <_> %, worst <worst> %"),
                    (HOOK + "predicted beside it", "all hidden <hidden> %, <_> %; none hidden <exposed> %"),
                ),
                (
                    "the same with an fp16 hook, the processor's casts measured beside it",
                    "{points} points, 2 ranks",
                    "ddpsim",
                    "mean {mean} %",
                    "",
                    "{worst} %",
                ),
                ("", "", "all hidden", "mean {hidden} %"),
                ("", "", "none hidden", "mean {exposed} %"),
                ("… our reducer beside PyTorch's", "", "", "", "", "{ours} %"),
            ),
            group(
                (
                    (
                        LAB + "our reducer beside PyTorch's",
                        "<points> of <_> points judged: median <median> %, worst <worst> %",
                    ),
                ),
                (
                    "our real reducer beside PyTorch's; bucket bytes exact; noise up to 0.95 %",
                    "{points} points, 2 and 4 ranks",
                    "",
                    "median {median} %",
                    "",
                    "{worst} %",
                ),
            ),
        ),
    ),
    Table(
        "What advice costs, measured here",
        "Costs are over the best measured setting.",
        VALUES,
        (
            group(
                (
                    (
                        SETTINGS,
                        "top advice, numerics kept: right in <kept> of <kept_measured> measured, <jobs> jobs; regret mean <kept_mean> %, worst <kept_worst> %",
                    ),
                    (
                        SETTINGS,
                        "top advice, numerics changed too: right in <all> of <all_measured> measured, <_> jobs; regret mean <all_mean> %, worst <all_worst> %",
                    ),
                    (SETTINGS, "always today, numerics kept: regret mean <today> %"),
                ),
                ("first advice of `advise`, numerics may change", "{jobs} jobs", "worst cost", "{all_worst} %"),
                ("", "", "mean cost", "{all_mean} %"),
                ("", "", "right, of {all_measured} measured", "{all}"),
                ("first advice, numerics kept", "{jobs} jobs", "worst cost", "{kept_worst} %"),
                ("", "", "mean cost", "{kept_mean} %"),
                ("", "", "right, of {kept_measured} measured", "{kept}"),
                ("the current setting always", "{jobs} jobs", "mean cost", "{today} %"),
            ),
            group(
                (
                    (
                        SETTINGS,
                        "<n> gains of <jobs> jobs: sign right <right> of <noticed> noticed, ... intervals held <held> of "
                        "<ranged>, median error <median> % of the step, of no effect <none> %",
                    ),
                ),
                ("gains of single settings", "{n} gains", "sign right, of {noticed} above 2 %", "{right}"),
                ("", "", "interval holds, of {ranged}", "{held}"),
            ),
            group(
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
                (
                    "`ddpsim.autotune` in a running job, 2 and 4 ranks, three link rates",
                    "{runs} runs of {setups} set-ups; {worth} with more than 5 % to win",
                    "worst cost",
                    "{worst} %",
                ),
                ("", "", "90th percentile", "{p90} %"),
                ("", "", "median", "{median} %"),
                ("", "", "wins 70 % of what the best cap wins, of {large} runs with over 3 % to win", "{gained}"),
                ("", "", "keeps the default, of {small} runs with under 1 % to win", "{kept}"),
                ("the cap the simulator names first", "the same runs", "worst cost", "{sim_worst} %"),
                ("", "", "90th percentile", "{sim_p90} %"),
                ("", "", "median", "{sim} %"),
                ("the default always", "the same runs", "worst cost", "{none_worst} %"),
                ("", "", "90th percentile", "{none_p90} %"),
                ("", "", "median", "{none} %"),
            ),
            group(
                (
                    (LAB + "predicted beside it", "resnet-like 2 ranks, views chosen ... regret <regret2> %"),
                    (
                        LAB + "predicted beside it",
                        "resnet-like 4 ranks chosen ... regret <regret4> % (noise <_> %, all launches <apart> %)",
                    ),
                ),
                ("cap chosen for our real reducer, 4 ranks; launches lie {apart} % apart", "", "cost", "{regret4} %"),
                ("… 2 ranks", "", "cost, at most", "{regret2} %"),
            ),
            stated(("cap chosen for a real model, 2 ranks", "39 points", "cost", "0 %")),
        ),
    ),
    Table(
        "How steps vary",
        "80 % intervals for a further step, from the steps recorded just before it. On two cores that others use.",
        ("Steps known", "the next step held", "the tenth step after held"),
        (
            group(
                (
                    (VARY, "all, <trainings> trainings"),
                    *((VARY, f" {n} known, the next after <_> of <_> <n{n}> % | <m{n}> % | <r{n}> %") for n in KNOWN),
                    *((VARY, f" {n} known, the tenth after <_> of <_> <t{n}> %") for n in KNOWN),
                ),
                *((f"{n}", f"{{n{n}}} %", f"{{t{n}}} %") for n in KNOWN),
                ("median ± 5 %: least", "{m*:min} %"),
                ("median ± 5 %: most", "{m*:max} %"),
                ("least to most of the known: least", "{r*:min} %"),
                ("least to most of the known: most", "{r*:max} %"),
            ),
        ),
    ),
    Table(
        "How steps of open traces vary",
        "Each step is left out of its trace.",
        VALUES,
        (
            group(
                (
                    (VARY, "of fewer than ten steps <few_held> of <few> "),
                    (VARY, "all traces <held> of <all> <_> % | <median> % | <range> %"),
                ),
                ("interval of ddpsim", "five traces", "steps held, of {all}", "{held}"),
                ("… traces of 4 or 5 steps", "four traces", "steps held, of {few}", "{few_held}"),
                ("median ± 5 %", "five traces", "steps held", "{median} %"),
                ("least to most of the others", "five traces", "steps held", "{range} %"),
            ),
        ),
    ),
    Table(
        "What is exact, or nearly",
        "PyTorch's rules, trace import, and the two network models.",
        VALUES,
        (
            group(
                (("Logs: sound or not", "<logs> logs "),),
                ("logs that do not describe their machine", "{logs} logs", "flagged, of 3 bad ones", "3"),
                ("", "", "flagged, of 2 suspect ones", "1"),
                ("", "", "false alarms", "0"),
            ),
            stated(
                (
                    "one V100 without DDP, used for DDP on another V100",
                    "ResNet-50, two open traces",
                    "ready times within, of 66 ms",
                    "3.6 ms",
                ),
                ("", "", "in proportion to bytes", "36 ms"),
            ),
            group(
                (
                    (
                        "Replay of recorded steps",
                        "start: median <start> us, worst <start_worst> us; end: median <end> us, worst <end_worst> us",
                    ),
                ),
                (
                    "eight ranks joined: start of an all-reduce",
                    "64 durations of a DLRM job",
                    "worst error",
                    "{start_worst} µs",
                ),
                ("", "", "median error", "{start} µs"),
                ("… end of an all-reduce", "", "worst error", "{end_worst} µs"),
                ("", "", "median error", "{end} µs"),
                ("… rank 0's duration for all", "", "error", "5.5 ms"),
            ),
            group(
                (("Replay of recorded steps", "worst tail <tail> us, worst start <start> us"),),
                (
                    "replay with recorded all-reduce times: start",
                    "3 steps of a 2×A100 trace",
                    "worst error",
                    "{start} µs",
                ),
                ("… tail", "", "worst error", "{tail} µs"),
            ),
            stated(
                ("recorder: ready times", "a backward that waits for set deadlines, on a CPU", "worst error", "0.6 %"),
                ("", "", "cost, of the step", "0.7 %"),
            ),
            group(
                (
                    (
                        "Import of traces",
                        "<steps> steps gradient ready, us: worst <ready> ... all-reduce start, us: worst <start> ",
                    ),
                ),
                (
                    "import of a trace: gradient ready",
                    "{steps} steps of 15 open traces, 2021 to 2025",
                    "worst error",
                    "{ready} µs",
                ),
                ("… start of an all-reduce", "", "worst error", "{start} µs"),
                ("… bucket bytes", "", "error", "0"),
            ),
            group(
                (("Flow network beside the cost model", "worst difference between flow and cost model: <worst> "),),
                (
                    "flow network beside the cost model, nothing else on the links",
                    "1,260 cases",
                    "worst difference",
                    "{worst:percent} %",
                ),
            ),
            stated(
                (
                    "flow network beside SimGrid on the same physics",
                    "rings of 8 to 1024 ranks, fat tree",
                    "difference",
                    "0 ps",
                ),
                ("bucket assignment", "90 outputs of PyTorch's function; DDP's own logs (1.13)", "error", "0"),
            ),
        ),
    ),
)


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
