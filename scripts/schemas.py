"""JSON Schemas of the program's documents, for what is generated from them."""

import json
import subprocess


def told(program, *words):
    """What `ddpsim list WORDS` prints. `program`: its words, of which there are several where an emulator runs it."""
    return subprocess.run([*program, "list", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def schema_texts(program):
    """The schema of each document, by its name."""
    names = [schema["name"] for schema in json.loads(told(program, "--json"))["schemas"]]
    return {name: told(program, "--schema", name, "--json") for name in names}
