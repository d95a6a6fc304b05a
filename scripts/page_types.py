"""Writes the program's JSON Schemas (`ddpsim list --schema NAME`) as TypeScript, so that tsc can check the page."""

import json
import textwrap

from schemas import schema_texts

TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def word_type(word):
    return "null" if word is None else f"'{word}'"


def array_type(item):
    return f"({item})[]" if " " in item else f"{item}[]"


def keyed_type(schema):
    value = schema.get("additionalProperties")
    return f"Record<string, {type_of(value) if value else 'unknown'}>"


def type_of(schema):
    """The TypeScript type of the values that fit a schema."""
    if "anyOf" in schema:
        return " | ".join(type_of(one) for one in schema["anyOf"])
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(word_type(word) for word in schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    composed = {"array": lambda: array_type(type_of(schema["items"])), "object": lambda: keyed_type(schema)}
    return " | ".join(TYPES[kind] if kind in TYPES else composed[kind]() for kind in kinds)


def member(key, schema, required):
    return f"/** {schema['description']} */\n{key}{'' if required else '?'}: {type_of(schema)};\n"


def interface(name, schema):
    members = [member(key, one, key in schema["required"]) for key, one in schema["properties"].items()]
    return f"/** {schema['description']} */\nexport interface {name} {{\n{textwrap.indent(''.join(members), '  ')}}}\n"


def objects(schema):
    """The name and schema of a document and of every object inside."""
    return [(schema["title"], schema), *schema["$defs"].items()]


def declarations(program):
    """The interface of each object, once, in all documents that the program lists. Its schema gives its name."""
    declared = {}
    for text in schema_texts([program]).values():
        for name, schema in objects(json.loads(text)):
            text = interface(name, schema)
            if declared.setdefault(name, text) != text:
                raise SystemExit(f"page: documents have different objects with the name {name}")
    return "\n".join(declared.values())
