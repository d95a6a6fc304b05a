"""What may go wrong, by the program's exit codes; each says what is wrong, where, and what would be right."""

from __future__ import annotations

from typing import Any, Mapping, cast

ERROR_SCHEMA = "ddpsim.error/1"


class Error(Exception):
    """There is no answer. `message`: what is wrong; `remedy`: what would be right, "" where nobody knows.

    `file`: as it was given; `place` in it: "/backward/ready/3/at_us", "line 7"; or the option, "--nodes"; "" where there is none.
    `did_you_mean`: known words that were probably meant, of a word that is unknown.
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
        """The line that the program writes."""
        where = ":".join(part for part in (self.file, self.place) if part)
        said = f"{where}: {self.message}" if where else self.message
        return f"{said}. {self.remedy}" if self.remedy else said


class Failure(Error):
    """Of the program or of the machine (no such program, disk full, killed): exit code 1, or a signal."""


class UsageError(Error):
    """Arguments that exclude or lack each other, or a word that is none: exit code 2."""

    exit_code = 2


class InputError(Error):
    """Bad input: exit code 3."""

    exit_code = 3


class Regression(Error):
    """A check found one: exit code 4. `result`: what was checked, a ValidateResult or a DiffResult."""

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
    """The exception for how the program ended: what it says on the last line of its output, else what is known."""
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
    import json  # not before something is wrong

    try:
        document: Any = json.loads(stdout.strip().rpartition("\n")[2])
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    told = cast("Mapping[str, Any]", document)
    return told if told.get("schema") == ERROR_SCHEMA else None
