"""Reads the JSON Schemas of the program's documents, for the generators."""

import json
import subprocess


def told(program, *words):
    """The output of `ddpsim list WORDS`. `program` is a list of words, such as an emulator and its program."""
    return subprocess.run([*program, "list", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def schema_texts(program):
    """The text of the schema of each document, by its name."""
    names = [schema["name"] for schema in json.loads(told(program, "--json"))["schemas"]]
    return {name: told(program, "--schema", name, "--json") for name in names}
