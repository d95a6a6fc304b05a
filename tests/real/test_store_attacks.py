"""Unknown programs connect to the port of a running job. The job succeeds, and they cost rank 0 almost nothing.

DDPSIM_REAL_BIN=build/release/real/ddpsim-real python3 -m unittest -v test_store_attacks"""

import contextlib
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402
from held_port import held_port  # noqa: E402

BINARY = os.environ["DDPSIM_REAL_BIN"]
BACKENDS = os.environ.get("DDPSIM_REAL_BACKENDS", "").split()
# The most that all attackers may add to rank 0's peak resident size. Two equal jobs differ by 3.
MOST_MIB = 10
TOKEN = "known to the ranks alone"


def message(*fields):
    body = b"".join(struct.pack("<I", len(field)) + field for field in map(str.encode, fields))
    return struct.pack("<I", len(body)) + body


def hello(token, rank=1):
    return message("hello", "ddpsim-store/2", token, str(rank), "2", "0.1.0", "0123456789abcdef")


class Attackers:
    """Attackers that each run in a thread until the job is over."""

    def __init__(self, port):
        self.port = port
        self.over = threading.Event()
        self.connections = 0
        self.threads = [
            threading.Thread(target=run)
            for run in (
                self.sends_a_kibibyte_a_second,
                self.announces_much_and_waits,
                self.scans,
                self.says_garbage,
                self.cuts_off,
                self.crowds,
                self.plays_a_rank,
            )
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def connect(self):
        self.connections += 1
        return socket.create_connection(("127.0.0.1", self.port), timeout=patience.seconds(20))

    def each_time(self, act, pause=0.05):
        """Repeats until the job is over. The store is expected to hang up or to be gone."""
        while not self.over.is_set():
            with contextlib.suppress(OSError), self.connect() as stranger:
                act(stranger)
            self.over.wait(pause)

    def sends_a_kibibyte_a_second(self):
        def act(stranger):
            stranger.sendall(struct.pack("<I", 1 << 29))
            while not self.over.wait(1):
                stranger.sendall(b"x" * 1024)

        self.each_time(act)

    def announces_much_and_waits(self):
        def act(stranger):
            with contextlib.ExitStack() as others:
                for one in [stranger, *(others.enter_context(self.connect()) for _ in range(3))]:
                    one.sendall(struct.pack("<Q", 400 << 20))
                stranger.recv(1)

        self.each_time(act)

    def scans(self):
        self.each_time(lambda stranger: None, pause=0.002)

    def says_garbage(self):
        rubbish = iter(
            [
                b"GET / HTTP/1.1\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01",
                b"\0" * 4096,
                b"\xff" * 4096,
                b"\x80" * 65536,
                message("set", "key", "x"),
                message("end", "\x1b[2Jowned"),
                message(*"abcdefg"),
            ]
            * 10_000
        )
        self.each_time(lambda stranger: (stranger.sendall(next(rubbish)), stranger.recv(64)))

    def cuts_off(self):
        whole = hello(TOKEN)
        cuts = iter(list(range(1, len(whole))) * 100)
        self.each_time(lambda stranger: stranger.sendall(whole[: next(cuts)]), pause=0.01)

    def crowds(self):
        def act(_stranger):
            with contextlib.ExitStack() as crowd:
                for _ in range(300):
                    crowd.enter_context(self.connect())

        self.each_time(act, pause=0.2)

    def plays_a_rank(self):
        tokens = iter(["", "guess", TOKEN[:-1], TOKEN + "x", "\x1b[31m"] * 100_000)

        def act(stranger):
            stranger.sendall(hello(next(tokens), rank=0) + message("end", "the impostor says so"))
            stranger.recv(256)

        self.each_time(act, pause=0.01)


def listening_sockets(pid):
    """Pairs (address, port) of IPv4 and IPv6, in the format of /proc."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor))
            inodes |= {found[1]} if found else set()
    rows = [
        row.split()
        for name in ("tcp", "tcp6")
        for row in pathlib.Path(f"/proc/{pid}/net/{name}").read_text(encoding="utf-8").splitlines()[1:]
    ]
    return [tuple(row[1].split(":")) for row in rows if row[3] == "0A" and row[9] in inodes]


def largest_resident_mib(pid):
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
        if found:
            return int(found[1]) / 1024
    return 0


@unittest.skipUnless("cpu-gloo" in BACKENDS, "this build has no gloo (Debian: libgloo-dev)")
class StoreAttacks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "small.json").write_text(
            json.dumps(
                {
                    "schema": "ddpsim.workload/1",
                    "name": "small",
                    "parameters": [{"name": f"p{i}", "shape": [5000], "dtype": "float32"} for i in range(3)],
                    "forward": {"duration_us": 1000},
                    "backward": {
                        "duration_us": 150_000,
                        "ready": [{"parameter": i, "at_us": 150_000} for i in (2, 1, 0)],
                    },
                }
            ),
            encoding="utf-8",
        )

    def rank(self, rank, port):
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "OMPI_", "PMI"))
        }
        environment |= {
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "DDPSIM_JOB_TOKEN": TOKEN,
        }
        process = subprocess.Popen(
            [BINARY, "small.json", "--iterations", "6", "--timeout", str(patience.seconds(60)), "--json"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        return process

    def run_job(self, attackers=None):
        """Starts rank 0 first, so that attackers meet it while it waits, then rank 1. Returns rank 0's peak resident
        size in MiB."""
        port = held_port(self.addCleanup)
        zero = self.rank(0, port)
        listens = False
        while not listens and zero.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                listens = True
        largest = [0.0]

        def watch():
            while zero.poll() is None:
                largest[0] = max(largest[0], largest_resident_mib(zero.pid))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    zero.wait(timeout=0.05)

        with attackers(port) if attackers else contextlib.nullcontext() as crowd:
            while crowd and crowd.connections < 2000 and zero.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    zero.wait(timeout=0.05)
            watching = threading.Thread(target=watch)
            watching.start()
            one = self.rank(1, port)
            outcomes = [process.communicate(timeout=patience.seconds(60)) for process in (one, zero)]
            watching.join()
            if crowd:
                print(f"{crowd.connections} connections of strangers", file=sys.stderr)
        for process, (_, err) in zip((one, zero), outcomes):
            self.assertEqual((process.returncode, err), (0, ""))
        self.assertEqual(json.loads(outcomes[1][0])["ranks"], 2)
        return largest[0]

    def test_a_job_under_attack_succeeds_and_stays_small(self):
        alone = self.run_job()
        attacked = self.run_job(Attackers)
        print(f"rank 0's largest resident size: {alone:.1f} MiB alone, {attacked:.1f} MiB attacked", file=sys.stderr)
        self.assertLess(attacked - alone, MOST_MIB)

    def test_ranks_started_here_meet_on_loopback_with_their_own_token(self):
        job = subprocess.Popen(
            [BINARY, "small.json", "--ranks", "2", "--iterations", "1000"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(job.communicate)
        self.addCleanup(job.terminate)
        sockets = []
        while not sockets and job.poll() is None:
            with contextlib.suppress(OSError):
                children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="utf-8").split()
                sockets = listening_sockets(children[0]) if len(children) == 2 else []
        self.assertEqual({address for address, _ in sockets}, {"0100007F"})  # 127.0.0.1
        answers = []
        for _, port in sockets:
            # One of them is gloo's, which may be gone or silent by now.
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", int(port, 16)), timeout=patience.seconds(5)) as stranger,
            ):
                stranger.sendall(hello("", rank=1))
                answers.append(stranger.recv(256))
        self.assertTrue(any(b"rank 0 belongs to another job" in answer for answer in answers), answers)
        self.assertIsNone(job.poll())


if __name__ == "__main__":
    sys.exit(unittest.main())
