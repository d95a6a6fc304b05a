#!/usr/bin/env python3
"""Adds measurements from a GPU to tests/lab/measured/gpu/CARD: one document per part, one row per line.

    scripts/on_gpu.sh --keep measured.tar.xz
    scripts/on_gpu.sh --keep FOLDER back/ddp.json --note "ddp=NCCL 2.30.7 was preloaded"

FOLDER is the folder given to `on_gpu.sh -o`, its subfolder `whole`, or the contents of an archive of either. A document
may also be named itself. Inputs are added in order. A row replaces an earlier row of the same item, and a problem is
dropped once a later run has measured its item. A reducer sweep that a time limit ended has no row. Its configurations
so far are in a file of their own, from which they are added with the key `partial`. Workloads that the recorder wrote
are copied to CARD/recorded; ddpsim can read them.

Bulky parts are left out (the time of each iteration, spreads and parameters of single buckets), and so are hosts, paths
and addresses. Rehearsals, probes and documents made without a GPU are refused. The format: docs/reference/formats.md."""

import argparse
import json
import pathlib
import re
import sys
import tarfile
import tempfile

import results
from run import PARTS

KEPT = pathlib.Path(__file__).resolve().parents[2] / "tests/lab/measured/gpu"
BUCKET_COLUMNS = ("bytes", "ready_us", "launch_us", "start_us", "last_arrival_us", "end_us")
SETUP_LEFT_OUT = ("hosts", "kernel", "device")  # the card tells these
PROBLEM_CHARACTERS = 300


class Refused(Exception):
    """The input cannot be added. The text names the file, what is wrong, and how to fix it."""


def without_places(text):
    """The text with only the last name of each absolute path, and without addresses of memory and networks."""
    text = re.sub(r"(?<![\w.])/(?:[\w.+-]+/)*([\w.+-]+)", r"\1", text)
    return re.sub(r"\b0x[0-9a-fA-F]+\b|\b\d{1,3}(?:\.\d{1,3}){3}\b", "ADDRESS", text)


