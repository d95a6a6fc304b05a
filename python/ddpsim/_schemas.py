"""The JSON Schemas of documents, which are stored in the package."""

from __future__ import annotations

import json
import os
from typing import Any

from ._errors import UsageError

_FOLDER = os.path.join(os.path.dirname(__file__), "schemas")


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document. `name` is the value of the document's key `schema`, such as
    "ddpsim.result/1".

    The schema tells the type and the meaning of each key that this version of the package reads or writes.
    `ddpsim.list().schemas` has all names; an unknown name raises UsageError.
    """
    path = os.path.join(_FOLDER, name.replace("/", ".") + ".json")
    try:
        with open(path, encoding="utf-8") as file:
            described: dict[str, Any] = json.load(file)
    except OSError as error:
        raise UsageError(f"no schema is named {name!r}", "Pass one of ddpsim.list().schemas") from error
    return described
