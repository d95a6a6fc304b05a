#!/usr/bin/env python3
"""Makes the archives of scripts/collect.sh and scripts/validate.sh, which can be given away (ddpsim.collect/1).

    job_archive.py environment                                                  prints settings that affect performance
    job_archive.py pack FOLDER ARCHIVE [--hide PATH]... [--hide-workload]       packs the results of validate.sh

Settings of the environment come from an allowlist. An archive has no names of users, hosts or files, and no addresses.
Hosts become node0, node1, …, so that it still shows which ranks share a host. Only the archive is redacted, not the
folder. Binary files are left out, because names in them cannot be replaced. The format: docs/reference/formats.md."""

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
# For each file that validate.sh writes, its kind in the manifest.
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
# Network interfaces with a prefix that kernels and drivers give. Others are hidden: names by an administrator, and enx
# with the address of a card.
INTERFACE = r"(eth|en[ops]|eno|ens|enp|ib|lo|docker|bond|hsn|br|veth|mlx\d+_|bnxt_re|cxi|efa|rdmap|irdma|hfi1_)[0-9a-f.spnfd]*(:\d+)?"
INTERFACES = rf"[\^=]*{INTERFACE}(,{INTERFACE})*"


def words(*known):
    one = "|".join(map(re.escape, known))
    return rf"(?i:\^?({one})([,:;]({one}|\d+))*)"


# For each kind of value in environment_variables.json, a pattern of the values that may be shown. Variables whose words
# are known have a list of them there instead.
KINDS = {
    "number": NUMBER,
    "numbers": NUMBERS,
    "number or switch": rf"{NUMBER}|(?i:true|false|on|off|yes|no)",
    "level": rf"(?i:LOC|NVL|PIX|PXB|PHB|SYS|NODE|{NUMBER})",
    "interfaces": INTERFACES,
    "cores": r"[\d\s,:-]+",
    # Ranks or cores of each node. Slurm writes "8(x2),4".
    "count": r"\d+(\(x\d+\))?(,\d+(\(x\d+\))?)*",
    "allocator options": r"[a-z_]+:[\w.\[\]>:]+(,[a-z_]+:[\w.\[\]>:]+)*",
    # A path or a name: the archive only shows that the variable is set.
    "hidden": "",
}

