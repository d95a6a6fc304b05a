#!/usr/bin/env python3
"""Checks that what people read here is plain English: comments, messages, help, docs and names.

    scripts/plain_english.py [FILE...]    each place that breaks a rule, one a line: FILE:LINE: rule: the text
    scripts/plain_english.py --lengths    words in a sentence, mean and longest, of each page of the docs

Without FILE, every file that git tracks is read. The exit code is 4 if any rule is broken. CONTRIBUTING.md explains the rules.
This script finds habits only; whether a sentence can be understood, another reader must say.
"""

import argparse
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import plain_words
from prose import Passage, code_of, passages, sentences

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Longest sentence in words, by kind of text.
LONGEST = {"docs": 30, "guide": 25, "comment": 30, "message": 25, "page": 25}
# README and the guides are read by people who do not know the program yet.
GUIDES = ("README.md", "docs/start.md", "docs/guides/")
# Written by others, made by programs, or words that are themselves the subject.
NOT_OURS = (
    "tests/golden/",
    "tests/data/",
    "tests/fixtures/",
    "tests/mutation/",
    "scripts/plain_words.py",
    "cmake/wasm/",
    "LICENSE",
)


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {' '.join(self.text.split())[:200]}"


def longest_of(passage: Passage) -> int:
    if passage.kind == "docs" and passage.path.startswith(GUIDES):
        return LONGEST["guide"]
    return LONGEST[passage.kind]


def words_in(sentence: str) -> int:
    return len(re.findall(r"[^\s]*\w[^\s]*", sentence))


def findings_of_passage(passage: Passage) -> Iterator[Finding]:
    limit = longest_of(passage)
    for sentence in sentences(passage.text):
        count = words_in(sentence)
        if count > limit:
            yield Finding(passage.path, passage.line, f"{count} words, at most {limit}", sentence)
    if passage.kind == "comment" and (opener := plain_words.OPENERS.match(passage.text)):
        yield Finding(passage.path, passage.line, f'opens with "{opener.group().strip()}"', passage.text)
    if passage.trailing and words_in(passage.text) > plain_words.TRAILING_WORDS:
        yield Finding(passage.path, passage.line, "a comment stands above what it describes", passage.text)
    spoken = re.sub(r"`[^`]*`", "", passage.text)  # keys and options keep their names
    for phrase, instead in plain_words.PHRASES:
        if found := phrase.search(spoken):
            yield Finding(passage.path, passage.line, f'"{found.group()}": write {instead}', passage.text)


def findings_of_names(path: str, text: str) -> Iterator[Finding]:
    """Words that are ordinary in prose but name the wrong thing in an identifier or a key."""
    for number, line in enumerate(code_of(path, text).splitlines(), 1):
        for pattern, instead in plain_words.NAMES:
            for found in pattern.finditer(line):
                if found.group() not in plain_words.PROMISED:
                    yield Finding(path, number, f'"{found.group()}": name it {instead}', line.strip())


def tracked_files() -> Iterable[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return listed.splitlines()


def is_ours(path: str) -> bool:
    return not path.startswith(NOT_OURS)


def findings_of_file(path: str) -> Iterator[Finding]:
    if not is_ours(path):
        return
    try:
        text = (ROOT / path).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return
    for passage in passages(path, text):
        yield from findings_of_passage(passage)
    if path.endswith((".cpp", ".hpp", ".cu", ".py", ".js")):
        yield from findings_of_names(path, text)


def print_lengths() -> None:
    for path in tracked_files():
        if not path.endswith(".md") or not is_ours(path):
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        counts = [words_in(s) for p in passages(path, text) if not p.fragment for s in sentences(p.text)]
        counts = [count for count in counts if count > 0]
        if counts:
            print(
                f"{path}: {sum(counts) / len(counts):.1f} words a sentence, longest {max(counts)}, {len(counts)} sentences"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks that what people read here is plain English.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="files to check, relative to the root (default: all)")
    parser.add_argument("--lengths", action="store_true", help="print the length of the sentences of each page")
    arguments = parser.parse_args()
    if arguments.lengths:
        print_lengths()
        return 0
    found = 0
    for path in arguments.files or tracked_files():
        for finding in findings_of_file(path):
            print(finding)
            found += 1
    if found:
        print(f"{found} places are not plain English; CONTRIBUTING.md explains the rules.", file=sys.stderr)
    return 4 if found else 0


if __name__ == "__main__":
    sys.exit(main())
