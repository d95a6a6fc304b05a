"""What a command answers: its document, typed, and what else the program can make of the same question."""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Iterable, Mapping, Sequence, TypeVar

from ._arguments import Arguments, temporary
from ._errors import Error, Failure, error_of
from ._frame import frame
from ._notebook import Workbench, shown_page, shown_text
from ._plot import draw
from ._program import run
from ._record import Record

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# What is printed and written: no part of the question.
_OUTPUT = (
    "--csv",
    "--timeline",
    "--report",
    "--interactive",
    "--plot",
    "--plot-cost",
    "--export",
    "--lever",
    "--output",
    "--quiet",
    "--verbose",
)
_REPORTS = ("simulate", "tune", "advise", "compare", "allreduce", "calibrate", "validate")  # what has --report
_REGRESSION = 4
_WARNING = "warning: "


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Answer(Record):
    """Nothing is printed: `text` is what a terminal shows, `messages` what was said beside.

    Text, report, timeline and figure are made by asking the program once more, when they are first wanted; the files that
    the question names must still be there then.
    """

    arguments: Arguments = field()
    messages: tuple[str, ...] = field()

    _beside: ClassVar[tuple[str, ...]] = ("document", "arguments", "messages")
    _table: ClassVar[str] = ""  #: key of the rows of `to_frame`

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.command}>"

    def __str__(self) -> str:
        """`text`, where it can still be asked for."""
        try:
            return self.text or repr(self)
        except Error:
            return repr(self)

    @property
    def command(self) -> str:
        """The line that asks the same in a shell."""
        return self.arguments.shown(shlex.join(["ddpsim", *self.arguments.words()]))

    @functools.cached_property
    def text(self) -> str:
        """What the program prints on a terminal: the verdict, then tables."""
        if self.arguments.command in ("import", "sweep"):  # which print documents
            return "".join(f"{message}\n" for message in self.messages)
        with temporary() as folder:
            return self.arguments.shown(_once_more(self, (), folder).stdout)

    @property
    def verdict(self) -> str:
        """The first line of `text`."""
        return self.text.partition("\n")[0].lstrip("# ")  # nccl-tests' tables begin so

    def report(self) -> dict[str, Any]:
        """All that the page of `--report` draws: `ddpsim.report/1` (docs/formats.md)."""
        document: dict[str, Any] = json.loads(self._written("--report", "report.json"))
        return document

    def page(self) -> str:
        """The page of `--report FILE.html`: one file without any request."""
        return self._written("--report", "report.html")

    def workbench(self) -> Workbench:
        """In Jupyter: that page with the simulator inside (of `simulate` and `tune`), whose controls start from this answer.

        It runs in the browser, whatever Python does meanwhile. The program looks for `ddpsim.html`, a product of its preset
        wasm, where DDPSIM_HTML says, beside itself, and in share/ddpsim.
        """
        return Workbench(self.command, self._written("--report", "workbench.html", "--interactive"))

    def timeline(self) -> Answer:
        """The step's spans (`simulate`, whose answer gives a Timeline)."""
        document = json.loads(self._written("--timeline", "timeline.json"))
        return Answer.from_document(document, arguments=self.arguments, messages=())

    def to_frame(self) -> pandas.DataFrame:
        """The answer's rows as a pandas.DataFrame, columns named as keys: buckets, points of the curve, sizes, …"""
        return frame(self, self._table)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws the answer with matplotlib: a step's timeline, the step by cap, busbw by size, training speed by cluster."""
        return draw(self, axes)

    def _repr_html_(self) -> str:
        try:
            if not self.has_page:
                return shown_text(self.text or repr(self))
            return shown_page(self.verdict, self.command, self.page())
        except Error as error:  # a file of the question is gone
            return shown_text(f"{self!r}\n{error}")

    @property
    def has_page(self) -> bool:
        """Whether there is a `page` of this answer."""
        return self.arguments.command in _REPORTS

    def _written(self, option: str, name: str, *further: str) -> str:
        """The file that `option` has the program write."""
        with temporary() as folder:
            path = os.path.join(folder, name)
            _once_more(self, (f"{option}={path}", *further), folder)
            with open(path, encoding="utf-8") as file:
                return self.arguments.shown(file.read())