# Words that are never hidden: those of the file formats, and common names of folders. If a user, a host or a folder
# has one of these names, the name identifies nobody.
OWN_WORDS = set(
    """root user node host localhost rank ranks group device float half sum size count type time on all reduce in out of
    place name true false gpu cuda nccl gloo no ddpsim real measured measurement timeline step forward backward
    optimizer default linux and the ddpsim-validation home work tmp usr opt data src build release scripts local bin
    share mnt var runs scratch cluster workload model models main ph cat ts dur pid tid args id bp tests inputs traces
    trace log logs step steps rank0 events kernel stream device devices correlation external annotation runtime driver
    python function profiler aten torch autograd distributed backend nodes ranks schema parameters parameter shape dtype
    ready recorded recording collect collected given parts hardware topology versions environment pinning matrix job
    jobs train training ddp nvidia tesla ring tree info version channel via net socket ib p2p shm debug graph step_times
    optimizer shared memory grid block blocks warps occupancy registers stall overhead fwdbwd loss loader batch json xml
    csv txt gz user home run lab fsdp deepspeed megatron horovod cut off damaged copy again""".split()
)
PATH = r"""(?:(?<=^)|(?<=[\s"'=:,(\[`<]))(?!(?<=<)/[\w:.-]+>)(?:~[\w.-]*/|\.{0,2}/)(?![>\s])"""
OF_PATH = r"""[^\s"'<>,;:)\]`]"""
QUOTED_PATH = re.compile(r"""'(?=[^'\n]*/)[^'\n]*'|(?<=")(?:~[\w.-]*/|\.{0,2}/)(?![>\s])[^"\n]*(?=")""")
WHOLE_PATH = re.compile(r"^(?:~[\w.-]*|\.{0,2})/\S[^\n]*", re.MULTILINE)
# The file in a profiler's name of a function: "FILE(12): function". It may contain blanks, so it ends only at the
# bracket.
FRAME = re.compile(r"^[^\n]*(?=\(\d+\): )", re.MULTILINE)
PYTHON_FILE = re.compile(
    r"""(?:^|(?<="))[^"\n\r]*\.py(?=\(\d+\))|(?<![^\s"'(\[<=,;])[^\s"'(\[<=,;]+\.py(?!\w)""", re.MULTILINE
)
# The importer recognises frameworks by these files (traces/src/scheme_names.cpp). They are shown as written here,
# without the rest of their path.
FILES_OF_SCHEMES = ("deepspeed/runtime/engine.py", "megatron/core/distributed/_.py", "horovod/torch/_.py")
# A whole URL is hidden: its user, password, host, path and query may each identify somebody.
URL = re.compile(r"""(?<![\w+.-])[A-Za-z][\w+.-]*://[^\s"'<>`]+""")
# "user@host.org", "user:password@host:5432/base", and the form for ssh: "user@host.org:folder/file".
MAIL = re.compile(
    r"""(?<![\w.+-])[\w.+-]+(?::[^\s"'<>@/]+@[\w.-]+|@(?:[\w-]+\.)+[A-Za-z]{2,}(?![\w-]))(?::[^\s"'<>,;)\]`]+|/[^\s"'<>,;)\]`]*)?"""
)
# "C:\\Users\\jane", "\\\\server\\share\\jane", with single backslashes, or double ones if a log escapes them. In
# quotes, names may have blanks.
WINDOWS = r"""(?:(?<![A-Za-z0-9])[A-Za-z]:\\|(?<!\\)\\{2,4}[\w.$-]+\\)"""
WINDOWS_PATH = re.compile(rf"""(?<=["']){WINDOWS}[^"'\n]*(?=["'])|{WINDOWS}[^\s"'<>,;)\]`]*""")
WHOLE_WINDOWS_PATH = re.compile(rf"^{WINDOWS}[^\n]*", re.MULTILINE)
UUID = re.compile(
    r"(?<![\w-])(?:(?:MIG-)?(?:GPU-)?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|(?:GPU|MIG)-[0-9A-Fa-f][0-9A-Fa-f-]{7,})(?:/\d+/\d+)?(?![\w-])"
)
IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
# A MAC address, or a serial number as lspci prints it.
MAC = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}[:-]){5,7}[0-9A-Fa-f]{2}(?![\w:])|(?<=\benx)[0-9a-f]{12}\b")
HEX = "[0-9A-Fa-f]{1,4}"
# An IPv6 address has four groups or more, or "::". Fewer groups are a time of day or a bus.
IPV6 = re.compile(
    rf"(?<![\w:.])(?:(?:{HEX}:){{3,7}}{HEX}|(?:{HEX}(?::{HEX})*)?::(?:{HEX}(?::{HEX})*)|{HEX}(?::{HEX})*::)(?![\w:])"
)
IDENTITY = re.compile(r'\b(host_hash|guid)="([^"]*)"')
MOST_REMEMBERED = 1 << 17  # redacted texts of a trace
SCHEMA_NAME = re.compile(r"ddpsim\.[a-z_]+/\d+")
JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')


def variables():
    """For each variable that affects performance, a pattern of the values that may be shown."""
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
    """The text of a JSON string that is given without its quotes; None if an escape in it is invalid."""
    if "\\" not in written:
        return written
    try:
        return json.loads(f'"{written}"', strict=False)
    except ValueError:
        return None


def legible(text):
    """The text in a form that is safe on a terminal: control characters, direction overrides and invalid UTF-8 are
    escaped."""
    return "".join(
        one
        if unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else one.encode("unicode_escape", "backslashreplace").decode()
        for one in text
    )


