"""Reads the output of `--help`, which each version of CLI11 formats differently. So it is not in tests/golden."""

import re

from command import ddpsim

OPTION = re.compile(r"^ {2}((?:-[a-z], *)?--[a-z-]+)", re.MULTILINE)
HELP = {"-h", "--help"}


def listed_commands():
    """The lines of `ddpsim --help` that list commands."""
    below = re.split("subcommands:\n", ddpsim("--help").out, flags=re.IGNORECASE)[1]
    return below.partition("\n\n")[0].splitlines()


def subcommands():
    return [line.split()[0] for line in listed_commands() if re.match(" {2}[a-z]", line)]


def options(command):
    """The options of `ddpsim COMMAND`, each as the set of its spellings."""
    return [set(re.split(", *", found)) for found in OPTION.findall(ddpsim(command, "--help").out)]


def headings(command):
    """The headings of a command's options in order, each with the long spellings of the options below it."""
    pieces = re.split(r"^([A-Z][A-Za-z]*):\n", ddpsim(command, "--help").out, flags=re.MULTILINE)[1:]
    found = {}
    for heading, text in zip(pieces[::2], pieces[1::2]):
        names = [max(re.split(", *", spellings), key=len) for spellings in OPTION.findall(text)]
        if names:  # headings of arguments have no options
            found["Options" if heading == "OPTIONS" else heading] = names
    return found


def examples(*command):
    """The commands below "Example:", as a user types them."""
    _, _, shown = ddpsim(*command, "--help").out.partition("\nExample:\n")
    return [line.strip() for line in shown.splitlines() if line.strip()]
