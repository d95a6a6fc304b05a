"""The skeletons of a source: for each node a fault may change, its own tokens, with @0, @1 ... for what stands inside.

ddpsim.rules say what may become of a skeleton; here stands which nodes have one."""

import dataclasses

import syntax
from syntax import text


@dataclasses.dataclass(frozen=True)
class Skeleton:
    line: str  # "binary @0 < @1"
    node: object
    inside: dict  # "@0" -> the text that stands there


def skeletons(root, source: bytes, words):
    """Every skeleton of a tree, in order; with `words`, those of string literals too (texts a user reads)."""
    stack = [(root, None)]
    while stack:
        node, field = stack.pop()
        if syntax.is_frozen(node, field, source):
            continue
        yield from skeletons_of(node, field, source, words)
        children = [(child, node.field_name_for_child(i)) for i, child in enumerate(node.children) if child.is_named]
        stack.extend(reversed(children))


def skeletons_of(node, field, source, words):
    def made(line, *parts, of=node):
        return Skeleton(line, of, {f"@{i}": text(part, source) for i, part in enumerate(parts)})

    kind = node.type
    if kind == "binary_expression":
        operator = text(node.child_by_field_name("operator"), source)
        word = "join" if operator == "+" and joins_words(node, source) else "binary"
        yield made(f"{word} @0 {operator} @1", node.child_by_field_name("left"), node.child_by_field_name("right"))
    elif kind == "unary_expression":
        operator = text(node.child_by_field_name("operator"), source)
        yield made(f"unary {'!' if operator == 'not' else operator}@0", node.child_by_field_name("argument"))
    elif kind == "assignment_expression":
        operator = text(node.child_by_field_name("operator"), source)
        word = "extend" if operator == "+=" and is_words(node.child_by_field_name("right"), source) else "assign"
        yield made(f"{word} @0 {operator} @1", node.child_by_field_name("left"), node.child_by_field_name("right"))
    elif kind == "update_expression" and field != "update" and node.parent.type == "expression_statement":
        yield made(
            f"update {text(node.child_by_field_name('operator'), source)}@0", node.child_by_field_name("argument")
        )
    elif kind == "conditional_expression":
        yield made(
            "choice @0 ? @1 : @2",
            *(node.child_by_field_name(name) for name in ("condition", "consequence", "alternative")),
        )
    elif kind == "number_literal" and node.parent.type != "user_defined_literal":
        if node.parent.type == "field_declaration" and is_nought(text(node, source)):
            return  # a nought until it is filled in
        yield made(f"number {text(node, source)}")
    elif kind == "user_defined_literal" and node.child(0).type == "number_literal":
        yield made(f"quantity {text(node, source)}")
    elif kind in ("true", "false"):
        yield made(f"truth {kind}")
    elif kind == "string_literal" and words and not within_throw(node):
        yield made(f"text {text(node, source)}")
    elif kind == "field_expression" and field != "function":
        yield from field_skeleton(node, source)
    elif kind == "call_expression":
        yield from call_skeleton(node, source)
    elif kind == "initializer_list":
        yield from list_skeleton(node, source)
    elif kind == "condition_clause" and node.parent.type in ("if_statement", "while_statement"):
        yield from condition_skeleton(node, source)
    elif kind == "for_statement" and node.child_by_field_name("condition") is not None:
        condition = node.child_by_field_name("condition")
        yield made("loop @0", condition, of=condition)
    elif kind == "expression_statement" and node.named_child_count == 1:
        if not syntax.is_frozen(node.named_children[0], None, source):
            yield made("statement @0;", node.named_children[0])
    elif kind in ("break_statement", "continue_statement") and not ends_switch(node):
        yield made(f"leave {text(node, source)}")
    elif kind == "return_statement":
        yield from return_skeleton(node, source)


WORDS = {"string_literal", "concatenated_string", "char_literal", "raw_string_literal"}


