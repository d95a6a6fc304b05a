"""Runs ddpsim with changed command lines and files, and checks promises that hold for every input.

    python3 tests/fuzz/fuzz_commands.py build/quick/cli/ddpsim --seconds 1800 --seed 7
    python3 tests/fuzz/fuzz_commands.py build/quick/cli/ddpsim --only study,text --seconds 60
    python3 tests/fuzz/fuzz_commands.py build/quick/cli/ddpsim --seed 7 --case study:41      # repeats it, keeps its
    folder

A case takes a command of tests/golden/commands.txt and changes it in one way (`KINDS`). It runs in its own folder with
the files that the command names. Case N of a kind depends only on the seed. The checks are:

- ddpsim did not crash, and exited with 0, 2, 3 or 4. Exit code 1 needs a message that an output could not be written.
- Both streams are UTF-8, without overrides of the text direction, and without control characters except newline and
tab. - The output of `--json` is JSON. - Only files that the command line names as outputs are new or changed, and none
of them is an input. - If two outputs are the same file, the command was refused.

Exits with 1 if a check failed. Each kind of failure is printed once, with the command that repeats it. A command that
takes longer than `--timeout` is counted, but is not a failure, because other tests check limits of time."""

import argparse
import collections
import concurrent.futures
import dataclasses
import gzip
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "tests" / "golden" / "inputs"
FIXTURES = ROOT / "tests" / "fixtures"
TABLE = ROOT / "tests" / "golden" / "commands.txt"
COMMAND = re.compile(r"[a-z]+/[a-z0-9-]+(?: \(terminal of \d+ columns\))?: (.*)")

# Options that name an output file, with a valid ending.
OUTPUTS = {
    "--csv": ".csv",
    "--text": ".txt",
    "--timeline": ".json",
    "--report": ".html",
    "--plot": ".svg",
    "--plot-cost": ".svg",
    "--export": ".py",
    "--output": ".json",
    "-o": ".json",
}
CANNOT_WRITE = re.compile(
    r"cannot (write|be written|create|rename|open .* for writing)|No space left|could not be written"
)
TOKEN = re.compile(r"[^\s=@,]+")
JSON_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')

# Characters that control a terminal or hide text. All but the last three are UTF-8.
CONTROLS = [
    "\x1b]0;owned\x07",
    "\x1b[31mRED",
    "\r",
    "\0",
    "\x7f",
    "\x08\x08",
    "\u009b2J",
    "\u0085",
    "\u202eexe",
    "\u2066",
    "\u2028",
    "\u061c",
]
RAW = [text.encode() for text in CONTROLS] + [b"\xff\xfe", b"\xc2", b"\xed\xa0\x80"]
FORBIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

# Unusual values for options.
VALUES = [
    "",
    " ",
    "0",
    "-1",
    "1",
    "2",
    "8",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e-320",
    "0x10",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999",
    "1,,2",
    "1,2,3",
    ":",
    "=",
    "@",
    "-",
    "--",
    "%s%n",
    "a=b",
    "../../../../etc/passwd",
    "/dev/null",
    "/dev/full",
    "/",
    ".",
    "nowhere/at/all",
    "x" * 300,
    "x" * 5000,
    "é",
    "模型",
    "\udcff",
    "25",
    "104ms",
    "0.5",
    "10%",
    "40GB",
    "true",
    "none",
    "precious.txt",
    "${HOME}",
    "`id`",
]
OPTION_LIKE = [
    "--csv=precious.txt",
    "--output=precious.txt",
    "-o",
    "--report=precious.html",
    "--plot=precious.svg",
    "--timeline=precious.json",
    "--csv=../outside/precious.txt",
    "--csv",
    "--json",
    "--quiet",
    "--help",
    "--",
    "-",
    "--torch=1.13",
    "--plot-cost=precious.svg",
    "--export=precious.py",
    "-oprecious.txt",
    "--csv=.bashrc",
    "--nonsense",
    "@precious.txt",
    "--study=study.json",
]


