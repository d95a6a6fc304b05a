"""Where a mutant's switch can stand: the smallest expression or statement around it that can be had in two versions.

    (on(17) ? (a <= b) : (a < b))        an expression
    if (on(17)) { } else { run(); }      a statement
    (on(17) ? kShare_17 : kShare)        a constant of this file: it keeps its constexpr, and has a twin

What the language has only one version of (a type, a template's argument, an array's size) has no such place."""

import dataclasses

import syntax
from syntax import field_of, text

EXPRESSIONS = {
    "binary_expression",
    "unary_expression",
    "assignment_expression",
    "update_expression",
    "conditional_expression",
    "call_expression",
    "field_expression",
    "subscript_expression",
    "compound_literal_expression",
    "parenthesized_expression",
    "pointer_expression",
    "number_literal",
    "user_defined_literal",
    "string_literal",
    "concatenated_string",
    "char_literal",
    "true",
    "false",
    "null",
    "identifier",
    "qualified_identifier",
    "cast_expression",
    "new_expression",
}
# Where an expression is a value: the parent, and as what the parent knows it (None: as anything).
VALUES = {
    "argument_list": None,
    "binary_expression": None,
    "unary_expression": None,
    "assignment_expression": None,
    "conditional_expression": None,
    "return_statement": None,
    "init_declarator": {"value"},
    "initializer_list": None,
    "initializer_pair": {"value"},
    "condition_clause": {"value"},
    "parenthesized_expression": None,
    "subscript_expression": {"argument"},
    "subscript_argument_list": None,
    "field_expression": {"argument"},
    "expression_statement": None,
    "for_statement": {"condition", "update", "initializer"},
    "for_range_loop": {"right"},
    "cast_expression": {"value"},
    "optional_parameter_declaration": {"default_value"},
    "field_declaration": {"default_value"},
    "pointer_expression": None,
    "comma_expression": None,
    "declaration": {"value"},
    "update_expression": None,
    "throw_statement": None,
}
WHOLE_STATEMENTS = syntax.STATEMENTS | {"compound_statement"}
STATEMENT_PARENTS = {
    "compound_statement",
    "if_statement",
    "else_clause",
    "for_statement",
    "for_range_loop",
    "while_statement",
    "do_statement",
    "case_statement",
}


@dataclasses.dataclass(frozen=True)
class Place:
    kind: str  # "expression", "statement", "twin" or "none"
    start: int = 0
    end: int = 0
    boolean: bool = False  # what stands here is asked for yes or no
    in_constexpr: bool = False  # of a function that may run while compiling
    form: str = ""  # how an expression is written: "", "text", "format"
    why: str = ""  # for "none"


def place_of(root, source: bytes, mutant):
    node = root.descendant_for_byte_range(mutant.start, max(mutant.start, mutant.end - 1))
    while node.parent is not None and not (node.start_byte <= mutant.start and mutant.end <= node.end_byte):
        node = node.parent
    surroundings = look_around(node, source)
    if surroundings.why:
        return Place("none", why=surroundings.why)
    if surroundings.constant is not None:
        return Place("twin", surroundings.constant.start_byte, surroundings.constant.end_byte)
    changed = mutant.applied_to(source)
    growth = len(changed) - len(source)
    tree = syntax.parse(changed)
    while node is not None:
        if (is_value(node) or is_statement(node)) and still_there(tree, node, growth, root.has_error):
            return made(node, source, surroundings.in_constexpr)
        node = node.parent
    return Place("none", why="nothing around it can be had twice")


def made(node, source, in_constexpr):
    if is_statement(node):
        return Place("statement", node.start_byte, node.end_byte, in_constexpr=in_constexpr)
    return Place("expression", node.start_byte, node.end_byte, is_boolean(node), in_constexpr, form_of(node, source))


@dataclasses.dataclass
class Surroundings:
    why: str = ""
    constant: object = None  # the declaration of a constexpr variable
    in_constexpr: bool = False


def look_around(node, source):
    """What the nodes around say: whether a fault may be here at all, and whether this may run while compiling."""
    found = Surroundings()
    while node.parent is not None:
        if syntax.is_frozen(node, field_of(node), source):
            found.why = f"within a {node.type}"
            return found
        if node.type in ("declaration", "field_declaration") and syntax.has_qualifier(node, "constexpr", source):
            found.constant = node
        elif node.type == "declaration" and is_made_once(node, source):
            found.why = "in a variable that is made once: who makes it is not who uses it"
            return found
        if node.type == "function_definition" and syntax.has_qualifier(node, "constexpr", source):
            found.in_constexpr = True
        # Defaults are read wherever a value of the type is made, in constants too.
        if node.type in ("field_declaration", "optional_parameter_declaration"):
            found.in_constexpr = True
        node = node.parent
    return found


def is_made_once(node, source):
    if not any(child.type == "init_declarator" for child in node.children):
        return False
    return syntax.has_qualifier(node, "static", source) or node.parent.type in ("declaration_list", "translation_unit")


def is_value(node):
    parent = node.parent
    if node.type not in EXPRESSIONS or parent is None or parent.type not in VALUES:
        return False
    fields = VALUES[parent.type]
    if parent.type == "for_statement" and node.type == "identifier":
        return False
    return fields is None or field_of(node) in fields


def is_statement(node):
    if node.type not in WHOLE_STATEMENTS or node.parent is None:
        return False
    if node.type == "compound_statement":
        return node.parent.type in STATEMENT_PARENTS | {"function_definition", "lambda_expression"}
    return node.parent.type in STATEMENT_PARENTS


def still_there(tree, node, growth, had_errors):
    """In the changed source, too, this is one node of the same sort: the change did not spill over its ends."""
    if tree.has_error and not had_errors:
        return False
    start, end = node.start_byte, node.end_byte + growth
    if end <= start:
        return False
    found = tree.descendant_for_byte_range(start, end - 1)
    while found is not None and found.start_byte == start and found.end_byte <= end:
        if found.end_byte == end and (is_value(found) if is_value(node) else is_statement(found)):
            return True
        found = found.parent
    return False


YES_OR_NO = {"&&", "||", "!", "and", "or", "not"}


def operator_of(node):
    operator = node.child_by_field_name("operator")
    return None if operator is None else operator.type


def is_boolean(node):
    """Whether this is a yes or no, or asked for one: then both versions may be turned into one."""
    parent = node.parent
    if node.type in ("binary_expression", "unary_expression") and operator_of(node) in YES_OR_NO:
        return True
    if parent.type == "condition_clause":
        return parent.parent.type in ("if_statement", "while_statement")
    if parent.type == "for_statement":
        return field_of(node) == "condition"
    if parent.type == "conditional_expression":
        return field_of(node) == "condition"
    if parent.type in ("binary_expression", "unary_expression"):
        return operator_of(parent) in YES_OR_NO
    return False


def form_of(node, source):
    if node.type not in ("string_literal", "concatenated_string"):
        return ""
    parent = node.parent
    if parent.type == "argument_list" and parent.parent.type == "call_expression":
        function = text(parent.parent.child_by_field_name("function"), source)
        if function in ("fmt::format", "fmt::print", "fmt::format_to") and "{" in text(node, source):
            return "format"
    return "text"
