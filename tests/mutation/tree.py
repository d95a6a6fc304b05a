"""The sources that are compiled: a copy of the checkout in build/mutate/tree, some of its files rewritten.

A file is written only when its bytes change, so that only what a sample touches is compiled again. The checkout itself
is never edited."""

import os
import pathlib
import subprocess

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
WORK = CHECKOUT / "build" / "mutate"
TREE = WORK / "tree"
BUILD = TREE / "build" / "quick"
TESTS = BUILD / "tests" / "ddpsim_tests"
PROGRAM = BUILD / "cli" / "ddpsim"
# Paths as every other clone's: one compiler cache serves all.
ENVIRONMENT = {**os.environ, "CCACHE_BASEDIR": str(TREE), "CCACHE_NOHASHDIR": "1"}


def checkout_files():
    """Names of all files git would know, of this very state of the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=CHECKOUT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [name for name in listed if (CHECKOUT / name).is_file()]


def copy(rewritten, to=TREE):
    """Brings the copy up to date: as the checkout, but for {file: bytes} in `rewritten`."""
    names = checkout_files()
    for name in names:
        put(to / name, rewritten.get(name) or (CHECKOUT / name).read_bytes(), (CHECKOUT / name).stat().st_mode)
    kept = set(names)
    for folder, folders, files in os.walk(to):
        if folder == str(to):
            folders[:] = [name for name in folders if name != "build"]
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
    made = BUILD / "build.ninja"
    if made.exists() and made.stat().st_mtime > (TREE / "CMakePresets.json").stat().st_mtime:
        return
    subprocess.run(
        [
            "cmake",
            "--preset",
            "quick",
            "-DDDPSIM_MUTATION=ON",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={TREE}/tests/mutation/launcher.sh",
        ],
        cwd=TREE,
        check=True,
        capture_output=True,
    )


def build(jobs):
    """(whether both programs were made, what the compiler said about all that is wrong)"""
    configure()
    run = subprocess.run(
        ["cmake", "--build", BUILD, "--target", "ddpsim_tests", "ddpsim_cli", "-j", str(jobs), "--", "-k", "0"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    return run.returncode == 0, run.stdout + run.stderr