@dataclasses.dataclass
class Case:
    """A command line that runs in the folder `job`. Next to it is the folder `outside`."""

    folder: pathlib.Path
    words: list
    draw: random.Random

    @property
    def job(self):
        return self.folder / "job"

    def files(self):
        """The input files in `job`, without links and files that must stay unchanged."""
        return sorted(
            path
            for path in self.job.rglob("*")
            if path.is_file() and not path.is_symlink() and not path.name.startswith(("precious", ".bashrc"))
        )

    def named(self):
        """The values of output options, and all other words."""
        outputs, others, words = [], [], iter(self.words)
        for word in words:
            option, _, value = word.partition("=")
            if option in OUTPUTS:
                outputs.append(value or next(words, ""))
            elif word.startswith("-o") and len(word) > 2:
                outputs.append(word[2:].removeprefix("="))
            else:
                others.append(word)
        return outputs, others

    def inputs(self):
        """The real paths of files that the command may read: files named by its words, or by a JSON file it names."""
        found, seen = set(), set()
        waiting = [
            token for word in self.named()[1] for token in (word, *TOKEN.findall(word), *re.split(r"[\s=@,:]+", word))
        ]
        while waiting:
            token = waiting.pop()
            if token in seen or not token or "\0" in token:
                continue
            seen.add(token)
            path = os.path.join(self.job, token)
            try:
                if os.path.isdir(path):
                    found |= (
                        {os.path.realpath(one) for one in pathlib.Path(path).rglob("*")}
                        if path.startswith(str(self.job)) and token not in (".", "/")
                        else set()
                    )
                elif os.path.isfile(path):
                    found.add(os.path.realpath(path))
                    if os.path.getsize(path) < 1 << 16 and len(seen) < 1000:
                        waiting += [
                            text.decode("utf-8", "surrogateescape")
                            for text in JSON_STRING.findall(pathlib.Path(path).read_bytes())
                            if b"\\" not in text
                        ]
            except OSError:
                pass
        return found

    def shown(self):
        return "ddpsim " + " ".join(
            shlex.quote(word) if word.isprintable() else "$" + repr(word) for word in self.words
        )


def commands():
    """The words of each command of the corpus."""
    found = [
        shlex.split(match[1])
        for match in map(COMMAND.fullmatch, TABLE.read_text(encoding="utf-8").splitlines())
        if match
    ]
    return [words for words in found if words and "--threads" not in words]


def lay_out(folder, words):
    """Creates the folder of a case with the files that the words name, and files that nothing may change."""
    job, outside = folder / "job", folder / "outside"
    job.mkdir(parents=True)
    outside.mkdir()
    for precious in (
        job / "precious.txt",
        job / "precious.html",
        job / "precious.svg",
        job / "precious.json",
        job / ".bashrc",
        outside / "precious.txt",
    ):
        precious.write_bytes(b"mine\n")
    (job / "dir").symlink_to(job)
    waiting, seen = [token for word in words for token in (word, *re.split(r"[\s=@,:]+", word))], set()
    while waiting:
        token = waiting.pop()
        if not token or token in seen or token.startswith(("/", ".")) or not re.fullmatch(r"[\w./-]+", token):
            continue
        seen.add(token)
        source = FIXTURES / token.removeprefix("fixtures/") if token.startswith("fixtures/") else INPUTS / token
        target = job / token
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            if source.suffix == ".json" and source.name.startswith(("study", "grid")):
                waiting += re.findall(r'"([\w./-]+)[^"]*"', source.read_text(encoding="utf-8"))


