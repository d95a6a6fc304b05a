"""Writes the classes of the Python package's answers from the JSON Schemas of their documents, for python_package.py.

Each object of a document becomes a class, and each member a field. A member that may be left out or null may be None.
"""

from python_source import docstring, identifier

# The class of each answer, and the key of the rows that to_frame() shows; "": it has no rows of one kind.
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
# Classes of documents that are no answers.
OTHERS = ("ErrorDocument", "SweepPoint")
# Base classes of answers that are more than an Answer (python/ddpsim/_answer.py).
BASES = {"Workload": "Imported", "CalibrateResult": "File"}
# Answers that are printed line by line: what the answer is, the key of the lines behind the first, and the class of these.
LINES = {"SweepResult": ("a sweep: what its first line says, and its points", "points", "SweepPoint")}
# A method that names a generated class, which python/ddpsim/_answer.py cannot, and the answers that have it.
TIMELINE = '''
    def timeline(self) -> Timeline:
        """The spans of the current step."""
        return Timeline.from_document(super().timeline().document, arguments=self.arguments, messages=())
'''
METHODS = {"SimulateResult": TIMELINE, "TuneResult": TIMELINE, "AdviseResult": TIMELINE}

HEAD = '''\
"""Documents of the program as dataclasses: generated from their JSON Schemas by scripts/python_package.py.

A name ends with its unit where it has one: `_us` microseconds, `_bytes` bytes, `_mb` MiB, `_percent` percent, `_s` seconds,
`usd` US dollars; `algbw_gbps` and `busbw_gbps` are GB/s as nccl-tests prints them. docs/reference/formats.md says how to read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Mapping

from ._answer import Answer, File, Imported
from ._record import Read, Record, each, real
'''

SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def alternatives(value):
    """The types that a value may have, each described by itself."""
    for one in value.get("anyOf", [value]):
        types = one.get("type")
        for name in types if isinstance(types, list) else [types]:
            yield {**one, "type": name}


def class_of(one):
    """The class of an object that is described elsewhere; None: the value is no such object."""
    return one["$ref"].rpartition("/")[2] if "$ref" in one else None


def name_of(one):
    """The Python type of one alternative."""
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
    """The function that reads a value; None: it stays as it is."""
    kinds = [one for one in alternatives(value) if one["type"] != "null"]
    reads = [read_of_one(one) for one in kinds]
    if len(reads) > 1 and any(reads):
        raise SystemExit(f"python_results: nothing tells how to read a value that is {type_of(value)}")
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
    lines += [*docstring(described["description"], "    "), ""]  # without one dataclass looks long for another
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
    """The description of each class, by its name."""
    classes = {}
    for schema in schemas:
        for name, described in ((schema["title"], schema), *schema["$defs"].items()):
            described = {key: described[key] for key in ("description", "properties", "required")}
            if classes.setdefault(name, described) != described:
                raise SystemExit(f"python_results: two schemas describe {name}, and not alike")
    for name, (description, key, line) in LINES.items():
        lines = {"description": "the lines behind the first", "type": "array", "items": {"$ref": f"#/$defs/{line}"}}
        classes[name].update(description=description, properties={**classes[name]["properties"], key: lines})
    return classes


def classes_within(value):
    for one in alternatives(value):
        if class_of(one):
            yield class_of(one)
        elif "items" in one:
            yield from classes_within(one["items"])


def in_order(classes):
    """The classes, each behind those that it names."""
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
    """Takes the schemas of all documents; documents that Python never answers with get no class."""
    used = [schema for schema in schemas if schema["title"] in ROWS or schema["title"] in OTHERS]
    classes = in_order(described_classes(used))
    sources = [class_source(name, described) for name, described in classes.items()]
    names = "".join(f'    "{name}",\n' for name in sorted(ROWS))
    return "\n\n".join([HEAD, *sources, f"__all__ = [\n{names}]\n"])
