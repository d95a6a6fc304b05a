"""A JSON document as the corpus keeps it: its values in their order, without keys. Keys stand in the document's schema, which
each document is checked against (test_golden), so a renamed key changes one description instead of every kept document."""

import json

INDENT = "  "
WIDTH = 160


class Number(str):
    """A number as it is printed: its digits are kept."""


class Members(list):
    """The (key, value) pairs of an object."""


class Line(str):
    """A line of values. `place` says which, as in /buckets/1/ready_us."""

    place = ""

    @classmethod
    def at(cls, place, text):
        line = cls(text)
        line.place = place
        return line


DECODER = json.JSONDecoder(object_pairs_hook=Members, parse_float=Number, parse_int=Number)


def lines_of(text):
    """The lines to keep of `text`: documents with a schema by their values, everything else as it stands."""
    lines, first = [], True
    while text:
        document, rest = leading_document(text) if first or text.startswith("{") else (None, text)
        if document is None:
            line, _, text = text.partition("\n")
            lines.append(line)
            continue
        printed = text.removesuffix(rest)
        lines += values("", document, "") if "\n" in printed else [Line.at("/", flat(document))]
        text, first = rest.removeprefix("\n"), False
    return lines


def leading_document(text):
    """The document that `text` opens with, or None, and what follows."""
    if not text.startswith("{"):
        return None, text
    try:
        document, end = DECODER.raw_decode(text)
    except ValueError:  # cut, or no JSON
        return None, text
    known = {"schema", "point"} & dict(document).keys()
    return (document, text[end:]) if known else (None, text)


def values(place, value, indent):
    """One line a value; an object or an array takes one line as a whole where it fits."""
    line = indent + flat(value)
    if not isinstance(value, list) or len(line) <= WIDTH:
        return [Line.at(place or "/", line)]
    members = value if isinstance(value, Members) else list(enumerate(value))
    opened, closed = "{}" if isinstance(value, Members) else "[]"
    lines = [Line.at(place or "/", indent + opened)]
    for key, member in members:
        lines += values(f"{place}/{key}", member, indent + INDENT)
    return [*lines, Line.at(place or "/", indent + closed)]


def flat(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Members):
        return "{" + ", ".join(flat(member) for _, member in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flat, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
