"""What a page of the documentation shows in fenced blocks: commands, the files they read, what they print."""

import dataclasses
import os
import re
import subprocess

from command import BINARY

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("console", "sh", "shell", "bash")


@dataclasses.dataclass(frozen=True)
class Block:
    """```language name: `name` is the file that holds the text."""

    language: str
    name: str
    text: str

    def commands(self):
        """Lines that start with `ddpsim` or `$ ddpsim`, continuations joined."""
        if self.language not in SHELL:
            return []
        lines = [line.removeprefix("$ ").strip() for line in self.text.replace("\\\n", " ").splitlines()]
        return [line for line in lines if line.split(" ")[0] == "ddpsim"]

    def shown_after(self):
        """By command of a console block: the lines shown as its output, but for blank ones and … for what is left out."""
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
    """The command, as a user types it in the folder `here`."""
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
