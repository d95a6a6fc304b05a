"""The corpus of commands: tests/golden/commands.txt has the commands, tests/golden/GROUP/NAME.txt what each of them
prints, writes and ends with.

Each command runs in a folder that holds a copy of tests/golden/inputs and, as fixtures, of tests/fixtures; paths in
messages are therefore relative, and nothing is rewritten before it is kept. A folder in which a command changed nothing
serves the next one: making each anew took half of the test's time. A Perfetto timeline is kept decoded, a report by what
its page holds. Every byte counts, on every machine.
"""

import atexit
import contextlib
import dataclasses
import difflib
import fcntl
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
from html_report import report_text
from perfetto_text import perfetto_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
FIXTURES = ROOT / "tests" / "fixtures"

COMMAND = re.compile(r"(?P<name>[a-z]+/[a-z0-9-]+)(?: \(terminal of (?P<columns>\d+) columns\))?: (?P<arguments>.*)")


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # "simulate/straggler"
    protects: str  # what would be wrong for a user if this changed unnoticed
    arguments: str  # as typed after `ddpsim `
    columns: int  # of the terminal it is printed on; 0: a pipe

    @property
    def command(self):
        return shlex.split(self.arguments)

    @property
    def kept(self):
        return GOLDEN / f"{self.name}.txt"


def cases(table=GOLDEN / "commands.txt"):
    """A line `# what it protects`, then `group/name: arguments`; `## …` and empty lines are for the reader."""
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


def outcome(case, program, environment=None, seconds=patience.seconds(300)):
    """What `program` makes of the command: the text that is kept."""
    with prepared_folder() as (folder, before):
        keywords = {"cwd": folder, "env": {**os.environ, **(environment or {})}, "timeout": seconds}
        run = on_terminal if case.columns else on_pipe
        try:
            code, out, err = run(case, [str(program), *case.command], keywords)
        except subprocess.TimeoutExpired:
            code, out, err = f"none within {seconds} s", b"", b""
        after = contents(folder)
    return kept_text(case, code, out, err, before, after)


unchanged = []  # folders that wait for a next command, with what they hold


@contextlib.contextmanager
def prepared_folder():
    """A folder of inputs, and its contents."""
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


def kept_text(case, code, out, err, before, after):
    """`before` and `after`: content by name of the folder's files."""
    head = f"protects: {case.protects}\ncommand: ddpsim {case.arguments}\n"
    if case.columns:
        head += f"terminal: {case.columns} columns\n"
    sections = [("stdout", readable(out)), ("stderr", readable(err))]
    sections += [
        (f"file {name}", decoded(name, content))
        for name, content in sorted(after.items())
        if before.get(name) != content
    ]
    sections += [(f"file {name} is gone", "") for name in sorted(before.keys() - after.keys())]
    return head + f"exit: {code}\n" + "".join(section(title, text) for title, text in sections)


def check(case, program, environment=None, seconds=patience.seconds(300)):
    """None, or the difference from what is kept."""
    now = outcome(case, program, environment, seconds)
    kept = case.kept.read_text(encoding="utf-8") if case.kept.exists() else ""
    if now == kept:
        return None
    return "".join(
        difflib.unified_diff(kept.splitlines(True), now.splitlines(True), f"{case.name}, kept", f"{case.name}, now")
    )


def on_pipe(case, command, keywords):
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, **keywords)
    return run.returncode, run.stdout, run.stderr


def on_terminal(case, command, keywords):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, case.columns, 0, 0))
    shown = []
    reader = threading.Thread(target=read_all, args=(ours, shown))  # a terminal holds a few KiB, then its writer waits
    reader.start()
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, **keywords)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    return run.returncode, b"".join(shown).replace(b"\r\n", b"\n"), run.stderr


def read_all(terminal, shown):
    """Until nobody holds its other end."""
    with contextlib.suppress(OSError):  # which Linux reports as an error
        while piece := os.read(terminal, 1 << 16):
            shown.append(piece)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def decoded(name, content):
    if name.endswith(".pftrace"):
        return perfetto_text(content)
    return report_text(content) if name.endswith(".html") else readable(content)


def readable(content):
    """Colours of a terminal as ␛[1m: a page of them must not colour the reader's."""
    return content.decode("utf-8", "backslashreplace").replace("\x1b", "␛")


def section(title, text):
    if not text:
        return f"\n-- {title}: nothing\n"
    return f"\n-- {title}\n{text}" + ("" if text.endswith("\n") else "\n(no newline at the end)\n")
