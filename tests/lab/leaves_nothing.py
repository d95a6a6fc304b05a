#!/usr/bin/env python3
"""Checks that a lab that is killed in the middle of a step leaves no process and no namespace behind.

    tests/lab/leaves_nothing.py --program build/release/real/ddpsim-real

Exit code 4: something is left. 77: no namespaces, or no gloo."""

import argparse
import atexit
import contextlib
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402

SKIPPED = 77


def ranks_of(marker):
    """The processes of this machine with the marker in their command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker in (entry / "cmdline").read_bytes():
                found.append(entry)
        except OSError:
            continue
    return found


def is_launched(entry):
    try:
        return b"RANK=" in (entry / "environ").read_bytes()
    except OSError:
        return False


KINDS = ("net", "mnt", "pid")


def namespaces_of(entry):
    """The namespaces of a process; empty if it has ended or belongs to somebody else."""
    try:
        return {os.readlink(entry / "ns" / kind) for kind in KINDS}
    except OSError:
        return set()


def left_within(namespaces):
    """Every process in one of these namespaces. A namespace ends with its last process: the lab never mounts it
    elsewhere."""
    return [
        entry for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and namespaces_of(entry) & namespaces
    ]


def name_of(entry):
    try:
        return f"{entry.name} " + (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return entry.name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim-real")
    arguments = parser.parse_args()
    # An unusual number of iterations marks the processes of this run.
    iterations = str(3000 + time.time_ns() % 1000)
    marker = b"--iterations\0" + iterations.encode()
    own = namespaces_of(pathlib.Path("/proc/self"))
    lab = subprocess.Popen(
        [
            sys.executable,
            str(pathlib.Path(__file__).resolve().with_name("lab.py")),
            "--program",
            arguments.program,
            "--backends",
            "cpu-gloo",
            "--models",
            "resnet-like",
            "--caps",
            "25",
            "--iterations",
            iterations,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    atexit.register(lab.kill)
    patience.until(lambda: lab.poll() is not None or sum(map(is_launched, ranks_of(marker))) >= 2)
    # Steps run by then, and a lab that cannot run has ended.
    time.sleep(1)
    if lab.poll() is not None:
        said = "".join(lab.communicate())
        print(said)
        sys.exit(SKIPPED if lab.returncode == SKIPPED or "not in this build" in said else 4)
    namespaces = set().union(*(namespaces_of(entry) for entry in ranks_of(marker))) - own
    if not any(one.startswith("net:") for one in namespaces):
        sys.exit("the ranks are in no network namespace of their own")
    lab.kill()
    lab.wait()
    with contextlib.suppress(AssertionError):
        patience.until(lambda: not ranks_of(marker) and not left_within(namespaces), limit=10)
    left = {entry.name: name_of(entry) for entry in (*ranks_of(marker), *left_within(namespaces))}
    alive = {one for pid in left for one in namespaces_of(pathlib.Path("/proc") / pid)} & namespaces
    print(f"left behind: {len(left)} processes, {len(alive)} of {len(namespaces)} namespaces", *left.values(), sep="\n")
    sys.exit(4 if left or alive else 0)


if __name__ == "__main__":
    main()
