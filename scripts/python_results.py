#!/usr/bin/env python3
"""Makes python/ddpsim/_results.py, a dataclass for each part of each document, of what the program prints.

    scripts/python_results.py --program build/release/cli/ddpsim

The documents are those of the corpus of commands (tests/golden) and the few below, which it lacks. A key is a field; what
some documents lack, or have null, may be None. tests/python/test_results.py says when a key is missing here.
"""

import argparse
import json
import keyword
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))

import documents  # noqa: E402
from golden import GOLDEN  # noqa: E402, which documents.py has made importable

# Class of a document; its section in docs/formats.md; what it is; the key of its rows.
ANSWERS = {
    "ddpsim.result/1": (
        "SimulateResult",
        "simulate --json",
        "One step: its parts, its buckets, where the efficiency goes",
        "buckets",
    ),
    "ddpsim.tune/1": ("TuneResult", "tune --json", "Whether another cap is worth it, and the step by cap", "curve"),
    "ddpsim.advice/1": ("AdviseResult", "advise --json", "Every lever of DDP and NCCL, best first", "rows"),
    "ddpsim.compare/1": ("CompareResult", "compare --json", "Clusters side by side", "rows"),
    "ddpsim.sweep/1": ("SweepResult", "sweep", "A grid of settings, a point each", "points"),
    "ddpsim.buckets/1": ("BucketsResult", "buckets --json", "Which gradients travel together", "buckets"),
    "ddpsim.allreduce/1": ("AllreduceResult", "allreduce --json", "The predicted table of nccl-tests", "rows"),
    "ddpsim.topo/1": ("TopoResult", "results", "A cluster: links, channels, what binds", ""),
    "ddpsim.workload/1": ("Workload", "workload", "What one rank, or several, computed in a step", "parameters"),
    "ddpsim.calibration/1": (
        "CalibrateResult",
        "results",
        "What was fitted, and how well; `path`: the calibrated cluster",
        "residuals",
    ),
    "ddpsim.validation/1": ("ValidateResult", "validate --json", "Predicted beside measured", "rows"),
    "ddpsim.diff/1": (
        "DiffResult",
        "diff --json",
        "Two measured steps: where the time between them went, and why",
        "rows",
    ),
    "ddpsim.list/1": ("ListResult", "results", "What is bundled", ""),
    "ddpsim.commands/1": ("CommandsResult", "list --commands --json", "What the program offers", "commands"),
    "ddpsim.timeline/1": ("Timeline", "timeline", "Spans of streams, rank by rank", ""),
}

# Attributes of every answer (python/ddpsim/_answer.py).
ANSWERS_OWN = {
    "document",
    "arguments",
    "messages",
    "path",
    "command",
    "text",
    "verdict",
    "report",
    "page",
    "timeline",
    "to_frame",
    "plot",
    "has_page",
    "workbench",
}

# What only answers of one class have: it names a class of the module, which python/ddpsim/_answer.py cannot know.
METHODS = {
    "ddpsim.result/1": '''
    def timeline(self) -> Timeline:
        """The step's spans."""
        return Timeline.from_document(super().timeline().document, arguments=self.arguments, messages=())
''',
}

