"""Checks of keyword arguments. What an option cannot take is a TypeError that begins with the keyword."""

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


#: By what an option takes: whether a value is such, and what to say where it is not. Text is as on the command line.
_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "integer": (lambda value: isinstance(value, (str, numbers.Integral)), "it takes a whole number"),
    "number": (lambda value: isinstance(value, str) or _is_number(value), "it takes a number"),
    "word": (lambda value: isinstance(value, str), "it takes a word, as text"),
    "version": (lambda value: isinstance(value, str), 'a version is text, such as "2.10" (2.10 as a number is 2.1)'),
    "file": (lambda value: isinstance(value, (str, bytes, os.PathLike)), "it takes the name of a file"),
    "text": (_is_text, "it takes text or a number"),
    "input": (
        lambda value: isinstance(value, (str, os.PathLike, Mapping, Record)),
        "it takes a name, a path, a document or a result",
    ),
}


def checked(keyword: str, value: Any, kind: str) -> Any:
    """`value`, or None where it is None. `kind`: of _KINDS."""
    if value is None:
        return None
    if isinstance(value, (set, frozenset)):
        raise TypeError(f"{keyword}={value!r}: a set has no order. Give a list")
    several = values_of(value)
    for one in several:
        if is_truth(one):
            raise TypeError(f"{keyword}={one!r}: it takes a value and is no switch. Leave it out for the default")
        fits, otherwise = _KINDS[kind]
        if not fits(one):
            raise TypeError(f"{keyword}={one!r}: {otherwise}")
    return value if is_one(value) else several


def is_truth(value: Any) -> bool:
    """Also NumPy's."""
    return isinstance(value, bool) or type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def is_one(value: Any) -> bool:
    """ndim: an array of NumPy's or a column of pandas' holds several, their numbers have none."""
    return (
        isinstance(value, (str, bytes, Mapping, Record, os.PathLike))
        or not hasattr(value, "__iter__")
        or getattr(value, "ndim", 1) == 0
    )


def values_of(value: Any) -> Sequence[Any]:
    return (value,) if is_one(value) else list(value)