def state(folder):
    """Everything in the folder, by path."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[path] = ("link", os.readlink(path))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    found[path] = ("file", status.st_mode, status.st_size, hash(file.read()))
            else:
                found[path] = ("other", status.st_mode)
    return found


# Ways to change a case. Each changes words or files in place.


def changed_bytes(draw, content):
    content = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(content) + 1)
        what = draw.randrange(6)
        if what == 0 and content:
            content[at % len(content)] ^= 1 << draw.randrange(8)
        elif what == 1:
            content[at:at] = draw.choice(RAW)
        elif what == 2:
            del content[at : at + draw.choice((1, 4, 100))]
        elif what == 3:
            content[at:at] = content[at : at + draw.choice((1, 30, 1000))]
        elif what == 4:
            del content[at:]
        else:
            content[at:at] = draw.choice(
                (b"0", b"-", b"9" * 30, b"e999", b"null", b"[", b"}", b'"', b",", b"\n", b"\\")
            )
    return bytes(content)


def places_in(document):
    """Yields every container of a JSON document with each of its keys or indices."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield document, key
        yield from places_in(value)


def changed_structure(draw, content):
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return changed_bytes(draw, content)
    for _ in range(draw.choice((1, 1, 2, 4))):
        places = list(places_in(document))
        if not places:
            break
        holder, key = draw.choice(places)
        what = draw.randrange(6)
        if what == 0:
            del holder[key]
        elif what == 1:
            holder[key] = draw.choice(
                (None, True, -1, 0, 1.5, 1e308, float("nan"), 2**63, 10**30, "", "x", [], {}, [[]], "x" * 5000)
            )
        elif what == 2:
            holder[key] = [holder[key]] * draw.choice((1, 2, 50))
        elif what == 3:
            # Copies one part of the document over another.
            holder[key] = json.loads(json.dumps(draw.choice(places)[0]))
        elif what == 4 and isinstance(holder, dict):
            holder[draw.choice(("x", "schema", "", "name"))] = holder[key]
        elif isinstance(holder[key], (int, float)):
            holder[key] *= draw.choice((-1, 0, 1e-9, 1e6, 1e15))
        else:
            holder[key] = str(holder[key])[:1000]
    return json.dumps(document).encode()


def with_controls(draw, content):
    """Puts control characters into names and texts of a file. A JSON file stays valid JSON."""
    strings = (
        list(JSON_STRING.finditer(content))
        if content[:1] in b"{["
        else list(re.finditer(rb"[A-Za-z_][\w.-]+", content))
    )
    is_json = content[:1] in b"{["
    for found in sorted(
        draw.sample(strings, min(len(strings), draw.choice((1, 1, 2, 6)))), key=lambda one: -one.start()
    ):
        text = draw.choice(CONTROLS)
        begin, end = found.span(1) if is_json else found.span()
        at = draw.choice((begin, end))
        planted = json.dumps(text)[1:-1].encode() if is_json else draw.choice(RAW)
        if is_json and text > "\x7e" and draw.randrange(2):
            planted = text.encode()
        content = content[:at] + planted + content[at if draw.randrange(4) else end :]
    return content


def change_a_file(case, change):
    files = case.files()
    if not files:
        return
    path = case.draw.choice(files)
    content = path.read_bytes()
    zipped = content[:2] == b"\x1f\x8b" and case.draw.randrange(4)
    if zipped:
        content = gzip.decompress(content)
    content = change(case.draw, content)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if zipped else content)


def options_kind(case, corpus):
    """Removes or repeats words, or adds options of other commands and unusual values."""
    draw, words = case.draw, case.words
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(1, len(words) + 1)
        what = draw.randrange(6)
        other = draw.choice([one for one in corpus if one[0] == words[0]] if draw.randrange(4) else corpus)
        if what == 0 and at < len(words):
            del words[at]
        elif what == 1:
            words.insert(at, draw.choice(VALUES))
        elif what == 2 and at < len(words):
            words.insert(at, words[at])
        elif what == 3:
            begin = draw.randrange(len(other))
            words[at:at] = other[begin : begin + 2]
        elif what == 4 and at < len(words):
            words[at] = (
                words[at].partition("=")[0] + "=" + draw.choice(VALUES)
                if words[at].startswith("--")
                else draw.choice(VALUES)
            )
        else:
            option = draw.choice([word for one in corpus for word in one if word.startswith("--")])
            words += [option, draw.choice(VALUES)]


