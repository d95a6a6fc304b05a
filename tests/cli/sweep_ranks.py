#!/usr/bin/env python3
"""Tests `ddpsim sweep` over real MPI on this machine.

The output must be the same for any number of ranks, a sweep must resume after a rank was killed, and ranks that
disagree must cause only one message.

    tests/cli/sweep_ranks.py mpirun|srun --program build/release/cli/ddpsim

Exits with 77 and a reason if the launcher is missing, or if the program was built without MPI."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real"))
import launchers  # noqa: E402
import patience  # noqa: E402 (launchers finds it)

STUDY = {
    "schema": "ddpsim.study/1",
    "workload": "resnet18@V100",
    "grid": {"bucket-cap-mb": [1, 5, 25, None]},
    "candidates": ["node:{1..12} gpu:8xV100 nvlink:6x25GBps:cube nic:{1,4}x100Gbps:ib", "nosuch"],
}
LONG = {**STUDY, "grid": {"bucket-cap-mb": list(range(1, 201))}}
# The rank, from the variable of this launcher.
RANK = "${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}"


def write_json(path, document):
    path.write_text(json.dumps(document))


class Ranks:
    def __init__(self, program, folder, line, env):
        self.program, self.folder, self.line, self.env = program, folder, line, env

    def alone(self, *arguments, env=None):
        return subprocess.run(
            [self.program, "sweep", *arguments],
            cwd=self.folder,
            env=env or launchers.environment(),
            capture_output=True,
            text=True,
            timeout=patience.seconds(120),
            check=False,
        )

    def start(self, *arguments, shell="", line=None):
        command = [self.program, "sweep", *arguments]
        if shell:
            command = ["sh", "-c", f'{shell}; exec "$@"', "sh", *command]
        return subprocess.Popen(
            [*(line or self.line), *command],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments, shell="", line=None):
        process = self.start(*arguments, shell=shell, line=line)
        out, err = process.communicate(timeout=patience.seconds(120))
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def check(self, what, holds, run):
        if not holds:
            sys.exit(f"sweep_ranks: {what}: exit code {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr}")
        print(f"sweep_ranks: {what}", flush=True)

    def refused(self, what, message, code, arguments, **how):
        run = self.run(*arguments, **how)
        said = [text for text in run.stderr.splitlines() if text.startswith("ddpsim:")]
        self.check(
            what,
            run.returncode == code
            and len(said) == 1
            and message in said[0]
            and not (self.folder / "never.jsonl").exists(),
            run,
        )

    def read(self, name):
        return (self.folder / name).read_text()


def agree(ranks):
    """All numbers of ranks write the same as one process."""
    whole = ranks.alone("study.json", "-o", "whole.jsonl", "--csv", "whole.csv")
    ranks.check("one process", whole.returncode == 0, whole)
    run = ranks.run("study.json", "-o", "ranks.jsonl", "--csv", "ranks.csv")
    ranks.check(
        "ranks write the same bytes",
        run.returncode == 0
        and ranks.read("ranks.jsonl") == ranks.read("whole.jsonl")
        and ranks.read("ranks.csv") == ranks.read("whole.csv"),
        run,
    )
    run = ranks.run("study.json", "--threads", "3")
    ranks.check("to standard output, too, with threads", run.stdout == ranks.read("whole.jsonl"), run)
    shard = ranks.alone("study.json", "--shard", "2/3")
    run = ranks.run("study.json", "--shard", "2/3")
    ranks.check("a shard of all ranks", run.stdout == shard.stdout, run)
    text = ranks.read("whole.jsonl")
    (ranks.folder / "ranks.jsonl").write_text(text[: len(text) // 3])
    run = ranks.run("study.json", "-o", "ranks.jsonl")
    ranks.check(
        "cut, it goes on",
        run.returncode == 0 and "from an earlier run" in run.stdout and ranks.read("ranks.jsonl") == text,
        run,
    )
    run = ranks.run("study.json", "--no-mpi", shell=f'set -- "$@" --shard "$(({RANK} + 1))/2" -o "part{RANK}.jsonl"')
    joined = ranks.alone("--join", "part0.jsonl", "part1.jsonl")
    ranks.check("without MPI each is by itself", run.returncode == 0 and joined.stdout == text, run)


def disagree(ranks):
    """Ranks that disagree cause one message, and nothing is written."""
    (ranks.folder / "other").mkdir()
    write_json(ranks.folder / "other" / "study.json", {**STUDY, "workload": "resnet50@V100"})
    (ranks.folder / "none").mkdir()
    arguments = ("study.json", "-o", str(ranks.folder / "never.jsonl"))
    for what, place, message in (
        ("another study is refused", "other", ": runs another sweep than rank 0. All ranks need the same command line"),
        ("a study that a rank cannot read is named", "none", ": study.json: no such file"),
    ):
        ranks.refused(what, message, 3, arguments, shell=f'if [ "{RANK}" = 1 ]; then cd {place}; fi')
    ranks.refused(
        "shards of their own are refused",
        "to run a shard each, add --no-mpi",
        3,
        arguments,
        shell=f'set -- "$@" --shard "$(({RANK} + 1))/2"',
    )
    ranks.refused(
        "a study that none can read", "ddpsim: nowhere.json: no such file", 3, ("nowhere.json", *arguments[1:])
    )
    # With another launcher, MPI does not know the other ranks.
    alone = ranks.alone(*arguments, env=dict(launchers.environment(), PMI_RANK="0", PMI_SIZE="3"))
    ranks.check(
        "a launcher of another MPI is found out",
        alone.returncode == 2
        and not (ranks.folder / "never.jsonl").exists()
        and "a launcher started 3 processes, but MPI has 1." in alone.stderr,
        alone,
    )
    alone = ranks.alone("study.json", env=dict(launchers.environment(), PMI_RANK="1", PMI_SIZE="3"))
    ranks.check("said once", (alone.returncode, alone.stdout, alone.stderr) == (0, "", ""), alone)


def rank_processes(ranks):
    """The processes of this job by rank."""
    found = {}
    for candidate in pathlib.Path("/proc").iterdir():
        try:
            if (candidate / "cwd").resolve() != ranks.folder.resolve() or b"sweep" not in (
                candidate / "cmdline"
            ).read_bytes():
                continue
            if pathlib.Path(os.readlink(candidate / "exe")).name != "ddpsim":
                continue
            environment = dict(
                pair.split("=", 1) for pair in (candidate / "environ").read_text().split("\0") if "=" in pair
            )
            rank = environment.get("OMPI_COMM_WORLD_RANK", environment.get("SLURM_PROCID"))
            found[int(rank)] = int(candidate.name)
        except (OSError, ValueError, TypeError):
            continue
    return found


def kill(ranks):
    """If any rank dies, all end, and the written lines are the start of the complete output."""
    write_json(ranks.folder / "long.json", LONG)
    path = ranks.folder / "long.jsonl"
    ended = []
    for rank in (1, 0):
        before = path.stat().st_size if path.exists() else 0
        process = ranks.start("long.json", "-o", path.name, "--threads", "1", "--no-intervals")
        patience.until(lambda: process.poll() is not None or path.exists() and path.stat().st_size >= before + 50_000)
        if process.poll() is not None:
            sys.exit(f"sweep_ranks: all was written before it could be killed: {process.communicate()}")
        os.kill(rank_processes(ranks)[rank], signal.SIGKILL)
        out, err = process.communicate(timeout=patience.seconds(100))
        run = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        ranks.check(f"rank {rank} was killed: all end", process.returncode != 0 and not rank_processes(ranks), run)
        ended.append(path.read_text())
    run = ranks.run("long.json", "-o", path.name, "--no-intervals")
    whole = ranks.alone("long.json", "--no-intervals").stdout
    ranks.check(
        "and go on",
        path.read_text() == whole and all(whole.startswith(text[: text.rindex("\n") + 1]) for text in ended),
        run,
    )


def main():
    kinds = {"mpirun": (launchers.mpirun, (1, 2, 4)), "srun": (launchers.srun, (2,))}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("launcher", choices=kinds)
    parser.add_argument("--program", required=True, help="ddpsim")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    launcher, sizes = kinds[arguments.launcher]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_json(folder / "study.json", STUDY)
        probe = subprocess.run(
            [program, "sweep", "study.json"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env=dict(launchers.environment(), PMI_RANK="0", PMI_SIZE="2"),
        )
        if "was built without MPI" in probe.stderr:
            launchers.skip("this ddpsim was built without MPI")
        for size in sizes:
            with tempfile.TemporaryDirectory() as at_launcher:
                with launcher(pathlib.Path(at_launcher), size) as (line, env):
                    if arguments.launcher == "srun":
                        line = [*line, "--mpi=pmix"]
                    # Use transports inside this machine only.
                    ranks = Ranks(program, folder, line, dict(env, OMPI_MCA_btl="self,vader", OMPI_MCA_pml="ob1"))
                    print(f"sweep_ranks: {size} ranks", flush=True)
                    if size != 2:
                        run = ranks.run("study.json")
                        one = ranks.alone("study.json")
                        ranks.check("the same bytes", run.stdout == one.stdout and one.stdout.count("\n") == 101, run)
                        continue
                    agree(ranks)
                    disagree(ranks)
                    kill(ranks)


if __name__ == "__main__":
    main()
