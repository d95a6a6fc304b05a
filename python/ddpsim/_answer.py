"""What a command answers: its document, typed, and what else the program can make of the same question."""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Iterable, Mapping, TypeVar

from ._arguments import Arguments, temporary
from ._errors import Failure, Regression, UsageError, of_run
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
_TEXT, _PAGE = "text.txt", "report.html"  # files that an answer keeps
_WARNING = "warning: "


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Answer(Record):
    """Nothing is printed: `text` is what a terminal shows, `messages` what was said beside.

    One run of the program gives the document, text, report and timeline; what is no document lies in a temporary folder, gone
    with this object.
    """

    arguments: Arguments = field()
    messages: tuple[str, ...] = field()

    _beside: ClassVar[tuple[str, ...]] = ("document", "arguments", "messages")
    _table: ClassVar[str] = ""  #: key of the rows of `to_frame`

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.command}>"

    def __str__(self) -> str:
        return self.text or repr(self)

    @property
    def command(self) -> str:
        """The line that asks the same in a shell."""
        return self.arguments.shown(shlex.join(["ddpsim", *self.arguments.words()]))

    @functools.cached_property
    def text(self) -> str:
        """What the program prints on a terminal: the verdict, then tables."""
        if self.arguments.command in ("import", "sweep"):  # which print documents
            return "".join(f"{message}\n" for message in self.messages)
        return self.arguments.shown(_read(self.arguments.kept(_TEXT), "the text of this answer"))

    @property
    def verdict(self) -> str:
        """The first line of `text`."""
        return self.text.partition("\n")[0].lstrip("# ")  # nccl-tests' tables begin so

    def report(self) -> dict[str, Any]:
        """All that the page of `--report` draws: `ddpsim.report/1` (docs/reference/formats.md)."""
        document: dict[str, Any] = json.loads(self.arguments.shown(_report_within(self.page())))
        return document

    def page(self) -> str:
        """The page of `--report FILE.html`: one file without any request."""
        if not self.has_page:
            raise Failure(f"{self!r} has no page", "`text` and `document` have all of it")
        return self.arguments.shown(_read(self.arguments.kept(_PAGE), "the page of this answer"))

    def workbench(self) -> Workbench:
        """In Jupyter: that page with the simulator inside (of `simulate` and `tune`), whose controls start from this answer.

        It runs in the browser, whatever Python does meanwhile. The program looks for `ddpsim.html`, a product of its preset
        wasm, where DDPSIM_HTML says, beside itself, and in share/ddpsim.
        """
        with temporary() as folder:
            path = os.path.join(folder, "workbench.html")
            asked = self.arguments
            words = asked.words(without=_OUTPUT, extra=(f"--report={path}", "--interactive", "--json"))
            _require(run(words, folder=asked.asked_in), asked)
            return Workbench(self.command, asked.shown(_read(path, "the workbench of this answer")))

    def timeline(self) -> Answer:
        """The step's spans: of `simulate`, whose answer gives a Timeline, and of `tune` and `advise` the current step's."""
        document = self.report()["documents"].get("timeline")
        if document is None:
            raise Failure(f"{self!r} has no timeline", "Ask simulate for one")
        return Answer.from_document(document, arguments=self.arguments, messages=())

    def to_frame(self) -> pandas.DataFrame:
        """The answer's rows as a pandas.DataFrame, columns named as keys: buckets, points of the curve, sizes, …"""
        return frame(self, self._table)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws the answer with matplotlib: a step's timeline, the step by cap, busbw by size, training speed by cluster."""
        return draw(self, axes)

    def _repr_html_(self) -> str:
        return shown_page(self.verdict, self.command, self.page()) if self.has_page else shown_text(str(self))

    @property
    def has_page(self) -> bool:
        """Whether there is a `page` of this answer."""
        return os.path.exists(self.arguments.kept(_PAGE))


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
    """The document that `ddpsim COMMAND … --json` prints, with the other forms of the answer."""
    return _answered(kind, Arguments(command, positionals, options))


def saved(kind: type[AnyFile], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyFile:
    """What a command writes to `--output`; a temporary file where none is named."""
    arguments = Arguments(command, positionals, options)
    path = arguments.output("workload.json" if command == "import" else "cluster.json")
    return _answered(kind, arguments, path=path)


def sweep(kind: type[AnyAnswer], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyAnswer:
    """The lines of a sweep, which it prints or writes: the first one's keys, and `points`."""
    arguments = Arguments(command, positionals, options)
    done = run(arguments.words(extra=("--json",)))
    _require(done, arguments)
    lines = done.stdout
    written = arguments.options.get("--output")
    if written:
        lines = _read(written[0], "a sweep's lines")
    try:
        head, *points = [json.loads(line) for line in arguments.shown(lines).split("\n") if line]
    except ValueError as error:
        where = f"{written[0]} holds" if written else "`ddpsim sweep` printed"
        raise Failure(f"{where} no lines of a sweep: {lines[:80]!r}", "Let output name a file of its own") from error
    return kind.from_document({**head, "points": points}, arguments=arguments, messages=_said(done, arguments))


def _answered(kind: type[AnyAnswer], arguments: Arguments, **beside: Any) -> AnyAnswer:
    done = _run_for_all_forms(arguments)
    found = done.returncode == Regression.exit_code
    if not found:
        _require(done, arguments)
    said = tuple(line for line in _said(done, arguments) if not line.startswith("wrote "))  # that is `path`
    whole = kind.from_document(_document(done, arguments), arguments=arguments, messages=said, **beside)
    if found:
        regression = _error(done, arguments)
        regression.result = whole
        raise regression
    return whole


def _run_for_all_forms(arguments: Arguments) -> subprocess.CompletedProcess[str]:
    if arguments.command == "import":  # its document is all
        return run(arguments.words(extra=("--json",)))
    forms = ["--json", f"--text={arguments.kept(_TEXT)}"]
    if arguments.command in _REPORTS:
        done = run(arguments.words(extra=(*forms, f"--report={arguments.kept(_PAGE)}")))
        if not _is_without_page(done):
            return done
    return run(arguments.words(extra=forms))


def _is_without_page(done: subprocess.CompletedProcess[str]) -> bool:
    """Of several workloads there is no page; the program says so before it simulates anything."""
    if done.returncode != UsageError.exit_code:
        return False
    return of_run(done.returncode, done.stdout, done.stderr).place == "--report"


def _report_within(page: str) -> str:
    """The document that a page draws: in its element `documents`, compressed by gzip, in base64."""
    import base64  # not before somebody asks
    import gzip

    _, _, behind = page.partition('id="documents">')
    return gzip.decompress(base64.b64decode(behind.partition("<")[0])).decode()


def _require(done: subprocess.CompletedProcess[str], arguments: Arguments) -> None:
    if done.returncode != 0:
        raise _error(done, arguments)


def _error(done: subprocess.CompletedProcess[str], arguments: Arguments) -> Any:
    return of_run(done.returncode, arguments.shown(done.stdout), arguments.shown(done.stderr))


def _document(done: subprocess.CompletedProcess[str], arguments: Arguments) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(arguments.shown(done.stdout))
    except ValueError as error:
        raise Failure(f"`ddpsim {arguments.command}` printed no document: {done.stdout[:80]!r}") from error
    return document


def _said(done: subprocess.CompletedProcess[str], arguments: Arguments) -> tuple[str, ...]:
    return tuple(line for line in arguments.shown(done.stderr).split("\n") if line)


def _read(path: str, what: str) -> str:
    """What the program wrote there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path} does not hold {what} to be read again", "Let output name a file of its own") from error
