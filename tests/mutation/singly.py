"""A mutant that cannot stand behind a switch, compiled alone.

The tree is copied with this one change, the objects that change are made again and linked in front of what is already
there: the shared build stays as it is, and several such mutants can be tried at once."""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess

import includes
import tree


@dataclasses.dataclass(frozen=True)
class Programs:
    tests: pathlib.Path
    program: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Unit:
    """What the compiler is given at once: one source, or several that CMake's unity build includes from one file."""

    file: pathlib.Path
    command: str
    object: str  # from the top of the build


@functools.lru_cache(maxsize=None)
def units():
    """{source, from the top of the tree: the Unit it is compiled in}"""
    found = {}
    for entry in json.loads((tree.BUILD / "compile_commands.json").read_text()):
        unit = Unit(pathlib.Path(entry["file"]), entry["command"], re.search(r" -o (\S+)", entry["command"])[1])
        for source in sources_of(unit):
            found[os.path.relpath(source, tree.TREE)] = unit
    return found


def sources_of(unit):
    if unit.file.parent.name != "Unity":
        return [unit.file]
    return re.findall(r'^#include "(.*)"$', unit.file.read_text(), re.MULTILINE)


def to_compile(file):
    """What is to be compiled again when `file` changes, or None if that is too much."""
    sources = [file] if file.endswith(".cpp") else includes.of_checkout().get(file, ())
    found = {units()[name] for name in sources if name in units()}
    return sorted(found, key=lambda unit: unit.object) if found and len(sources) <= includes.MANY else None


@functools.lru_cache(maxsize=None)
def link_command(target):
    lines = subprocess.run(
        ["ninja", "-C", tree.BUILD, "-t", "commands", target], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return next(part for line in reversed(lines) for part in line.split(" && ") if " -o " in part and "c++" in part)


def build(mutant, source: bytes, worker):
    """The programs with this mutant alone, or what keeps it from compiling."""
    changed = to_compile(mutant.file)
    if changed is None:
        return None, "not compiled into the tests, or included by too many sources"
    folder = tree.WORK / f"single-{worker}"
    tree.copy({mutant.file: mutant.applied_to(source)}, folder / "tree")
    objects = {}
    for unit in changed:
        objects[unit.object] = folder / "objects" / unit.object
        run = subprocess.run(
            shlex.split(moved(unit, objects[unit.object], folder / "tree")),
            cwd=tree.BUILD,
            capture_output=True,
            text=True,
            env=tree.ENVIRONMENT,
        )
        if run.returncode != 0:
            return None, next((line for line in run.stderr.splitlines() if "error:" in line), "does not compile")
    made = Programs(folder / "ddpsim_tests", folder / "ddpsim")
    for target, path in (("ddpsim_tests", made.tests), ("ddpsim_cli", made.program)):
        problem = link(link_command(target), objects, path)
        if problem:
            return None, problem
    return made, ""


def moved(unit, to, sources):
    """The command for the same unit of the tree in `sources`; what the build generated stays where it is."""

    def there(text):
        return re.sub(re.escape(str(tree.TREE)) + "(?!/build/)", str(sources), text)

    to.parent.mkdir(parents=True, exist_ok=True)
    command = there(unit.command).replace(f" -o {unit.object}", f" -w -Wno-narrowing -D_GLIBCXX_ASSERTIONS -o {to}")
    if unit.file.parent.name == "Unity":
        copy = to.with_suffix(".cxx")
        copy.write_text(there(unit.file.read_text()))
        command = command.replace(str(unit.file), str(copy))
    return command


def link(command, objects, path):
    words = shlex.split(command)
    named = {word for word in words if word in objects}
    words = [str(objects.get(word, word)) for word in words]
    at = words.index("-o")
    words[at + 1] = str(path)
    # What would come out of an archive is given by name: the archive's own is then not asked for.
    words[at + 2 : at + 2] = [
        str(file) for object_, file in objects.items() if object_ not in named and not foreign(object_, words)
    ]
    run = subprocess.run(words, cwd=tree.BUILD, capture_output=True, text=True)
    return (
        ""
        if run.returncode == 0
        else next((line for line in run.stderr.splitlines() if "error" in line), "does not link")
    )


def foreign(object_, words):
    """Whether this object belongs to the other program: neither named nor from one of our archives. An archive holds its
    own target's objects, and those of the targets named after it: the rooms of `sim`."""
    target = re.search(r"CMakeFiles/(\w+)\.dir", object_)[1]
    archives = [found[1] for word in words if (found := re.search(r"lib(\w+)\.a$", word))]
    return not any(target == archive or target.startswith(archive + "_") for archive in archives)