def cleaned(value):
    if isinstance(value, dict):
        return {key: cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [cleaned(inner) for inner in value]
    return without_places(value) if isinstance(value, str) else value


def columns_of(buckets):
    """One list per quantity instead of one object per bucket, with medians only."""
    kept = {}
    for name in BUCKET_COLUMNS:
        values = [bucket.get(name) for bucket in buckets]
        if buckets and None not in values:
            kept[name] = [value["median"] if isinstance(value, dict) else value for value in values]
    return kept


def compact_measurement(measurement):
    """A `ddpsim.measurement/1` without its bulky parts. A compact one stays the same."""
    configurations = []
    for configuration in measurement["configurations"]:
        kept = {key: value for key, value in configuration.items() if key not in ("iterations_us", "timeline")}
        if isinstance(kept["buckets"], list):
            kept["buckets"] = columns_of(kept["buckets"])
        configurations.append(kept)
    setup = {key: value for key, value in measurement["setup"].items() if key not in SETUP_LEFT_OUT}
    return {**measurement, "setup": setup, "configurations": configurations}


def compact(row):
    row = dict(row)
    if "measurement" in row:
        row["measurement"] = compact_measurement(row["measurement"])
    if "setup" in row:
        row["setup"] = {key: value for key, value in row["setup"].items() if key not in SETUP_LEFT_OUT}
    return cleaned(row)


def unfinished_sweeps(document, beside):
    """Rows of reducer sweeps that a time limit ended, from the files of these sweeps."""
    measured = {row["item"] for row in document["rows"]}
    for item in document["begun"]:
        path = beside / item.replace(" ", "-") / "measurement.json"
        if item in measured or not path.exists():
            continue
        measurement = json.loads(path.read_text(encoding="utf-8"))
        ranks = measurement["ranks"]
        threads = measurement["setup"].get("ranks_per_process") == str(ranks)
        workload = measurement["setup"]["workload"].removeprefix("estimate ")
        if measurement["configurations"]:
            yield {
                "item": item,
                "workload": workload,
                "ranks": ranks,
                "as": "one rank" if ranks == 1 else "threads" if threads else "processes",
                "partial": True,
                "measurement": measurement,
            }


def recorded_workloads(document, beside):
    """The file name and the text of each workload that the recorder wrote for a row."""
    for row in document["rows"] if document["part"] == "recorder" else ():
        path = beside / f"{row['model']}.json"
        if path.exists():
            yield path.name, path.read_text(encoding="utf-8")


def read(path):
    """Reads the document of a part, from a run or from an earlier call."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {error}. Pass a document that scripts/on_gpu.sh wrote") from None
    if not isinstance(document, dict) or document.get("schema") != results.SCHEMA:
        raise Refused(f"{path}: its schema is not {results.SCHEMA}. Pass a document that scripts/on_gpu.sh wrote")
    if document["rehearsed"]:
        raise Refused(f"{path} is from a rehearsal, which measures nothing. Pass a document of a run on a GPU")
    if document["card"] == "no GPU":
        raise Refused(f"{path} was made without a GPU. Pass a document of a run on a GPU")
    if "--probe" in document.get("command", ""):
        raise Refused(f"{path} is from a probe, which takes one step only. Pass the documents of the folder `whole`")
    return document


def documents_in(folder):
    """The documents of a run, from the folder itself or from its subfolder `whole`."""
    for place in (folder, folder / "whole"):
        found = [place / f"{part}.json" for part in PARTS if (place / f"{part}.json").exists()]
        if found:
            return found
    raise Refused(f"{folder} has no document of a part. Pass a folder that scripts/on_gpu.sh -o wrote")


def inputs(paths, unpacked):
    for number, path in enumerate(paths):
        if path.is_dir():
            yield from documents_in(path)
        elif path.suffix == ".json":
            yield path
        else:
            target = unpacked / str(number)
            try:
                with tarfile.open(path) as archive:
                    archive.extractall(target, filter="data") if hasattr(
                        tarfile, "data_filter"
                    ) else archive.extractall(target)
            except (OSError, tarfile.TarError) as error:
                raise Refused(
                    f"{path}: {error}. Pass a folder, an archive or a document of scripts/on_gpu.sh"
                ) from None
            yield from documents_in(target)


def folder_of(card):
    """The folder of a card: nvidia-h200 for NVIDIA H200."""
    return re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")


def added(kept, document, path):
    """The document `kept`, or a new one if it is None, with the rows of a run added."""
    kept = kept or {
        "schema": results.SCHEMA,
        "part": document["part"],
        "card": document["card"],
        "rehearsed": False,
        "notes": [],
        "runs": [],
        "rows": [],
        "problems": [],
    }
    rows = [*document["rows"]]
    if document["part"] == "reducer":
        rows += unfinished_sweeps(document, path.with_suffix(""))
    run = {key: cleaned(document[key]) for key in ("driver", "versions", "command", "complete")}
    if run not in kept["runs"]:
        kept["runs"].append(run)
    number = kept["runs"].index(run)
    whole = {row["item"] for row in rows if not row.get("partial")} | {
        row["item"] for row in kept["rows"] if not row.get("partial")
    }
    replaced = {row["item"] for row in rows if not (row.get("partial") and row["item"] in whole)}
    kept["rows"] = [row for row in kept["rows"] if row["item"] not in replaced]
    kept["rows"] += [
        {"item": row["item"], "run": number, **{key: value for key, value in compact(row).items() if key != "item"}}
        for row in rows
        if row["item"] in replaced
    ]
    begun = set(document["begun"])
    problems = [problem for problem in kept["problems"] if problem["item"] not in begun]
    problems += [
        {
            "item": problem["item"],
            "run": number,
            "what": without_places(problem["what"].splitlines()[0].strip())[:PROBLEM_CHARACTERS].strip(" :"),
        }
        for problem in document["problems"]
    ]
    kept["problems"] = [problem for problem in problems if problem["item"] not in whole]
    return kept


def text_of(document):
    """JSON with one row, one run or one configuration per line."""

    def one_line(value):
        return json.dumps(value, ensure_ascii=False)

    def row_text(row):
        if "measurement" not in row:
            return one_line(row)
        measurement = {**row["measurement"], "configurations": "HERE"}
        configurations = ",\n   ".join(one_line(value) for value in row["measurement"]["configurations"])
        return one_line({**row, "measurement": measurement}).replace('"HERE"', f"[\n   {configurations}]")

    parts = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            parts.append(
                f' "{key}": [\n  '
                + ",\n  ".join(row_text(entry) if isinstance(entry, dict) else one_line(entry) for entry in value)
                + "\n ]"
            )
        else:
            parts.append(f' "{key}": {one_line(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", nargs="+", type=pathlib.Path, metavar="FOLDER|ARCHIVE|DOCUMENT")
    parser.add_argument(
        "--into", type=pathlib.Path, default=KEPT, metavar="FOLDER", help="default: tests/lab/measured/gpu"
    )
    parser.add_argument(
        "--note",
        action="append",
        default=[],
        metavar="PART=TEXT",
        help="a sentence to add to the document of the part",
    )
    given = parser.parse_args()
    kept, workloads = {}, {}
    try:
        with tempfile.TemporaryDirectory() as unpacked:
            for path in inputs(given.inputs, pathlib.Path(unpacked)):
                document = read(path)
                if "runs" in document:
                    raise Refused(f"{path} was added before. Pass a document of a run")
                target = given.into / folder_of(document["card"]) / f"{document['part']}.json"
                if target not in kept:
                    kept[target] = read(target) if target.exists() else None
                kept[target] = added(kept[target], document, path)
                workloads |= {
                    target.parent / "recorded" / name: text
                    for name, text in recorded_workloads(document, path.with_suffix(""))
                }
        for note in given.note:
            part, _, text = note.partition("=")
            noted = [document for target, document in kept.items() if target.stem == part]
            if not noted or not text:
                raise Refused(f'--note {note}: no document of part "{part}" was given. Write PART=TEXT')
            for document in noted:
                document["notes"] += [text] if text not in document["notes"] else []
    except Refused as refused:
        print(f"keep: {refused}", file=sys.stderr)
        return 3
    for target, text in {**{target: text_of(document) for target, document in kept.items()}, **workloads}.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    for target, document in kept.items():
        print(
            f"keep: {target}: {len(document['rows'])} rows, {len(document['problems'])} problems, {target.stat().st_size / 1000:.0f} kB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
