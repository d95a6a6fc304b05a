#!/usr/bin/env python3
"""Packs the files that ranks left for scripts/collect.sh, and the files that its options name, into one archive.

    collected_parts.py PARTS ARCHIVE [--ranks N] [--step-time TIME] …

Each rank leaves a folder rankN in PARTS. Its file `host` has host names, user and folders, and is never packed. The
other files have the names in the tables below; `missing.txt` has lines of "kind<TAB>reason". Each collect.sh that runs
a command leaves such a folder, too, named launcherN. It describes its node. It also describes rank N if it started only
that rank, on its own host."""

import argparse
import glob
import gzip
import io
import itertools
import math
import os
import pathlib
import re
import statistics
import sys
import zlib

import job_archive
from job_archive import Member, legible

# For each file in a rank's folder its kind and its path in the archive. OF_NODE has the files that describe the rank's
# node.
OF_RANK = {
    "trace.json": ("trace", "traces/rank{}.json.gz"),
    "ddp.json": ("ddp_log", "ddp/rank{}.json"),
    "nccl.txt": ("nccl_log", "nccl/rank{}.txt"),
    "environment.txt": ("environment", "environment/rank{}.txt"),
    "versions.txt": ("versions", "versions/rank{}.txt"),
    "pinning.txt": ("pinning", "pinning/rank{}.txt"),
    "step_times.csv": ("step_times", "step_times/rank{}.csv"),
}
OF_NODE = {
    "gpus.csv": ("gpus", "hardware/node{}-gpus.csv"),
    "devices.txt": ("devices", "hardware/node{}-devices.txt"),
    "lspci.txt": ("lspci", "hardware/node{}-lspci.txt"),
    "topology.xml": ("topology", "topology/node{}.xml"),
    "matrix.txt": ("matrix", "topology/node{}-matrix.txt"),
    "all_reduce.txt": ("all_reduce_log", "all_reduce/node{}.txt"),
}
ALWAYS = ("trace", "ddp_log", "nccl_log", "topology", "matrix", "gpus", "devices", "all_reduce_log", "step_times")
WHY = {
    "topology": "NCCL wrote none, and --topology was not given",
    "trace": "neither --trace nor --run was given",
    "ddp_log": "neither --ddp-log nor --run was given",
    "nccl_log": "neither --nccl-log nor --run was given",
    "step_times": "neither --step-time nor --run was given",
}
UNITS = {"us": 1, "ms": 1e3, "s": 1e6}
# The reader's limits of an archive (formats/src/archive.cpp): ranks, bytes of a file, bytes of a trace.
MOST_RANKS = 1_000_000
MOST_BYTES = 256 << 20
MOST_TRACE_BYTES = 8 * MOST_BYTES
# At most this many missing ranks are named one by one, because the list of an archive is limited, too.
MOST_GAPS = 1000
LONGEST_STEP_US = 1e12  # 11 days


# Places at which logs and documents name a host: "HOST:pid:thread [0] NCCL INFO", also after a prefix of mpirun, srun
# -l or torchrun. Others are "Pid 12 on HOST device 0 [0x10]" and "master_addr": "HOST".
OF_NCCL = re.compile(r"(?<![\w.-])([\w.-]+):\d+:\d+ (?:\[\d+\] )?NCCL ")
OF_OTHERS = re.compile(
    r"\bPid\s+\d+\s+on\s+(\S+)\s+device\b|(?:\"(?:host_?name|node_?name|master_addr)\"\s*:\s*\"|\b(?:master_addr|rdzv_endpoint)=)([\w.-]+)",
    re.IGNORECASE,
)


def fail(message):
    sys.exit(f"collect: {legible(message)}")


def numbered(parts, name):
    """The folders `name`N by number, in order. Links are left out, because other users could have planted them."""
    numbers = {
        folder: rank_of(folder.name.removeprefix(name))
        for folder in parts.glob(f"{name}*")
        if folder.is_dir() and not folder.is_symlink()
    }
    return dict(sorted((number, folder) for folder, number in numbers.items() if number is not None))