def words_kind(case, corpus):
    """Changes bytes of one word."""
    at = case.draw.randrange(len(case.words))
    content = changed_bytes(case.draw, os.fsencode(case.words[at]))
    case.words[at] = os.fsdecode(content.replace(b"\0", b""))[:10000]


def bytes_kind(case, corpus):
    change_a_file(case, changed_bytes)


def structure_kind(case, corpus):
    change_a_file(case, changed_structure)


def text_kind(case, corpus):
    """Puts control characters into a word, a file name or a file."""
    draw = case.draw
    what = draw.randrange(8)
    if what == 0:
        at = draw.randrange(1, len(case.words)) if case.words[1:] else 0
        planted = os.fsdecode(draw.choice(RAW).replace(b"\0", b"\x1b"))
        place = draw.randrange(len(case.words[at]) + 1)
        case.words[at] = case.words[at][:place] + planted + case.words[at][place:]
    elif what == 1:
        path = draw.choice(case.files() or [case.job / "precious.txt"])
        before = path.relative_to(case.job).as_posix()
        after = os.fsdecode(draw.choice(RAW).replace(b"\0", b"\x1b")) + path.name
        path.rename(path.with_name(after))
        case.words = [word.replace(before, os.path.join(os.path.dirname(before), after)) for word in case.words]
    else:
        change_a_file(case, with_controls)


def study_kind(case, corpus):
    """Puts words that look like options into a study, and options that a study cannot set."""
    draw = case.draw
    files = [file for file in case.files() if file.name.startswith(("study", "grid"))] or case.files()
    if not files:  # the study does not exist
        return
    path = draw.choice(files)
    try:
        document = json.loads(path.read_bytes())
    except ValueError:
        return
    for _ in range(draw.choice((1, 1, 2, 3))):
        word = draw.choice(OPTION_LIKE)
        what = draw.randrange(5)
        candidates = document.setdefault("candidates", []) if isinstance(document, dict) else []
        if what == 0 and isinstance(candidates, list):
            candidates.insert(draw.randrange(len(candidates) + 1), word)
        elif what == 1 and isinstance(candidates, list):
            candidates.append({"label": draw.choice((word, "x")), "cluster": draw.choice((word, "dgx1v"))})
        elif what == 2 and isinstance(document, dict):
            name, equals, value = word.lstrip("-").partition("=")
            options = document.setdefault("options", {})
            if isinstance(options, dict):
                options[draw.choice((name, f"--{name}", word))] = draw.choice((value or True, True, [value], word))
        else:
            places = [
                (holder, key) for holder, key in places_in(document) if isinstance(holder[key], str) and key != "schema"
            ]
            if places:
                holder, key = draw.choice(places)
                holder[key] = draw.choice(
                    (word, f"{holder[key]} {word}", f"{word} {holder[key]}", f"{holder[key]}={word}")
                )
    path.write_text(json.dumps(document))


def outputs_kind(case, corpus):
    """Makes outputs the same file as an input or as each other, through links and other spellings."""
    draw, job = case.draw, case.job
    known = sorted(
        {
            option
            for words in corpus
            if words[0] == case.words[0]
            for word in words
            for option in (word.partition("=")[0],)
            if option in OUTPUTS
        }
    )
    if not known:
        return
    files = case.files()
    target = draw.choice(files) if files and draw.randrange(4) else job / draw.choice(("precious.txt", "new"))
    names = []
    for number, option in enumerate(draw.sample(known, min(len(known), draw.choice((1, 1, 2))))):
        name = target.relative_to(job).as_posix()
        alias = f"alias{number}{OUTPUTS[option]}"
        what = draw.randrange(7)
        if what == 0:
            (job / alias).symlink_to(draw.choice((str(target), os.path.relpath(target, job))))
            name = alias
        elif what == 1 and target.exists():
            os.link(target, job / alias)
            name = alias
        elif what == 2:
            (job / f"step{number}").symlink_to(target)
            (job / alias).symlink_to(f"step{number}")
            name = alias
        elif what == 3:
            name = f"dir/{name}"
        elif what == 4:
            name = f"../job/./{name}"
        elif what == 5:
            name = str(target)
        names += [f"{option}={name}"] if draw.randrange(2) and option.startswith("--") else [option, name]
    case.words += names


