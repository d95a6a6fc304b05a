"""Writes the classes of the Python package's answers from the JSON Schemas of their documents, for python_package.py.

Each object of a document becomes a class, and each key a field. A field is None if its key is absent or null.
"""

from python_source import docstring, identifier

# For the class of each answer, the key of the rows that to_frame() returns; "" if it has no rows of one kind.
ROWS = {
    "SimulateResult": "buckets",
    "TuneResult": "curve",
    "AdviseResult": "rows",
    "CompareResult": "rows",
    "SweepResult": "points",
    "BucketsResult": "buckets",
    "AllreduceResult": "rows",
    "TopoResult": "",
    "Workload": "parameters",
    "CalibrateResult": "residuals",
    "ValidateResult": "rows",
    "DiffResult": "rows",
    "ListResult": "",
    "CommandsResult": "commands",
    "Timeline": "",
}
# Classes of documents that are not answers.
OTHERS = ("ErrorDocument", "SweepPoint")
# Base classes of answers that need more than Answer (python/ddpsim/_answer.py).
BASES = {"Workload": "Imported", "CalibrateResult": "File"}
# Answers that are printed line by line: their description, the key for all lines after the first, and the class of these
# lines.
LINES = {"SweepResult": ("a sweep: the keys of its first line, and its points", "points", "SweepPoint")}
# A method that returns a generated class, and the answers that have it. It cannot be in python/ddpsim/_answer.py.
TIMELINE = '''
    def timeline(self) -> Timeline:
        """The spans of the simulated step. For `tune` and `advise` it is the step with the current settings."""
        return Timeline.from_document(super().timeline().document, arguments=self.arguments, messages=())
'''
METHODS = {"SimulateResult": TIMELINE, "TuneResult": TIMELINE, "AdviseResult": TIMELINE}

HEAD = '''\
"""Documents of the program as dataclasses. Generated from their JSON Schemas by scripts/python_package.py.

The name of a quantity ends with its unit: `_us` microseconds, `_s` seconds, `_bytes` bytes, `_mb` MiB, `_percent`
percent. `usd` is US dollars. `algbw_gbps` and `busbw_gbps` are GB/s as nccl-tests prints them. docs/reference/formats.md explains
the documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Mapping

from ._answer import Answer, File, Imported
from ._record import Read, Record, each, real
'''

SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def alternatives(value):
    """The schemas of the types that a value may have."""
    for one in value.get("anyOf", [value]):
        types = one.get("type")
        for name in types if isinstance(types, list) else [types]:
            yield {**one, "type": name}


def class_of(one):
    """The class of an object that is described elsewhere; None for other values."""
    return one["$ref"].rpartition("/")[2] if "$ref" in one else None


def name_of(one):
    """The Python type of one alternative, as source text."""
    if class_of(one):
        return class_of(one)
    if one["type"] == "array":
        return f"tuple[{type_of(one['items'])}, ...]"
    if one["type"] == "object":
        further = one.get("additionalProperties")
        return f"Mapping[str, {type_of(further) if further else 'Any'}]"
    if one["type"] == "string" and "enum" in one:
        words = (f'"{word}"' for word in one["enum"] if word is not None)
        return f"Literal[{', '.join(words)}]"
    return SIMPLE[one["type"]]


def type_of(value, may_be_absent=False):
    names = [name_of(one) for one in alternatives(value)] + ["None"] * may_be_absent
    return " | ".join(dict.fromkeys(names))


def read_of(value):
    """The function that reads a value; None if the value stays as it is."""
    kinds = [one for one in alternatives(value) if one["type"] != "null"]
    reads = [read_of_one(one) for one in kinds]
    if len(reads) > 1 and any(reads):
        raise SystemExit(f"python_results: there is no function to read a value of type {type_of(value)}")
    return reads[0]


def read_of_one(one):
    if class_of(one):
        return f"{class_of(one)}.from_document"
    if one["type"] == "array":
        read = read_of(one["items"])
        return f"each({read})" if read else "tuple"
    return "real" if one["type"] == "number" else None


def field(key, member, is_required):
    kind = type_of(member, may_be_absent=not is_required)
    return [f"    {identifier(key)}: {kind}", *docstring(member["description"], "    ")]


def class_source(name, described):
    base = BASES.get(name, "Answer") if name in ROWS else "Record"
    members = described["properties"]
    lines = ["@dataclass(frozen=True, init=False, eq=False, repr=False)", f"class {name}({base}):"]
    # Without a docstring, dataclass would spend a long time to make one.
    lines += [*docstring(described["description"], "    "), ""]
    if ROWS.get(name):
        lines += [f'    _table: ClassVar[str] = "{ROWS[name]}"', ""]
    for key, member in members.items():
        lines += field(key, member, key in described["required"])
    reads = {key: read_of(member) for key, member in members.items()}
    if any(reads.values()):
        lines += ["", "    _reads: ClassVar[Mapping[str, Read]] = {"]
        lines += [f'        "{key}": {read},' for key, read in reads.items() if read]
        lines += ["    }"]
    return "\n".join(lines) + "\n" + METHODS.get(name, "")


def described_classes(schemas):
    """The schema of each class, by its name."""
    classes = {}
    for schema in schemas:
        for name, described in ((schema["title"], schema), *schema["$defs"].items()):
            described = {key: described[key] for key in ("description", "properties", "required")}
            if classes.setdefault(name, described) != described:
                raise SystemExit(f"python_results: two schemas describe {name} differently")
    for name, (description, key, line) in LINES.items():
        lines = {"description": "the lines after the first", "type": "array", "items": {"$ref": f"#/$defs/{line}"}}
        classes[name].update(description=description, properties={**classes[name]["properties"], key: lines})
    return classes


def classes_within(value):
    for one in alternatives(value):
        if class_of(one):
            yield class_of(one)
        elif "items" in one:
            yield from classes_within(one["items"])


def in_order(classes):
    """The classes in an order in which each comes after the classes it names."""
    ordered = {}

    def add(name):
        if name in ordered:
            return
        for member in classes[name]["properties"].values():
            for part in classes_within(member):
                add(part)
        ordered[name] = classes[name]

    for name in (*OTHERS, *ROWS):
        add(name)
    return ordered


def module(schemas):
    """The text of the module, for the schemas of all documents. Only documents that Python returns get a class."""
    used = [schema for schema in schemas if schema["title"] in ROWS or schema["title"] in OTHERS]
    classes = in_order(described_classes(used))
    sources = [class_source(name, described) for name, described in classes.items()]
    names = "".join(f'    "{name}",\n' for name in sorted(ROWS))
    return "\n\n".join([HEAD, *sources, f"__all__ = [\n{names}]\n"])
