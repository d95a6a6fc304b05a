"""The JSON Schemas of documents, which lie beside the package."""

from __future__ import annotations

import json
import os
from typing import Any

from ._errors import UsageError

_FOLDER = os.path.join(os.path.dirname(__file__), "schemas")


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document, by what its key `schema` says: "ddpsim.result/1".

    It describes what this version of the package reads and answers with: each member, its type and its meaning.
    """
    path = os.path.join(_FOLDER, name.replace("/", ".") + ".json")
    try:
        with open(path, encoding="utf-8") as file:
            described: dict[str, Any] = json.load(file)
    except OSError as error:
        raise UsageError(f"{name!r} is no document with a schema", "ddpsim.list().schemas has their names") from error
    return described
