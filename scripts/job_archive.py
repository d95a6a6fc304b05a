#!/usr/bin/env python3
"""What scripts/collect.sh and scripts/validate.sh send away (ddpsim.collect/1, docs/reference/formats.md): performance settings of the
environment by an allowlist, and an archive without names of users, hosts, files or addresses.

    job_archive.py environment
    job_archive.py pack FOLDER ARCHIVE [--hide PATH]... [--hide-workload]       what validate.sh measured

Hosts become node0, node1, …, so that it still shows which ranks share one. What is hidden is hidden in the archive alone: the
folder stays as it is. What is not text is left out: names in it cannot be replaced."""

import argparse
import dataclasses
import fnmatch
import getpass
import gzip
import io
import json
import os
import pathlib
import re
import secrets
import shlex
import socket
import stat
import sys
import tarfile
import unicodedata

SCHEMA = "ddpsim.collect/1"
# What validate.sh leaves behind: name → kind in the manifest.
VALIDATION = {
    "topology.txt": "note",
    "environment.txt": "note",
    "all_reduce_perf.txt": "all_reduce_log",
    "measured-0.csv": "note",
    "messages-0.txt": "nccl_log",
    "measured/measurement.json": "measurement",
    "measured/measurement.csv": "note",
    "measured/all_reduce.txt": "all_reduce_log",
    "measured/*.timeline.json": "note",
    "nccl-topology.xml": "topology",
    "calibrated.json": "note",
    "calibration.txt": "note",
    "errors.txt": "note",
}

NUMBER = r"-?\d+[KMGkmg]?(i?B)?"
NUMBERS = rf"{NUMBER}(,{NUMBER})*"
# Prefixes that kernels and drivers give; what an administrator made up is not shown, nor enx and a card's address.
INTERFACE = r"(eth|en[ops]|eno|ens|enp|ib|lo|docker|bond|hsn|br|veth|mlx\d+_|bnxt_re|cxi|efa|rdmap|irdma|hfi1_)[0-9a-f.spnfd]*(:\d+)?"
INTERFACES = rf"[\^=]*{INTERFACE}(,{INTERFACE})*"


def words(*known):
    one = "|".join(map(re.escape, known))
    return rf"(?i:\^?({one})([,:;]({one}|\d+))*)"


# Kinds of values that environment_variables.json names → what such a value looks like; it has a list of words instead where those
# are known.
KINDS = {
    "number": NUMBER,
    "numbers": NUMBERS,
    "number or switch": rf"{NUMBER}|(?i:true|false|on|off|yes|no)",
    "level": rf"(?i:LOC|NVL|PIX|PXB|PHB|SYS|NODE|{NUMBER})",
    "interfaces": INTERFACES,
    "cores": r"[\d\s,:-]+",
    "count": r"\d+(\(x\d+\))?(,\d+(\(x\d+\))?)*",  # of ranks or cores a node; Slurm writes "8(x2),4"
    "allocator options": r"[a-z_]+:[\w.\[\]>:]+(,[a-z_]+:[\w.\[\]>:]+)*",
    "hidden": "",  # a path or a name: that it is set is all that may be seen
}

