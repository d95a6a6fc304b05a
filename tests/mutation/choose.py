"""Which of all mutants are tried: a sample spread over the parts, drawn by a seed, the same on every machine.

First a statement is drawn, then one of its mutants, and only when every statement of the part had its turn a second one
of each: a table of seventy constants weighs no more than the line that reads it. What the tests are plays no part."""

import collections

import mutant
import parts


def in_order(seed, mutants):
    """All mutants, first those of the first round."""
    by_statement = collections.defaultdict(list)
    for one in mutants:
        by_statement[(one.file, one.statement)].append(one)
    drawn = []
    for place, those in by_statement.items():
        those.sort(key=lambda one: mutant.draw(seed, one.identity))
        turn = mutant.draw(seed, "\n".join(place))
        drawn += [((round_, turn), one) for round_, one in enumerate(those)]
    drawn.sort(key=lambda pair: pair[0])
    return [one for _, one in drawn]


def by_part(mutants):
    found = collections.defaultdict(list)
    for one in mutants:
        found[parts.part_of(one.file)].append(one)
    return found


def queues(seed, count, mutants):
    """{part: (how many count, mutants in the order they are tried)}; a part with too few leaves its share to others."""
    found = by_part(mutants)
    present = [name for name in parts.NAMES if found[name]]
    wanted = {}
    while present:
        shares = parts.shares(count - sum(wanted.values()), present)
        small = [name for name in present if len(found[name]) < shares[name]]
        if not small:
            wanted.update(shares)
            break
        for name in small:
            wanted[name] = len(found[name])
            present.remove(name)
    return {name: (wanted[name], in_order(seed, found[name])) for name in parts.NAMES if wanted.get(name)}
