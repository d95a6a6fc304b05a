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


@functools.lru_cache(maxsize=None)
def compile_commands():
    """{source, from the top of the tree: (command, object)}"""
    found = {}
    for entry in json.loads((tree.BUILD / "compile_commands.json").read_text()):
        match = re.search(r" -o (\S+)", entry["command"])
        found[os.path.relpath(entry["file"], tree.TREE)] = (entry["command"], match[1])
    return found


def to_compile(file):
    """The sources to be compiled again when `file` changes, or None if that is too much."""
    if file.endswith(".cpp"):
        return [file] if file in compile_commands() else None
    found = sorted(name for name in includes.of_checkout().get(file, ()) if name in compile_commands())
    return found if 0 < len(found) <= includes.MANY else None


@functools.lru_cache(maxsize=None)
def link_command(target):
    lines = subprocess.run(["ninja", "-C", tree.BUILD, "-t", "commands", target], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return next(part for line in reversed(lines) for part in line.split(" && ") if " -o " in part and "c++" in part)


def build(mutant, source: bytes, worker):
    """The programs with this mutant alone, or what keeps it from compiling."""
    sources = to_compile(mutant.file)
    if sources is None:
        return None, "not compiled into the tests, or included by too many sources"
    folder = tree.WORK / f"single-{worker}"
    tree.copy({mutant.file: mutant.applied_to(source)}, folder / "tree")
    objects = {}
    for name in sources:
        command, object_ = compile_commands()[name]
        objects[object_] = folder / "objects" / object_
        objects[object_].parent.mkdir(parents=True, exist_ok=True)
        run = subprocess.run(shlex.split(moved(command, object_, objects[object_], folder / "tree")), cwd=tree.BUILD,
                             capture_output=True, text=True, env=tree.ENVIRONMENT)
        if run.returncode != 0:
            return None, next((line for line in run.stderr.splitlines() if "error:" in line), "does not compile")
    made = Programs(folder / "ddpsim_tests", folder / "ddpsim")
    for target, path in (("ddpsim_tests", made.tests), ("ddpsim_cli", made.program)):
        problem = link(link_command(target), objects, path)
        if problem:
            return None, problem
    return made, ""


def moved(command, object_, to, sources):
    """The same command over the tree in `sources`; what the build generated stays where it is."""
    command = re.sub(re.escape(str(tree.TREE)) + "(?!/build/)", str(sources), command)
    return command.replace(f" -o {object_}", f" -w -Wno-narrowing -D_GLIBCXX_ASSERTIONS -o {to}")


def link(command, objects, path):
    words = shlex.split(command)
    named = {word for word in words if word in objects}
    words = [str(objects.get(word, word)) for word in words]
    at = words.index("-o")
    words[at + 1] = str(path)
    # What would come out of an archive is given by name: the archive's own is then not asked for.
    words[at + 2:at + 2] = [str(file) for object_, file in objects.items()
                            if object_ not in named and not foreign(object_, words)]
    run = subprocess.run(words, cwd=tree.BUILD, capture_output=True, text=True)
    return "" if run.returncode == 0 else next((line for line in run.stderr.splitlines() if "error" in line),
                                               "does not link")


def foreign(object_, words):
    """Whether this object belongs to the other program: neither named nor from one of our archives."""
    target = re.search(r"CMakeFiles/(\w+)\.dir", object_)[1]
    return not any(word.endswith(f"lib{target}.a") for word in words)
