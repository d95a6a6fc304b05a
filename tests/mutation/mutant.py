"""One small fault: a stretch of one file, and what stands there instead.

A fault is known by its words, not by its place: the file, the lines it touches, the lines it makes of them, and which
of several equal lines it is. So it stays the same fault while the rest of the file is edited."""

import dataclasses
import hashlib


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # from the top of the checkout
    start: int  # bytes [start, end) are replaced by text
    end: int
    text: str
    line: int  # counted from 1
    original: str  # the lines touched, each without indentation
    mutated: str
    occurrence: int = 0  # which of the places in the file that read alike
    statement: str = ""  # the statement it is in, by the same kind of name
    rule: str = ""  # the kind of node changed: binary, call, number, ...

    @property
    def identity(self):
        return "\n".join((self.file, self.original, self.mutated, str(self.occurrence)))

    def entry(self):
        """As equivalent.json and faults.json spell it."""
        return {"file": self.file, "original": self.original, "mutated": self.mutated}

    def applied_to(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def at(file, source: bytes, start, end, text, **more):
    """The mutant of these bytes, with the lines it touches."""
    begin = source.rfind(b"\n", 0, start) + 1
    finish = source.find(b"\n", end)
    finish = len(source) if finish < 0 else finish
    mutated = source[begin:start] + text.encode() + source[end:finish]
    return Mutant(
        file=file,
        start=start,
        end=end,
        text=text,
        line=source.count(b"\n", 0, start) + 1,
        original=stripped(source[begin:finish].decode()),
        mutated=stripped(mutated.decode()),
        **more,
    )


def stripped(lines):
    return "\n".join(line.strip() for line in lines.splitlines())


def draw(seed, name):
    """A number for this name under this seed, the same on every machine."""
    return hashlib.sha256(f"{seed}\n{name}".encode()).digest()
