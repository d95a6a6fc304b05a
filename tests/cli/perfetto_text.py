"""Prints a Perfetto trace as text, one packet per line, with fields in written order. Standard library only."""

import struct

EVENT_TYPES = {1: "begin", 2: "end", 3: "mark", 4: "count"}
UNITS = {2: "number", 3: "bytes"}

# From protos/perfetto/trace/**.proto: the name of each field number, or the name and the fields of its message.
ANNOTATION = {4: "integer", 6: "text", 10: "name"}
EVENT = {4: ("argument", ANNOTATION), 9: "type", 11: "track", 23: "name", 44: "value", 47: "flow", 48: "flow_ends"}
PROCESS = {1: "pid", 6: "name"}
COUNTER = {3: "unit", 6: "name"}
DESCRIPTOR = {
    1: "uuid",
    2: "name",
    3: ("process", PROCESS),
    5: "parent",
    8: ("counter", COUNTER),
    11: "child_ordering",
    12: "sibling_order",
    14: "description",
}
PACKET = {8: "ns", 10: "sequence", 11: ("event", EVENT), 13: "flags", 60: ("track", DESCRIPTOR), 87: "first"}
TRACE = {1: ("packet", PACKET)}
TEXTS = {"name", "text", "description"}


def perfetto_text(trace):
    try:
        return "".join(f"{shown}\n" for _, shown in fields(trace, TRACE))
    except (IndexError, ValueError) as problem:
        return f"(no protobuf: {problem})\n"


def fields(message, names):
    """The name of every field of a message, with its value as text."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        name = names.get(tag >> 3, f"field_{tag >> 3}")
        name, inner = name if isinstance(name, tuple) else (name, None)
        if tag & 7 == 0:
            value, at = varint(message, at)
            yield name, {"type": EVENT_TYPES, "unit": UNITS}.get(name, {}).get(value, value)
        elif tag & 7 in (1, 5):
            size = 8 if tag & 7 == 1 else 4
            content = message[at : at + size]
            yield name, f"{struct.unpack('<d', content)[0]:g}" if name == "value" else int.from_bytes(content, "little")
            at += size
        elif tag & 7 == 2:
            size, at = varint(message, at)
            if at + size > len(message):
                raise ValueError(f"{name} ends {at + size - len(message)} bytes beyond the message")
            content = message[at : at + size]
            at += size
            if inner:
                yield name, "{" + ", ".join(f"{key}: {value}" for key, value in fields(content, inner)) + "}"
            else:
                yield name, f'"{content.decode()}"' if name in TEXTS else content.hex()
        else:
            raise ValueError(f"wire type {tag & 7}")


def varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
