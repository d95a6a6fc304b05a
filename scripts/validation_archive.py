#!/usr/bin/env python3
"""What scripts/validate.sh sends away, and what it keeps: performance settings of the environment by an allowlist, and an archive
without names of users, hosts, files or addresses.

    validation_archive.py environment
    validation_archive.py pack FOLDER ARCHIVE [--hide PATH]... [--hide-workload]

Hosts become node0, node1, …, so that it still shows which ranks share one. What is hidden is hidden in the archive alone: the
folder stays as it is."""

import argparse
import fnmatch
import getpass
import gzip
import io
import json
import os
import pathlib
import re
import shlex
import socket
import sys
import tarfile

TOP = "ddpsim-validation"
PACKED = ("topology.txt", "environment.txt", "all_reduce_perf.txt", "measured-0.csv", "messages-0.txt", "measured/measurement.json",
          "measured/measurement.csv", "measured/all_reduce.txt", "measured/*.timeline.json", "nccl-topology.xml",
          "calibrated.json", "calibration.txt", "errors.txt")

NUMBER = r"-?\d+[KMGkmg]?(i?B)?"
NUMBERS = rf"{NUMBER}(,{NUMBER})*"
# Prefixes that kernels and drivers give; what an administrator made up is not shown.
INTERFACE = r"(eth|en[opsx]|eno|ens|enp|ib|lo|docker|bond|hsn|br|veth|mlx\d+_|bnxt_re|cxi|efa|rdmap|irdma|hfi1_)[0-9a-f.spnfd]*(:\d+)?"
INTERFACES = rf"[\^=]*{INTERFACE}(,{INTERFACE})*"


def words(*known):
    one = "|".join(map(re.escape, known))
    return rf"(?i:\^?({one})([,:;]({one}|\d+))*)"


LEVEL = rf"(?i:LOC|NVL|PIX|PXB|PHB|SYS|NODE|{NUMBER})"
# Name of a variable that changes speed → the values it may be shown with.
VARIABLES = {
    "CUDA_VISIBLE_DEVICES": NUMBERS, "CUDA_DEVICE_ORDER": words("FASTEST_FIRST", "PCI_BUS_ID"),
    "CUDA_DEVICE_MAX_CONNECTIONS": NUMBER, "CUDA_LAUNCH_BLOCKING": NUMBER, "CUDA_MODULE_LOADING": words("LAZY", "EAGER"),
    "CUDA_AUTO_BOOST": NUMBER, "OMP_NUM_THREADS": NUMBERS,
    "NCCL_ALGO": words("Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT", "allreduce", "broadcast"),
    "NCCL_PROTO": words("LL", "LL128", "Simple", "allreduce", "broadcast"),
    "NCCL_P2P_LEVEL": LEVEL, "NCCL_NET_GDR_LEVEL": LEVEL, "NCCL_SOCKET_IFNAME": INTERFACES, "NCCL_IB_HCA": INTERFACES,
    "NCCL_NET": words("IB", "Socket", "AWS Libfabric"), "NCCL_DEBUG": words("VERSION", "WARN", "INFO", "TRACE"),
    "NCCL_GRAPH_FILE": "", "NCCL_TOPO_FILE": "", "NCCL_NET_PLUGIN": "", "NCCL_TUNER_PLUGIN": "",
    **dict.fromkeys((
        "NCCL_BUFFSIZE", "NCCL_CHECKS_DISABLE", "NCCL_COLLNET_ENABLE", "NCCL_CROSS_NIC", "NCCL_CTA_POLICY",
        "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SL",
        "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_TC", "NCCL_IB_TIMEOUT", "NCCL_LAUNCH_MODE", "NCCL_LL128_BUFFSIZE",
        "NCCL_LL_BUFFSIZE", "NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_NSOCKS_PERTHREAD",
        "NCCL_NTHREADS", "NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_PXN_DISABLE", "NCCL_SHM_DISABLE", "NCCL_SOCKET_NTHREADS",
        "NCCL_NVB_DISABLE", "NCCL_MNNVL_ENABLE", "NCCL_NCHANNELS_PER_NET_PEER"), NUMBER),
    "FI_PROVIDER": words("efa", "tcp", "sockets", "verbs", "cxi", "shm", "psm2", "psm3"),
    "FI_EFA_USE_DEVICE_RDMA": NUMBER, "FI_EFA_FORK_SAFE": NUMBER,
    "UCX_TLS": words("rc", "rc_x", "ud", "dc", "dc_x", "tcp", "self", "sm", "cuda", "cuda_copy", "cuda_ipc", "gdr_copy", "all"),
    "UCX_NET_DEVICES": INTERFACES,
}

# Words of the files themselves, and folders that everybody has. A user, a host or a folder of such a name tells nobody anything.
OWN_WORDS = set("""root user node host localhost rank ranks group device float half sum size count type time on all reduce in out of
    place name true false gpu cuda nccl gloo no ddpsim real measured measurement timeline step forward backward optimizer default
    linux and the ddpsim-validation home work tmp usr opt data src build release scripts local bin share mnt var runs scratch
    cluster workload model models main""".split())
