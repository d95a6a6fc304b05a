"""Checks keyword arguments. A value that an option cannot take raises a TypeError that begins with the keyword."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any, Callable, Mapping, Sequence

from ._record import Record


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return _is_number(value) or isinstance(value, (str, bytes, os.PathLike))


#: For each kind of option: the check of a value, and the message if it fails. Text is allowed as on the command line.
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "integer": (lambda value: isinstance(value, (str, numbers.Integral)), "this option takes a whole number"),
    "number": (lambda value: isinstance(value, str) or _is_number(value), "this option takes a number"),
    "word": (lambda value: isinstance(value, str), "this option takes a word, as text"),
    "version": (lambda value: isinstance(value, str), 'pass the version as text: "2.10" (2.10 as a number is 2.1)'),
    "file": (lambda value: isinstance(value, (str, bytes, os.PathLike)), "this option takes the path of a file"),
    "text": (_is_text, "this option takes text or a number"),
    "input": (
        lambda value: isinstance(value, (str, os.PathLike, Mapping, Record)),
        "this option takes a name, a path, a document or an answer",
    ),
}


def checked(keyword: str, value: Any, kind: str) -> Any:
    """Returns `value`, several values as a list. Raises TypeError if it is not of `kind`, a key of _KINDS. None stays
    None."""
    if value is None:
        return None
    if isinstance(value, (set, frozenset)):
        raise TypeError(f"{keyword}={value!r}: a set has no order. Pass a list")
    several = values_of(value)
    for one in several:
        if is_truth(one):
            raise TypeError(
                f"{keyword}={one!r}: this option takes a value, it is not a switch. Leave it out for the default"
            )
        fits, otherwise = _KINDS[kind]
        if not fits(one):
            raise TypeError(f"{keyword}={one!r}: {otherwise}")
    return value if is_one(value) else several


def is_truth(value: Any) -> bool:
    """Whether `value` is a bool of Python or NumPy."""
    return isinstance(value, bool) or type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def is_one(value: Any) -> bool:
    """Whether `value` is a single value. NumPy's numbers have `ndim` 0. NumPy's arrays and the columns of pandas have
    a larger `ndim`."""
    return (
        isinstance(value, (str, bytes, Mapping, Record, os.PathLike))
        or not hasattr(value, "__iter__")
        or getattr(value, "ndim", 1) == 0
    )


def values_of(value: Any) -> Sequence[Any]:
    return (value,) if is_one(value) else list(value)
