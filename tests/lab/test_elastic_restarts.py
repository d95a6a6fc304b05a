"""Compares real restarts by torchrun on this machine with the predictions of `simulate --nnodes`.

A worker is killed, a node (agent and worker) is killed, and another node joins late. Only the start-up is measured, in
the first start; everything else follows from torchrun's options. Its defaults are checked in its source."""

import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402
from command import answer  # noqa: E402
from held_port import held_port  # noqa: E402
from torch_python import ENVIRONMENT, under_every_torch  # noqa: E402

WORKER = pathlib.Path(__file__).with_name("elastic_worker.py")
LAST_CALL, KEEP_ALIVE, ATTEMPTS = 4, 1, 3  # seconds, seconds, misses
PHASES = ("detection", "stop", "rendezvous", "start")
LINE = re.compile(r"^I\d{4} (\d\d):(\d\d):(\d\d\.\d+) .*?\] (.*)")
JOB = ("resnet50-v100-b32", "node:2 gpu:1xV100 pcie:12GBps nic:1x10Gbps:tcp", "--nnodes", "1:2", "--mtbf", "100h")
DEFAULTS = """
import inspect, json
from torch.distributed.run import get_args_parser
from torch.distributed.elastic.rendezvous import c10d_rendezvous_backend as backend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import DynamicRendezvousHandler, RendezvousTimeout
given = get_args_parser().parse_args(["script"])
made = inspect.signature(DynamicRendezvousHandler.from_backend).parameters
print(json.dumps({
    "max_restarts": given.max_restarts, "monitor_interval_s": given.monitor_interval,
    "join_timeout_s": RendezvousTimeout().join.total_seconds(), "last_call_timeout_s":
    RendezvousTimeout().last_call.total_seconds(), "keep_alive_interval_s": made["keep_alive_interval"].default,
    "keep_alive_max_attempt": made["keep_alive_max_attempt"].default, "read_timeout_s":
    int(inspect.getsource(backend).split('"read_timeout", ')[1].split(")")[0])}))
"""


class Job:
    """Agents on this machine, with their logs and the marks of their workers."""

    def __init__(self, python, folder, port):
        self.python, self.folder, self.port, self.agents, self.logs = python, folder, port, {}, {}
        self.marks = folder / "marks"
        self.marks.write_text("")

    def start(self, name, host=False):
        log = self.logs[name] = self.folder / f"agent-{name}"
        conf = (
            f"last_call_timeout={LAST_CALL},keep_alive_interval={KEEP_ALIVE},keep_alive_max_attempt={ATTEMPTS},"
            f"is_host={int(host)}"
        )
        # Workers of a later round must not find addresses of an earlier one in the agents' store. With PyTorch 2.13,
        # gloo's workers did.
        environment = {
            **ENVIRONMENT,
            "MARKS": str(self.marks),
            "LOGLEVEL": "INFO",
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        }
        with open(log, "w") as said:
            self.agents[name] = subprocess.Popen(
                [
                    *lab.priority(),
                    self.python,
                    "-m",
                    "torch.distributed.run",
                    "--nnodes",
                    "1:2",
                    "--nproc-per-node",
                    "1",
                    "--max-restarts",
                    "9",
                    "--rdzv-backend",
                    "c10d",
                    "--rdzv-endpoint",
                    f"127.0.0.1:{self.port}",
                    "--rdzv-id",
                    "elastic",
                    "--local-addr",
                    "127.0.0.1",
                    "--rdzv-conf",
                    conf,
                    str(WORKER),
                ],
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self, what):
        lines = [line.split() for line in self.marks.read_text().splitlines()]
        return [(float(at), int(rank), int(pid)) for at, mark, rank, pid, _ in lines if mark == what]

    def wait(self, steps):
        """Waits until this many workers in total have made their first step."""
        try:
            patience.until(lambda: len(self.said("step")) >= steps)
        except AssertionError as late:
            raise AssertionError("\n".join(log.read_text()[-3000:] for log in self.logs.values())) from late

    def logged(self, text, after, of=None):
        """The last time at which the agents, or the named ones, logged `text` after the time `after`."""
        day = datetime.datetime.fromtimestamp(after).replace(hour=0, minute=0, second=0, microsecond=0)
        found = []
        for log in (self.logs[name] for name in of or self.logs):
            for line in log.read_text().splitlines():
                match = LINE.match(line)
                if match and text in match[4]:
                    hours, minutes, seconds = match.groups()[:3]
                    at = (
                        day + datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
                    ).timestamp()
                    found += [at] if at >= after else []
        return max(found)

    def phases(self, since):
        stopping, joining, starting = (
            self.logged(text, since)
            for text in ("Stopping worker group", "Rendezvous'ing worker group", "Starting worker group")
        )
        last = max(at for at, _, _ in self.said("step"))
        joining = max(joining, stopping)
        return dict(zip(PHASES, (stopping - since, joining - stopping, starting - joining, last - starting)))

    def kill(self, name):
        agent = self.agents.pop(name)
        children = pathlib.Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
        at = time.time()
        for pid in (agent.pid, *map(int, children)):
            os.kill(pid, signal.SIGKILL)
        agent.wait()
        return at

    def end(self):
        for agent in self.agents.values():
            agent.terminate()
        for agent in self.agents.values():
            try:
                agent.wait(timeout=patience.seconds(20))
            except subprocess.TimeoutExpired:
                os.killpg(agent.pid, signal.SIGKILL)
                agent.wait()