class Redactor:
    """Replaces names, paths and addresses in text. `count` is the number of replacements so far."""

    def __init__(self, hosts, people, places=()):
        """Names of hosts and people match in any letter case; names of folders (`places`) only as spelled."""
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
        # Names of folders. They stay in the keys of a document, which belong to its format.
        self.folders = frozenset()
        self.shown_before = {}
        self.know()

    def also(self, name, shown):
        """Adds another name of a host, which becomes `shown`."""
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
        # Known names with a blank: a path continues after that blank.
        within = [re.escape(name) for name in known if not re.fullmatch(f"{OF_PATH}+", name)]
        self.path = re.compile(PATH + f"(?:{'|'.join([*within, OF_PATH])})+", re.MULTILINE)

    def put(self, pattern, text, shown):
        def replace(match):
            new = shown(match) if callable(shown) else shown
            self.count += new != match[0]
            return new

        return pattern.sub(replace, text)

    def plain(self, text, but=frozenset()):
        """Redacts plain text. The names `but` stay as they are."""
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
        """The replacement of a name that `known` found."""
        return self.names.get(name) or self.in_any_case[name.lower()]

    @staticmethod
    def python_file(found):
        if found[0] == "ddpsim_recorder.py":  # our own recorder
            return found[0]
        return next((file for file in FILES_OF_SCHEMES if file.removesuffix("_.py") in found[0]), "<path>")

    def identity(self, value):
        """A number for an identity in NCCL's topology. Equal identities stay equal."""
        return self.identities.setdefault(value, f"{len(self.identities) + 1:#x}")

    def command(self, text):
        """Redacts a command line. Words with a slash or a file's suffix count as paths, and so does the word after
        -o."""
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
        """Redacts a JSON string that is given without its quotes."""
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
        """The result of json_text, from a cache if possible, because traces repeat their texts."""
        before, known = self.count, self.shown_before.get((written, but))
        if known is None:
            shown = self.json_text(written, but)
            if len(self.shown_before) < MOST_REMEMBERED:
                self.shown_before[written, but] = (shown, self.count - before)
            return shown
        self.count += known[1]
        return known[0]

    def json(self, text):
        """Redacts a JSON document and keeps its layout."""
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
        """Redacts a list of devices. In lines "/sys/…: value" paths stay, except for known names in them."""
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
        """Redacts the values in lines "NAME=value". The names stay, because they belong to the format."""
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
    """The hosts and the workload of a measurement, each as a text; empty if it does not say."""
    measurement = folder / "measured" / "measurement.json"
    try:
        setup = json.loads(measurement.read_text(encoding="utf-8"))["setup"] if measurement.is_file() else {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        sys.exit(
            f"validate: {legible(str(measurement))} is not a measurement of ddpsim-real. "
            "Measure again into an empty folder (-o FOLDER)"
        )
    setup = setup if isinstance(setup, dict) else {}
    return {key: setup[key] if isinstance(setup.get(key), str) else "" for key in ("hosts", "workload")}


def users():
    names = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    try:
        names.append(getpass.getuser())
    except (KeyError, OSError):  # the user has no name
        pass
    return names


def folders(paths):
    """All names of folders and files in `paths`. Relative paths elsewhere may show them alone."""
    parts = {part for path in paths for part in pathlib.PurePath(path).parts}
    return {name for part in parts for name in (part, part.split(".")[0]) if len(name) > 2}


@dataclasses.dataclass
class Member:
    """A file of the archive: its kind in the manifest, and its rank or node if it belongs to one.

    `key`, for step times: KEY or KEY=UNIT as given.
    """

    path: str
    kind: str
    content: bytes
    rank: int = None
    node: int = None
    replaced: int = 0
    key: str = ""

    def entry(self):
        owner = {key: value for key, value in (("rank", self.rank), ("node", self.node)) if value is not None}
        return {"path": self.path, "kind": self.kind, **owner, **({"key": self.key} if self.key else {})}


def is_text(content):
    return b"\0" not in content


def redacted(redactor, member):
    """The member with names replaced. It is compressed if its path ends in .gz."""
    text = member.content.decode("utf-8", errors="replace")
    before = redactor.count
    read = {
        "devices": redactor.devices,
        **dict.fromkeys(("environment", "versions", "pinning"), redactor.settings),
    }.get(member.kind)
    shown = (read(text) if read else redactor.file(member.path.removesuffix(".gz"), text)).encode()
    # Redact the key as the file was redacted: keys of JSON keep names of folders.
    member.key = redactor.plain(member.key, redactor.folders if member.path.endswith(".json") else frozenset())
    member.content = gzip.compress(shown, 6, mtime=0) if member.path.endswith(".gz") else shown
    member.replaced = redactor.count - before
    return member


def write_archive(who, top, archive, document, members, left_out, not_found=(), inputs=()):
    """Prints the list of files, then writes the archive to a temporary name and renames it when it is complete.

    `inputs`: files that the archive must not replace.
    """
    if archive.exists() and any(os.path.exists(file) and os.path.samefile(file, archive) for file in inputs):
        sys.exit(f"{who}: {legible(str(archive))} is also an input. Name another folder with -o FOLDER")
    manifest = (
        json.dumps({"schema": SCHEMA, **document, "members": [member.entry() for member in members]}, indent=1) + "\n"
    )
    files = [Member("manifest.json", "", manifest.encode()), *members]
    print(f"{who}: names of users, hosts and files, and addresses are replaced. {legible(str(archive))} will hold:")
    for member in files:
        print(f"  {top}/{legible(member.path):<36} {len(member.content):>9} bytes, {member.replaced} replaced")
    for name in left_out:
        print(f"  left out: {legible(name)}")
    for gap in not_found:
        print(f"  not found: {legible(gap)}")
    sys.stdout.flush()
    partial = None
    try:
        place = archive.resolve()  # replace the target, not the link
        directly = place.exists() and not place.is_file()  # a device or a pipe
        if not directly:
            # The name is random, so that nobody can plant a link there.
            partial = place.with_name(f".ddpsim-{secrets.token_hex(8)}")
        with open(place if directly else partial, "wb" if directly else "xb") as bare, gzip.GzipFile(
            "", "wb", fileobj=bare, mtime=0
        ) as zipped, tarfile.open(fileobj=zipped, mode="w") as out:
            for member in files:
                entry = tarfile.TarInfo(f"{top}/{member.path}")  # without owner and date
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
    """The kind of a file in the folder of validate.sh; None for files that it did not write."""
    kind = next((kind for wanted, kind in VALIDATION.items() if fnmatch.fnmatchcase(name, wanted)), None)
    if name == "topology.txt" and "GPU0" in (folder / name).read_text(encoding="utf-8", errors="replace"):
        return "matrix"
    perf = folder / "all_reduce_perf.txt"
    better = perf.is_file() and perf.stat().st_size > 0
    if (name == "measured/all_reduce.txt" and better) or (name == "all_reduce_perf.txt" and not better):
        return "note"  # the other log is used
    return kind


def pack(folder, archive, paths, hide_workload):
    setup = setup_of(folder)
    of_ranks = setup["hosts"].split()
    hosts = [*of_ranks, socket.gethostname(), socket.getfqdn()]  # of all ranks and of this one
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
    packing.add_argument("--hide", action="append", default=[], metavar="PATH", help="hide all names in this path")
    packing.add_argument("--hide-workload", action="store_true", help="also hide the name of the workload")
    arguments = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    if arguments.command == "environment":
        environment()
    else:
        pack(arguments.folder, arguments.archive, arguments.hide, arguments.hide_workload)


if __name__ == "__main__":
    main()
