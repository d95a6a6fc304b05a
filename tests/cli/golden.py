"""The corpus of commands. tests/golden/commands.txt has the commands, and tests/golden/GROUP/NAME.txt their results.

Each command runs in a folder that holds a copy of tests/golden/inputs and, as fixtures, of tests/fixtures; paths in
messages are therefore relative. A folder in which a command changed nothing serves the next one: making each anew took
half of the test's time. A Perfetto timeline is kept decoded, and a report by what its page holds. A JSON document is kept
by its values (kept_values); one whose comment begins with "every field of" is kept as it stands, to show what a document
looks like. Everything else is kept byte for byte, on every machine.
"""

import atexit
import contextlib
import dataclasses
import difflib
import fcntl
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import termios
import threading

import patience
import kept_values
from html_report import report_text
from perfetto_text import perfetto_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
FIXTURES = ROOT / "tests" / "fixtures"

COMMAND = re.compile(r"(?P<name>[a-z]+/[a-z0-9-]+)(?: \(terminal of (?P<columns>\d+) columns\))?: (?P<arguments>.*)")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # "simulate/straggler"
    protects: str  # what this case protects for users
    arguments: str  # as typed after `ddpsim `
    columns: int  # width of the terminal; 0 for a pipe

    @property
    def command(self):
        return shlex.split(self.arguments)

    @property
    def kept(self):
        return GOLDEN / f"{self.name}.txt"

    @property
    def shows_keys(self):
        return self.protects.startswith("every field of ddpsim.")


def cases(table=GOLDEN / "commands.txt"):
    """Reads the table of commands. A case is a line `# what it protects`, then `group/name: arguments`.

    Lines `## …` and empty lines are for readers.
    """
    found, protects = [], None
    for number, line in enumerate(table.read_text(encoding="utf-8").splitlines(), 1):
        match = COMMAND.fullmatch(line)
        if line.startswith("# "):
            protects = line[2:]
        elif match and protects:
            found.append(Case(match["name"], protects, match["arguments"], int(match["columns"] or 0)))
            protects = None
        elif protects or (line and not line.startswith("##")):
            raise ValueError(f"{table}:{number}: expected `# what it protects`, then `group/name: arguments`")
    return found


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command printed, wrote and ended with."""

    case: Case
    code: int | str  # exit code, or that it was stopped
    # Title and text of what was printed and of each file that changed.
    sections: list[tuple[str, str]]

    def lines(self):
        """What is kept of it."""
        lines = [f"protects: {self.case.protects}", f"command: ddpsim {self.case.arguments}"]
        if self.case.columns:
            lines.append(f"terminal: {self.case.columns} columns")
        lines.append(f"exit: {self.code}")
        for title, text in self.sections:
            lines += ["", f"-- {title}" + ("" if text else ": nothing")]
            lines += (
                text.removesuffix("\n").split("\n") if self.case.shows_keys and text else kept_values.lines_of(text)
            )
            if text and not text.endswith("\n"):
                lines.append("(no newline at the end)")
        return lines

    def documents(self):
        """The documents that name their schema, and of a sweep its points: name of the schema, document."""
        for _, text in self.sections:
            if not text.startswith("{"):
                continue
            try:
                document, end = json.JSONDecoder().raw_decode(text)
            except ValueError:  # cut, or no JSON after all
                continue
            if "schema" not in document:
                continue
            yield document["schema"], document
            # --join puts together lines that another version wrote.
            if document["schema"] == "ddpsim.sweep/1" and self.case.name != "sweep/join":
                for line in text[end:].splitlines():
                    if line.startswith('{"point"'):
                        yield "ddpsim.sweep.point/1", json.loads(line)


def outcome(case, program, environment=None, seconds=patience.seconds(300)):
    """What `program` makes of the command."""
    with prepared_folder() as (folder, before):
        keywords = {"cwd": folder, "env": {**os.environ, **(environment or {})}, "timeout": seconds}
        run = on_terminal if case.columns else on_pipe
        try:
            code, out, err = run(case, [str(program), *case.command], keywords)
        except subprocess.TimeoutExpired:
            code, out, err = f"none within {seconds} s", b"", b""
        after = contents(folder)
    return Outcome(case, code, sections_of(out, err, before, after))


# Unchanged folders for the next command, with their contents.
unchanged = []


@contextlib.contextmanager
def prepared_folder():
    """A folder with the inputs, and its contents."""
    try:
        folder, before = unchanged.pop()
    except IndexError:
        folder = pathlib.Path(tempfile.mkdtemp())
        shutil.copytree(GOLDEN / "inputs", folder, dirs_exist_ok=True)
        shutil.copytree(FIXTURES, folder / "fixtures")
        before = contents(folder)
    names = set(folder.rglob("*"))
    try:
        yield folder, before
    finally:
        if contents(folder) == before and set(folder.rglob("*")) == names:
            unchanged.append((folder, before))
        else:
            shutil.rmtree(folder)


@atexit.register
def remove_folders():
    while unchanged:
        shutil.rmtree(unchanged.pop()[0])


def sections_of(out, err, before, after):
    """`before` and `after`: content by name of the folder's files."""
    return [
        ("stdout", readable(out)),
        ("stderr", readable(err)),
        *(
            (f"file {name}", decoded(name, content))
            for name, content in sorted(after.items())
            if before.get(name) != content
        ),
        *((f"file {name} is gone", "") for name in sorted(before.keys() - after.keys())),
    ]


def check(case, program, environment=None, seconds=patience.seconds(300)):
    """None, or the difference from what is kept."""
    return difference(case, outcome(case, program, environment, seconds))


def difference(case, now):
    """None, or how `now` differs from what is kept; a value of a document has its place behind it."""
    lines = now.lines()
    kept = case.kept.read_text(encoding="utf-8").split("\n")[:-1] if case.kept.exists() else []
    if lines == kept:
        return None
    placed = [f"{line}    <- {line.place}" if isinstance(line, kept_values.Line) else line for line in lines]
    shown = [f"--- {case.name}, kept", f"+++ {case.name}, now"]
    for tag, i, k, m, n in difflib.SequenceMatcher(None, kept, lines, autojunk=False).get_opcodes():
        if tag != "equal":
            shown += [f"@@ line {i + 1}", *(f"-{line}" for line in kept[i:k]), *(f"+{line}" for line in placed[m:n])]
    return "\n".join(shown) + "\n"


def on_pipe(case, command, keywords):
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, **keywords)
    return run.returncode, run.stdout, run.stderr


def on_terminal(case, command, keywords):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, case.columns, 0, 0))
    shown = []
    # A terminal buffers only a few KiB, so a thread reads it while the command writes.
    reader = threading.Thread(target=read_all, args=(ours, shown))
    reader.start()
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, **keywords)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    return run.returncode, b"".join(shown).replace(b"\r\n", b"\n"), run.stderr


def read_all(terminal, shown):
    """Reads until the other end of the terminal is closed."""
    with contextlib.suppress(OSError):  # Linux reports the end as an error
        while piece := os.read(terminal, 1 << 16):
            shown.append(piece)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def decoded(name, content):
    if name.endswith(".pftrace"):
        return perfetto_text(content)
    return report_text(content) if name.endswith(".html") else readable(content)


def readable(content):
    """The content with escape sequences shown as ␛[1m, so that a stored text does not colour the reader's terminal."""
    return content.decode("utf-8", "backslashreplace").replace("\x1b", "␛")
