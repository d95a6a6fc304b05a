"""Rehearses scripts/on_gpu.sh with PyTorch on the CPU and our program on the simulated GPU.

Each part is killed at some moment. The files for the other machine also run in a root folder of their own."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["DDPSIM_SOURCE"])
sys.path.insert(0, str(ROOT / "tests/cli"))

import patience  # noqa: E402
from torch_python import pythons_with_torch  # noqa: E402

PARTS = ("reducer", "ddp", "estimates", "recorder", "copies")
LIBRARIES = os.environ["SIMULATED_GPU_LIBRARIES"]
PROGRAMS = {"ddpsim": os.environ["DDPSIM_BIN"], "ddpsim-real": os.environ["DDPSIM_REAL_BIN"]}
# Four times the duration of a rehearsal on an idle machine.
SECONDS = patience.seconds(240)
SEED = 38


def python_with_today():
    """The newest installed PyTorch since 2.6, which has the fully_shard and replicate that the script uses."""
    known = {tuple(map(int, version.split("."))): python for version, python in pythons_with_torch().items()}
    newest = max(known, default=(0, 0))
    return known[newest] if newest >= (2, 6) else None


PYTHON = python_with_today()


@unittest.skipIf(PYTHON is None, "no python3 here has PyTorch 2.6 or newer (scripts/setup.sh --torch)")
class Rehearsed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.travels = self.folder / "travels"
        (self.travels / "bin").mkdir(parents=True)
        for name, program in PROGRAMS.items():
            (self.travels / "bin" / name).symlink_to(pathlib.Path(program).resolve())

    def start(self, *options):
        environment = {
            **os.environ,
            "DDPSIM_TORCH_PYTHON": PYTHON,
            "DDPSIM_ON_GPU": str(self.travels),
            "DDPSIM_REHEARSED": str(self.folder / "out"),
            "GLOO_SOCKET_IFNAME": "lo",
        }
        process = subprocess.Popen(
            [ROOT / "scripts/on_gpu.sh", "--rehearse", "--seconds", str(SECONDS), *options],
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.kill)
        return process

    def document(self, part):
        return json.loads((self.folder / "out/whole" / f"{part}.json").read_text(encoding="utf-8"))

    def test_every_part_writes_rows_and_reports_no_problem(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = self.start()
        out, _ = said.communicate(timeout=SECONDS + 30)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"a rehearsal takes {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.0f} s of processor time",
            file=sys.stderr,
        )
        self.assertEqual(said.returncode, 0, out)
        for part in PARTS:
            document = self.document(part)
            self.assertTrue(document["rows"], part)
            self.assertTrue(document["complete"], part)
            self.assertTrue(document["rehearsed"])
            self.assertEqual(document["problems"], [])
        self.assertEqual({row["as"] for row in self.document("reducer")["rows"]}, {"threads", "processes", "one rank"})
        with tarfile.open(self.folder / "out/whole/measured.tar.xz") as archive:
            self.assertLessEqual({f"{part}.json" for part in PARTS}, set(archive.getnames()))

    def test_killing_a_part_at_any_moment_costs_only_its_item(self):
        draw = random.Random(SEED)
        delays = {part: draw.uniform(0, 3) for part in PARTS}
        process = self.start()
        killed = {}
        while process.poll() is None:
            for part, pid in self.parts_of(process.pid):
                if part not in killed:
                    time.sleep(delays[part])
                    self.end(pid)
                    killed[part] = pid
            time.sleep(0.02)
        out, _ = process.communicate()
        self.assertIn(process.returncode, (0, 4), out)  # 0 if each was killed before it began.
        self.assertEqual(set(killed), set(PARTS))
        for part in PARTS:
            document = self.document(part)
            measured = {row["item"] for row in document["rows"]}
            failed = {problem["item"] for problem in document["problems"]}
            with self.subTest(part=part, delay=delays[part]):
                self.assertLessEqual(len(failed), 1, document["problems"])
                self.assertEqual(measured | failed, set(document["begun"]))
                self.assertTrue(document["complete"])
                self.assertTrue(measured or part == "ddp")  # ddp has only one item
        with tarfile.open(self.folder / "out/whole/measured.tar.xz") as archive:
            self.assertLessEqual({f"{part}.json" for part in PARTS}, set(archive.getnames()))

    @staticmethod
    def parts_of(parent):
        """Pairs (part, process) of the parts that run under the script. The script's process becomes run.py's."""
        try:
            children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        except OSError:
            return
        for pid in children:
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            for part in PARTS:
                if any(word.endswith(f"scripts/on_gpu/{part}.py") for word in words):
                    yield part, int(pid)

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended by itself

    def test_the_transferred_files_run_in_a_separate_root_folder(self):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("a root folder of its own needs root and unshare")
        root = self.folder / "root"
        environment = pathlib.Path(PYTHON).parents[1].resolve()
        base = subprocess.run(
            [PYTHON, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, check=True
        ).stdout.strip()
        bound = ["/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/dev", "/proc", str(environment), base]
        bound = [place for place in bound if pathlib.Path(place).exists() and not place.startswith("/usr/")]
        for place in [*bound, "/tmp", "/checkout", "/travels", "/simulated"]:
            (root / place.lstrip("/")).mkdir(parents=True)
        for name in ("scripts", "real", "traces/recorder"):  # files of the checkout
            shutil.copytree(ROOT / name, root / "checkout" / name)
        shutil.copytree(
            LIBRARIES, root / "simulated", dirs_exist_ok=True, symlinks=True
        )  # one library under three names
        subprocess.run(
            [ROOT / "scripts/on_gpu.sh", "--collect", *PROGRAMS.values()],
            env={**os.environ, "DDPSIM_ON_GPU": str(root / "travels")},
            check=True,
        )
        mounts = " && ".join(f"mount --rbind {place} {root}{place}" for place in bound)
        # The loader may only find the transferred files, the simulated GPU, and the C library.
        inside = (
            "LD_LIBRARY_PATH=/simulated:/travels/lib ldd /travels/bin/ddpsim /travels/bin/ddpsim-real; "
            f"cd /checkout && SIMULATED_GPU_LIBRARIES=/simulated DDPSIM_ON_GPU=/travels DDPSIM_REHEARSED=/tmp/out "
            f"DDPSIM_TORCH_PYTHON={environment}/bin/python "
            f"scripts/on_gpu.sh --rehearse --seconds {SECONDS} --only reducer,copies"
        )
        run = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f'{mounts} && exec chroot {root} bash -c "{inside}"'],
            capture_output=True,
            text=True,
            timeout=SECONDS + 30,
            check=False,
        )
        if "unshare" in run.stderr or "mount" in run.stderr:
            self.skipTest(f"a root folder of its own is refused here: {run.stderr.strip()[-200:]}")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for line in run.stdout.splitlines():
            name, arrow, place = line.strip().partition(" => ")
            if arrow and not name.startswith(("libc.", "libm.", "libdl.", "librt.", "libpthread.")):
                self.assertTrue(place.startswith(("/travels/lib/", "/simulated/")), line)
        self.assertIn("libcudart", run.stdout)
        for part in ("reducer", "copies"):
            document = json.loads((root / "tmp/out/whole" / f"{part}.json").read_text(encoding="utf-8"))
            self.assertTrue(document["rows"] and not document["problems"])


if __name__ == "__main__":
    unittest.main()