# Words of the files themselves, and folders that everybody has. A user, a host or a folder of such a name tells nobody anything.
OWN_WORDS = set(
    """root user node host localhost rank ranks group device float half sum size count type time on all reduce in out of
    place name true false gpu cuda nccl gloo no ddpsim real measured measurement timeline step forward backward optimizer default
    linux and the ddpsim-validation home work tmp usr opt data src build release scripts local bin share mnt var runs scratch
    cluster workload model models main
    ph cat ts dur pid tid args id bp tests inputs traces trace log logs step steps rank0 events kernel stream device devices correlation
    external annotation runtime driver python function profiler aten torch autograd distributed backend nodes ranks schema parameters
    parameter shape dtype ready recorded recording collect collected given parts hardware topology versions environment pinning matrix
    job jobs train training ddp nvidia tesla ring tree info version channel via net socket ib p2p shm debug graph step_times optimizer
    shared memory grid block blocks warps occupancy registers stall overhead fwdbwd loss loader batch json xml csv txt gz user home run lab
    fsdp deepspeed megatron horovod cut off damaged copy again""".split()
)
PATH = r"""(?:(?<=^)|(?<=[\s"'=:,(\[`<]))(?!(?<=<)/[\w:.-]+>)(?:~[\w.-]*/|\.{0,2}/)(?![>\s])"""
OF_PATH = r"""[^\s"'<>,;:)\]`]"""
QUOTED_PATH = re.compile(r"""'(?=[^'\n]*/)[^'\n]*'|(?<=")(?:~[\w.-]*/|\.{0,2}/)(?![>\s])[^"\n]*(?=")""")
WHOLE_PATH = re.compile(r"^(?:~[\w.-]*|\.{0,2})/\S[^\n]*", re.MULTILINE)
# Where a function stands, as a profiler writes it: "FILE(12): function". A name with blanks has no other end.
FRAME = re.compile(r"^[^\n]*(?=\(\d+\): )", re.MULTILINE)
PYTHON_FILE = re.compile(
    r"""(?:^|(?<="))[^"\n\r]*\.py(?=\(\d+\))|(?<![^\s"'(\[<=,;])[^\s"'(\[<=,;]+\.py(?!\w)""", re.MULTILINE
)
# By these a reader knows who communicates (traces/src/scheme_names.cpp): shown as here, whatever stood around them.
FILES_OF_SCHEMES = ("deepspeed/runtime/engine.py", "megatron/core/distributed/_.py", "horovod/torch/_.py")
# All of a URL: its user, password, host, path and query may each name somebody.
URL = re.compile(r"""(?<![\w+.-])[A-Za-z][\w+.-]*://[^\s"'<>`]+""")
# "user@host.org", "user:password@host:5432/base", and what ssh takes: "user@host.org:folder/file".
MAIL = re.compile(
    r"""(?<![\w.+-])[\w.+-]+(?::[^\s"'<>@/]+@[\w.-]+|@(?:[\w-]+\.)+[A-Za-z]{2,}(?![\w-]))(?::[^\s"'<>,;)\]`]+|/[^\s"'<>,;)\]`]*)?"""
)
# "C:\\Users\\jane", "\\\\server\\share\\jane", each backslash once, or twice where a log escapes it. Between quotes a name may have blanks.
WINDOWS = r"""(?:(?<![A-Za-z0-9])[A-Za-z]:\\|(?<!\\)\\{2,4}[\w.$-]+\\)"""
WINDOWS_PATH = re.compile(rf"""(?<=["']){WINDOWS}[^"'\n]*(?=["'])|{WINDOWS}[^\s"'<>,;)\]`]*""")
WHOLE_WINDOWS_PATH = re.compile(rf"^{WINDOWS}[^\n]*", re.MULTILINE)
UUID = re.compile(
    r"(?<![\w-])(?:(?:MIG-)?(?:GPU-)?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|(?:GPU|MIG)-[0-9A-Fa-f][0-9A-Fa-f-]{7,})(?:/\d+/\d+)?(?![\w-])"
)
IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
MAC = re.compile(
    r"(?<![\w:])(?:[0-9A-Fa-f]{2}[:-]){5,7}[0-9A-Fa-f]{2}(?![\w:])|(?<=\benx)[0-9a-f]{12}\b"
)  # or a serial number, as lspci has it
HEX = "[0-9A-Fa-f]{1,4}"
# Of four groups or more, or shortened: what has fewer is a time of day or a bus.
IPV6 = re.compile(
    rf"(?<![\w:.])(?:(?:{HEX}:){{3,7}}{HEX}|(?:{HEX}(?::{HEX})*)?::(?:{HEX}(?::{HEX})*)|{HEX}(?::{HEX})*::)(?![\w:])"
)
IDENTITY = re.compile(r'\b(host_hash|guid)="([^"]*)"')
MOST_REMEMBERED = 1 << 17  # texts of a trace
SCHEMA_NAME = re.compile(r"ddpsim\.[a-z_]+/\d+")
JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')


def variables():
    """Name of a variable that changes speed → the values it may be shown with."""
    table = pathlib.Path(__file__).resolve().with_name("environment_variables.json")
    groups = json.loads(table.read_text(encoding="utf-8"))["groups"]
    kinds = {row["name"]: row["values"] for group in groups for row in group["variables"]}
    return {name: words(*kind) if isinstance(kind, list) else KINDS[kind] for name, kind in kinds.items()}


def environment():
    known = variables()
    for name in sorted(known.keys() & os.environ.keys()):
        value = os.environ[name]
        shown = value if re.fullmatch(known[name], value) else "<path>" if "/" in value else "<hidden>"
        print(f"{name}={shown}")


def decoded(written):
    """The text that stands for in JSON, between the quotes; None where an escape in it is none."""
    if "\\" not in written:
        return written
    try:
        return json.loads(f'"{written}"', strict=False)
    except ValueError:
        return None