def measured(python, folder, port):
    """The time of the first start, and of each restart by phase, in seconds."""
    job = Job(python, folder, port)
    # Import once, so that files are in memory.
    subprocess.run([python, "-W", "ignore", "-c", "import torch.distributed.run"], env=ENVIRONMENT, check=True)
    try:
        begun = time.time()
        job.start("host", host=True)
        job.start("other")
        job.wait(2)
        start = max(at for at, _, _ in job.said("step")) - job.logged("Starting worker group", begun)
        time.sleep(1.5)
        killed = time.time()
        os.kill(job.said("step")[0][2], signal.SIGKILL)
        job.wait(4)
        found = {"process": job.phases(killed)}
        time.sleep(1.5)
        killed = job.kill("other")
        job.wait(5)
        found["lost_node"] = job.phases(killed)
        time.sleep(1.5)
        late = time.time()
        job.start("late")
        job.wait(7)
        # The restart begins when the new node says that it waits; its own start does not count.
        found["new_node"] = job.phases(job.logged("Rendezvous'ing worker group", late, of=("late",)))
        return start, found
    finally:
        job.end()


class Restarts(unittest.TestCase):
    @under_every_torch
    def test_defaults_match_the_source(self, version, python, folder):
        if int(version.split(".")[0]) < 2:
            self.skipTest("another release's defaults")
        told = subprocess.run([python, "-W", "ignore", "-c", DEFAULTS], capture_output=True, text=True, env=ENVIRONMENT)
        self.assertEqual(told.returncode, 0, told.stderr)
        options = answer("simulate", *JOB)["elastic"]["options"]
        for key, value in json.loads(told.stdout).items():
            self.assertEqual(options[key], value, key)
        headers = list(
            pathlib.Path(python).parents[1].glob("lib/python*/site-packages/torch/include/**/ProcessGroupNCCL.hpp")
        )
        if headers:
            product = re.search(
                r"kProcessGroupNCCLDefaultTimeout\s*=\s*std::chrono::milliseconds\(([\d *]+)\)", headers[0].read_text()
            )
            milliseconds = 1
            for factor in product[1].split("*"):
                milliseconds *= int(factor)
            self.assertEqual(options["timeout_s"], milliseconds / 1000)

    @under_every_torch
    def test_phases_of_each_restart_are_as_predicted(self, version, python, folder):
        if int(version.split(".")[0]) < 2:
            self.skipTest("the agents' store is shared with workers, without a way out")
        if not pathlib.Path("/proc/self/task").exists():
            self.skipTest("children are found in /proc")
        start, found = measured(python, folder, held_port(self.addCleanup))
        elastic = answer(
            "simulate",
            *JOB,
            "--backend",
            "gloo",
            "--elastic",
            f"max_restarts=9,last_call_timeout={LAST_CALL}s,keep_alive_interval={KEEP_ALIVE}s,"
            f"keep_alive_max_attempt={ATTEMPTS},start={start:.3f}s,load=0s,stop=0s",
        )["elastic"]
        predicted = {row["after"]: {phase: row[f"{phase}_s"] for phase in PHASES} for row in elastic["interruptions"]}
        table = [
            f"{after:10} {phase:10} measured {found[after][phase]:6.2f} s  predicted {predicted[after][phase]:6.2f} s"
            for after in found
            for phase in PHASES
        ]
        print("\n" + "\n".join(table), file=sys.stderr)
        for after, phases in found.items():
            with self.subTest(after=after):
                ahead = predicted[after]
                # Agents look once per second, and there are two looks, each with an uncertainty of a second.
                self.assertLess(abs(phases["detection"] - ahead["detection"]), 1.6, table)
                self.assertLess(phases["stop"], 1.5, table)
                self.assertLess(abs(phases["rendezvous"] - ahead["rendezvous"]), 2.2, table)
                # This depends on the machine: imports while other processes run.
                self.assertLess(abs(phases["start"] - ahead["start"]), 1 + ahead["start"], table)
                total = sum(phases.values())
                self.assertLess(abs(total - sum(ahead.values())), 2 + 0.5 * total, table)
        # The main claim of the model: a lost node costs keep-alive and last call, a new node neither.
        self.assertGreater(found["lost_node"]["rendezvous"], LAST_CALL)
        self.assertLess(found["new_node"]["rendezvous"], LAST_CALL)
        self.assertLess(found["process"]["rendezvous"], LAST_CALL)


if __name__ == "__main__":
    unittest.main()
