"""Reads the fenced blocks of a page of the documentation: commands, files that they read, and their output."""

import dataclasses
import os
import re
import subprocess

from command import BINARY

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("console", "sh", "shell", "bash")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block "```language name". Its text is the contents of the file `name`."""

    language: str
    name: str
    text: str

    def commands(self):
        """Lines that start with `ddpsim` or `$ ddpsim`, with continuation lines joined."""
        if self.language not in SHELL:
            return []
        lines = [line.removeprefix("$ ").strip() for line in self.text.replace("\\\n", " ").splitlines()]
        return [line for line in lines if line.split(" ")[0] == "ddpsim"]

    def shown_after(self):
        """For each command of a console block, the lines of its output without blank lines and lines of …."""
        shown = {}
        for line in self.text.splitlines() if self.language == "console" else []:
            if line.startswith("$ "):
                command = line.removeprefix("$ ")
                shown[command] = []
            elif line.strip() not in ("", "…"):
                shown[command].append(line)
        return shown


def blocks(text):
    return [Block(*found) for found in FENCE.findall(text)]


def run(line, here):
    """Runs the command as a user types it in the folder `here`."""
    tools = here.parent / "bin"
    if not tools.exists():
        tools.mkdir()
        (tools / "ddpsim").symlink_to(BINARY)
    return subprocess.run(
        ["sh", "-c", line],
        cwd=here,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
    )
