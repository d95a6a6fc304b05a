"""The wheel around the program of this build.

Installed without a network into a new environment, it answers from Python and on the command line. Uninstalled, it
leaves nothing."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

from command import BINARY, ROOT

TOOLS = [ROOT / "build" / name / "bin" / "python" for name in ("python-tools", "portable-tools")]
GENERATED = pathlib.Path(BINARY).parents[1] / "generated"  # from the same build
THREE_LINES = """\
import ddpsim
answer = ddpsim.tune("resnet50-v100-b32", "2xv100-nvlink")
print(answer.recommended.action)
"""


def has_builder(python):
    return (
        python.exists()
        and subprocess.run([python, "-c", "import scikit_build_core"], capture_output=True).returncode == 0
    )


def run(*command):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DDPSIM_PROGRAM")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, cwd="/")
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def files(folder):
    return {
        path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        builder = next(filter(has_builder, TOOLS), None)
        if builder is None:
            raise unittest.SkipTest(
                "scikit-build-core is not here: scripts/setup.sh --python or --portable installs it"
            )
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        run(
            builder,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-build-isolation",
            "--no-deps",
            "--no-index",
            "-w",
            cls.folder,
            ROOT,
            "-C",
            f"build-dir={cls.folder}/build",
            "-C",
            f"cmake.define.DDPSIM_PREBUILT={BINARY}",
            "-C",
            f"cmake.define.DDPSIM_GENERATED={GENERATED}",
        )
        [cls.wheel] = cls.folder.glob("*.whl")

    def test_any_python_accepts_it_and_it_has_nothing_else_of_the_build(self):
        self.assertRegex(self.wheel.name, r"^ddpsim-[0-9.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            [metadata] = [name for name in names if name.endswith("/METADATA")]
            self.assertIn("Requires-Python: >=3.9\n", wheel.read(metadata).decode())
        self.assertIn("ddpsim/ddpsim_recorder.py", names)
        self.assertIn("ddpsim/py.typed", names)
        self.assertLessEqual({f"ddpsim/{path}" for path in files(GENERATED)}, set(names))
        self.assertEqual(
            [name for name in names if name.split("/")[0].endswith(".data") and "/share/" not in name],
            [f"{self.wheel.name.rsplit('-', 3)[0]}.data/scripts/ddpsim"],
        )
        self.assertEqual([name for name in names if name.endswith((".hpp", ".a", ".cmake"))], [])

    def test_installed_it_answers_and_uninstalled_it_leaves_nothing(self):
        place = self.folder / "environment"
        run(sys.executable, "-m", "venv", place)
        before = files(place)
        run(place / "bin/pip", "install", "-q", "--no-index", "--no-compile", self.wheel)
        self.assertEqual(run(place / "bin/ddpsim", "--version"), run(BINARY, "--version"))
        self.assertEqual(run(place / "bin/python", "-B", "-c", THREE_LINES), "keep default\n")
        run(place / "bin/pip", "uninstall", "-q", "-y", "ddpsim")
        self.assertEqual(files(place), before)


if __name__ == "__main__":
    unittest.main()
