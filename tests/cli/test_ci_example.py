"""The example workflow of scripts/examples runs as on a runner, with measurements made from the predictions."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import patience
from command import BINARY, ROOT, ddpsim
from test_validate import log_of

EXAMPLE = ROOT / "scripts" / "examples" / "ddpsim-ci.yml"


def settings(text):
    """The variables under the top-level key `env`."""
    block = re.search(r"^env:\n((?:  .*\n)+)", text, re.M).group(1)
    return dict(re.findall(r"^  (\w+): ([^#\n]*?) *(?:#.*)?$", block, re.M))


def steps(text):
    """The named steps with the lines of their `run: |`."""
    named = re.findall(r"^      - name: (.*)\n((?:(?:        .*)?\n)+)", text, re.M)
    scripts = {}
    for name, body in named:
        run = re.search(r"^        run: \|\n((?:          .*\n)+)", body, re.M)
        scripts[name] = "".join(line[10:] for line in run.group(1).splitlines(keepends=True))
    return scripts


class Example(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = EXAMPLE.read_text()
        self.settings = settings(self.text)
        self.steps = steps(self.text)

    def measure(self, slower):
        """Writes perf/ for a machine that is `slower` times as slow as predicted."""
        job = [self.settings["WORKLOAD"], self.settings["CLUSTER"]]
        table = ddpsim("allreduce", job[1], "-b", "1M", "-e", "1G", "--json").json()
        step = ddpsim("simulate", *job, "--json").json()["iteration_us"] / 1e3 * slower
        perf = self.folder / "perf"
        perf.mkdir(exist_ok=True)
        (perf / "nccl.txt").write_text(log_of(table["rows"], table["ranks"], slower))
        (perf / "step.txt").write_text(f"{step:.3f}ms\n")
        (perf / "caps.csv").write_text(f"bucket_cap_mb,iteration_ms\ndefault,{step}\n25,{step}\n")

    def run_step(self, name):
        script = self.folder / "step.sh"
        script.write_text(self.steps[name])
        tools = self.folder / "bin"
        tools.mkdir(exist_ok=True)
        if not (tools / "ddpsim").exists():
            (tools / "ddpsim").symlink_to(BINARY)
        return subprocess.run(
            ["bash", "-eo", "pipefail", str(script)],
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            timeout=patience.seconds(300),
            env={
                **os.environ,
                **self.settings,
                "PATH": f"{tools}:{os.environ['PATH']}",
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            },
        )

    def test_every_step_passes_while_the_machine_is_as_predicted(self):
        self.measure(slower=1)
        names = [name for name in self.steps if not name.startswith("Install")]
        self.assertEqual(len(names), 4)
        for name in names:
            with self.subTest(step=name):
                process = self.run_step(name)
                self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertIn("Error over", (self.folder / "summary.md").read_text())
        self.assertEqual(json.loads((self.folder / "caps.json").read_text())["schema"], "ddpsim.validation/1")

    def test_it_fails_once_the_machine_is_slower(self):
        self.measure(slower=1.5)
        for name in ["The network is what it was", "The step is what was predicted"]:
            with self.subTest(step=name):
                self.assertEqual(self.run_step(name).returncode, 4)

    def test_no_tabs_and_balanced_expressions(self):
        self.assertNotIn("\t", self.text)
        self.assertEqual(self.text.count("${{"), self.text.count("}}"))


if __name__ == "__main__":
    unittest.main()
