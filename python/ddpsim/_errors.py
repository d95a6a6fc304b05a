"""Exceptions, one class for each exit code of the program. Each says what is wrong, where, and how to fix it."""

from __future__ import annotations

from typing import Any, Mapping, cast

ERROR_SCHEMA = "ddpsim.error/1"


class Error(Exception):
    """The base class of every error that ddpsim raises. There is no answer.

    `message`: what is wrong.
    `remedy`: how to fix it, or "" if unknown.
    `file`: the input file as you named it, or "".
    `place`: the place in that file ("/backward/ready/3/at_us", "line 7"), or the option ("--nodes"), or "".
    `did_you_mean`: if a word is unknown, the known words that you probably meant.
    """

    exit_code = 1

    def __init__(
        self, message: str, remedy: str = "", file: str = "", place: str = "", did_you_mean: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, remedy, file, place, did_you_mean)
        self.message = message
        self.remedy = remedy
        self.file = file
        self.place = place
        self.did_you_mean = did_you_mean

    def __str__(self) -> str:
        """The error as one line, as the program prints it."""
        where = ":".join(part for part in (self.file, self.place) if part)
        said = f"{where}: {self.message}" if where else self.message
        return f"{said}. {self.remedy}" if self.remedy else said


class Failure(Error):
    """The program or the machine failed: program not found, disk full, killed. Exit code 1, or ended by a signal."""


class UsageError(Error):
    """The arguments conflict, one is missing, or a word is unknown. Exit code 2."""

    exit_code = 2


class InputError(Error):
    """An input cannot be used: a file, a name or a line is wrong. Exit code 3."""

    exit_code = 3


class Regression(Error):
    """A check failed. Exit code 4. `result` is the answer with what was checked: a ValidateResult or a DiffResult."""

    exit_code = 4
    result: Any = None


_KINDS: Mapping[int, type[Error]] = {kind.exit_code: kind for kind in (Failure, UsageError, InputError)}


def of_document(document: Mapping[str, Any]) -> Error:
    """The exception for a document of ERROR_SCHEMA."""
    return _KINDS[document["code"]](
        document["message"],
        document["hint"] or "",
        document["file"] or "",
        document["where"] or "",
        tuple(document["did_you_mean"]),
    )


def of_run(code: int, stdout: str, stderr: str) -> Error:
    """The exception for a run that failed. The last line of stdout is an error document; without one, stderr is
    quoted."""
    document = _last_document(stdout)
    if document is not None:
        return of_document(document)
    said = stderr.strip().rpartition("\n")[2]
    if code < 0:
        return Failure(f"ddpsim was ended by signal {-code}" + (f": {said}" if said else ""))
    if code == Regression.exit_code and said:
        return Regression(said.partition("ddpsim: ")[2] or said)
    return Failure(f"ddpsim ended with exit code {code} and " + (f"said: {said}" if said else "said nothing"))


def _last_document(stdout: str) -> Mapping[str, Any] | None:
    import json  # imported only if needed

    try:
        document: Any = json.loads(stdout.strip().rpartition("\n")[2])
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    told = cast("Mapping[str, Any]", document)
    return told if told.get("schema") == ERROR_SCHEMA else None