# Class of what stands under a key: "Parent.key", else of the key in any document.
PARTS = {
    "BucketsResult.buckets": "AssignedBucket",
    "Recorded.buckets": "RecordedBucket",
    "buckets": "Bucket",
    "default": "CurvePoint",
    "best": "CurvePoint",
    "curve": "CurvePoint",
    "today": "Today",
    "recommended": "Recommendation",
    "best_cap": "Recommendation",
    "next_worse": "NextWorse",
    "measure_first": "MeasureFirst",
    "recommended_by_version": "VersionRecommendation",
    "recommended_by_cause": "CauseRecommendation",
    "better_lever": "AdviceRow",
    "AdviseResult.rows": "AdviceRow",
    "best_partition": "Partition",
    "gain_us": "Interval",
    "most_robust_gain_us": "Interval",
    "behind_percent": "Interval",
    "dearer_percent": "Interval",
    "usd_per_1000_steps": "Interval",
    "usd_per_million_samples": "Interval",
    "usd_per_million_tokens": "Interval",
    "usd": "Interval",
    "seconds": "Interval",
    "usd_per_hour_of_reference": "Interval",
    "time": "Interval",
    "recorded": "Recorded",
    "Recorded.iteration_us": "RecordedSteps",
    "RecordedBucket.duration_us": "Durations",
    "confidence": "Confidence",
    "measure_next": "NextMeasurement",
    "calibrated_by": "CalibratedBy",
    "sensitivities": "Sensitivity",
    "replay": "Replay",
    "explained_by": "Explanation",
    "variation": "Variation",
    "stragglers": "Straggler",
    "rank_waits": "RankWaits",
    "SimulateResult.measured": "MeasuredStep",
    "MeasuredStep.spans": "MeasuredSpan",
    "SimulateResult.launch_cost": "LaunchCost",
    "iterations": "Iteration",
    "iteration_statistics": "IterationStatistics",
    "model_averaging": "ModelAveraging",
    "budget": "StepBudget",
    "sample": "SampleWork",
    "data_loader": "DataLoader",
    "DataLoader.options": "DataLoaderOptions",
    "epoch": "Epoch",
    "join": "Join",
    "Join.iteration": "JoinCollective",
    "joined_iteration": "JoinCollective",
    "Join.end": "JoinCollective",
    "data_loading": "DataLoading",
    "threads": "HostThreads",
    "earlier_micro_batches": "EarlierMicroBatches",
    "scheme": "Scheme",
    "staleness": "Staleness",
    "further_model_averaging": "ModelAveraging",
    "SimulateResult.collectives": "Collective",
    "Iteration.collectives": "Collective",
    "loss": "Loss",
    "memory": "Memory",
    "Memory.parts": "MemoryParts",
    "CompareResult.rows": "CompareRow",
    "Comparison.rows": "CompareRow",
    "workloads": "Comparison",
    "mix": "Mix",
    "Mix.rows": "MixRow",
    "behind_sources": "BehindSource",
    "other_choice": "OtherChoice",
    "here": "Choice",
    "on_fastest": "Choice",
    "cost": "Cost",
    "price": "Price",
    "prices": "Price",
    "until": "Until",
    "predicted": "Stretch",
    "possible": "Stretch",
    "certain": "Stretch",
    "points": "SweepPoint",
    "shard": "Shard",
    "AllreduceResult.rows": "AllreduceRow",
    "ValidateResult.rows": "ValidateRow",
    "TopoResult.cluster": "TopoCluster",
    "intra": "Intra",
    "network": "Network",
    "ring": "Channels",
    "tree": "Channels",
    "node_types": "NodeType",
    "vertices": "Vertex",
    "NodeType.links": "Link",
    "matrix": "Matrix",
    "NodeType.channels": "Channel",
    "bottleneck": "Bottleneck",
    "bounds": "Bounds",
    "logged": "LoggedBuckets",
    "uncalibrated": "Errors",
    "calibrated": "Errors",
    "sizes_left_out": "Errors",
    "predicted_from_others": "Errors",
    "predicted_by_specification": "Errors",
    "model_alone": "Errors",
    "shapes_left_out": "ShapeLeftOut",
    "CalibrateResult.left_out": "LogLeftOut",
    "constants": "Constant",
    "residuals": "Residual",
    "logs": "Log",
    "elastic": "Elastic",
    "Elastic.parts_s": "RunParts",
    "Elastic.sizes": "RunSize",
    "Elastic.ended_by": "RunEnds",
    "Elastic.checkpoint_interval": "CheckpointInterval",
    "Elastic.at_daly": "AtDaly",
    "Elastic.interruptions": "Interruption",
    "Elastic.options": "ElasticOptions",
    "Elastic.assumed": "Assumed",
    "intervals": "IntervalsHeld",
    "caps": "CapsValidated",
    "limit": "ErrorLimit",
    "ListResult.workloads": "Bundled",
    "models": "Bundled",
    "clusters": "Bundled",
    "gpus": "Bundled",
    "ListResult.torch": "Bundled",
    "cluster_words": "ClusterWord",
    "schemas": "Bundled",
    "DiffResult.before": "DiffSide",
    "DiffResult.after": "DiffSide",
    "DiffSide.kernels": "KernelTimes",
    "DiffResult.rows": "DiffRow",
    "DiffResult.causes": "SlowdownCause",
    "DiffResult.findings": "Finding",
    "kernel_kinds": "KernelKind",
    "late_ranks": "LateRanks",
    "LateRanks.ranks": "LateRank",
    "DiffResult.collectives": "JoinedCollective",
    "JoinedCollective.waits": "RankWaiting",
    "DiffResult.limit": "SlowdownLimit",
    "DiffResult.sizes": "SizeChange",
    "DiffResult.excluded": "ExcludedCause",
    "across_groups": "GroupPairs",
    "within_groups": "GroupPairs",
    "pairs": "NodePairs",
    "slow_pairs": "PairBandwidth",
    "slow_paths": "PairBandwidth",
    "undecided": "PairBandwidth",
    "commands": "Command",
    "positionals": "Positional",
    "options": "Option",
    "parameters": "Parameter",
    "forward": "Work",
    "backward": "Backward",
    "optimizer": "Work",
    "iteration": "Work",
    "ready": "Ready",
    "host": "Host",
    "launch_waits": "HostTimes",
    "Host.launch_cost": "HostTimes",
    "gpu_busy": "HostTimes",
    "launches": "Launches",
    "recorded_with": "RecordedWith",
    "collectives": "RecordedCollective",
    "steps": "RecordedStep",
    "ranks": "RankRecording",
    "Timeline.ranks": "RankTimeline",
    "RankTimeline.spans": "Span",
    "activations": "Activations",
    "buffers": "Buffer",
}
# Keys of these are the user's own.
FREE = {"SweepPoint.grid", "Scheme.options", "Workload.provenance", "Timeline.provenance", "RankRecording.provenance"}

