"""Every fault that may be put into a source: universalmutator applies ddpsim.rules to the skeletons of its tree."""

import collections
import contextlib
import dataclasses
import io
import pathlib
import re

import declared
import mutant
import syntax
from skeleton import skeletons

RULES = pathlib.Path(__file__).with_name("ddpsim.rules")


def readings(lines):
    """For each skeleton what the rules make of it: {line: [changed, ...]}."""
    from universalmutator import mutator

    lines = sorted(set(lines))
    with contextlib.redirect_stdout(io.StringIO()):  # it tells what it does
        found = mutator.mutants_regexp([line + "\n" for line in lines], [str(RULES)], ignorePatterns=[])
    changed = collections.defaultdict(list)
    for number, text, _, _ in found:
        changed[lines[number - 1]].append(text.rstrip("\n"))
    return changed


def proposals(file, source: bytes, words=False):
    """The mutants of one file, in the order of the source."""
    return proposals_of({file: source}, lambda _: words)


def proposals_of(sources, words):
    """The mutants of {file: source}; `words` says of a file whether its string literals count."""
    trees = {file: syntax.parse(source) for file, source in sources.items()}
    parts = {file: list(skeletons(tree, sources[file], words(file))) for file, tree in trees.items()}
    changed = readings(skeleton.line for found in parts.values() for skeleton in found)
    mutants = []
    for file, found in parts.items():
        types = declared.types_of_names(trees[file], sources[file])
        mutants += numbered(
            mutant_of(file, sources[file], skeleton, line)
            for skeleton in found
            for line in changed.get(skeleton.line, [])
            if not swaps_unlike(skeleton, line, types)
        )
    return mutants


def swaps_unlike(skeleton, line, types):
    """Whether the rule swapped two names that cannot stand for each other."""
    before, after = re.findall(r"@\d+", skeleton.line), re.findall(r"@\d+", line)
    moved = [place for place, other in zip(before, after) if place != other]
    return (
        sorted(before) == sorted(after)
        and len(moved) == 2
        and declared.surely_unlike(types, *(skeleton.inside[place] for place in moved))
    )


def mutant_of(file, source, skeleton, line):
    kind, _, rest = line.partition(" ")
    text = re.sub(r"@\w", lambda match: skeleton.inside[match.group()], rest)
    node = skeleton.node
    if tokens(text) == tokens(syntax.text(node, source)):
        return None  # neighbours that read alike, swapped
    return mutant.at(
        file, source, node.start_byte, node.end_byte, text, statement=statement_of(node, source), rule=kind
    )


def tokens(text):
    return re.findall(r"\w+|[^\w\s]", text)


def statement_of(node, source):
    """The words of the smallest statement or declaration around a node; of one with a body, those before it."""
    while node.parent is not None and node.type not in syntax.STATEMENTS | syntax.DECLARATIONS:
        node = node.parent
    words = " ".join(syntax.text(node, source).split())
    return words.partition("{")[0] if node.type in syntax.WITH_BODY else words


def numbered(mutants):
    """Tells apart mutants that read alike, by their order."""
    seen = collections.Counter()
    places = set()
    for one in mutants:
        if one is None or (one.start, one.end, one.text) in places:
            continue
        places.add((one.start, one.end, one.text))
        name = (one.original, one.mutated)
        yield dataclasses.replace(one, occurrence=seen[name])
        seen[name] += 1
