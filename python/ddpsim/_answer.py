"""The answer of a command: its JSON document with typed attributes, and its text, report and timeline."""

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

# Options that only choose what is printed or written. They do not change the answer.
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
# Commands that take --report.
_REPORTS = ("simulate", "tune", "advise", "compare", "allreduce", "calibrate", "validate")
_TEXT, _PAGE = "text.txt", "report.html"  # files that an answer keeps in its folder
_WARNING = "warning: "


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Answer(Record):
    """The answer of one command. Its attributes are the keys of the JSON document; `document` is the whole document.

    Nothing is printed. `text` is what the program prints on a terminal, `messages` are its notes and warnings on
    stderr, and `arguments` are the words it was called with.

    One run of the program makes the document, the text and the page. Text and page are kept in a temporary folder,
    which is deleted with this object.
    """

    arguments: Arguments = field()
    messages: tuple[str, ...] = field()

    _beside: ClassVar[tuple[str, ...]] = ("document", "arguments", "messages")
    _table: ClassVar[str] = ""  #: key whose rows `to_frame` returns

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.command}>"

    def __str__(self) -> str:
        return self.text or repr(self)

    @property
    def command(self) -> str:
        """The call that gave this answer, as a command line for a shell."""
        return self.arguments.shown(shlex.join(["ddpsim", *self.arguments.words()]))

    @functools.cached_property
    def text(self) -> str:
        """What the program prints on a terminal: the verdict, then tables."""
        if self.arguments.command in ("import", "sweep"):  # their stdout is the document
            return "".join(f"{message}\n" for message in self.messages)
        return self.arguments.shown(_read(self.arguments.kept(_TEXT), "the text of this answer"))

    @property
    def verdict(self) -> str:
        """The first line of `text`."""
        return self.text.partition("\n")[0].lstrip("# ")  # tables like those of nccl-tests begin with "# "

    def report(self) -> dict[str, Any]:
        """All data that the page of `--report` draws, as one document: `ddpsim.report/1` (docs/reference/formats.md)."""
        document: dict[str, Any] = json.loads(self.arguments.shown(_report_within(self.page())))
        return document

    def page(self) -> str:
        """The HTML page that `--report FILE.html` writes. It loads nothing from the network.

        Raises Failure if this answer has no page; see `has_page`.
        """
        if not self.has_page:
            raise Failure(f"{self!r} has no page", "Use its `text` or its `document` instead")
        return self.arguments.shown(_read(self.arguments.kept(_PAGE), "the page of this answer"))

    def workbench(self) -> Workbench:
        """The page with the simulator inside, for Jupyter; answers of `simulate` and `tune` have one.

        Its controls start from this answer, and it runs in the browser without this Python. It needs the file
        `ddpsim.html`, which the CMake preset `wasm` builds. The program looks for it at the path in DDPSIM_HTML, next
        to itself, and in share/ddpsim.
        """
        with temporary() as folder:
            path = os.path.join(folder, "workbench.html")
            asked = self.arguments
            words = asked.words(without=_OUTPUT, extra=(f"--report={path}", "--interactive", "--json"))
            _require(run(words, folder=asked.asked_in), asked)
            return Workbench(self.command, asked.shown(_read(path, "the workbench of this answer")))

    def timeline(self) -> Answer:
        """The spans of the simulated step, as a Timeline. For `tune` and `advise` it is the step with the current
        settings.

        Raises Failure if this answer has no timeline.
        """
        document = self.report()["documents"].get("timeline")
        if document is None:
            raise Failure(f"{self!r} has no timeline", "Call ddpsim.simulate to get one")
        return Answer.from_document(document, arguments=self.arguments, messages=())

    def to_frame(self) -> pandas.DataFrame:
        """The rows of the answer as a pandas.DataFrame: its buckets, points of the curve, sizes and so on.

        The columns are named like the keys of a row. Raises Failure without pandas, or if the answer has no rows of one
        kind.
        """
        return frame(self, self._table)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws the answer with matplotlib, into `axes` or new ones, and returns the axes.

        `simulate` draws the timeline of the step, `tune` the step time by cap, `allreduce` busbw by size, and `compare`
        the training speed by candidate. Raises Failure for other answers, or without matplotlib.
        """
        return draw(self, axes)

    def _repr_html_(self) -> str:
        return shown_page(self.verdict, self.command, self.page()) if self.has_page else shown_text(str(self))

    @property
    def has_page(self) -> bool:
        """Whether this answer has a `page`."""
        return os.path.exists(self.arguments.kept(_PAGE))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class File(Answer):
    """An answer that is also a file. Pass it to any function that takes such a file."""

    #: The path of the file. If you did not pass `output`, it is a temporary file that is deleted with this object.
    path: str = field()

    _beside: ClassVar[tuple[str, ...]] = ("document", "arguments", "messages", "path")

    def __fspath__(self) -> str:
        return self.path


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Imported(File):
    """An imported workload, with what the importer recognised and warned about."""

    @property
    def recognised(self) -> tuple[str, ...]:
        """Lines that say what was read and what was recognised in it."""
        return tuple(one for one in self.messages if not one.startswith(_WARNING))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the importer warned about, one line each."""
        return tuple(one[len(_WARNING) :] for one in self.messages if one.startswith(_WARNING))


