"""The sources that are compiled: a copy of the checkout in build/mutate/tree, some of its files rewritten.

A file is written only when its bytes change, so that only what a sample touches is compiled again. The checkout itself
is never edited."""
import os
import pathlib
import re
import shutil
import subprocess

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
WORK = CHECKOUT / "build" / "mutate"
TREE = WORK / "tree"
BUILD = WORK / "build"
TESTS = BUILD / "tests" / "ddpsim_tests"
PROGRAM = BUILD / "cli" / "ddpsim"
# As preset `quick`, without a word about style: what is rewritten is not for reading. Standard containers check their
# bounds, as they do under the sanitizers, so that a read past the end is noticed where it happens.
FLAGS = f"-O1 -w -Wno-narrowing -D_GLIBCXX_ASSERTIONS -include {TREE}/tests/mutation/switch.hpp"


def checkout_files():
    """Names of all files git would know, of this very state of the working tree."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=CHECKOUT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return [name for name in listed if (CHECKOUT / name).is_file()]


def copy(rewritten, to=TREE):
    """Brings the copy up to date: as the checkout, but for {file: bytes} in `rewritten`."""
    names = checkout_files()
    for name in names:
        put(to / name, rewritten.get(name) or (CHECKOUT / name).read_bytes(), (CHECKOUT / name).stat().st_mode)
    kept = set(names)
    for folder, _, files in os.walk(to):
        for file in files:
            path = pathlib.Path(folder, file)
            if str(path.relative_to(to)) not in kept:
                path.unlink()
    shared = CHECKOUT.parent / "shared"
    link = to.parent / "shared"
    if shared.exists() and not link.exists():
        link.symlink_to(shared.resolve())


def put(path, content, mode=0o644):
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode & 0o777)


def configure():
    if (BUILD / "build.ninja").exists():
        return
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
                    f"-DCMAKE_CXX_FLAGS={FLAGS}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DDDPSIM_BENCHMARKS=OFF",
                    "-DDDPSIM_MUTATION=ON", *launcher], check=True, capture_output=True)


def build(jobs, keep_going=True):
    """(whether both programs were made, what the compiler said)"""
    configure()
    run = subprocess.run(["cmake", "--build", BUILD, "--target", "ddpsim_tests", "ddpsim_cli", "-j", str(jobs), "--",
                          "-k", "0" if keep_going else "1"], capture_output=True, text=True)
    return run.returncode == 0, run.stdout + run.stderr
