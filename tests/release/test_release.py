"""Tests that the artifacts of scripts/release.sh in the folder DDPSIM_RELEASE run, install and list their parts.

Checks that need a missing tool are skipped with a message. The ARM program runs if qemu-aarch64 exists."""

import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = pathlib.Path(os.environ["DDPSIM_RELEASE"])
TOOLS = ROOT / "build" / "portable-tools" / "bin" / "python"
OLDEST_GLIBC = (2, 17)
TARGETS = [target for target in ("x86_64", "aarch64") if list(RELEASE.glob(f"*-linux-{target}.tar.gz"))]


def run(*command, **keywords):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **keywords)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def emulated(target):
    """The words before a command that run a program of `target` on this machine."""
    if target == platform.machine():
        return []
    emulator = shutil.which(f"qemu-{target}")
    if not emulator or not pathlib.Path(f"/usr/{target}-linux-gnu").exists():
        raise unittest.SkipTest(f"qemu-{target}, or its C library, is missing")
    return [emulator, "-L", f"/usr/{target}-linux-gnu"]


def only_file(pattern):
    [found] = RELEASE.glob(pattern)
    return found


class Release(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def each_target(self):
        self.assertTrue(TARGETS)
        for target in TARGETS:
            with self.subTest(target):
                yield target

    def answers(self, target, program):
        step = run(
            *emulated(target), program, "simulate", "resnet50-v100-b32", "2xv100-nvlink", "--quiet", cwd=self.folder
        )
        self.assertTrue(step.startswith("resnet50-v100-b32 on 2xv100-nvlink, 2 GPUs: 98 ms a step"), step)

    def test_every_file_has_a_checksum(self):
        stated = dict(reversed(line.split("  ")) for line in (RELEASE / "SHA256SUMS").read_text().splitlines())
        there = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in RELEASE.iterdir()
            if path.name != "SHA256SUMS"
        }
        self.assertEqual(stated, there)

    def unpacked(self, target):
        with tarfile.open(only_file(f"*-linux-{target}.tar.gz")) as tarball:
            tarball.extractall(self.folder / target)
        [prefix] = (self.folder / target).iterdir()
        return prefix

    def test_the_tarball_runs_and_has_manual_completions_and_licences(self):
        for target in self.each_target():
            prefix = self.unpacked(target)
            for place in (
                "share/man/man1/ddpsim-tune.1",
                "share/bash-completion/completions/ddpsim",
                "share/zsh/site-functions/_ddpsim",
                "share/fish/vendor_completions.d/ddpsim.fish",
                "share/ddpsim/schemas/ddpsim.result.1.json",
                "share/doc/ddpsim/libraries.txt",
            ):
                self.assertTrue((prefix / place).is_file(), place)
            self.answers(target, prefix / "bin/ddpsim")

    def test_the_program_needs_only_an_old_glibc(self):
        for target in self.each_target():
            program = self.unpacked(target) / "bin/ddpsim"
            dynamic = run("readelf", "-dV", program)
            needed = re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", dynamic)
            of_glibc = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux[-\w]*)\.so")
            self.assertEqual([name for name in needed if not of_glibc.match(name)], [])
            versions = {
                tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", dynamic)
            }
            self.assertTrue(versions)
            self.assertLessEqual(max(versions)[:2], OLDEST_GLIBC)
            self.assertNotIn(str(ROOT).encode(), program.read_bytes())

    def test_the_deb_is_well_formed_and_runs(self):
        if not shutil.which("dpkg-deb"):
            self.skipTest("dpkg-deb is missing")
        for target in self.each_target():
            package = only_file(f"ddpsim_*_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}[target] }.deb")
            run("dpkg-deb", "-x", package, self.folder / f"deb-{target}")
            self.answers(target, self.folder / f"deb-{target}" / "usr/bin/ddpsim")
            if shutil.which("lintian"):
                # The package includes its libraries on purpose.
                run("lintian", "--fail-on", "error", "--suppress-tags", "embedded-library", package)

    def test_the_wheel_matches_its_name_and_runs(self):
        for target in self.each_target():
            wheel = only_file(f"ddpsim-*-py3-none-*.manylinux_2_17_{target}.whl")
            said = run(TOOLS, "-m", "auditwheel", "show", wheel)
            self.assertRegex(
                " ".join(said.split()), f'consistent with the following platform tag: "manylinux_2_17_{target}"'
            )
            place = self.folder / f"environment-{target}"
            run(sys.executable, "-m", "venv", place)
            if target != platform.machine():  # pip would refuse it
                shutil.unpack_archive(wheel, place, "zip")
                [program] = place.glob("*.data/scripts/ddpsim")
                program.chmod(0o755)
            else:
                run(place / "bin/pip", "install", "-q", "--no-index", wheel)
                program = place / "bin/ddpsim"
            self.answers(target, program)

    def test_the_bill_of_materials_lists_each_part_and_its_licence(self):
        bill = json.loads(only_file("ddpsim-*.cdx.json").read_text())
        parts = {part["name"]: part for part in bill["components"]}
        self.assertEqual(
            set(parts),
            {
                "fmt",
                "nlohmann-json",
                "CLI11",
                "protozero",
                "Boost",
                "Eigen",
                "zlib",
                "simdjson",
                "pugixml",
                "SQLite",
                "libc++",
                "libc++abi",
                "libunwind",
                "zig-compiler-rt",
            },
        )
        prefix = self.unpacked(TARGETS[0])
        texts = (prefix / "share/doc/ddpsim/libraries.txt").read_text()
        for name, part in parts.items():
            self.assertTrue(part["purl"] and part["licenses"], name)
            self.assertIn(f"\n== {name} {part['version']}\n", texts)
        program = (prefix / "bin/ddpsim").read_bytes()
        self.assertIn(parts["SQLite"]["version"].partition("-")[0].encode(), program)  # SQLite embeds its version


if __name__ == "__main__":
    unittest.main()
