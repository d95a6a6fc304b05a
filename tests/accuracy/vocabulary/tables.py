"""Reads the tables of words (*.txt in this folder). An entry is a meaning, a colon, and its spellings with commas:

    scheme = ddp: DDP, DistributedDataParallel      these words mean that value
    scheme = data_parallel [as written]: …          only if written with these capitals
    scheme = dp [number: replicas]: …               a number behind it counts something else ("none": is ignored)
    overlap_comm [flag]: overlap_comm               a switch: on, unless its value or a "no" in front says otherwise
    bucket_mb [mib]: bucket_cap_mb                  a number of one of KINDS
    wrap [size: by_size, size | none: null]: wrap   a key whose value has one of these spellings
    not simulated, REASON: LoRA, PEFT               the row is refused for that reason
    no effect: with, the                            the step does not depend on it
    no effect, with a value: seed                   nor on the value behind it

Among the values of a key, "alone" and "no" say what it means without a value and behind a "no", and "#" that numbers
count. `#` in a spelling is a number. Punctuation and capitals do not count. A line that begins with `#` is a comment.
"""

import pathlib
import re

from vocabulary.entries import cased, choice, degree, flag, joined, means, number, refused, silent, silent_keys

HEAD = re.compile(r"([^\[\]:=]+?)(?: = ([^\[\]:]+?))?(?: \[(.*)\])?")
KINDS = ("mib", "mb", "sized", "bytes", "elements", "tokens", "count", "version", "minor")


def value_of(text):
    return {"true": True, "false": False}.get(text, int(text) if text.isdigit() else text)


def choices(text):
    """Values with their spellings, and what a key means alone and behind "no"."""
    values, without = {}, {"alone": None, "no": None}
    for part in text.split(" | "):
        name, colon, spellings = part.partition(": ")
        if colon:
            values[name] = [one.strip() for one in spellings.split(",")]
        elif part == "#":
            values["#"] = []
        else:
            which, _, meant = part.partition(" ")
            without[which] = meant
    return values, without


def entry_of(head, spellings):
    if head.startswith("not simulated, "):
        return refused(head.removeprefix("not simulated, "), spellings)
    if head.startswith("no effect"):
        return (silent_keys if head.endswith("with a value") else silent)(spellings)
    concept, value, how = HEAD.fullmatch(head).groups()
    if value is not None:
        if how == "as written":
            return cased(concept, value_of(value), spellings)
        counted = (how or "").removeprefix("number: ")
        return (
            degree(concept, value_of(value), "" if counted == "none" else counted, spellings)
            if how
            else means(concept, value_of(value), spellings)
        )
    if how == "flag":
        return flag(concept, spellings)
    if how in KINDS:
        return number(concept, how, spellings)
    values, without = choices(how)
    return choice(concept, values, spellings, alone=without["alone"], denied=without["no"])


def table(name):
    """The entries of a file. Spellings of one file may not contradict each other."""
    text = pathlib.Path(__file__).with_name(name + ".txt").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))
    entries = []
    for entry in re.split(r"\n(?! )", lines):
        head, _, spellings = re.match(r"((?:[^\[\]:]|\[[^\]]*\])*)(: )(.*)", " ".join(entry.split())).groups()
        entries.append(entry_of(head, spellings))
    return joined(*entries)