def rank_of(digits):
    """The rank that `digits` spell; None if they are not digits, or the number exceeds the limit."""
    number = int(digits) if re.fullmatch(r"[0-9]{1,18}", digits) else MOST_RANKS
    return number if number < MOST_RANKS else None


def content_of(file):
    """The bytes of a file that a rank left; None if there is no readable file, or it is a link."""
    try:
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None
    except OSError:
        return None


def lines_of(file):
    return (content_of(file) or b"").decode("utf-8", errors="replace").split("\n")


class Collected:
    def __init__(self, parts, size):
        """`size`: the number of ranks of the job."""
        ranks, launchers = (numbered(parts, name) for name in ("rank", "launcher"))
        if not ranks and not launchers:
            fail(f"no rank left anything in {parts}. Give all ranks the same folder with -o FOLDER")
        self.who = {folder: self.identity(folder) for folder in [*ranks.values(), *launchers.values()]}
        sources = {rank: [folder] for rank, folder in ranks.items()}  # a later folder adds missing files
        if not ranks or len(launchers) == size:
            for rank, folder in launchers.items():
                of_rank = sources.setdefault(rank, [])
                if not of_rank or self.host(of_rank[0]) == self.host(folder):
                    of_rank.append(folder)
        self.sources = dict(sorted(sources.items()))
        self.hosts = list(dict.fromkeys(self.host(folders[0]) for folders in self.sources.values()))
        if len(ranks) < size:  # ranks that left nothing run there
            self.hosts = list(dict.fromkeys([*self.hosts, *map(self.host, launchers.values())]))
        self.node_of = {rank: self.hosts.index(self.host(folders[0])) for rank, folders in self.sources.items()}
        self.nodes = len(self.hosts)
        self.folders = list(dict.fromkeys([*itertools.chain(*self.sources.values()), *launchers.values()]))
        self.members, self.missing, self.left_out = [], [], []
        self.given = []  # files that the options name

    def host(self, folder):
        return self.who[folder]["host"]

    @staticmethod
    def identity(folder):
        who = dict(line.split("=", 1) for line in lines_of(folder / "host") if "=" in line)
        return {
            "host": who.get("host") or folder.name,
            "fqdn": who.get("fqdn", ""),
            "user": who.get("user", ""),
            "paths": [value for key, value in who.items() if key in ("home", "cwd", "out")],
        }

    def redactor(self, arguments):
        """The redactor of this job. It replaces every name of a host with that of its node."""
        names = list(dict.fromkeys([*self.hosts, *(who["host"] for who in self.who.values())]))
        named = {"nccl": [], "others": []}
        for member in self.members:
            if member.kind in ("nccl_log", "all_reduce_log", "trace", "ddp_log"):
                text = member.content.decode("utf-8", errors="replace")
                named["others"] += [one or other for one, other in OF_OTHERS.findall(text)]
                if member.kind == "nccl_log":
                    named["nccl"] += OF_NCCL.findall(text)
                elif member.kind == "all_reduce_log":
                    named["others"] += OF_NCCL.findall(text)
        short = {name.split(".")[0] for name in names}
        names += [
            name
            for name in dict.fromkeys([*named["nccl"], *named["others"]])
            if name.split(".")[0] not in short and not re.fullmatch(r"node\d+|localhost|[\d.]+", name)
        ]
        # With one rank collected, NCCL's log may still name all nodes of the job.
        if len(self.sources) == 1:
            self.nodes = max(self.nodes, len({name.split(".")[0] for name in named["nccl"]}))
        hidden = [who["user"] for who in self.who.values()] + job_archive.users()
        paths = [path for who in self.who.values() for path in who["paths"]]
        given = [
            *arguments.trace,
            *arguments.ddp_log,
            *arguments.nccl_log,
            *arguments.topology,
            *arguments.all_reduce,
            file_and_key(arguments.step_time)[0],
        ]
        of_files = job_archive.folders([*paths, *(text for text in given if not re.fullmatch(r"[\d.]*\w{1,2}", text))])
        redactor = job_archive.Redactor(names, hidden, sorted(of_files))
        redactor.folders = frozenset(of_files) - set(names) - set(hidden)
        for who in self.who.values():
            shown = f"node{names.index(who['host'])}"
            redactor.also(who["fqdn"], shown)
        return redactor

    def add(self, member):
        if not member.content:
            return
        most = MOST_TRACE_BYTES if member.kind == "trace" else MOST_BYTES
        try:
            plain = unzipped(member.content, most + 1)
        except (OSError, EOFError, zlib.error):
            self.leave_out(member, "its gzip stream is cut off or damaged. Record or copy it again")
            return
        if len(plain) > most:
            self.leave_out(member, f"it is larger than {most >> 20} MiB")
        elif not job_archive.is_text(plain):
            self.leave_out(member, "it is binary, so names in it cannot be replaced")
        else:
            member.content = plain
            self.members.append(member)

    def leave_out(self, member, why):
        self.lack(member.kind, why, member.rank, member.node)
        self.left_out.append(f"{member.path}: {why}")

    def lack(self, kind, why, rank=None, node=None):
        entry = {"kind": kind, "why": why}
        if rank is not None:
            entry["rank"] = rank
        if node is not None:
            entry["node"] = node
        self.missing.append(entry)

    def lack_each(self, kind, ranks, why):
        """Notes that each of `ranks` lacks `kind`. `why` is the reason, with {} for the rank."""
        for rank in itertools.islice(ranks, MOST_GAPS):
            self.lack(kind, why.format(rank), rank)
        more = sum(1 for _ in ranks)
        if more:
            self.lack(kind, f"the same holds for {more} more ranks")

    def has(self, kind, rank=None):
        return any(member.kind == kind and rank in (None, member.rank) for member in self.members)

    def read_parts(self):
        for rank, folders in self.sources.items():
            for name, (kind, path) in OF_RANK.items():
                for folder in folders:
                    content = content_of(folder / name)
                    if content is not None:
                        self.add(Member(path.format(rank), kind, content, rank, self.node_of[rank]))
                        break
        ranks = {folder: rank for rank, folders in self.sources.items() for folder in folders}
        for folder in self.folders:
            if self.host(folder) not in self.hosts:
                self.lack("gpus", "collect.sh ran on a host without a rank. Start it on the nodes of the job")
                continue
            node = self.hosts.index(self.host(folder))
            for name, (kind, path) in OF_NODE.items():
                content = content_of(folder / name)
                if content is not None and all(member.path != path.format(node) for member in self.members):
                    self.add(Member(path.format(node), kind, content, None, node))
            for line in lines_of(folder / "missing.txt"):
                kind, tab, why = line.partition("\t")
                if tab:
                    self.lack(kind, why, ranks.get(folder) if kind in dict(OF_RANK.values()) else None, node)

    def add_given(self, patterns, kind, path, of_rank):
        """Adds the files that an option names. Their rank or node comes from their content, their names or their
        order."""
        files = sorted(
            {pathlib.Path(name) for pattern in patterns for name in glob.glob(pattern, recursive=True)}
            | {pathlib.Path(pattern) for pattern in patterns if pathlib.Path(pattern).is_file()}
        )
        files = [file for file in files if file.is_file() and self.is_readable(file, kind)]
        self.given += files
        if patterns and not files:
            self.lack(kind, "no file matches its option")
            self.left_out.append(f"{kind}: no file matches {' '.join(patterns)}")
        numbers = {file: number_in(file) if of_rank else None for file in files}
        for file, number in list(numbers.items()):
            if number is not None and number >= MOST_RANKS:
                why = f'it names rank {number}, but a job has at most {MOST_RANKS} ranks. Correct "rank" in the file'
                self.lack(kind, why)
                self.left_out.append(f"{file}: {why}")
                del numbers[file]
        if len({number for number in numbers.values() if number is not None}) != len(numbers):
            numbers = dict(zip(numbers, itertools.count()))  # names give no or equal numbers
        for file, number in numbers.items():
            self.members = [
                member
                for member in self.members
                if member.kind != kind or (member.rank if of_rank else member.node) != number
            ]
            node = self.node_of.get(number, 0) if of_rank else number
            self.add(
                Member(
                    path.format(number), kind, file.read_bytes(), number if of_rank else None, min(node, self.nodes - 1)
                )
            )

    def is_readable(self, file, kind):
        if os.access(file, os.R_OK):
            return True
        self.lack(kind, "you may not read the file that its option names")
        self.left_out.append(f"{file}: you may not read it")
        return False

    def add_step_time(self, text):
        """Reads --step-time. Returns microseconds for a time or a rate. A file is packed with the key that selects its
        numbers."""
        match = re.fullmatch(r"([0-9]*\.?[0-9]+)(?:(us|ms|s)(?:/it)?|it/s)", text.strip())
        if match:
            number = float(match[1])
            step_us = number * UNITS[match[2]] if match[2] else 1e6 / number if number else 0
            if not 0 < step_us <= LONGEST_STEP_US:
                fail(f"--step-time {text}: a step takes more than 0 s and less than 11 days. Write it like 104ms")
            return step_us
        if text:
            name, key = file_and_key(text)
            if not os.path.isfile(name):
                fail(
                    f"--step-time {text}: neither a time such as 104ms nor a file. Write FILE, FILE:KEY or FILE:KEY=UNIT"
                )
            self.given.append(name)
            suffix = pathlib.Path(name).suffix
            suffix = suffix if suffix in (".csv", ".json", ".tsv") else ".txt"  # another suffix may be a name
            self.add(Member(f"step_times/stated{suffix}", "step_times", pathlib.Path(name).read_bytes(), key=key))
        return None


