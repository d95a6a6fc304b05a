"""Mutants written down by their words: equivalent.json (nobody could notice, and why) and faults.json (each must be
noticed). The texts are lines without indentation, or parts of lines; white space counts only as such."""

import json
import pathlib
import re

import mutant

FOLDER = pathlib.Path(__file__).parent


def entries(name):
    return json.loads((FOLDER / name).read_text())


def key(entry):
    return entry["file"], " ".join(entry["original"].split()), " ".join(entry["mutated"].split())


def reasons():
    """{key: reason} of the equivalent mutants."""
    return {key(entry): entry["reason"] for entry in entries("equivalent.json")}


def located(entry, source: bytes):
    """The mutant of an entry, as narrow as it can be; its text must be in the file exactly once."""
    text = source.decode()
    found = list(re.finditer(r"\s+".join(map(re.escape, entry["original"].split())), text))
    if len(found) != 1:
        raise ValueError(f"{entry['file']}: this text is there {len(found)} times, not once: {entry['original']!r}")
    old, new = tokens(found[0].group()), tokens(entry["mutated"])
    front = 0
    while front < min(len(old), len(new)) and old[front][0] == new[front][0]:
        front += 1
    back = 0
    while back < min(len(old), len(new)) - front and old[-1 - back][0] == new[-1 - back][0]:
        back += 1
    if front == len(old) == len(new):
        raise ValueError(f"{entry['file']}: original and mutated read alike: {entry['original']!r}")
    begin, end = stretch(old, front, back, found[0].group())
    left, right = stretch(new, front, back, entry["mutated"])
    base = found[0].start()
    return mutant.at(
        entry["file"],
        source,
        len(text[: base + begin].encode()),
        len(text[: base + end].encode()),
        entry["mutated"][left:right],
        rule="fault",
    )


def tokens(text):
    """[(token, begin, end), ...]; a string literal is one."""
    return [
        (match.group(), match.start(), match.end()) for match in re.finditer(r"\"(?:\\.|[^\"])*\"|\w+|[^\w\s]", text)
    ]


def stretch(found, front, back, text):
    """Where in `text` its tokens lie, without the first `front` and the last `back`."""
    left = found[: len(found) - back][front:]
    if left:
        return left[0][1], left[-1][2]
    at = found[front][1] if front < len(found) else len(text)
    return at, at