PATH = re.compile(r"""(?:(?<=^)|(?<=[\s"'=:,(\[`<]))(?:~[\w.-]*/|\.{0,2}/)(?![>\s])[^\s"'<>,;:)\]`]+""", re.MULTILINE)
QUOTED_PATH = re.compile(r"'[^'\n]*/[^'\n]*'")
IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
HEX = "[0-9A-Fa-f]{1,4}"
# Of four groups or more, or shortened: what has fewer is a time of day or a bus.
IPV6 = re.compile(rf"(?<![\w:.])(?:(?:{HEX}:){{3,7}}{HEX}|(?:{HEX}(?::{HEX})*)?::(?:{HEX}(?::{HEX})*)|{HEX}(?::{HEX})*::)(?![\w:])")
IDENTITY = re.compile(r'\b(host_hash|guid)="([^"]*)"')
JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')


def environment():
    for name in sorted(VARIABLES.keys() & os.environ.keys()):
        value = os.environ[name]
        shown = value if re.fullmatch(VARIABLES[name], value) else "<path>" if "/" in value else "<hidden>"
        print(f"{name}={shown}")


class Redactor:
    """Counts what it replaces."""

    def __init__(self, hosts, hidden):
        self.count = 0
        self.names = {}
        for index, host in enumerate(dict.fromkeys(hosts)):
            for name in {host, host.split(".")[0]}:
                self.names.setdefault(name, f"node{index}")
            if "." in host:
                self.names.setdefault(host.split(".", 1)[1], "<domain>")
        for word in hidden:
            self.names.setdefault(word, "<hidden>")
        self.names = {name: shown for name, shown in self.names.items() if name and name.lower() not in OWN_WORDS}
        known = sorted(self.names, key=len, reverse=True)
        self.known = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, known))})(?![A-Za-z0-9])") if known else None
        self.identities = {}

    def put(self, pattern, text, shown):
        def replace(match):
            new = shown(match) if callable(shown) else shown
            self.count += new != match[0]
            return new
        return pattern.sub(replace, text)

    def plain(self, text):
        text = self.put(QUOTED_PATH, text, "'<path>'")
        text = self.put(PATH, text, "<path>")
        text = self.put(IPV4, text, "<address>")
        text = self.put(IPV6, text, "<address>")
        text = self.put(IDENTITY, text, lambda found: f'{found[1]}="{self.identity(found[2])}"')
        return self.put(self.known, text, lambda found: self.names[found[0]]) if self.known else text

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

    def json(self, text):
        """Keys stay, and so does the layout."""
        key = ""
        def value(match):
            nonlocal key
            if match[2]:
                key = match[1]
                return match[0]
            if key == "schema":
                return match[0]
            if key == "command":
                return json.dumps(self.command(json.loads(match[0])))
            return '"' + self.plain(match[1]) + '"'
        return JSON_TEXT.sub(value, text)

    def file(self, name, text):
        if name.endswith(".json"):
            return self.json(text)
        lines = text.split("\n")
        for index, line in enumerate(lines):
            start = "# command: "
            lines[index] = start + self.command(line[len(start):]) if line.startswith(start) else self.plain(line)
        return "\n".join(lines)


def setup_of(folder):
    measurement = folder / "measured" / "measurement.json"
    return json.loads(measurement.read_text(encoding="utf-8")).get("setup", {}) if measurement.is_file() else {}


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


def pack(folder, archive, paths, hide_workload):
    setup = setup_of(folder)
    hosts = [*setup.get("hosts", "").split(), socket.gethostname(), socket.getfqdn()]  # of all ranks, and this one's
    hidden = [*users(), *folders([*paths, folder.resolve(), os.getcwd(), pathlib.Path.home()])]
    redactor = Redactor(hosts, [*hidden, setup.get("workload", "")] if hide_workload else hidden)
    files, left_out = [], []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if not any(fnmatch.fnmatchcase(name, wanted) for wanted in PACKED):
            left_out.append(name)
            continue
        before = redactor.count
        text = redactor.file(name, path.read_text(encoding="utf-8", errors="replace"))
        files.append((name, text.encode(), redactor.count - before))
    print(f"validate: {archive} will hold, with names of users, hosts and files and addresses replaced:")
    for name, content, replaced in files:
        print(f"  {TOP}/{name:<36} {len(content):>9} bytes, {replaced} replaced")
    for name in left_out:
        print(f"  left out: {name}")
    sys.stdout.flush()
    partial = pathlib.Path(f"{archive}.partial")
    try:
        with open(partial, "wb") as bare, gzip.GzipFile("", "wb", fileobj=bare, mtime=0) as zipped, \
                tarfile.open(fileobj=zipped, mode="w") as out:
            for name, content, _ in files:
                entry = tarfile.TarInfo(f"{TOP}/{name}")  # no owner, no date
                entry.size = len(content)
                out.addfile(entry, io.BytesIO(content))
        partial.replace(archive)
    except OSError as error:
        partial.unlink(missing_ok=True)
        sys.exit(f"validate: cannot write {archive}: {error.strerror}")


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
    if arguments.command == "environment":
        environment()
    else:
        pack(arguments.folder, arguments.archive, arguments.hide, arguments.hide_workload)


if __name__ == "__main__":
    main()
