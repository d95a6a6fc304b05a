"""Writes the functions of the Python package from `ddpsim list --commands --json`, for python_package.py."""

import json
import re
import textwrap

from python_source import escaped, identifier, sentence, wrapped

# The class of each answer, and the function of _answer.py that returns it.
ANSWERS = {
    "simulate": ("SimulateResult", "answer"),
    "tune": ("TuneResult", "answer"),
    "advise": ("AdviseResult", "answer"),
    "compare": ("CompareResult", "answer"),
    "sweep": ("SweepResult", "sweep"),
    "diff": ("DiffResult", "answer"),
    "buckets": ("BucketsResult", "answer"),
    "allreduce": ("AllreduceResult", "answer"),
    "topo": ("TopoResult", "answer"),
    "import": ("Workload", "saved"),
    "calibrate": ("CalibrateResult", "saved"),
    "validate": ("ValidateResult", "answer"),
    "list": ("ListResult", "answer"),
}
NAMES = {"import": "import_trace"}  # `import` is a keyword of Python
# Options without a keyword argument.
IMPLIED = ("--help", "--help-all", "--json", "--text", "--schema")
INPUTS = ("--background", "--study", "--measured", "--cluster", "--new-cluster", "--workload")  # may also be documents
VERSIONS = ("--torch", "--nccl")  # as a number, 2.10 would be 2.1
# Matches the value of an option that takes a list X,X,….
LISTS = re.compile("[A-Z]+,…")
OWN_OUTPUT = ("import", "calibrate")  # write a temporary file without --output

EXAMPLES = {
    "simulate": """
        >>> step = ddpsim.simulate("resnet50-v100-b32", "dgx1v", bucket_cap_mb=25)
        >>> step.ranks, len(step.buckets), step.confidence.grade
        (8, 4, 'C')
        >>> step.exposed_communication_us < step.iteration_us
        True""",
    "tune": """
        >>> answer = ddpsim.tune("resnet50-v100-b32", "dgx1v-1xedr@2", torch="2.8")
        >>> answer.recommended.python
        'DistributedDataParallel(model, bucket_cap_mb=5)'""",
    "advise": """
        >>> ddpsim.advise("resnet50-v100-b32", "p3dn@2", torch="2.8").rows[0].worth
        True""",
    "compare": """
        >>> answer = ddpsim.compare("resnet50-v100-b32", "p3dn@2", "dgxa100@2", gpu="A100")
        >>> answer.rows[answer.by_speed[0]].label
        'dgxa100@2'""",
    "sweep": """
        >>> study = {"schema": "ddpsim.study/1", "workload": "resnet50-v100-b32", "candidates": ["dgx1v"],
        ...          "grid": {"bucket-cap-mb": [5, 25]}}
        >>> [point.grid["bucket-cap-mb"] for point in ddpsim.sweep(study).points]
        [5, 25]""",
    "diff": """
        >>> answer = ddpsim.diff("104ms", "116ms", batch=32)
        >>> answer.causes[0].class_, answer.rows[0].us
        ('unknown', 12000.0)""",
    "buckets": """
        >>> [bucket.bytes for bucket in ddpsim.buckets("resnet18", torch="1.7").buckets][:2]
        [2052000, 28852224]""",
    "allreduce": """
        >>> [row.size_bytes for row in ddpsim.allreduce("dgxa100@4", begin="1M", end="4M").rows]
        [1048576, 2097152, 4194304]""",
    "topo": """
        >>> ddpsim.topo("dgx1v").cluster.ranks
        8""",
    "import": """
        >>> workload = ddpsim.import_trace("resnet50@A100:b32:amp")
        >>> ddpsim.simulate(workload, "dgxa100").workload
        'estimate resnet50@A100:b32:amp'""",
    "list": """
        >>> "dgx1v" in [cluster.name for cluster in ddpsim.list().clusters]
        True""",
}


def attribute(name):
    return identifier(name.lstrip("-").replace("-", "_").lower())


def kind_of(option):
    """The kind of value that an option takes, a key of _KINDS in python/ddpsim/_values.py."""
    if option["choices"]:
        return "word"
    if option["name"] in INPUTS:
        return "input"
    if option["name"] in VERSIONS:
        return "version"
    return {"INT": "integer", "UINT": "integer", "FLOAT": "number", "FILE": "file"}.get(option["value"], "text")


TYPES = {"integer": "int", "number": "float", "version": "str", "file": "File", "text": "Text", "input": "Input"}


def type_of(option):
    if option["value"] is None:
        return "bool"
    if option["choices"]:
        return f"Literal[{', '.join(json.dumps(choice) for choice in option['choices'])}]"
    kind = TYPES[kind_of(option)]
    is_list = kind == "Text" and LISTS.fullmatch(option["value"])
    return kind + "s" if option["repeated"] or is_list else kind