# Numbers that may have a fraction, though the corpus shows none.
REAL = re.compile(
    r"us|.*_(us|mb|percent|gbps|scale|slowdown|share|factor|rate|second|hour|s)|share|slowdown|jitter|goodput|"
    r"value|low|high|min|median|max|mean|usd.*|oversubscription|from|to|before|measured|predicted|next_.*|mean_error|"
    r"min_compression_rate|overlap|interval_percent|cap_range_mb|fewer_nodes|ended|restarts_used_up|store_lost|join_timed_out|"
    r"failures|restarts|membership_changes|detection|stop|rendezvous|waiting|load|goodput_.*|.*_goodput|formula|simulated.*"
)
COUNTED = {"samples_per_step"}  # of these names, whole numbers

# What the corpus has no command for: it needs larger recordings.
FURTHER = [
    (
        "ddpsim.result/1",
        {
            "recorded": {
                "nccl": "2.17.1",
                "iteration_us": {
                    "steps": 5,
                    "median": 1.5,
                    "low": 1.5,
                    "high": 1.5,
                    "low_high": "least and most",
                    "next_low": 1.5,
                    "next_high": 1.5,
                    "mean_error": 1.5,
                },
                "buckets": [{"transfer_us": None}],
            }
        },
    ),
    (
        "ddpsim.tune/1",
        {
            "recommended": {"measure_first": {"then": None, "set_up_to_us": None, "first_bucket_mb": 0.5}},
            "recommended_by_version": [{"bucket_cap_mb": 0.5, "first_bucket_mb": 0.5}],
        },
    ),
    ("ddpsim.advice/1", {"tokens_per_second": 1.5}),
    ("ddpsim.sweep/1", {"points": [{"corrected_by": "dgx1v", "per_nic_gbps": 12.5}]}),
    (
        "ddpsim.compare/1",
        {
            "mix": {
                "until": [{"workload": "bert", "candidate": "new"}],
                "rows": [{"behind_sources": [{"workload": 0}]}],
            },
            "workloads": [{"recorded_row": 0, "samples": 1, "recorded": {"ranks": 1}}],
        },
    ),
    (
        "ddpsim.workload/1",
        {
            "parameters": [
                {
                    "sparse_gradient": True,
                    "device": "cuda:0",
                    "ignored": False,
                    "batch_norm": True,
                    "frozen": False,
                    "forward": [0.25, 0.5],
                    "backward": [0.5, 0.75],
                }
            ],
            "buffers": [{"dtype": "float32", "bytes": 1, "tensors": 1}],
        },
    ),
    ("ddpsim.topo/1", {"cluster": {"line": None}}),
    ("ddpsim.timeline/1", {"ranks": [{"spans": [{"bucket": None}]}]}),
]