def file_and_key(text):
    """Splits FILE:KEY into FILE and KEY. Both may contain colons; the longest existing file counts."""
    name, colon, key = text, "", ""
    while name and not os.path.isfile(name):
        name, colon, last = name.rpartition(":")
        key = f"{last}:{key}" if key else last
    return (name, key) if colon and key else (text, "")


def unzipped(content, most):
    """The first `most` bytes in a gzip file; other content as it is. Raises OSError, EOFError or zlib.error if it is
    damaged."""
    if content[:2] != b"\x1f\x8b":
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return stream.read(most)


def beginning(file):
    """The first 64 KiB of a file, unzipped if needed. The rest of a gzip file may be cut off."""
    try:
        with open(file, "rb") as stream:
            head = stream.read(1 << 16)
        return zlib.decompressobj(31).decompress(head, 1 << 16) if head[:2] == b"\x1f\x8b" else head
    except (OSError, zlib.error):
        return b""


def number_in(file):
    """The rank that wrote a file: from distributedInfo of a trace, else from its name ("rank3", "rank_3").

    A rank from a trace is not checked against MOST_RANKS.
    """
    head = beginning(file)
    said = re.search(rb'"distributedInfo"\s*:\s*\{[^}]*"rank"\s*:\s*(\d{1,18})', head) or re.search(
        rb'"rank"\s*:\s*"?(\d{1,18})"?', head[:4096]
    )
    named = re.findall(r"rank[-_=.]?([0-9]+)", str(file), re.IGNORECASE)
    return int(said[1]) if said else rank_of(named[-1]) if named else None


