#!/usr/bin/env python3
"""Generates the parts of the Python package that follow from the program: functions, classes of answers, JSON Schemas.

    scripts/python_package.py -o FOLDER PROGRAM...

It writes _commands.py, _results.py and schemas/*.json to FOLDER, one schema for each document. All programs of one
commit give the same bytes. PROGRAM may be several words, such as an emulator and its program.
"""

import argparse
import json
import pathlib

import python_commands
import python_results
from schemas import schema_texts, told


def package_files(program):
    """The text of each file, by its path in the package."""
    schemas = schema_texts(program)
    return {
        "_commands.py": python_commands.module(json.loads(told(program, "--commands", "--json"))),
        "_results.py": python_results.module([json.loads(text) for text in schemas.values()]),
        # python/ddpsim/_schemas.py opens files with these names.
        **{f"schemas/{name.replace('/', '.')}.json": text for name, text in schemas.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    files = package_files(arguments.program)
    for old in arguments.output.glob("schemas/*.json"):  # schemas may have been removed
        old.unlink()
    for path, text in files.items():
        file = arguments.output / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
