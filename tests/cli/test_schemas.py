"""JSON Schemas of documents (`list --schema`): every document of the corpus fits its schema.

A schema is closed: a document does not fit without a key, with an additional key, or with another type."""

import concurrent.futures
import copy
import json
import os
import re
import unittest

from command import BINARY, answer, ddpsim
from golden import ROOT, cases, outcome

try:
    import jsonschema
except ImportError:
    jsonschema = None

OTHER_TYPE = {"string": 7, "integer": "seven", "number": "seven", "boolean": "yes", "array": {}, "object": []}


def printed_documents():
    """What commands of the corpus print or write as JSON: name of the case, name of the schema, document."""
    giving = [case for case in cases() if {"--json", "--timeline", "-o", "--output", "sweep"} & set(case.command)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for done in threads.map(lambda case: outcome(case, BINARY), giving):
            for name, document in done.documents():
                yield done.case.name, name, document
    yield with_schema("list --commands", answer("list", "--commands"))


def with_schema(name, document):
    return name, document.get("schema"), document


def read_documents():
    """What the program reads: the examples of docs/reference/formats.md and the bundled clusters."""
    text = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    for name, example in re.findall(r"^```json (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield with_schema(name, json.loads(example))
    for file in sorted((ROOT / "topologies" / "data").glob("*.json")):
        yield with_schema(file.name, json.loads(file.read_text(encoding="utf-8")))


def schema_names():
    return [schema["name"] for schema in answer("list")["schemas"]]


def alternatives(schema, part):
    """The types that a value may have except null, with references resolved."""
    for one in part.get("anyOf", [part]):
        if "$ref" in one:
            yield schema["$defs"][one["$ref"].rpartition("/")[2]]
        elif one.get("type") != "null":
            yield one


def kind_of(described):
    types = described["type"]
    return types[0] if isinstance(types, list) else types


def pointed(schema, part, value):
    """The one of these types that the value has."""
    types = list(alternatives(schema, part))
    if len(types) == 1:
        return types[0]
    validator = jsonschema.validators.validator_for(schema)
    return next((one for one in types if validator({**one, "$defs": schema["$defs"]}).is_valid(value)), types[0])


def values(schema, part, value, place=()):
    """Every value of a document that the schema describes, with its place and its schema."""
    yield place, part, value
    described = pointed(schema, part, value)
    if isinstance(value, dict):
        for key, member in described.get("properties", {}).items():
            if key in value:
                yield from values(schema, member, value[key], (*place, key))
    elif isinstance(value, list):
        for k, item in enumerate(value[:8]):
            yield from values(schema, described["items"], item, (*place, k))


def at(document, place):
    for step in place:
        document = document[step]
    return document


@unittest.skipIf(jsonschema is None, "jsonschema is not here (scripts/setup.sh --tests)")
class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schemas = {name: json.loads(ddpsim("list", "--schema", name, "--json").out) for name in schema_names()}
        cls.validators = {
            name: jsonschema.validators.validator_for(schema)(schema) for name, schema in cls.schemas.items()
        }
        cls.documents = {name: [] for name in cls.schemas}
        for case, name, document in [*printed_documents(), *read_documents()]:
            if name in cls.schemas:
                cls.documents[name].append((case, document))

    def test_each_is_a_valid_schema_and_describes_every_key(self):
        for name, schema in self.schemas.items():
            with self.subTest(schema=name):
                self.validators[name].check_schema(schema)
                self.assertEqual(name, schema["$id"])
                if "schema" in schema["properties"]:
                    self.assertEqual([name], schema["properties"]["schema"]["enum"])
                for part in [schema, *schema["$defs"].values()]:
                    self.assertFalse(part["additionalProperties"])
                    for key, member in part["properties"].items():
                        self.assertTrue(member["description"], key)

    def test_every_document_of_the_corpus_fits(self):
        for name, documents in self.documents.items():
            self.assertGreater(len(documents), 0, name)
            for case, document in documents:
                with self.subTest(case=case):
                    self.assertEqual([], [error.message for error in self.validators[name].iter_errors(document)])

    def test_a_document_without_a_key_or_with_one_more_or_of_another_type_does_not_fit(self):
        for name, schema in self.schemas.items():
            seen = set()  # described objects and keys
            for _, document in self.documents[name]:
                for place, part, value in list(values(schema, schema, document)):
                    described = pointed(schema, part, value)
                    types = list(alternatives(schema, part))
                    other = {"further": 1} if len(types) > 1 else OTHER_TYPE[kind_of(described)]
                    self.check_type(name, document, place, part, other, seen)
                    if "properties" in described and isinstance(value, dict):
                        self.check_keys(name, document, place, described, seen)
            members = sum(len(part["properties"]) for part in [schema, *schema["$defs"].values()])
            self.assertGreater(len(seen), members / 2, f"{name}: few members are in any document")

    def refused(self, name, document, place, change):
        broken = copy.deepcopy(document)
        change(broken)
        self.assertFalse(self.validators[name].is_valid(broken), f"{name}: {place}")

    def check_type(self, name, document, place, part, other, seen):
        if not place or (id(part), "type") in seen:
            return
        seen.add((id(part), "type"))

        def other_type(broken):
            at(broken, place[:-1])[place[-1]] = other

        self.refused(name, document, place, other_type)

    def check_keys(self, name, document, place, described, seen):
        if (id(described), "keys") not in seen:
            seen.add((id(described), "keys"))
            self.refused(name, document, place, lambda broken: at(broken, place).update(further=1))
        for key in described["required"]:
            if (id(described), key) not in seen:
                seen.add((id(described), key))
                self.refused(name, document, (*place, key), lambda broken: at(broken, place).pop(key))


class Names(unittest.TestCase):
    def test_an_unknown_name_is_refused_with_the_known_ones(self):
        told = ddpsim("list", "--schema", "ddpsim.reslut/1")
        self.assertEqual(2, told.code)
        self.assertIn("ddpsim.result/1", told.err)
        for words in (["--schema", ""], ["--schema", "ddpsim.topo/1", "--commands"]):
            self.assertEqual(2, ddpsim("list", *words).code, words)


if __name__ == "__main__":
    unittest.main()