def measured_step(collected):
    """The median of rank 0's step times in microseconds, or None."""
    for member in collected.members:
        if member.kind == "step_times" and member.rank == 0:
            lines = member.content.decode("utf-8", errors="replace").split("\n")[1:]
            times = [time for time in (number(line) * 1e3 for line in lines) if 0 < time <= LONGEST_STEP_US]
            return statistics.median(times) if times else None
    return None


def number(text):
    """The number in `text`, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def collect(arguments):
    collected = Collected(arguments.parts, arguments.ranks)
    collected.read_parts()
    collected.add_given(arguments.trace, "trace", "traces/rank{}.json.gz", True)
    collected.add_given(arguments.ddp_log, "ddp_log", "ddp/rank{}.json", True)
    collected.add_given(arguments.nccl_log, "nccl_log", "nccl/rank{}.txt", True)
    collected.add_given(arguments.topology, "topology", "topology/node{}.xml", False)
    collected.add_given(arguments.all_reduce, "all_reduce_log", "all_reduce/given{}.txt", False)
    step = collected.add_step_time(arguments.step_time) or measured_step(collected)
    ranks = max([arguments.ranks, *(member.rank + 1 for member in collected.members if member.rank is not None)])
    collected.lack_each(
        "versions",
        (rank for rank in range(arguments.ranks) if rank not in collected.sources),
        "rank {} left nothing in the folder. Use a folder that all nodes share",
    )
    if collected.has("trace"):
        traced = {member.rank for member in collected.members if member.kind == "trace"}
        collected.lack_each("trace", (rank for rank in range(ranks) if rank not in traced), "none of rank {}")
    collected.missing = [
        gap
        for gap in collected.missing
        if not (
            gap["kind"] in ALWAYS
            and collected.has(gap["kind"], gap.get("rank"))
            and (collected.nodes == 1 or "rank" in gap)
        )
    ]
    for kind in ALWAYS:
        there = collected.has(kind) or (kind == "step_times" and step)
        if not there and all(gap["kind"] != kind for gap in collected.missing):
            collected.lack(kind, WHY.get(kind, "not found"))
    redactor = collected.redactor(arguments)
    members = [
        job_archive.redacted(redactor, member)
        for member in sorted(
            collected.members, key=lambda one: (one.kind == "trace", one.path.split("/")[0], one.rank or 0, one.path)
        )
    ]
    document = {"ranks": ranks, "nodes": collected.nodes}
    if step:
        document["step_us"] = round(step, 3)
    if arguments.batch_size:
        document["batch_size"] = arguments.batch_size
    document["missing"] = [{**gap, "why": redactor.plain(gap["why"])} for gap in collected.missing]
    not_found = []
    for gap, times in itertools.groupby(f"{gap['kind']}: {gap['why']}" for gap in document["missing"]):
        count = len(list(times))
        not_found.append(gap + (f" ({count} times)" if count > 1 else ""))
    job_archive.write_archive(
        "collect",
        "ddpsim-collect",
        arguments.archive,
        document,
        members,
        collected.left_out,
        not_found,
        collected.given,
    )


def whole_number(most):
    """A type for argparse: a whole number from 1 to `most`."""

    def number(text):
        if not re.fullmatch(r"[0-9]{1,18}", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{legible(text)!r} is not a whole number from 1 to {most}")
        return int(text)

    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("--ranks", type=whole_number(MOST_RANKS), default=1)
    parser.add_argument(
        "--step-time",
        default="",
        metavar="TIME",
        help="time of a step without the profiler: 104ms, 9.6it/s, FILE, FILE:KEY or FILE:KEY=UNIT",
    )
    parser.add_argument("--batch-size", type=whole_number(1 << 30), metavar="N")
    for name in ("trace", "ddp-log", "nccl-log", "topology", "all-reduce"):
        parser.add_argument(f"--{name}", action="append", default=[], metavar="PATTERN")
    arguments = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    collect(arguments)


if __name__ == "__main__":
    main()
