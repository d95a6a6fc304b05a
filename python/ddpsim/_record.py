"""Typed parts of a document: keys become attributes. Keys that a later program adds are found in `document` only."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Mapping, TypeVar

Read = Callable[[Any], Any]
Self = TypeVar("Self", bound="Record")


def real(value: Any) -> float:
    """Reads a number as float. The program writes 2 for 2.0."""
    return float(value)


def each(read: Read) -> Read:
    return lambda values: tuple(None if value is None else read(value) for value in values)


def same(value: Any) -> Any:
    return value


# The module _results defines a hundred subclasses. `Record` implements the methods once, which is faster than having
# dataclass generate them for each class.
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Record:
    """A part of an answer. Two are equal if their documents are equal."""

    document: Mapping[str, Any] = field()  #: as the program wrote it

    #: For each key, the function that reads its value. Values of other keys stay as they are.
    _reads: ClassVar[Mapping[str, Read]] = {}
    #: Fields that are not keys of the document.
    _beside: ClassVar[tuple[str, ...]] = ("document",)

    @classmethod
    def from_document(cls: type[Self], document: Mapping[str, Any], **beside: Any) -> Self:
        """An object of this class for `document`. `beside` sets the fields that are not keys."""
        record = object.__new__(cls)
        values = record.__dict__  # the class is frozen: set fields here only
        values.update(beside, document=document)
        for name in cls._keys():
            key = name.rstrip("_")  # the key `from` is the attribute `from_`
            value = document.get(key)
            values[name] = None if value is None else cls._reads.get(key, same)(value)
        return record

    @classmethod
    def _keys(cls) -> list[str]:
        return [name for name in cls.__dataclass_fields__ if name[0] != "_" and name not in cls._beside]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._keys())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(other) is type(self) and other.document == self.document

    def __hash__(self) -> int:
        return hash(json.dumps(self.document, sort_keys=True))
