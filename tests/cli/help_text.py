"""What `--help` and `--help-all` list."""

import re

from command import ddpsim

OPTION = re.compile(r"^ {2}((?:-[a-z], *)?--[a-z-]+)", re.MULTILINE)
HELP = {"-h", "--help"}
HELP_ALL = {"--help-all"}


def listed_commands():
    """The lines of `ddpsim --help` that name a command each."""
    return ddpsim("--help").out.partition("\nCommands:\n")[2].partition("\n\n")[0].splitlines()


def subcommands():
    return [line.split()[0] for line in listed_commands() if re.match(" {2}[a-z]", line)]


def options(command, help_option="--help-all"):
    """Each option of `ddpsim COMMAND` that `help_option` shows, as the set of its spellings."""
    return [set(re.split(", *", found)) for found in OPTION.findall(ddpsim(command, help_option).out)]


def headings(command):
    """The headings of `--help-all` in their order, each with the long spellings of its options."""
    pieces = re.split(r"^([A-Z][A-Za-z]*):\n", ddpsim(command, "--help-all").out, flags=re.MULTILINE)[1:]
    found = {}
    for heading, text in zip(pieces[::2], pieces[1::2]):
        names = [max(re.split(", *", spellings), key=len) for spellings in OPTION.findall(text)]
        if names:  # "Arguments" and "Example" have none
            found[heading] = names
    return found


def examples(*command):
    """The commands below "Example:", as you would type them."""
    shown = ddpsim(*command, "--help").out.partition("\nExample:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in shown.splitlines()]
