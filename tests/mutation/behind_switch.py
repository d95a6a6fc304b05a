"""Many mutants in one source, each behind its switch (mutant schemata): the program is compiled once and runs as any of
them.

Switches nest: what is switched lies in the original's branch of what is around it, for only one mutant is ever on. Each
mutant's text stands on lines of its own, so that the compiler's complaints name it."""

import collections
import dataclasses
import pathlib

import syntax
from constants import uses_of_constant
from owned_lines import Lines
from place import place_of

SWITCH = "::ddpsim_mutation::"
HEADER = pathlib.Path(__file__).with_name("switch.hpp")


@dataclasses.dataclass
class Rewritten:
    source: bytes
    owners: list  # for each line of the source the numbers of the mutants it belongs to
    singly: dict  # number -> why this mutant cannot stand behind a switch
    maybe_compiled: set  # mutants in what may also run while compiling, where no switch is seen


def rewritten(source: bytes, mutants, is_header=False, switch=HEADER):
    """`mutants`: {number: mutant} of this file."""
    root = syntax.parse(source)
    pieces, singly = pieces_of(root, source, mutants)
    lines = Lines()
    if pieces:
        # GCC has no warnings about headers of the system; of sources launcher.sh knows by their first line.
        lines.write(f'#include "{switch}"\n' + ("#pragma GCC system_header\n" if is_header else ""))
    write(lines, source, 0, len(source), sorted(pieces, key=lambda piece: (piece.start, -piece.end)))
    maybe_compiled = {number for piece in pieces for number, _ in piece.versions if piece.place.in_constexpr}
    return Rewritten("".join(lines.text).encode(), lines.owners, singly, maybe_compiled)


@dataclasses.dataclass
class Piece:
    """A stretch of the source that has two versions or more."""

    start: int
    end: int
    place: object
    versions: list  # (number, text of the mutated version)


def pieces_of(root, source, mutants):
    pieces = {}
    singly = {}
    constants = collections.defaultdict(list)

    def add(place, number, version):
        key = (place.start, place.end, place.kind)
        pieces.setdefault(key, Piece(place.start, place.end, place, [])).versions.append((number, version))

    for number, one in sorted(mutants.items()):
        place = place_of(root, source, one)
        if place.kind == "none":
            singly[number] = place.why
        elif place.kind == "twin":
            constants[place].append(number)
        else:
            add(place, number, version_of(one, place, source))
    for declaration, numbers in constants.items():
        name, uses, why = uses_of_constant(root, source, declaration)
        for number in numbers:
            if why:
                singly[number] = why
                continue
            twin = f"{name}_mutant_{number}"
            add(declaration, number, version_of(mutants[number], declaration, source).replace(name, twin, 1))
            for use in uses:
                add(use, number, twin)
    return list(pieces.values()), singly


def version_of(mutant, place, source):
    """What stands at `place` with this mutant."""
    changed = mutant.applied_to(source)
    return changed[place.start : place.end + len(changed) - len(source)].decode()


def write(lines, source, start, end, pieces, owners=()):
    """The stretch [start, end) with all its pieces, outermost first."""
    at = start
    while pieces:
        piece = pieces.pop(0)
        inner = [one for one in pieces if one.end <= piece.end]
        del pieces[: len(inner)]
        lines.write(source[at : piece.start].decode(), owners)
        write_piece(lines, source, piece, inner)
        at = piece.end
    lines.write(source[at:end].decode(), owners)


def write_piece(lines, source, piece, inner):
    numbers = tuple(number for number, _ in piece.versions)
    original = source[piece.start : piece.end].decode()

    def write_original():
        write(lines, source, piece.start, piece.end, inner)

    if piece.place.kind == "twin":
        write_original()
        for number, version in piece.versions:
            lines.write("\n" + version, (number,))
        lines.write("\n")
    elif piece.place.kind == "statement":
        for number, version in piece.versions:
            condition = f"{SWITCH}{'on_at_run_time' if piece.place.in_constexpr else 'on'}({number})"
            lines.write(f"\n{{ if ({condition}) {{ {version} }} else", (number,))
        lines.write("\n{ ")
        write_original()
        lines.write("\n" + "}" * (1 + len(piece.versions)), numbers)
    else:
        lines.write("\n(" + opening(piece.place.form), numbers)
        for number, version in piece.versions:
            condition = condition_of(piece.place, number, version, original)
            lines.write(f"{condition} ?\n{value(piece.place, version)} :\n", (number,))
        lines.write("(" if not piece.place.boolean else "static_cast<bool>(")
        write_original()
        lines.write(")" + closing(piece.place.form) + ")")


def condition_of(place, number, version, original):
    at_run_time = "_at_run_time" if place.in_constexpr else ""
    if place.boolean or place.form or "[" in original and "{" in original:  # a lambda's type is no other's
        return f"{SWITCH}on{at_run_time}({number})"
    either = f"decltype(true ? ({version}) : ({original})), decltype(({original}))"
    return f"{SWITCH}on_alike{at_run_time}<{either}>({number})"


def value(place, version):
    return f"static_cast<bool>({version})" if place.boolean else f"({version})"


def opening(form):
    return "::fmt::runtime(" if form == "format" else ""


def closing(form):
    return ")" if form == "format" else ""