def is_nought(literal):
    digits = literal.replace("'", "").lower()
    if digits.startswith(("0x", "0b")):
        return int(digits.rstrip("ul"), 0) == 0
    return float(digits.rstrip("ful")) == 0


def is_words(node, source):
    """Whether this is surely a string: a literal, a formatted one, or one made of such."""
    if node.type == "binary_expression":
        return joins_words(node, source)
    return node.type in WORDS or text(node, source).startswith(("fmt::format(", "std::string(", "std::to_string("))


def joins_words(node, source):
    return any(is_words(node.child_by_field_name(side), source) for side in ("left", "right"))


def within_throw(node):
    while node is not None and node.type not in syntax.STATEMENTS:
        node = node.parent
    return node is not None and node.type == "throw_statement"


def field_skeleton(node, source):
    argument = node.child_by_field_name("argument")
    member = node.child_by_field_name("field")
    yield Skeleton(
        f"field @o{text(node.child_by_field_name('operator'), source)}{text(member, source)}",
        node,
        {"@o": text(argument, source)},
    )


def call_skeleton(node, source):
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.type != "argument_list":
        return
    inside = {f"@{i}": text(argument, source) for i, argument in enumerate(named(arguments))}
    name = text(function, source)
    if function.type == "field_expression":
        inside["@o"] = text(function.child_by_field_name("argument"), source)
        name = "@o" + name[len(inside["@o"]) :]
    if "\n" in name or "@" in name.replace("@o", "", 1):
        return
    places = ", ".join(f"@{i}" for i in range(len(named(arguments))))
    yield Skeleton(f"call {name}({places})", node, inside)


def list_skeleton(node, source):
    elements = named(node)
    if not elements or all(element.type in WORDS for element in elements) or node.parent.type == "for_range_loop":
        return  # words allowed somewhere, things done to each: in any order
    if all(element.type == "initializer_pair" for element in elements):
        values = [element.child_by_field_name("value") for element in elements]
        if any(value is None for value in values):
            return
        names = [text(element.child_by_field_name("designator"), source) for element in elements]
        pairs = ", ".join(f"{name} = @{i}" for i, name in enumerate(names))
        yield Skeleton(f"fields {{{pairs}}}", node, {f"@{i}": text(value, source) for i, value in enumerate(values)})
        return
    places = ", ".join(f"@{i}" for i in range(len(elements)))
    yield Skeleton(f"list {{{places}}}", node, {f"@{i}": text(element, source) for i, element in enumerate(elements)})


def condition_skeleton(node, source):
    value = node.child_by_field_name("value")
    if value is None or value.type == "declaration":
        return
    kind = "condition" if node.parent.type == "if_statement" else "loop"
    yield Skeleton(f"{kind} @0", value, {"@0": text(value, source)})


def ends_switch(node):
    """Whether this leaves a switch that ends here anyway."""
    case = node.parent
    return case.type == "case_statement" and node.next_named_sibling is None and case.next_named_sibling is None


def return_skeleton(node, source):
    if node.named_child_count == 0:
        yield Skeleton(f"leave {text(node, source)}", node, {})
        return
    value = node.named_children[0]
    # Of these, nothing is left that differs, or another rule says it.
    if (
        value.type in ("true", "false", "number_literal", "initializer_list", "null")
        or text(value, source).endswith(("nullopt", '""', "{}", "()"))
        or deduces_type(node)
    ):
        return
    yield Skeleton("return return @0;", node, {"@0": text(value, source)})


def deduces_type(node):
    """Whether the function around has no type but what this statement returns: a lambda without one written down."""
    while node is not None and node.type not in ("function_definition", "lambda_expression"):
        node = node.parent
    if node is None or node.type == "function_definition":
        return False
    declarator = node.child_by_field_name("declarator")
    return declarator is None or not any(child.type == "trailing_return_type" for child in declarator.children)


def named(node):
    return [child for child in node.named_children if child.type != "comment"]
