"""A part of a document: its keys as attributes, typed. What a later program adds stays in `document`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Mapping, TypeVar

Read = Callable[[Any], Any]
Self = TypeVar("Self", bound="Record")


def real(value: Any) -> float:
    """A number that the program writes without its point where it has no fraction."""
    return float(value)


def each(read: Read) -> Read:
    return lambda values: tuple(None if value is None else read(value) for value in values)


def same(value: Any) -> Any:
    return value


# A hundred classes are defined at once: what dataclass would write for each, `Record` has for all.
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Record:
    """Equal where the documents are."""

    document: Mapping[str, Any] = field()  #: as the program wrote it

    #: By key, how its value is read; of other keys as it is.
    _reads: ClassVar[Mapping[str, Read]] = {}
    #: Fields that are no keys.
    _beside: ClassVar[tuple[str, ...]] = ("document",)

    @classmethod
    def from_document(cls: type[Self], document: Mapping[str, Any], **beside: Any) -> Self:
        record = object.__new__(cls)
        values = record.__dict__  # the only place that sets what is frozen
        values.update(beside, document=document)
        for name in cls._keys():
            key = name.rstrip("_")  # `from` is a word of Python's: `from_`
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
