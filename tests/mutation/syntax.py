"""C++ as a tree: tree-sitter's parse of one source, and where in it a fault makes no sense."""

import functools

import tree_sitter
import tree_sitter_cpp


@functools.lru_cache(maxsize=None)
def parser():
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def parse(source: bytes):
    return parser().parse(source).root_node


def text(node, source: bytes):
    return source[node.start_byte : node.end_byte].decode()


def field_of(node):
    """Under which name its parent knows this node."""
    parent = node.parent
    if parent is None:
        return None
    for index, child in enumerate(parent.children):
        if child == node:
            return parent.field_name_for_child(index)
    return None


# What is for the compiler or the reader, not for the user: no fault is put inside.
FROZEN = {
    "comment",
    "preproc_include",
    "preproc_def",
    "preproc_function_def",
    "preproc_call",
    "using_declaration",
    "alias_declaration",
    "type_definition",
    "static_assert_declaration",
    "template_parameter_list",
    "template_argument_list",
    "type_descriptor",
    "enumerator_list",
    "bitfield_clause",
    "attribute_declaration",
    "sizeof_expression",
    "decltype",
    "requires_clause",
    "noexcept",
    "lambda_capture_specifier",
}
# Checks of our own code, and what only makes it faster.
FROZEN_CALLS = ("DDPSIM_ASSERT", "static_assert", "reserve", "shrink_to_fit")


def is_frozen(node, field, source):
    if node.type in FROZEN:
        return True
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "case_statement" and field == "value":
        return True
    if parent.type == "array_declarator" and field == "size":
        return True
    if node.type == "condition_clause" and any(child.type == "constexpr" for child in parent.children):
        return True
    if node.type == "call_expression":
        function = node.child_by_field_name("function")
        return function is not None and text(function, source).split(".")[-1].split(">")[-1] in FROZEN_CALLS
    return False


def has_qualifier(node, word, source):
    return any(
        child.type in ("type_qualifier", "storage_class_specifier") and text(child, source) == word
        for child in node.children
    )


STATEMENTS = {
    "expression_statement",
    "return_statement",
    "if_statement",
    "for_statement",
    "for_range_loop",
    "while_statement",
    "do_statement",
    "switch_statement",
    "break_statement",
    "continue_statement",
    "throw_statement",
}
WITH_BODY = {"if_statement", "for_statement", "for_range_loop", "while_statement", "do_statement", "switch_statement"}
DECLARATIONS = {"declaration", "field_declaration", "field_initializer", "optional_parameter_declaration"}
