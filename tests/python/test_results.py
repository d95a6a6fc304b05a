"""Every key of every document is an attribute, of the type it says."""

import dataclasses
import os
import re
import unittest

import documents
from thorough import cases
from ddpsim._record import Record
from ddpsim._results import BY_SCHEMA

SIMPLE = {"str": str, "int": int, "float": float, "bool": bool, "None": type(None)}
PARTS = {
    name: value
    for name, value in vars(__import__("ddpsim._results", fromlist=["_"])).items()
    if isinstance(value, type)
}


def is_of(value, said):
    """Whether `value` is of the type an annotation says."""
    for one in re.split(r" \| (?![^\[]*\])", said):
        inner = re.fullmatch(r"tuple\[(.*), \.\.\.\]", one)
        if inner:
            if isinstance(value, tuple) and all(is_of(item, inner[1]) for item in value):
                return True
        elif one.startswith("Mapping["):
            if isinstance(value, dict):
                return True
        elif type(value) is (SIMPLE.get(one) or PARTS[one]):
            return True
    return False


def problems(record, place=""):
    """Keys that are no attribute, attributes of another type or value."""
    said = {one.name: one.type for one in dataclasses.fields(record) if one.name not in record._beside}
    found = [
        f"{place}/{key}: no attribute" for key in record.document if key not in {name.rstrip("_") for name in said}
    ]
    for name, kind in said.items():
        value, key = getattr(record, name), name.rstrip("_")
        if not is_of(value, kind):
            found.append(f"{place}/{key}: {value!r} is no {kind}")
        found += differing(value, record.document.get(key), f"{place}/{key}")
    return found


def differing(value, printed, place):
    if isinstance(value, Record):
        return problems(value, place)
    if isinstance(value, tuple):
        if len(value) != len(printed):
            return [f"{place}: {len(value)} of {len(printed)}"]
        return [one for i, pair in enumerate(zip(value, printed)) for one in differing(*pair, f"{place}/{i}")]
    return [] if value == printed else [f"{place}: {value!r} for {printed!r}"]


class Results(unittest.TestCase):
    def test_every_key_of_the_corpus_is_an_attribute_of_the_type_it_says(self):
        seen, wrong = set(), {}
        for words, document in documents.printed(os.environ["DDPSIM_PROGRAM"], one_in=cases(1, every_change=3)):
            schema = document["schema"]
            seen.add(schema)
            for problem in problems(BY_SCHEMA[schema].from_document(document, arguments=None, messages=())):
                wrong.setdefault(re.sub(r"/\d+", "", problem), " ".join(words))
        self.assertEqual(wrong, {}, "scripts/python_results.py --program PROGRAM makes it anew")
        self.assertEqual(seen, set(BY_SCHEMA) - {"ddpsim.timeline/1"})

    def test_a_missing_key_a_wrong_type_and_a_wrong_value_are_found(self):
        part = BY_SCHEMA["ddpsim.list/1"]
        document = {
            "schema": "ddpsim.list/1",
            "workloads": [{"name": "a", "summary": 1}],
            "models": [],
            "clusters": [],
            "cluster_words": [],
            "gpus": [],
            "torch": [],
            "schemas": [],
            "further": 1,
        }
        self.assertEqual(
            problems(part.from_document(document, arguments=None, messages=())),
            ["/further: no attribute", "/workloads/0/summary: 1 is no str"],
        )

    def test_what_a_later_program_adds_stays_in_the_document(self):
        document = {"schema": "ddpsim.list/1", "colours": ["blue"]}
        record = BY_SCHEMA["ddpsim.list/1"].from_document(document, arguments=None, messages=())
        self.assertEqual(record.document["colours"], ["blue"])
        self.assertIsNone(record.workloads)

    def test_are_frozen_and_equal_by_document(self):
        read = BY_SCHEMA["ddpsim.list/1"].from_document
        one, same = (read({"schema": "ddpsim.list/1", "gpus": []}, arguments=n, messages=()) for n in (1, 2))
        self.assertEqual(one, same)
        self.assertEqual(hash(one), hash(same))
        self.assertNotEqual(one, read({"schema": "ddpsim.list/1", "gpus": None}, arguments=1, messages=()))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            one.gpus = ()


if __name__ == "__main__":
    unittest.main()
