"""A command line of keyword arguments: values become words, documents become files."""

from __future__ import annotations

import json
import numbers
import os
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union, cast

from ._errors import UsageError
from ._record import Record

if TYPE_CHECKING:
    # As `ddpsim list --commands` tells them apart.
    File = Union[str, "os.PathLike[str]"]
    Text = Union[str, float, "os.PathLike[str]"]
    Texts = Union[Text, Sequence[Text]]
    Files = Union[File, Sequence[File]]
    #: What the program reads: a name or a line as typed, a file, or a document (one of `json.load`, or an earlier result).
    Input = Union[str, "os.PathLike[str]", Mapping[str, Any], Record]
    Inputs = Union[Input, Sequence[Input]]

# 2.10 is another version than the number 2.1.
_VERSIONS = ("--torch", "--nccl")


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
            if value is None or value is False:
                continue
            self.options[name] = None if value is True else self._values(name, value)
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
        path = os.path.join(self._place(), name)
        self.options["--output"] = [path]
        return path

    def shown(self, text: str) -> str:
        """What the program said, with documents under their names instead of where they lie."""
        for value in self._given:
            owner: Any = getattr(value, "arguments", None)
            text = owner.shown(text) if isinstance(owner, Arguments) else text
        return text.replace(self._folder + os.sep, "") if self._folder else text

    def _values(self, name: str, value: Any) -> list[str]:
        if name in _VERSIONS and not isinstance(value, str):
            raise TypeError(f"{name[2:]}={value!r}: a version is text, such as \"2.10\" (2.10 as a number is 2.1)")
        if isinstance(value, Repeated):
            words = [self._value(one) for one in value.values]
        else:
            words = [",".join(self._value(one) for one in several(value))]  # X,X,… as the command line takes lists
        if not all(words):  # it would take the next word
            raise UsageError.of(f"{name}: an empty value. Leave {name[2:].replace('-', '_')} out, or give it one")
        return words

    def _value(self, value: Any) -> str:
        if isinstance(value, (Mapping, Record)):
            return self._input(value)
        if isinstance(value, numbers.Integral):
            return str(int(value))
        if isinstance(value, numbers.Real):
            text = repr(float(value))
            return text[:-2] if text.endswith(".0") else text
        return str(value)  # of a path, too

    def _input(self, value: Any) -> str:
        if isinstance(value, (str, os.PathLike)):
            text = os.fspath(cast("str | os.PathLike[str]", value))
            return os.path.join(".", text) if text.startswith("-") else text  # a file, not an option
        document: Any = value.document if isinstance(value, Record) else value
        if not isinstance(document, Mapping):
            raise TypeError(f"{type(value).__name__} is no input: a name, a path, a document or a result is")
        return self._written(cast("Mapping[str, Any]", document))

    def _written(self, document: Mapping[str, Any]) -> str:
        kind = str(document.get("schema", "")).partition(".")[2].partition("/")[0] or "document"
        self._files += 1
        number = "" if self._files == 1 else f"-{self._files}"
        path = os.path.join(self._place(), f"{kind}{number}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def _place(self) -> str:
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="ddpsim-")
            weakref.finalize(self, _removed, self._folder, os.getpid())
        return self._folder


class Repeated:
    """Values of an option that may be given several times, each by itself."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values


def repeated(values: Any) -> Repeated | None:
    """`values`, one or several, of a repeatable option, where there are any."""
    return None if values is None else Repeated(several(values))


def several(values: Any) -> Sequence[Any]:
    return (values,) if _is_one(values) else list(values)


def _is_one(value: Any) -> bool:
    """ndim: an array of NumPy's or a column of pandas' holds several, their numbers have none."""
    return isinstance(value, (str, Mapping, Record, os.PathLike)) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0


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
