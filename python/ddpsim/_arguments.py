"""Turns keyword arguments into a command line: values become words, documents become files."""

from __future__ import annotations

import contextlib
import json
import numbers
import os
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING, Any, Generator, Iterable, Mapping, Sequence, Union, cast

from ._errors import Failure, UsageError
from ._record import Record
from ._values import is_truth, values_of

if TYPE_CHECKING:
    # The kinds of values that `ddpsim list --commands` distinguishes.
    File = Union[str, "os.PathLike[str]"]
    Text = Union[str, float, "os.PathLike[str]"]
    Texts = Union[Text, Sequence[Text]]
    Files = Union[File, Sequence[File]]
    #: An input of the program: a name or a line as on the command line, the path of a file, or a document. What `json.load`
    #: returns is a document, and so is an earlier answer.
    Input = Union[str, "os.PathLike[str]", Mapping[str, Any], Record]
    Inputs = Union[Input, Sequence[Input]]


class Arguments:
    """The command line of one run. Documents are written to a folder that exists as long as this object."""

    def __init__(self, command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> None:
        self._folder = ""
        self._files = 0
        positionals = tuple(positionals)
        self.asked_in = _here()
        if positionals and positionals[0] is None and any(value is not None for value in positionals):
            raise TypeError(f"{command}: the first argument is None. Pass a name, a path, a document or an answer")
        # Keep the arguments alive: an answer among them deletes its files when it is deleted.
        self._given = (*positionals, *options.values())
        self.inputs = [self._input(value) for value in positionals if value is not None]
        self.options: dict[str, list[str] | None] = {}  # None for a switch
        for name, value in options.items():
            if isinstance(value, Switch):
                if value.is_on(name):
                    self.options[name] = None
            elif value is not None:
                self.options[name] = self._values(name, value)
        self.command = command

    def words(self, without: Iterable[str] = (), extra: Sequence[str] = ()) -> list[str]:
        """The words of the command line without the options `without`, followed by `extra`."""
        words = [self.command, *self.inputs]
        for name, values in self.options.items():
            if name in without:
                continue
            words += [name] if values is None else [f"{name}={value}" for value in values]
        return words + list(extra)

    def output(self, name: str) -> str:
        """The path that `--output` names. If the caller named none, it is a file `name` in the temporary folder."""
        given = self.options.get("--output")
        if given:
            return given[0]
        path = self.kept(name)
        self.options["--output"] = [path]
        return path

    def kept(self, name: str) -> str:
        """The path of a file `name` in the temporary folder, which is deleted with this object."""
        return os.path.join(self._place(), name)

    def shown(self, text: str) -> str:
        """`text` from the program, with temporary files under their plain names instead of their paths."""
        for value in self._given:
            owner: Any = getattr(value, "arguments", None)
            text = owner.shown(text) if isinstance(owner, Arguments) else text
        return text.replace(self._folder + os.sep, "") if self._folder else text

    def _values(self, name: str, value: Any) -> list[str]:
        values = value.values if isinstance(value, Repeated) else values_of(value)
        words = [self._value(one) for one in values]
        if not isinstance(value, Repeated):
            words = [",".join(words)]  # the command line takes lists as X,X,…
        if not all(words):  # the option would swallow the next word
            raise UsageError("the value is empty", f"Leave {_keyword(name)} out, or give it a value", place=name)
        return words

    def _value(self, value: Any) -> str:
        if isinstance(value, (Mapping, Record)):
            return self._input(value)
        if isinstance(value, numbers.Integral):
            return str(int(value))
        if isinstance(value, numbers.Real):
            text = repr(float(value))
            return text[:-2] if text.endswith(".0") else text
        if isinstance(value, os.PathLike):
            return os.fsdecode(cast("os.PathLike[str]", value))
        return os.fsdecode(value) if isinstance(value, bytes) else str(value)

    def _input(self, value: Any) -> str:
        if isinstance(value, (str, os.PathLike)):
            text = os.fsdecode(cast("str | os.PathLike[str]", value))
            return os.path.join(".", text) if text.startswith("-") else text  # a path, not an option
        document: Any = value.document if isinstance(value, Record) else value
        if not isinstance(document, Mapping):
            raise TypeError(
                f"an input cannot be of type {type(value).__name__}. Pass a name, a path, a document or an answer"
            )
        return self._written(cast("Mapping[str, Any]", document))

    def _written(self, document: Mapping[str, Any]) -> str:
        kind = str(document.get("schema", "")).partition(".")[2].partition("/")[0] or "document"
        self._files += 1
        number = "" if self._files == 1 else f"-{self._files}"
        path = self.kept(f"{kind}{number}.json")
        try:
            text = json.dumps(document)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(
                f"the document cannot be written as JSON: {error}",
                "Pass a document like those that json.load returns",
                file=f"{kind}.json",
            ) from error
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise Failure(
                f"{path} cannot be written: {error.strerror}", "Set TMPDIR to a folder with free space"
            ) from error
        return path

    def _place(self) -> str:
        if not self._folder:
            self._folder = temporary_folder()
            weakref.finalize(self, _removed, self._folder, os.getpid())
        return self._folder


def temporary_folder() -> str:
    """A new temporary folder, which the caller must delete."""
    try:
        return tempfile.mkdtemp(prefix="ddpsim-")
    except OSError as error:
        raise Failure(
            f"no temporary folder can be made: {error.strerror}", "Set TMPDIR to a folder you can write to"
        ) from error


@contextlib.contextmanager
def temporary() -> Generator[str, None, None]:
    """A temporary folder that is deleted at the end of the `with` block."""
    folder = temporary_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Switch:
    """An option without a value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def is_on(self, name: str) -> bool:
        """Whether the switch is on. 1 and 0 count as True and False, None as False; anything else is a TypeError."""
        if (
            self.value is not None
            and not is_truth(self.value)
            and not (isinstance(self.value, numbers.Integral) and self.value in (0, 1))
        ):
            raise TypeError(f"{_keyword(name)}={self.value!r}: this option is a switch. Pass True or False")
        return bool(self.value)


class Repeated:
    """Values of an option that the command line repeats, once for each value."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values


def repeated(values: Any) -> Repeated | None:
    """Wraps one value or several values of a repeatable option. None stays None."""
    return None if values is None else Repeated(values_of(values))


def _keyword(name: str) -> str:
    """The keyword for an option: `bucket_cap_mb` for `--bucket-cap-mb`."""
    return name[2:].replace("-", "_").lower()


def _here() -> str | None:
    """The current folder, to which relative paths refer; None if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _removed(folder: str, process: int) -> None:
    """Deletes `folder`, but only in the process that made it. A forked child must not delete its parent's folder."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