AnyAnswer = TypeVar("AnyAnswer", bound=Answer)
AnyFile = TypeVar("AnyFile", bound=File)


def answer(kind: type[AnyAnswer], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyAnswer:
    """The document that `ddpsim COMMAND … --json` prints, together with its text and page."""
    return _answered(kind, Arguments(command, positionals, options))


def saved(kind: type[AnyFile], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyFile:
    """The file that a command writes to `--output`, or to a temporary file if none is named."""
    arguments = Arguments(command, positionals, options)
    path = arguments.output("workload.json" if command == "import" else "cluster.json")
    return _answered(kind, arguments, path=path)


def sweep(kind: type[AnyAnswer], command: str, positionals: Iterable[Any], options: Mapping[str, Any]) -> AnyAnswer:
    """A sweep prints or writes one JSON line per point, after a first line for the whole. `points` holds all but the
    first."""
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
        raise Failure(
            f"{where} no lines of a sweep: {lines[:80]!r}", "Pass the path of a regular file as output"
        ) from error
    return kind.from_document({**head, "points": points}, arguments=arguments, messages=_said(done, arguments))


def _answered(kind: type[AnyAnswer], arguments: Arguments, **beside: Any) -> AnyAnswer:
    done = _run_for_all_forms(arguments)
    found = done.returncode == Regression.exit_code
    if not found:
        _require(done, arguments)
    said = tuple(line for line in _said(done, arguments) if not line.startswith("wrote "))  # `path` says so already
    whole = kind.from_document(_document(done, arguments), arguments=arguments, messages=said, **beside)
    if found:
        regression = _error(done, arguments)
        regression.result = whole
        raise regression
    return whole


def _run_for_all_forms(arguments: Arguments) -> subprocess.CompletedProcess[str]:
    if arguments.command == "import":  # an import has no text or page
        return run(arguments.words(extra=("--json",)))
    forms = ["--json", f"--text={arguments.kept(_TEXT)}"]
    if arguments.command in _REPORTS:
        done = run(arguments.words(extra=(*forms, f"--report={arguments.kept(_PAGE)}")))
        if not _is_without_page(done):
            return done
    return run(arguments.words(extra=forms))


def _is_without_page(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the program refused --report: there is no page for several workloads. The program says so before
    it simulates anything."""
    if done.returncode != UsageError.exit_code:
        return False
    return of_run(done.returncode, done.stdout, done.stderr).place == "--report"


def _report_within(page: str) -> str:
    """The document that a page draws. The page holds it in its element `documents`: JSON, compressed by gzip, in
    base64."""
    import base64  # imported only if needed
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
    """The text of the file that the program wrote at `path`."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path} does not hold {what}", "Pass the path of a regular file as output") from error
