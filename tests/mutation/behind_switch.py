"""Many mutants in one source, each behind its switch (mutant schemata): the program is compiled once and runs as any of
them.

Switches nest: what is switched lies in the original's branch of what is around it, for only one mutant is ever on. Each
mutant's text stands on lines of its own, so that the compiler's complaints name it."""
import collections
import dataclasses
import pathlib

import syntax
from place import Place, is_value, look_around, place_of
from syntax import text

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
    twins = collections.defaultdict(list)

    def add(place, number, version):
        key = (place.start, place.end, place.kind)
        pieces.setdefault(key, Piece(place.start, place.end, place, [])).versions.append((number, version))

    for number, one in sorted(mutants.items()):
        place = place_of(root, source, one)
        if place.kind == "none":
            singly[number] = place.why
        elif place.kind == "twin":
            twins[(place.start, place.end)].append(number)
        else:
            changed = one.applied_to(source)
            add(place, number, changed[place.start:place.end + len(changed) - len(source)].decode())
    for (start, end), numbers in twins.items():
        uses, why = uses_of_constant(root, source, start, end)
        for number in numbers:
            if why:
                singly[number] = why
                continue
            name, places = uses
            twin = f"{name}_mutant_{number}"
            changed = mutants[number].applied_to(source)
            declaration = changed[start:end + len(changed) - len(source)].decode()
            add(TwinPlace(start, end), number, declaration.replace(name, twin, 1))
            for place in places:
                add(place, number, twin)
    return list(pieces.values()), singly


@dataclasses.dataclass(frozen=True)
class TwinPlace:
    start: int
    end: int
    kind: str = "twin"
    in_constexpr: bool = False


def uses_of_constant(root, source, start, end):
    """((name, places of its uses), "") of the constexpr variable declared at [start, end), or (None, why not)."""
    node = root.descendant_for_byte_range(start, end - 1)
    declarator = node.child_by_field_name("declarator")
    name = name_of(declarator)
    if name is None:
        return None, "no plain constant"
    word = text(name, source)
    places = []
    stack = [(root, False)]
    while stack:
        at, frozen = stack.pop()
        frozen = frozen or at.type == "preproc_def" or syntax.is_frozen(at, syntax.field_of(at), source) or (
            at.type in ("declaration", "field_declaration") and syntax.has_qualifier(at, "constexpr", source))
        if at.type in ("identifier", "field_identifier", "preproc_arg") and word in text(at, source).split():
            if at == name:
                continue
            if frozen or at.type != "identifier" or not is_value(at):
                return None, "a constant used where only a constant can be"
            places.append(at)
        stack.extend((child, frozen) for child in at.children)
    if not places:
        return None, "a constant used elsewhere"
    return (word, [use_place(at, source) for at in places]), ""


def name_of(declarator):
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        declarator = declarator.child_by_field_name("declarator")
    return declarator


def use_place(node, source):
    return Place("expression", node.start_byte, node.end_byte, in_constexpr=look_around(node, source).in_constexpr,
                 form="twin")


class Lines:
    """Text as it is written, and for each of its lines whose mutants' it is."""

    def __init__(self):
        self.text = []
        self.owners = [()]

    def write(self, text, owners=()):
        self.text.append(text)
        for _ in range(text.count("\n")):
            self.owners.append(owners)
        if owners:
            self.owners[-1] = owners


def write(lines, source, start, end, pieces, owners=()):
    """The stretch [start, end) with all its pieces, outermost first."""
    at = start
    while pieces:
        piece = pieces.pop(0)
        inner = [one for one in pieces if one.end <= piece.end]
        del pieces[:len(inner)]
        lines.write(source[at:piece.start].decode(), owners)
        write_piece(lines, source, piece, inner)
        at = piece.end
    lines.write(source[at:end].decode(), owners)


def write_piece(lines, source, piece, inner):
    numbers = tuple(number for number, _ in piece.versions)
    original = source[piece.start:piece.end].decode()

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
