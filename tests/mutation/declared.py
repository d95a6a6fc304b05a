"""What a source says of its names' types: enough to leave out swaps of a cluster with a number, which are no C++."""

import collections
import re

from syntax import text

NUMBERS = {
    "int",
    "float",
    "double",
    "bool",
    "char",
    "unsigned",
    "long",
    "size_t",
    "int64_t",
    "int32_t",
    "uint64_t",
    "uint32_t",
    "uint16_t",
    "uint8_t",
    "Rank",
}


def types_of_names(root, source: bytes):
    """{name: the types it is declared with anywhere in this source}; None stands for one that is not written down."""
    found = collections.defaultdict(set)
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in ("parameter_declaration", "declaration", "field_declaration", "for_range_loop"):
            written = node.child_by_field_name("type")
            for name in names_in(node.child_by_field_name("declarator")):
                found[text(name, source)].add(plain(text(written, source)) if written is not None else None)
        stack.extend(node.children)
    return found


def names_in(declarator):
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        if declarator.type == "structured_binding_declarator":
            return declarator.named_children
        inner = declarator.child_by_field_name("declarator")
        # A reference declarator has no name for what it declares.
        declarator = inner or next(
            (
                child
                for child in declarator.named_children
                if child.type.endswith("declarator") or child.type == "identifier"
            ),
            None,
        )
    return [] if declarator is None else [declarator]


def plain(written):
    name = re.sub(r"\bstd::", "", written)
    if "auto" in name:
        return None
    return "number" if name in NUMBERS else name


def surely_unlike(types, one, other):
    """Whether these two expressions are names or literals whose types are known and have nothing in common."""
    first, second = types_of(types, one), types_of(types, other)
    return None not in first and None not in second and not first & second


def types_of(types, expression):
    if expression.startswith('"'):
        return {"string", "string_view"}
    if expression in ("true", "false") or re.fullmatch(r"-?[\d.'e]+f?", expression):
        return {"number"}
    if expression.startswith("["):
        return {"lambda"}
    return types.get(expression, {None})
