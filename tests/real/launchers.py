#!/usr/bin/env python3
"""Runs the launch lines of real/README.md with real launchers on this machine.

Ranks find each other by the variables that the launcher sets. A process may hold several ranks. If a rank is missing,
all ranks end and name it.

    tests/real/launchers.py mpirun|torchrun|srun --program build/release/real/ddpsim-real

Exits with 77 and a reason if the launcher is not installed."""

import argparse
import atexit
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402
from held_port import held_port  # noqa: E402

SKIPPED = 77
WORKLOAD = {
    "schema": "ddpsim.workload/1",
    "name": "small",
    "parameters": [{"name": f"p{i}", "shape": [5000], "dtype": "float32"} for i in range(3)],
    "forward": {"duration_us": 1000},
    "backward": {"duration_us": 2000, "ready": [{"parameter": i, "at_us": 2000} for i in (2, 1, 0)]},
}


def skip(reason):
    print(f"launchers: skipped, {reason}")
    sys.exit(SKIPPED)


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            skip(f"{tool} is not here")


def environment():
    """This process's environment, without variables of an outer launcher."""
    prefixes = ("OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "MASTER_")
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(prefixes) and key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    }
    return dict(clean, MASTER_PORT=str(held_port(atexit.register)), PATH=clean.get("PATH", "") + ":/usr/sbin:/sbin")


@contextlib.contextmanager
def mpirun(_folder, ranks=2):
    need("mpirun")
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout:
        skip("this mpirun is not Open MPI's")
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    yield ["mpirun", *root, "--oversubscribe", "-np", str(ranks)], environment()


@contextlib.contextmanager
def torchrun(_folder):
    python = os.environ.get("DDPSIM_TORCH_PYTHON", "/usr/bin/python3")
    if subprocess.run([python, "-c", "import torch.distributed.run"], capture_output=True, check=False).returncode != 0:
        skip(f"{python} has no torch.distributed.run")
    env = environment()
    # Set explicitly, because PyTorch 1.13 does not read its own defaults for these two on Python 3.11.
    std = ["--redirects", "2", "--tee", "2"]
    yield (
        [
            python,
            "-m",
            "torch.distributed.run",
            "--nproc_per_node",
            "2",
            "--no_python",
            *std,
            "--master_port",
            env["MASTER_PORT"],
        ],
        env,
    )


@contextlib.contextmanager
def srun(folder, ranks=2):
    """Runs a Slurm of one node on loopback, under the current user."""
    need("srun", "slurmctld", "slurmd", "sinfo")
    env = dict(environment(), SLURM_CONF=str(folder / "slurm.conf"))
    for name in ("state", "spool"):
        (folder / name).mkdir()
    user = pwd.getpwuid(os.geteuid()).pw_name
    (folder / "slurm.conf").write_text(
        f"""ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={held_port(atexit.register)}
SlurmdPort={held_port(atexit.register)}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/linear
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=localhost NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=lab Nodes=localhost Default=YES MaxTime=10 State=UP OverSubscribe=FORCE
""",
        encoding="utf-8",
    )
    # They end with this process, even if it is killed.
    bound = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    with open(folder / "daemons.txt", "w", encoding="utf-8") as log:
        daemons = [
            subprocess.Popen(
                [*bound, shutil.which(name, path=env["PATH"]), "-D", *more], env=env, stdout=log, stderr=log
            )
            for name, more in (("slurmctld", []), ("slurmd", ["-N", "localhost"]))
        ]
    try:

        def idle():
            return (
                "idle"
                in subprocess.run(
                    ["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True, check=False
                ).stdout
            )

        with contextlib.suppress(AssertionError):
            patience.until(lambda: idle() or any(daemon.poll() is not None for daemon in daemons), pause=0.2)
        if not idle():
            skip("Slurm does not start here: " + " ".join((folder / "daemons.txt").read_text().split())[-300:])
        yield ["srun", "--quiet", "--ntasks", str(ranks), "--overcommit"], env
    finally:
        for daemon in daemons:
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(timeout=patience.seconds(20))


def check(what, holds, run):
    if not holds:
        sys.exit(f"launchers: {what}: exit code {run.returncode}\n{run.stdout}\n{run.stderr}")
    print(f"launchers: {what}")


def main():
    launchers = {"mpirun": mpirun, "torchrun": torchrun, "srun": srun}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("launcher", choices=launchers)
    parser.add_argument("--program", required=True, help="ddpsim-real")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "small.json").write_text(json.dumps(WORKLOAD), encoding="utf-8")
        with launchers[arguments.launcher](folder) as (line, env):

            def launch(*command):
                return subprocess.run(
                    [*line, *command],
                    env=env,
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    timeout=patience.seconds(120),
                    check=False,
                )

            job = [
                program,
                "small.json",
                "--backend",
                "cpu-gloo",
                "--iterations",
                "2",
                "--timeout",
                str(patience.seconds(60)),
            ]
            run = launch(*job, "-o", "measured")
            if "is not in this build" in run.stderr:
                skip("this ddpsim-real has no cpu-gloo")
            check("two ranks meet", run.returncode == 0 and measured(folder / "measured") == 2, run)
            run = launch(*job, "--ranks-per-process", "2", "-o", "both")
            check("two processes of two ranks are four", run.returncode == 0 and measured(folder / "both") == 4, run)
            # The second process gets a different world size, under the launcher's variable name.
            odd = (
                'if [ "${OMPI_COMM_WORLD_RANK:-${RANK:-$SLURM_PROCID}}" = 1 ]; then '
                'export RANK=1 WORLD_SIZE=3; fi; exec "$@"'
            )
            run = launch("sh", "-c", odd, "sh", *job)
            check(
                "another world size is refused, and named",
                run.returncode != 0 and "rank 1 was told of 3 ranks, but rank 0 of 2" in run.stderr,
                run,
            )
            soon = patience.seconds(4)
            absent = (
                'if [ "${OMPI_COMM_WORLD_RANK:-${RANK:-$SLURM_PROCID}}" = 1 ]; then '
                f'exec sleep {5 * soon}; fi; exec "$@"'
            )
            run = launch("sh", "-c", absent, "sh", *job[:-1], str(soon))
            check(
                "a rank that never arrives is named",
                run.returncode != 0 and f"after {soon} s 1 of 2 ranks were there; missing: 1" in run.stderr,
                run,
            )


def measured(folder):
    return json.loads((folder / "measurement.json").read_text(encoding="utf-8"))["ranks"]


if __name__ == "__main__":
    main()