KINDS = {
    "string": "text",
    "integer": "integer",
    "number": "real",
    "boolean": "truth",
    "array": "list",
    "object": "object",
}


class Kind:
    """What was seen under a key, or is described."""

    def __init__(self):
        self.kinds = set()  # "object", "list", "text", "integer", "real", "truth"
        self.none = False
        self.items = None  # of a list
        self.part = None  # the class of an object
        self.described = False  # else a whole number may be one that had no fraction


class Class:
    def __init__(self, name, says):
        self.name, self.says = name, says
        self.fields, self.answer = {}, None
        self.seen = 0
        self.count = {}


def kind_of(described):
    """Of a member of a JSON Schema."""
    kind = Kind()
    kind.described = True
    for one in described.get("anyOf", [described]):
        if "$ref" in one:
            kind.kinds.add("object")
            kind.part = one["$ref"].rpartition("/")[2]
            continue
        for name in [one["type"]] if isinstance(one["type"], str) else one["type"]:
            if name == "null":
                kind.none = True
            else:
                kind.kinds.add(KINDS[name])
        if "items" in one:
            kind.items = kind_of(one["items"])
    return kind


class Classes:
    """Those a schema describes are of the schema; all others of what documents show."""

    def __init__(self, schemas):
        self.named, self.described = {}, set()
        for schema in schemas:
            for name, part in ((schema["title"], schema), *schema["$defs"].items()):
                self.add_described(name, part)
            self.named[schema["title"]].answer = schema["$id"]

    def add_described(self, name, part):
        self.described.add(name)
        found = self.named[name] = Class(name, part["description"][:1].upper() + part["description"][1:] + ".")
        for key, member in part["properties"].items():
            kind = found.fields[key] = kind_of(member)
            kind.none = kind.none or key not in part["required"]

    def document(self, value, whole=True):
        name = ANSWERS[value["schema"]][0]
        if name not in self.described:
            self.object(name, value, whole, "")
            self.named[name].answer = value["schema"]

    def object(self, name, value, whole, under):
        if name in self.described:
            if not value.keys() <= self.named[name].fields.keys():
                raise SystemExit(f'python_results: {name} under "{under}" has keys that its schema lacks')
            return
        found = self.named.setdefault(name, Class(name, f"`{under}` of a document."))
        found.seen += whole
        for key, inner in value.items():
            kind = found.fields.setdefault(key, Kind())
            found.count[key] = found.count.get(key, 0) + whole
            self.add(kind, inner, name, key, whole)

    def add(self, kind, value, parent, key, whole):
        if value is None:
            kind.none = True
        elif isinstance(value, dict):
            kind.kinds.add("object")
            if f"{parent}.{key}" not in FREE and value:
                kind.part = part(parent, key)
                self.object(kind.part, value, whole, key)
        elif isinstance(value, list):
            kind.kinds.add("list")
            kind.items = kind.items or Kind()
            for inner in value:
                self.add(kind.items, inner, parent, key, whole)
        else:
            kind.kinds.add({bool: "truth", int: "integer", float: "real", str: "text"}[type(value)])


def part(parent, key):
    name = PARTS.get(f"{parent}.{key}") or PARTS.get(key)
    if name is None:
        raise SystemExit(f'python_results: an object under "{key}" of {parent}: which class is it? Name it in PARTS')
    return name


def is_real(kind, key):
    return not kind.described and key not in COUNTED and REAL.fullmatch(key) is not None


def type_of(kind, key):
    names = set()
    for one in kind.kinds:
        if one == "object":
            names.add(kind.part or "Mapping[str, Any]")
        elif one == "list":
            inner = kind.items if kind.items.kinds or kind.items.none else None
            names.add(f"tuple[{type_of(inner, key) if inner else 'str'}, ...]")
        else:
            names.add(
                {"text": "str", "truth": "bool", "integer": "float" if is_real(kind, key) else "int", "real": "float"}[
                    one
                ]
            )
    if "float" in names:
        names.discard("int")
    if kind.none:
        names.add("None")
    return " | ".join(sorted(names, key=lambda name: (name == "None", name))) if names else "None"


