#!/usr/bin/env python3
"""Runs the parts one after another, each within its time limit, and packs what they measured.

    scripts/on_gpu.sh -o out/measured             # a probe of 90 s, then everything: 7 minutes
    scripts/on_gpu.sh -o out/measured --only reducer,ddp
    scripts/on_gpu.sh --rehearse

A part is a process. If it hangs or crashes, it is ended and started again after the item that failed, until its time is
over. Its document is on disk after each item, so no measurement is lost. The archive is made again after each part."""

import argparse
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# The parts, most valuable first, with their seconds in a probe, in the whole run, and in a rehearsal. A rehearsal
# leaves half of its minute free.
PARTS = {
    "reducer": (30, 240, 20),
    "ddp": (20, 120, 25),
    "estimates": (30, 200, 25),
    "recorder": (20, 40, 25),
    "copies": (15, 20, 20),
}
SECONDS, REHEARSAL_SECONDS = 510, 60
INCOMPLETE = 4  # exit code of an incomplete rehearsal
ARCHIVE_BYTES = 16 << 20
FILE_BYTES = 3 << 20  # larger files are only listed


def ended(process):
    """Ends the part's whole process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_part(name, seconds, out, options):
    """Starts the part again until it is complete, its time is over, or it made no progress twice in a row."""
    document = out / f"{name}.json"
    ends = time.monotonic() + seconds
    begun_before, in_vain = -1, 0
    while (left := ends - time.monotonic()) > 2:
        begun = len(json.loads(document.read_text(encoding="utf-8"))["begun"]) if document.exists() else 0
        in_vain = in_vain + 1 if begun == begun_before else 0
        if in_vain == 2:
            return  # it fails before its next item
        begun_before = begun
        process = subprocess.Popen(
            [sys.executable, "-B", HERE / f"{name}.py", "--out", document, "--seconds", f"{left - 1:.0f}", *options],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
        try:
            process.wait(timeout=left)
        except subprocess.TimeoutExpired:
            pass
        ended(process)
        if process.returncode == 0:
            return


def pack(out):
    """Packs all measurements into one archive: documents first, then files from small to large while there is room."""
    files = [
        path
        for path in out.rglob("*")
        if path.is_file() and path.name != "measured.tar.xz" and not path.name.startswith(".")
    ]
    files.sort(key=lambda path: (path.parent != out, path.stat().st_size))
    room, left_out = 10 * ARCHIVE_BYTES, []
    beside = out / ".measured.tar.xz"
    with tarfile.open(beside, "w:xz", preset=1) as archive:
        for path in files:
            size = path.stat().st_size
            if size > room or (size > FILE_BYTES and path.suffix != ".json"):
                left_out.append(f"{path.relative_to(out)} ({size} bytes)")
                continue
            room -= size
            archive.add(path, path.relative_to(out))
        if left_out:
            text = "\n".join(left_out).encode()
            entry = tarfile.TarInfo("left_out.txt")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    beside.replace(out / "measured.tar.xz")


def summary(out, names):
    """Prints what each part measured. Returns whether all parts measured everything."""
    whole = True
    for name in names:
        path = out / f"{name}.json"
        if not path.exists():
            print(f"{name:10} nothing")
            whole = False
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        problems = [f"{problem['item']}: {problem['what'][:300]}" for problem in document["problems"]]
        print(
            f"{name:10} {len(document['rows'])} rows, {len(problems)} problems"
            + ("" if document["complete"] else "; it ended before it was complete")
        )
        for problem in problems:
            print(f"           {problem}")
        whole = whole and document["complete"] and bool(document["rows"]) and not problems
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--programs", default="", metavar="FOLDER", help="the folder that --pack made")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,…", help="run only these parts")
    parser.add_argument(
        "--seconds",
        type=float,
        help=f"time limit of everything with the probe (default: {SECONDS}, in a rehearsal {REHEARSAL_SECONDS})",
    )
    parser.add_argument("--probe", action="store_true", help="take only one step of every part")
    parser.add_argument("--no-probe", action="store_true", help="leave out the probe")
    parser.add_argument("--rehearse", action="store_true", help="use tiny sizes, without a GPU")
    given = parser.parse_args()
    unknown = set(given.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only: there is no part {', '.join(sorted(unknown))}. The parts are {', '.join(PARTS)}")
    names = [name for name in PARTS if name in given.only.split(",")]
    given.seconds = given.seconds or (REHEARSAL_SECONDS if given.rehearse else SECONDS)
    ends = time.monotonic() + given.seconds
    scale = given.seconds / REHEARSAL_SECONDS if given.rehearse else 1
    options = ["--programs", given.programs, *(["--rehearse"] if given.rehearse else [])]
    stages = [("probe", 0, ["--probe"])] if not given.no_probe and not given.rehearse else []
    if not given.probe:
        stages.append(("whole", 2 if given.rehearse else 1, []))
    for stage, column, more in stages:
        out = given.output / stage
        out.mkdir(parents=True, exist_ok=True)
        for name in names:
            seconds = min(PARTS[name][column] * scale, ends - time.monotonic())
            if seconds > 3:
                run_part(name, seconds, out, [*options, *more])
            pack(out)
        print(f"-- {stage}", flush=True)
        if not summary(out, names) and given.rehearse:
            return INCOMPLETE
    return 0


if __name__ == "__main__":
    sys.exit(main())