KINDS = {
    "options": options_kind,
    "words": words_kind,
    "study": study_kind,
    "text": text_kind,
    "bytes": bytes_kind,
    "structure": structure_kind,
    "outputs": outputs_kind,
}


def has_study(words):
    return words[0] == "sweep" or "--study" in words


# Checks that apply to every command.


def complaints(case, before, run):
    """Yields for each failed check a short description and the bytes that show it."""
    if run.returncode not in (0, 1, 2, 3, 4):
        yield f"it exited with {run.returncode}", run.stderr
    if run.returncode == 1 and not CANNOT_WRITE.search(run.stderr.decode("utf-8", "replace")):
        yield "exit code 1 without a message about an output", run.stderr
    for name, stream in (("stdout", run.stdout), ("stderr", run.stderr)):
        found = FORBIDDEN.search(stream.decode("utf-8", "surrogateescape"))
        if found:
            yield (
                f"{name} has a character that must not reach a terminal",
                found[0].encode("utf-8", "surrogateescape") + b" in " + stream,
            )
    if (
        case.words[1:2] == ["--json"]
        and run.stdout
        and not {"--help", "--help-all", "-h", "--version"} & set(case.words)
    ):
        documents = run.stdout.split(b"\n") if case.words[0] == "sweep" else [run.stdout]
        try:
            for document in documents:
                if document:
                    json.loads(document)
        except (ValueError, RecursionError):
            yield "the output of --json is not JSON", run.stdout
    outputs = case.resolved_outputs
    after = state(case.folder)
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        shown = os.path.relpath(path, case.job)
        # A file of a folder that ddpsim left out, and said so, is no input.
        left_out = b"left out: " in run.stderr and os.path.basename(shown).encode() in run.stderr
        inputs = case.resolved_inputs
        if (os.path.realpath(path) in inputs or path in inputs) and not left_out:
            yield "an input was changed", shown.encode("utf-8", "surrogateescape")
        elif path not in outputs and os.path.realpath(path) not in outputs:
            yield (
                f"a file that is not an output was {'changed' if path in before else 'left behind'}",
                shown.encode("utf-8", "surrogateescape"),
            )
    if run.returncode in (0, 4) and len(case.output_names) != len(set(case.output_names)):
        yield "two outputs are one file, and the command accepted both", b""


def identity(path):
    """A value that is equal for two names of the same regular or missing file, and unique for anything else."""
    try:
        status = os.stat(path)
        return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else object()
    except (OSError, ValueError):
        return os.path.realpath(path) if "\0" not in path else object()


