"""What may go wrong, by the program's exit codes; each says what is wrong, where, and what would be right."""

from __future__ import annotations

import re
from typing import Any, Sequence

# "file:/backward/ready/3/at_us", "file:line 7", "command line:--nodes": what the program puts before a message.
_PLACE = re.compile(r"(?P<file>.*?):(?P<place>/\S*|line \d+.*|byte \d+.*|--[a-z-]+)")
# A line of words that stands for a cluster: "cluster:nvswitch:150".
_WORD = re.compile(r"(?P<file>cluster):(?P<place>\S+)")
# What the program never prints (formats/quote.hpp): controls, directions, separators, bytes that are no UTF-8.
_HIDDEN = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def _shown(text: str) -> str:
    """The text as the program's messages show it."""
    return _HIDDEN.sub("?", text.replace("\n", " ").replace("\t", " "))


class Error(Exception):
    """The program gave no answer. `message`: what is wrong; `remedy`: what would be right, "" where it does not say."""

    exit_code = 1
    message: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, text: str, inputs: Sequence[str] = ()) -> Error:
        """From the program's line; `inputs`: arguments as typed, which tell a file's name from a message."""
        error = cls(text)
        error._read(text, inputs)
        return error

    def _read(self, text: str, inputs: Sequence[str]) -> None:
        self.message, self.remedy = _parted(text)


class Failure(Error):
    """Of the program or of the machine (no such program, disk full, killed): exit code 1, or a signal."""


class UsageError(Error):
    """Arguments that exclude or lack each other, or a word that is none: exit code 2."""

    exit_code = 2


class InputError(Error):
    """Bad input: exit code 3. `file`: as it was given; `place` in it: "/backward/ready/3/at_us", "line 7"; "" where unknown."""

    exit_code = 3
    file: str = ""
    place: str = ""

    def _read(self, text: str, inputs: Sequence[str]) -> None:
        head, colon, rest = text.partition(": ")
        typed = {_shown(one): one for one in inputs}
        found = _PLACE.fullmatch(head) or _WORD.fullmatch(head)
        if found:
            self.file, self.place = typed.get(found["file"], found["file"]), found["place"]
        elif colon and (head in typed or head == "command line" or " " not in head):
            self.file = typed.get(head, head)
        else:
            rest = text
        self.message, self.remedy = _parted(rest)


class Regression(Error):
    """A check found one: exit code 4. `result`: what was checked, a ValidateResult or a DiffResult."""

    exit_code = 4
    result: Any = None


def _parted(text: str) -> tuple[str, str]:
    """What is wrong, and what would be right: the sentence behind it, else what stands behind a semicolon."""
    wrong, stop, right = text.partition(". ")
    if not stop:
        wrong, stop, right = text.partition("; ")
    return (wrong, right) if stop else (text, "")


def error_of(code: int, stderr: str, inputs: Sequence[str], result: Any = None) -> Error:
    """The exception for how the program ended; its own words are the last it wrote, a line where no name in them has more."""
    lines = [line for line in stderr.split("\n") if line.strip()]
    own = max((number for number, line in enumerate(lines) if line.startswith("ddpsim: ")), default=len(lines) - 1)
    text = "\n".join(lines[own:]) if lines else ""
    text = text[len("ddpsim: ") :] if text.startswith("ddpsim: ") else text
    if code < 0:
        text = f"ddpsim was ended by signal {-code}" + (f": {text}" if text else "")
    elif not text:
        text = f"ddpsim ended with exit code {code} and said nothing"
    kinds: dict[int, type[Error]] = {kind.exit_code: kind for kind in (UsageError, InputError, Regression)}
    error = kinds.get(code, Failure).of(text, inputs)
    if isinstance(error, Regression):
        error.result = result
    return error
