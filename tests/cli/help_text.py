"""What `--help` lists. It is read, not kept in tests/golden: CLI11 lays it out, each version otherwise."""

import re

from command import ddpsim

OPTION = re.compile(r"^ {2}((?:-[a-z], *)?--[a-z-]+)", re.MULTILINE)
HELP = {"-h", "--help"}


def listed_commands():
    """The lines of `ddpsim --help` that do so."""
    below = re.split("subcommands:\n", ddpsim("--help").out, flags=re.IGNORECASE)[1]
    return below.partition("\n\n")[0].splitlines()


def subcommands():
    return [line.split()[0] for line in listed_commands() if re.match(" {2}[a-z]", line)]


def options(command):
    """Of `ddpsim COMMAND`, each as the set of its spellings."""
    return [set(re.split(", *", found)) for found in OPTION.findall(ddpsim(command, "--help").out)]


def headings(command):
    """Of its options, from the first to the last: each with the long spellings of what stands under it."""
    pieces = re.split(r"^([A-Z][A-Za-z]*):\n", ddpsim(command, "--help").out, flags=re.MULTILINE)[1:]
    found = {}
    for heading, text in zip(pieces[::2], pieces[1::2]):
        names = [max(re.split(", *", spellings), key=len) for spellings in OPTION.findall(text)]
        if names:  # those of arguments have none
            found["Options" if heading == "OPTIONS" else heading] = names
    return found


def examples(*command):
    """Commands below "Example:", as one would type them."""
    _, _, shown = ddpsim(*command, "--help").out.partition("\nExample:\n")
    return [line.strip() for line in shown.splitlines() if line.strip()]
