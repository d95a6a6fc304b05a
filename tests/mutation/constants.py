"""The constants of a source: one that is mutated keeps its constexpr and has a twin, and every use chooses between them.

    constexpr double kShare = 0.5;
    constexpr double kShare_mutant_17 = (0.5 * 2);
    ... (on(17) ? kShare_mutant_17 : kShare) ...

That holds where every use is a value of this file: not in another constant, a template argument, an array's size."""

import syntax
from place import Place, is_value, look_around
from syntax import text


def uses_of_constant(root, source: bytes, declaration):
    """(name, places of its uses, "") of the constexpr variable declared there, or ("", [], why it can have no twin)."""
    node = root.descendant_for_byte_range(declaration.start, declaration.end - 1)
    name = name_of(node.child_by_field_name("declarator"))
    if name is None:
        return "", [], "no plain constant"
    word = text(name, source)
    uses = []
    stack = [(root, False)]
    while stack:
        at, frozen = stack.pop()
        frozen = frozen or needs_constants(at, source)
        if (
            at != name
            and at.type in ("identifier", "field_identifier", "preproc_arg")
            and word in text(at, source).split()
        ):
            if frozen or at.type != "identifier" or not is_value(at):
                return "", [], "a constant used where only a constant can be"
            uses.append(
                Place(
                    "expression",
                    at.start_byte,
                    at.end_byte,
                    form="twin",
                    in_constexpr=look_around(at, source).in_constexpr,
                )
            )
        stack.extend((child, frozen) for child in at.children)
    return (word, uses, "") if uses else ("", [], "a constant used elsewhere")


def needs_constants(node, source):
    return (
        syntax.is_frozen(node, syntax.field_of(node), source)
        or node.type in ("declaration", "field_declaration")
        and syntax.has_qualifier(node, "constexpr", source)
    )


def name_of(declarator):
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        declarator = declarator.child_by_field_name("declarator")
    return declarator
