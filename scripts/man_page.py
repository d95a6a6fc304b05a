"""Writes manual pages in man's macros: ddpsim(1) for the program and ddpsim-COMMAND(1) for each command."""

import datetime
import os
import re

EXIT_STATUS = [
    ("0", "done"),
    ("1", "the program or the machine failed"),
    ("2", "wrong usage"),
    ("3", "bad input"),
    ("4", "a check found a regression"),
    ("130", "interrupted"),
]
DESCRIPTION = [
    "Replays one training step of PyTorch DistributedDataParallel from a recording of one rank. Predicts that step "
    "on another cluster or with another bucket_cap_mb. No GPU is needed.",
    "Every answer says how sure it is, and which measurement would make it surer.",
]


def man_pages(offered):
    """The text of each page, by file name: ddpsim.1, ddpsim-tune.1, …"""
    commands = offered["commands"]
    pages = {"ddpsim.1": program_page(commands, offered["version"])}
    for command in commands:
        pages[f"ddpsim-{command['name']}.1"] = command_page(command, offered["version"])
    return pages


def program_page(commands, version):
    lines = [
        *head("ddpsim", "simulate a training step of PyTorch DistributedDataParallel", version),
        ".SH SYNOPSIS",
        r".B ddpsim",
        r"\fICOMMAND\fR [\fIOPTION\fR ...] [\fIARGUMENT\fR ...]",
        ".SH DESCRIPTION",
    ]
    for paragraph in DESCRIPTION:
        lines += [".PP", text(paragraph)]
    lines.append(".SH COMMANDS")
    for command in commands:
        lines += entry(rf"\fBddpsim\-{text(command['name'])}\fR(1)", command["summary"])
    lines += [
        ".SH OPTIONS",
        *entry(r"\fB\-h\fR, \fB\-\-help\fR", "print help and exit; behind a command, its common options"),
        *entry(r"\fB\-\-help\-all\fR", "behind a command, print all of its options and exit"),
        *entry(r"\fB\-\-version\fR", "print the version and exit"),
    ]
    lines.append(".SH EXIT STATUS")
    for code, meaning in EXIT_STATUS:
        lines += entry(rf"\fB{code}\fR", meaning)
    return page(lines)


def command_page(command, version):
    lines = [
        *head(f"ddpsim-{command['name']}", command["summary"], version),
        ".SH SYNOPSIS",
        rf".B ddpsim {text(command['name'])}",
        " ".join([r"[\fIOPTION\fR ...]", *map(placed, command["positionals"])]),
    ]
    if command["positionals"]:
        lines.append(".SH ARGUMENTS")
    for positional in command["positionals"]:
        lines += entry(rf"\fI{text(positional['name'])}\fR", positional["summary"])
    lines.append(".SH OPTIONS")
    group = "Options"
    for option in command["options"]:
        if option["group"] != group:
            group = option["group"]
            lines.append(f'.SS "{text(group)}"')
        lines += entry(spelled(option), option["summary"])
    if command["example"]:
        lines += [".SH EXAMPLE", ".EX", text(command["example"]), ".EE"]
    lines += [".SH EXIT STATUS", "As", r"\fBddpsim\fR(1)", "says.", ".SH SEE ALSO", r"\fBddpsim\fR(1)"]
    return page(lines)


def head(name, summary, version):
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    date = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%d") if epoch else ""
    return [
        f'.TH {text(name.upper())} 1 "{date}" "ddpsim {version}" "ddpsim"',
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"{text(name)} \- {text(summary)}",
    ]


def placed(positional):
    name = rf"\fI{text(positional['name'])}\fR" + (" ..." if positional["repeated"] else "")
    return name if positional["required"] else f"[{name}]"


def spelled(option):
    names = [name for name in (option["short"], option["name"]) if name]
    value = "|".join(option["choices"]) if option["choices"] else option["value"]
    return ", ".join(rf"\fB{text(name)}\fR" for name in names) + (rf" \fI{text(value)}\fR" if value else "")


def entry(title, summary):
    return [".TP", title, text(summary)]


def text(words):
    """`words` escaped for roff, to which backslashes, hyphens, quotes and a dot at the start of a line are special."""
    shown = words.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq").replace("'", r"\(aq")
    shown = shown.replace("^", r"\(ha").replace("~", r"\(ti").replace("`", r"\(ga")
    return re.sub(r"(?m)^\.", r"\\&.", shown)


def page(lines):
    return "\n".join(lines) + "\n"
