"""Every key of every document is an attribute of the annotated type."""

import collections.abc
import dataclasses
import functools
import os
import re
import sys
import types
import typing
import unittest

import documents
import ddpsim
from ddpsim import _results
from ddpsim._record import Record
from thorough import cases


def read(kind, document):
    return kind.from_document(document, **{name: None for name in kind._beside if name != "document"})


types_of = functools.lru_cache(maxsize=None)(typing.get_type_hints)


def fits(value, kind):
    """Whether `value` has the annotated type `kind`."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return value in inner
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(fits(item, inner[0]) for item in value)
    if origin is collections.abc.Mapping:
        return isinstance(value, dict) and all(fits(item, inner[1]) for item in value.values())
    return kind is typing.Any or type(value) is kind


def problems(record, place=""):
    """Keys without an attribute, and attributes of a wrong type or value."""
    said = {name: types_of(type(record))[name] for name in record._keys()}
    found = [
        f"{place}/{key}: no attribute" for key in record.document if key not in {name.rstrip("_") for name in said}
    ]
    for name, kind in said.items():
        value, key = getattr(record, name), name.rstrip("_")
        if not fits(value, kind):
            found.append(f"{place}/{key}: {value!r} is not {kind}")
        found += differing(value, record.document.get(key), f"{place}/{key}")
    return found


def differing(value, printed, place):
    if isinstance(value, Record):
        return problems(value, place)
    if isinstance(value, tuple):
        if len(value) != len(printed):
            return [f"{place}: {len(value)} values instead of {len(printed)}"]
        return [one for i, pair in enumerate(zip(value, printed)) for one in differing(*pair, f"{place}/{i}")]
    return [] if value == printed else [f"{place}: {value!r} instead of {printed!r}"]


class Results(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 10), "Python 3.9 cannot evaluate annotations such as X | Y")
    def test_every_key_of_the_corpus_is_an_attribute_of_the_annotated_type(self):
        names = [schema.name for schema in ddpsim.list().schemas]
        kinds = {name: getattr(_results, ddpsim.schema(name)["title"], None) for name in names}
        seen, wrong = set(), {}
        for words, document in documents.printed(os.environ["DDPSIM_PROGRAM"], one_in=cases(1, every_change=3)):
            kind = kinds[document["schema"]]
            seen.add(kind.__name__)
            for problem in problems(read(kind, document)):
                wrong.setdefault(re.sub(r"/\d+", "", problem), " ".join(words))
        self.assertEqual(wrong, {})
        self.assertEqual(seen, {*_results.__all__, "ErrorDocument"} - {"Timeline"})

    @unittest.skipIf(sys.version_info < (3, 10), "Python 3.9 cannot evaluate annotations such as X | Y")
    def test_a_missing_key_and_a_wrong_type_are_found(self):
        document = {key: [] for key in _results.ListResult._keys()}
        document |= {"schema": "ddpsim.list/1", "workloads": [{"name": "a", "summary": 1}], "further": 1}
        self.assertEqual(
            problems(read(_results.ListResult, document)),
            ["/further: no attribute", "/workloads/0/summary: 1 is not <class 'str'>"],
        )

    def test_no_key_hides_an_attribute_of_every_answer(self):
        for name in _results.__all__:
            kind = getattr(_results, name)
            inherited = {*dir(kind.__base__), *(one.name for one in dataclasses.fields(kind.__base__))}
            self.assertEqual(inherited & set(kind.__annotations__) - {"_reads", "_table"}, set(), name)

    def test_unknown_keys_stay_in_the_document(self):
        record = read(_results.ListResult, {"schema": "ddpsim.list/1", "colours": ["blue"]})
        self.assertEqual(record.document["colours"], ["blue"])
        self.assertIsNone(record.workloads)

    def test_answers_are_frozen_and_equal_by_document(self):
        def listed(gpus, messages):
            document = {"schema": "ddpsim.list/1", "gpus": gpus}
            return _results.ListResult.from_document(document, arguments=None, messages=messages)

        one, same = listed([], ("a",)), listed([], ("b",))
        self.assertEqual(one, same)
        self.assertEqual(hash(one), hash(same))
        self.assertNotEqual(one, listed(None, ("a",)))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            one.gpus = ()


if __name__ == "__main__":
    unittest.main()