@dataclass(frozen=True, init=False, eq=False, repr=False)
class File(Answer):
    """An answer that is a file, too: it may be given wherever the program reads one."""

    path: str = field()  #: where it lies; a temporary file where nobody named one, gone with this object

    _beside: ClassVar[tuple[str, ...]] = ("document", "arguments", "messages", "path")

    def __fspath__(self) -> str:
        return self.path


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Imported(File):
    """A workload, and what was seen of it."""

    @property
    def recognised(self) -> tuple[str, ...]:
        """What it was read from, what was recognised in it."""
        return tuple(one for one in self.messages if not one.startswith(_WARNING))

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(one[len(_WARNING) :] for one in self.messages if one.startswith(_WARNING))


AnyAnswer = TypeVar("AnyAnswer", bound=Answer)
AnyFile = TypeVar("AnyFile", bound=File)


def answer(kind: type[AnyAnswer], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyAnswer:
    """The document that `ddpsim COMMAND … --json` prints."""
    arguments = Arguments(command, positionals, options)
    done = run(arguments.words(extra=("--json",)))
    if done.returncode == _REGRESSION and done.stdout:
        raise _error(
            done,
            arguments,
            kind.from_document(_document(done, arguments), arguments=arguments, messages=_said(done, arguments)),
        )
    _require(done, arguments)
    return kind.from_document(_document(done, arguments), arguments=arguments, messages=_said(done, arguments))


def sweep(kind: type[AnyAnswer], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyAnswer:
    """The lines of a sweep, which it prints or writes: the first one's keys, and `points`."""
    arguments = Arguments(command, positionals, options)
    done = run(arguments.words())
    _require(done, arguments)
    lines = done.stdout
    written = arguments.options.get("--output")
    if written:
        lines = _read(written[0], "a sweep's lines")
    try:
        head, *points = [json.loads(line) for line in arguments.shown(lines).split("\n") if line]
    except ValueError as error:
        where = f"{written[0]} holds" if written else "`ddpsim sweep` printed"
        raise Failure.of(f"{where} no lines of a sweep: {lines[:80]!r}. Let output name a file of its own") from error
    return kind.from_document({**head, "points": points}, arguments=arguments, messages=_said(done, arguments))


def saved(kind: type[AnyFile], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyFile:
    """What a command writes to `--output`; a temporary file where none is named."""
    arguments = Arguments(command, positionals, options)
    prints = command != "import"
    path = arguments.output("cluster.json" if prints else "workload.json")
    done = run(arguments.words(extra=("--json",) if prints else ()))
    _require(done, arguments)
    if prints:
        document = _document(done, arguments)
    else:
        try:
            document = json.loads(_read(path, "a workload"))
        except ValueError as error:
            raise Failure.of(f"{path} holds no workload to be read again. Let output name a file of its own") from error
    said = tuple(line for line in _said(done, arguments) if not line.startswith("wrote "))  # that is `path`
    return kind.from_document(document, arguments=arguments, messages=said, path=path)


def _once_more(asked: Answer, extra: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """The same question, but for what it prints and writes."""
    arguments = asked.arguments
    if arguments.command == "calibrate":  # always writes its file
        extra = (*extra, f"--output={os.path.join(folder, 'cluster.json')}")
    without: tuple[str, ...] = _OUTPUT
    if arguments.command == "allreduce" and not extra:  # a log whose points are drawn, and nothing is
        without += ("--measured",)
    done = run(arguments.words(without=without, extra=extra), folder=arguments.asked_in)
    if done.returncode != _REGRESSION:
        _require(done, arguments)
    return done


def _require(done: subprocess.CompletedProcess[str], arguments: Arguments) -> None:
    if done.returncode != 0:
        raise _error(done, arguments)


def _error(done: subprocess.CompletedProcess[str], arguments: Arguments, result: Answer | None = None) -> Exception:
    inputs = [arguments.shown(text) for text in arguments.inputs]
    return error_of(done.returncode, arguments.shown(done.stderr), inputs, result)


def _document(done: subprocess.CompletedProcess[str], arguments: Arguments) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(arguments.shown(done.stdout))
    except ValueError as error:
        raise Failure.of(f"`ddpsim {arguments.command}` printed no document: {done.stdout[:80]!r}") from error
    return document


def _said(done: subprocess.CompletedProcess[str], arguments: Arguments) -> tuple[str, ...]:
    return tuple(line for line in arguments.shown(done.stderr).split("\n") if line)


def _read(path: str, what: str) -> str:
    """What the program wrote there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure.of(f"{path} does not hold {what} to be read again. Let output name a file of its own") from error