def docstring(command, options):
    """The docstring of a command: summary, arguments, options by heading, and an example."""
    usage = "".join(f" {one['name']}{'...' if one['repeated'] else ''}" for one in command["positionals"])
    lines = wrapped(sentence(command["summary"]), "    ") + [""]
    lines[0] = '    """' + lines[0].lstrip()
    lines += [f"    Runs `ddpsim {command['name']}{usage}`.", ""]
    for one in command["positionals"]:
        lines += wrapped(f"{one['name']}: {one['summary']}", "    ", "        ")
    heading = None
    for option in options:
        if option["group"] != heading:
            heading = option["group"]
            lines += ["", f"    {heading}:"]
        value = "" if option["value"] is None else f" ({option['value']})" if not option["choices"] else ""
        lines += wrapped(f"{attribute(option['name'])}{value}: {option['summary']}", "        ", "            ")
    if command["name"] in EXAMPLES:
        lines += [""] + textwrap.indent(textwrap.dedent(EXAMPLES[command["name"]]).strip("\n"), "    ").splitlines()
    return escaped("\n".join(lines)) + '\n    """'


def parameters(command, options):
    """The parameters of the signature, and the names of the positional arguments."""
    taken = {attribute(option["name"]) for option in options}
    lines, names, only_by_place, several = [], [], 0, False
    for one in command["positionals"]:
        name = attribute(one["name"])
        if name in taken:
            # An option has this name, too. It is passed by name, the positional argument by place only.
            name, only_by_place = "_" + name, len(lines) + 1
        if one["repeated"]:
            lines.append(f"*{name}s: Input")
            names.append(f"*{name}s")
            several = True
        else:
            lines.append(f"{name}: Input" if one["required"] else f"{name}: Input | None = None")
            names.append(name)
    if only_by_place:
        lines.insert(only_by_place, "/")
    if not several:
        lines.append("*")
    for option in options:
        lines.append(f"{attribute(option['name'])}: {type_of(option)}{default(command, option)}")
    return lines, names


def default(command, option):
    if option["value"] is None:
        return " = False"
    if option["required"] and not (command["name"] in OWN_OUTPUT and option["name"] == "--output"):
        return ""
    return " | None = None"


def value_of(option):
    name = attribute(option["name"])
    if option["value"] is None:
        return f"Switch({name})"
    value = f'checked("{name}", {name}, "{kind_of(option)}")'
    return f"repeated({value})" if option["repeated"] else value


def import_of_values(options):
    values = "".join(value_of(option) for option in options)
    names = [name for name in ("Switch", "repeated") if f"{name}(" in values]
    imports = f"    from ._arguments import {', '.join(names)}\n" if names else ""
    return imports + ("    from ._values import checked\n" if "checked(" in values else "")


def function(command):
    options = [option for option in command["options"] if option["name"] not in IMPLIED]
    lines, names = parameters(command, options)
    kind, getter = ANSWERS[command["name"]]
    name = NAMES.get(command["name"], command["name"])
    signature = "".join(f"    {line},\n" for line in lines)
    inputs = ", ".join(names) + ("," if len(names) == 1 else "")
    given = "".join(f'        "{option["name"]}": {value_of(option)},\n' for option in options)
    given = f"    options = {{\n{given}    }}\n"
    if command["name"] == "list":
        returns = "ListResult | CommandsResult"
        head = (
            "@overload\ndef list(*, commands: Literal[False] = False) -> ListResult: ...\n"
            "@overload\ndef list(*, commands: Literal[True]) -> CommandsResult: ...\n"
        )
        return head + (
            f"def {name}(\n{signature}) -> {returns}:\n{docstring(command, options)}\n"
            f"    from ._answer import {getter}\n"
            f"{import_of_values(options)}"
            f"    from ._results import CommandsResult, ListResult\n\n"
            f"{given}"
            f'    return {getter}(CommandsResult, "list", (), options) if commands else '
            f'{getter}(ListResult, "list", (), options)\n'
        )
    imports = f"    from ._answer import {getter}\n"
    imports += import_of_values(options)
    imports += f"    from ._results import {kind}\n"
    return (
        f"def {name}(\n{signature}) -> {kind}:\n{docstring(command, options)}\n{imports}\n"
        f'{given}    return {getter}({kind}, "{command["name"]}", ({inputs}), options)\n'
    )


def module(document):
    commands = document["commands"]
    kinds = sorted({ANSWERS[command["name"]][0] for command in commands} | {"CommandsResult"})
    names = sorted(NAMES.get(command["name"], command["name"]) for command in commands)
    return (
        '''"""One function for each command of the program. Generated by scripts/python_package.py.

Options keep their names: `--bucket-cap-mb` is `bucket_cap_mb`. None leaves an option out. A sequence stands for X,X,…,
or for an option that is given several times. Quantities are text with a unit, as on the command line: "104ms", "40GB".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from ._arguments import File, Files, Input, Inputs, Text, Texts
    from ._results import (
'''
        + "".join(f"        {kind},\n" for kind in kinds)
        + f"""    )

VERSION = {json.dumps(document["version"])}
"""
        + "".join(f"\n\n{function(command)}" for command in commands)
        + "\n\n__all__ = [\n"
        + "".join(f'    "{name}",\n' for name in names)
        + "]\n"
    )