def ran(program, seed, kind, number, folder, corpus, timeout):
    """The case and its failed checks, or None instead of these if it took too long."""
    draw = random.Random(f"{seed}:{kind}:{number}")
    fitting = [words for words in corpus if has_study(words)] if kind == "study" else corpus
    case = Case(folder, list(draw.choice(fitting)), draw)
    lay_out(folder, case.words)
    if "--json" not in case.words and draw.randrange(3) == 0:
        case.words.insert(1, "--json")
    KINDS[kind](case, corpus)
    case.words = [word.replace("\0", "") for word in case.words]
    outputs, _ = case.named()
    paths = [os.path.join(case.job, output) for output in outputs if output]
    case.output_names = [identity(path) for path in paths]
    case.resolved_outputs = {name for path in paths for name in (path, os.path.normpath(path), os.path.realpath(path))}
    case.resolved_inputs = case.inputs()
    before = state(folder)
    try:
        run = subprocess.run(
            [program, *case.words],
            cwd=case.job,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
            env={
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(folder / "outside"),
                "LC_ALL": "C.UTF-8",
                "TMPDIR": str(folder / "outside"),
                **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")},
            },
        )
    except subprocess.TimeoutExpired:
        return case, None
    except (OSError, ValueError):  # impossible on a command line
        return case, []
    return case, list(complaints(case, before, run))


def legible(content):
    return ascii(content.decode("utf-8", "surrogateescape"))[1:-1][:600]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the ddpsim to test")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default=",".join(KINDS), metavar="KIND,…", help=f"kinds to run: {', '.join(KINDS)}")
    parser.add_argument("--case", metavar="KIND:N", help="run only this case, and keep its folder")
    parser.add_argument("--jobs", type=int, default=1, help="the number of commands to run at once")
    parser.add_argument("--timeout", type=float, default=10, help="the time limit of a command in seconds")
    parser.add_argument(
        "--without", metavar="TEXT", help='ignore failures whose description has this text, such as "terminal"'
    )
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    options = parser.parse_args()
    kinds = options.only.split(",")
    if not set(kinds) <= KINDS.keys():
        parser.error(f"--only takes a list of {', '.join(KINDS)}")
    sys.stdout.reconfigure(errors="backslashreplace")
    program, corpus = os.path.abspath(options.program), commands()
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    again = (
        f"python3 {os.path.relpath(__file__)} {shlex.quote(options.program)} --seed {shlex.quote(options.seed)} --case"
    )
    if options.case:
        kind, _, number = options.case.partition(":")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="ddpsim-fuzz-"))
        case, wrong = ran(program, options.seed, kind, int(number), folder / "case", corpus, options.timeout)
        print(f"cd {case.job}\n{case.shown()}")
        for what, shown in wrong or ():
            print(f"{what}: {legible(shown)}")
        return 1 if wrong else 0
    names = {words[0] for words in corpus}
    begin, done, slow, seen = time.monotonic(), collections.Counter(), [], set()

    def one(kind, number):
        with tempfile.TemporaryDirectory(prefix="ddpsim-fuzz-", dir=place) as name:
            return (
                kind,
                number,
                *ran(program, options.seed, kind, number, pathlib.Path(name) / "case", corpus, options.timeout),
            )

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running, number = set(), 0
        while (time.monotonic() - begin < options.seconds and not (options.first and seen)) or running:
            while (
                len(running) < options.jobs
                and time.monotonic() - begin < options.seconds
                and not (options.first and seen)
            ):
                running.add(pool.submit(one, kinds[number % len(kinds)], number // len(kinds)))
                number += 1
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for kind, index, case, wrong in (future.result() for future in ended):
                done[kind] += 1
                if wrong is None:
                    slow.append(f"{kind}:{index}")
                for what, shown in wrong or ():
                    command = case.words[0] if case.words[0] in names else "another word"
                    if (command, what) not in seen and not (options.without and options.without in what):
                        seen.add((command, what))
                        print(
                            f"after {time.monotonic() - begin:.1f} s, {command}: {what}\n  {case.shown()}\n  {legible(shown)}\n  {again} {kind}:{index}",
                            flush=True,
                        )
    spent = time.monotonic() - begin
    print(
        f"seed {options.seed}: {sum(done.values())} commands in {spent:.1f} s ({', '.join(f'{kind} {count}' for kind, count in sorted(done.items()))}); "
        f"{len(slow)} took longer than {options.timeout:g} s{': ' + ', '.join(slow[:10]) if slow else ''}; {len(seen)} kinds of failure"
    )
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