def legible(text):
    """The text as a terminal may show it: control characters, overrides of direction and bytes that are no UTF-8 are written as
    escapes."""
    return "".join(
        one
        if unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else one.encode("unicode_escape", "backslashreplace").decode()
        for one in text
    )


class Redactor:
    """Counts what it replaces."""

    def __init__(self, hosts, people, places=()):
        """Names of hosts and of people are known in any case, those of folders as they are spelled."""
        self.count = 0
        self.names = {}
        for index, host in enumerate(dict.fromkeys(hosts)):
            for name in {host, host.split(".")[0]}:
                self.names.setdefault(name, f"node{index}")
            if "." in host:
                self.names.setdefault(host.split(".", 1)[1], "<domain>")
        self.as_spelled = frozenset(places) - {*self.names, *people}
        for word in [*people, *places]:
            self.names.setdefault(word, "<hidden>")
        self.names = {name: shown for name, shown in self.names.items() if name and name.lower() not in OWN_WORDS}
        self.identities = {}
        self.folders = (
            frozenset()
        )  # those of the names that are folders': keys of a document are of its format, and stay
        self.shown_before = {}
        self.know()

    def also(self, name, shown):
        """Another name of a host."""
        for one in {name, name.split(".")[0]}:
            if one and one.lower() not in OWN_WORDS:
                self.names.setdefault(one, shown)
        if "." in name:
            self.names.setdefault(name.split(".", 1)[1], "<domain>")
        self.know()

    def know(self):
        known = sorted(self.names, key=len, reverse=True)
        words = "|".join(re.escape(name) if name in self.as_spelled else f"(?i:{re.escape(name)})" for name in known)
        self.known = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])") if known else None
        self.in_any_case = {name.lower(): shown for name, shown in self.names.items() if name not in self.as_spelled}
        within = [
            re.escape(name) for name in known if not re.fullmatch(f"{OF_PATH}+", name)
        ]  # a path goes on behind the blank of one
        self.path = re.compile(PATH + f"(?:{'|'.join([*within, OF_PATH])})+", re.MULTILINE)

    def put(self, pattern, text, shown):
        def replace(match):
            new = shown(match) if callable(shown) else shown
            self.count += new != match[0]
            return new

        return pattern.sub(replace, text)

    def plain(self, text, but=frozenset()):
        """`but`: names that are left as they are."""
        if "://" in text:
            text = self.put(URL, text, "<address>")
        if "\\" in text:
            text = self.put(WINDOWS_PATH, text, "<path>")
        if ".py" in text:
            text = self.put(PYTHON_FILE, text, self.python_file)
        text = self.put(QUOTED_PATH, text, lambda found: "'<path>'" if found[0][0] == "'" else "<path>")
        text = self.put(self.path, text, "<path>")
        if "@" in text:
            text = self.put(MAIL, text, "<address>")
        text = self.put(UUID, text, "<hidden>")
        text = self.put(IPV4, text, "<address>")
        text = self.put(MAC, text, "<address>")
        text = self.put(IPV6, text, "<address>")
        text = self.put(IDENTITY, text, lambda found: f'{found[1]}="{self.identity(found[2])}"')
        if not self.known:
            return text
        return self.put(self.known, text, lambda found: found[0] if found[0] in but else self.shown_for(found[0]))

    def shown_for(self, name):
        """What stands for a name that `known` found."""
        return self.names.get(name) or self.in_any_case[name.lower()]

    @staticmethod
    def python_file(found):
        if found[0] == "ddpsim_recorder.py":  # what recorded it
            return found[0]
        return next((file for file in FILES_OF_SCHEMES if file.removesuffix("_.py") in found[0]), "<path>")

    def identity(self, value):
        """Which are the same stays to be seen, as NCCL writes them."""
        return self.identities.setdefault(value, f"{len(self.identities) + 1:#x}")

    def command(self, text):
        """A path may be any word of it that is no option: a folder needs no slash."""
        try:
            parts = shlex.split(text)
        except ValueError:
            return "<hidden>"
        shown, names_a_file = [], False
        for part in parts:
            file = names_a_file or "/" in part or part.endswith((".json", ".gz", ".csv"))
            names_a_file = part in ("-o", "--output")
            self.count += file
            shown.append("<path>" if file else part)
        return self.plain(" ".join(shown))

    def json_text(self, written, but=frozenset()):
        """What stands between the quotes."""
        text = decoded(written)
        if text is None:
            self.count += 1
            return "<hidden>"
        shown = text
        if "): " in text:
            shown = self.put(FRAME, text, self.python_file)
        if "/" in shown:
            shown = self.put(WHOLE_PATH, shown, "<path>")
        if "\\" in shown:
            shown = self.put(WHOLE_WINDOWS_PATH, shown, "<path>")
        shown = self.plain(shown, but)
        return written if shown == text else shown if text is written else json.dumps(shown)[1:-1]

    def remembered(self, written, but=frozenset()):
        """As json_text: traces repeat themselves."""
        before, known = self.count, self.shown_before.get((written, but))
        if known is None:
            shown = self.json_text(written, but)
            if len(self.shown_before) < MOST_REMEMBERED:
                self.shown_before[written, but] = (shown, self.count - before)
            return shown
        self.count += known[1]
        return known[0]

    def json(self, text):
        """The layout stays."""
        key = ""

        def value(match):
            nonlocal key
            if match[2]:
                key = match[1]
                return '"' + self.remembered(key, self.folders) + '"' + match[2] if len(key) > 1 else match[0]
            if key == "schema" and SCHEMA_NAME.fullmatch(match[1]):
                return match[0]
            if key == "command":
                text = decoded(match[1])
                if text is None:
                    self.count += 1
                return '"<hidden>"' if text is None else json.dumps(self.command(text))
            return '"' + self.remembered(match[1]) + '"'

        return JSON_TEXT.sub(value, text)

    def devices(self, text):
        """Places in sysfs are the machine's own: of "/sys/…: value" only names that are known are hidden."""
        lines = text.split("\n")
        for index, line in enumerate(lines):
            path, colon, value = line.partition(": ")
            if not path.startswith("/sys/"):
                path = self.plain(path)
            elif self.known:
                path = self.put(self.known, path, lambda found: self.shown_for(found[0]))
            lines[index] = path + colon + self.plain(value)
        return "\n".join(lines)

    def settings(self, text):
        """Lines of "NAME=value", of which the names are the format's own."""
        lines = text.split("\n")
        for index, line in enumerate(lines):
            name, equals, value = line.partition("=")
            lines[index] = name + equals + self.plain(value) if equals else self.plain(line)
        return "\n".join(lines)

    def file(self, name, text):
        if name.endswith(".json"):
            return self.json(text)
        lines = text.split("\n")
        for index, line in enumerate(lines):
            start = "# command: "
            lines[index] = start + self.command(line[len(start) :]) if line.startswith(start) else self.plain(line)
        return "\n".join(lines)