def read_of(kind, key):
    """How a value is read; None: as it is."""
    if kind.kinds == {"list"}:
        inner = read_of(kind.items, key)
        return f"each({inner or 'same'})"
    if kind.kinds == {"object"}:
        return f"{kind.part}.from_document" if kind.part else None
    if "real" in kind.kinds or (kind.kinds == {"integer"} and is_real(kind, key)):
        if kind.kinds <= {"integer", "real"}:
            return "real"
    return None


def attribute(key):
    return key + "_" if keyword.iskeyword(key) else key


def source(one):
    schema = one.answer
    base = {"Workload": "Imported", "CalibrateResult": "File"}.get(one.name, "Answer") if schema else "Record"
    lines = ["@dataclass(frozen=True, init=False, eq=False, repr=False)", f"class {one.name}({base}):"]
    if not schema:  # where there is none, dataclass looks long for one to make
        lines += [f'    """{one.says}"""', ""]
    else:
        _, section, summary, table = ANSWERS[schema]
        lines += [f'    """{summary}. Fields: docs/formats.md, *{section}*."""', ""]
        if table:
            lines += [f'    _table: ClassVar[str] = "{table}"', ""]
    reads = []
    for key, kind in one.fields.items():
        kind.none = kind.none or one.count.get(key, 0) < one.seen
        lines.append(f"    {attribute(key)}: {type_of(kind, key)}")
        reads.append((key, read_of(kind, key)))
    reads = [f'        "{key}": {read},' for key, read in reads if read]
    if reads:
        lines += ["", "    _reads: ClassVar[Mapping[str, Read]] = {", *reads, "    }"]
    if schema in METHODS:
        lines.append(METHODS[schema].rstrip())
    return "\n".join(lines)


def in_order(classes):
    """Each behind those it is made of."""
    done, ordered = set(), []

    def visit(one):
        if one.name in done:
            return
        done.add(one.name)
        for kind in one.fields.values():
            while kind:
                if kind.part:
                    visit(classes[kind.part])
                kind = kind.items
        ordered.append(one)

    for one in sorted(
        classes.values(), key=lambda one: list(a[0] for a in ANSWERS.values()).index(one.name) if one.answer else 99
    ):
        visit(one)
    return ordered


def module(program):
    def told(*words):
        return json.loads(subprocess.run([program, "list", *words], check=True, capture_output=True).stdout)

    names = [schema["name"] for schema in told("--json")["schemas"]]
    classes = Classes([told("--schema", name) for name in names])
    for _, document in documents.printed(program):
        classes.document(document)
    for path in ("measured.json", "measured-one-bucket.json"):  # as ddpsim-real writes timelines
        document = json.loads((GOLDEN / "inputs" / path).read_text())
        classes.document(document)
    for schema, document in FURTHER:
        classes.document({"schema": schema, **document}, whole=False)
    ordered = in_order(classes.named)
    hidden = {key for one in ordered if one.answer for key in one.fields} & ANSWERS_OWN
    if hidden:
        raise SystemExit(f"python_results: keys {sorted(hidden)} are attributes of every answer already")
    answers = sorted(one.name for one in ordered if one.answer)
    return (
        textwrap.dedent('''\
        """Documents of the program as dataclasses: made by scripts/python_results.py, not by hand.

        A name ends with its unit where it has one: `_us` microseconds, `_bytes` bytes, `_mb` MiB, `_percent` percent, `_s` seconds,
        `usd` US dollars; `algbw_gbps` and `busbw_gbps` are GB/s as nccl-tests prints them. docs/formats.md says what each means.
        """

        from __future__ import annotations

        from dataclasses import dataclass
        from typing import Any, ClassVar, Mapping

        from ._answer import Answer, File, Imported
        from ._record import Read, Record, each, real, same


        ''')
        + "\n\n\n".join(source(one) for one in ordered)
        + "\n\n\nBY_SCHEMA: Mapping[str, type[Answer]] = {\n"
        + "".join(f'    "{one.answer}": {one.name},\n' for one in ordered if one.answer)
        + "}\n"
        + "\n__all__ = [\n"
        + "".join(f'    "{name}",\n' for name in answers)
        + "]\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", required=True, help="the program whose documents they are")
    parser.add_argument("-o", "--output", default=ROOT / "python" / "ddpsim" / "_results.py", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.output.write_text(module(str(pathlib.Path(arguments.program).resolve())), encoding="utf-8")


if __name__ == "__main__":
    main()
