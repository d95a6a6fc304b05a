"""A command line of keyword arguments: values become words, documents become files."""

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
    # As `ddpsim list --commands` tells them apart.
    File = Union[str, "os.PathLike[str]"]
    Text = Union[str, float, "os.PathLike[str]"]
    Texts = Union[Text, Sequence[Text]]
    Files = Union[File, Sequence[File]]
    #: What the program reads: a name or a line as typed, a file, or a document (one of `json.load`, or an earlier result).
    Input = Union[str, "os.PathLike[str]", Mapping[str, Any], Record]
    Inputs = Union[Input, Sequence[Input]]


class Arguments:
    """The words of one run. Documents lie in a folder that lives as long as this does."""

    def __init__(self, command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> None:
        self._folder = ""
        self._files = 0
        positionals = tuple(positionals)
        self.asked_in = _here()
        if positionals and positionals[0] is None and any(value is not None for value in positionals):
            raise TypeError(f"{command}: its first argument is None")
        self._given = (*positionals, *options.values())  # answers among them own the files they lie in
        self.inputs = [self._input(value) for value in positionals if value is not None]
        self.options: dict[str, list[str] | None] = {}  # None: a switch
        for name, value in options.items():
            if isinstance(value, Switch):
                if value.is_on(name):
                    self.options[name] = None
            elif value is not None:
                self.options[name] = self._values(name, value)
        self.command = command

    def words(self, without: Iterable[str] = (), extra: Sequence[str] = ()) -> list[str]:
        """The line, less the options `without`."""
        words = [self.command, *self.inputs]
        for name, values in self.options.items():
            if name in without:
                continue
            words += [name] if values is None else [f"{name}={value}" for value in values]
        return words + list(extra)

    def output(self, name: str) -> str:
        """Where `--output` has the program write; by itself a file of that name beside the documents."""
        given = self.options.get("--output")
        if given:
            return given[0]
        path = self.kept(name)
        self.options["--output"] = [path]
        return path

    def kept(self, name: str) -> str:
        """The path of a file beside the documents, which is gone when this is."""
        return os.path.join(self._place(), name)

    def shown(self, text: str) -> str:
        """What the program said, with documents under their names instead of where they lie."""
        for value in self._given:
            owner: Any = getattr(value, "arguments", None)
            text = owner.shown(text) if isinstance(owner, Arguments) else text
        return text.replace(self._folder + os.sep, "") if self._folder else text

    def _values(self, name: str, value: Any) -> list[str]:
        values = value.values if isinstance(value, Repeated) else values_of(value)
        words = [self._value(one) for one in values]
        if not isinstance(value, Repeated):
            words = [",".join(words)]  # X,X,… as the command line takes lists
        if not all(words):  # it would take the next word
            raise UsageError("an empty value", f"Leave {_keyword(name)} out, or give it one", place=name)
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
            return os.path.join(".", text) if text.startswith("-") else text  # a file, not an option
        document: Any = value.document if isinstance(value, Record) else value
        if not isinstance(document, Mapping):
            raise TypeError(f"{type(value).__name__} is no input: a name, a path, a document or a result is")
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
                f"this document is no JSON: {error}", "Give one as json.load reads it", file=f"{kind}.json"
            ) from error
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise Failure(
                f"{path} cannot be written: {error.strerror}", "Let TMPDIR name a folder with room"
            ) from error
        return path

    def _place(self) -> str:
        if not self._folder:
            self._folder = temporary_folder()
            weakref.finalize(self, _removed, self._folder, os.getpid())
        return self._folder


def temporary_folder() -> str:
    """A new one, which whoever asks removes."""
    try:
        return tempfile.mkdtemp(prefix="ddpsim-")
    except OSError as error:
        raise Failure(
            f"no temporary folder can be made: {error.strerror}", "Let TMPDIR name one that can be written"
        ) from error


@contextlib.contextmanager
def temporary() -> Generator[str, None, None]:
    """A temporary folder, gone afterwards."""
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
        """1 and 0 are as good as True and False; None is off."""
        if (
            self.value is not None
            and not is_truth(self.value)
            and not (isinstance(self.value, numbers.Integral) and self.value in (0, 1))
        ):
            raise TypeError(f"{_keyword(name)}={self.value!r}: it is a switch, True or False")
        return bool(self.value)


class Repeated:
    """Values of an option that may be given several times, each by itself."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values


def repeated(values: Any) -> Repeated | None:
    """`values`, one or several, of a repeatable option, where there are any."""
    return None if values is None else Repeated(values_of(values))


def _keyword(name: str) -> str:
    """`--bucket-cap-mb`, as it is called here."""
    return name[2:].replace("-", "_").lower()


def _here() -> str | None:
    """Where relative paths of a question begin; None where that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _removed(folder: str, process: int) -> None:
    """By the process that made it: a child after a fork ends without it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