def setup_of(folder):
    """Which hosts and which workload a measurement is of: texts, empty where it does not say."""
    measurement = folder / "measured" / "measurement.json"
    try:
        setup = json.loads(measurement.read_text(encoding="utf-8"))["setup"] if measurement.is_file() else {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        sys.exit(
            f"validate: {legible(str(measurement))} is not what ddpsim-real writes. Measure again, into an empty folder (-o FOLDER)"
        )
    setup = setup if isinstance(setup, dict) else {}
    return {key: setup[key] if isinstance(setup.get(key), str) else "" for key in ("hosts", "workload")}


def users():
    names = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    try:
        names.append(getpass.getuser())
    except (KeyError, OSError):  # a user without a name
        pass
    return names


def folders(paths):
    """Of whatever is said of files: relative names show them, too."""
    parts = {part for path in paths for part in pathlib.PurePath(path).parts}
    return {name for part in parts for name in (part, part.split(".")[0]) if len(name) > 2}


@dataclasses.dataclass
class Member:
    """A file of the archive: its kind as the manifest names it, and of which rank or node it is, where it is of one."""

    path: str
    kind: str
    content: bytes
    rank: int = None
    node: int = None
    replaced: int = 0
    key: str = ""  # of step times: KEY or KEY=UNIT, as stated

    def entry(self):
        owner = {key: value for key, value in (("rank", self.rank), ("node", self.node)) if value is not None}
        return {"path": self.path, "kind": self.kind, **owner, **({"key": self.key} if self.key else {})}


def is_text(content):
    return b"\0" not in content


def redacted(redactor, member):
    """The member with names replaced; compressed where its path says so."""
    text = member.content.decode("utf-8", errors="replace")
    before = redactor.count
    read = {
        "devices": redactor.devices,
        **dict.fromkeys(("environment", "versions", "pinning"), redactor.settings),
    }.get(member.kind)
    shown = (read(text) if read else redactor.file(member.path.removesuffix(".gz"), text)).encode()
    member.key = redactor.plain(
        member.key, redactor.folders if member.path.endswith(".json") else frozenset()
    )  # as it stands in the file
    member.content = gzip.compress(shown, 6, mtime=0) if member.path.endswith(".gz") else shown
    member.replaced = redactor.count - before
    return member


def write_archive(who, top, archive, document, members, left_out, not_found=(), inputs=()):
    """The list first, then the archive: beside its place, and renamed when it is whole. `inputs`: files it must not replace."""
    if archive.exists() and any(os.path.exists(file) and os.path.samefile(file, archive) for file in inputs):
        sys.exit(f"{who}: {legible(str(archive))} is an input, too. Name another folder: -o FOLDER")
    manifest = (
        json.dumps({"schema": SCHEMA, **document, "members": [member.entry() for member in members]}, indent=1) + "\n"
    )
    files = [Member("manifest.json", "", manifest.encode()), *members]
    print(f"{who}: {legible(str(archive))} will hold, with names of users, hosts and files and addresses replaced:")
    for member in files:
        print(f"  {top}/{legible(member.path):<36} {len(member.content):>9} bytes, {member.replaced} replaced")
    for name in left_out:
        print(f"  left out: {legible(name)}")
    for gap in not_found:
        print(f"  not found: {legible(gap)}")
    sys.stdout.flush()
    partial = None
    try:
        place = archive.resolve()  # what a link leads to is replaced, not the link
        directly = place.exists() and not place.is_file()  # a device or a pipe
        if not directly:  # a name that nobody can foresee, and plant a link at
            partial = place.with_name(f".ddpsim-{secrets.token_hex(8)}")
        with open(place if directly else partial, "wb" if directly else "xb") as bare, gzip.GzipFile(
            "", "wb", fileobj=bare, mtime=0
        ) as zipped, tarfile.open(fileobj=zipped, mode="w") as out:
            for member in files:
                entry = tarfile.TarInfo(f"{top}/{member.path}")  # no owner, no date
                entry.size = len(member.content)
                out.addfile(entry, io.BytesIO(member.content))
        if not directly:
            if place.exists():
                partial.chmod(stat.S_IMODE(place.stat().st_mode))
            partial.replace(place)
    except BaseException as error:
        if partial is not None:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            sys.exit(f"{who}: cannot write {legible(str(archive))}: {error.strerror}")
        raise


def kind_of_measured(folder, name):
    """Of what validate.sh left; None: nothing of it."""
    kind = next((kind for wanted, kind in VALIDATION.items() if fnmatch.fnmatchcase(name, wanted)), None)
    if name == "topology.txt" and "GPU0" in (folder / name).read_text(encoding="utf-8", errors="replace"):
        return "matrix"
    perf = folder / "all_reduce_perf.txt"
    better = perf.is_file() and perf.stat().st_size > 0
    if (name == "measured/all_reduce.txt" and better) or (name == "all_reduce_perf.txt" and not better):
        return "note"  # one way of measuring it is enough
    return kind


def pack(folder, archive, paths, hide_workload):
    setup = setup_of(folder)
    of_ranks = setup["hosts"].split()
    hosts = [*of_ranks, socket.gethostname(), socket.getfqdn()]  # of all ranks, and this one's
    places = folders([*paths, folder.resolve(), os.getcwd(), pathlib.Path.home()])
    redactor = Redactor(hosts, users(), [*places, setup["workload"]] if hide_workload else places)
    members, left_out = [], []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        kind = kind_of_measured(folder, name)
        if kind is None:
            left_out.append(name)
            continue
        node = 0 if kind in ("topology", "matrix") else None
        members.append(redacted(redactor, Member(name, kind, path.read_bytes(), node=node)))
    document = {"ranks": max(len(of_ranks), 1), "nodes": max(len(set(of_ranks)), 1)}
    write_archive("validate", "ddpsim-validation", archive, document, members, left_out, inputs=paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("environment")
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=pathlib.Path)
    packing.add_argument("archive", type=pathlib.Path)
    packing.add_argument("--hide", action="append", default=[], metavar="PATH", help="none of its parts is to be seen")
    packing.add_argument("--hide-workload", action="store_true", help="nor the workload's name")
    arguments = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    if arguments.command == "environment":
        environment()
    else:
        pack(arguments.folder, arguments.archive, arguments.hide, arguments.hide_workload)


if __name__ == "__main__":
    main()
