"""Text for people, taken out of source files and pages: comments, messages, docstrings, Markdown."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Passage(NamedTuple):
    """A run of prose: a block of comment lines, one message, one paragraph."""

    path: str
    line: int
    kind: str  # comment, message, docs or page
    text: str
    trailing: bool = False  # a comment behind code, on the same line
    fragment: bool = False  # a heading or a cell of a table


ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|cf|vs|No|St|approx)\.$")
END = re.compile(r"(?<=[.!?])[)\"'”»`]*\s+(?=[\"'“(`]*[A-Z0-9`\[$-])|\n\n|\n(?=\s*[-*•] )|:\n")
# A line of a drawing or a table has wide gaps.
TABLE_LINE = re.compile(r"^(.*\S {2,}\S.*)$", re.MULTILINE)


def sentences(text: str) -> list[str]:
    """`text` split at full stops, question marks and paragraphs. A semicolon ends no sentence."""
    parts: list[str] = []
    for part in END.split(TABLE_LINE.sub(r"\n\n\1\n\n", text)):
        if parts and ABBREVIATIONS.search(parts[-1]):
            parts[-1] += " " + part
        elif part and part.strip():
            parts.append(part.strip())
    return [" ".join(part.split()) for part in parts]


def passages(path: str, text: str) -> Iterator[Passage]:
    if path.endswith((".cpp", ".hpp", ".h", ".cu", ".js", ".mjs")):
        yield from of_c_like(path, text)
    elif path.endswith((".py", ".pyi")):
        yield from of_python(path, text)
    elif path.endswith((".sh", ".cmake", "CMakeLists.txt", ".yml", ".toml")):
        yield from of_hash_comments(path, text)
    elif path.endswith(".md"):
        yield from of_markdown(path, text)


# A token of C++ or JavaScript that matters here; everything else is skipped a character at a time.
C_TOKEN = re.compile(
    r'(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|R"(?P<mark>[^(\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<template>`(?:[^`\\]|\\.)*`)'
    r"|(?P<char>'(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
# Comments for tools, not for readers.
FOR_TOOLS = (
    *("clang-format", "NOLINT", "@ts-", "eslint", "@type", "@param", "@returns", "@typedef"),
    *("noqa", "type:", "pyright:", "fmt:", "/usr/bin", "pragma", "ruff:", "mypy:"),
)
NAMED = ("TEST_CASE(", "SUBCASE(", "TEST_CASE_FIXTURE(", "TEST_CASE_TEMPLATE(")
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "`": "`"}


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found.group(1), " "), text, flags=re.DOTALL)


class Piece(NamedTuple):
    """A comment or a literal in a source file."""

    line: int
    text: str
    is_comment: bool
    behind_code: bool  # code stands before it on its line
    # Code stands between it and the piece before it.
    apart: bool


def of_c_like(path: str, text: str) -> Iterator[Passage]:
    kind = "page" if path.endswith((".js", ".mjs")) else "message"
    yield from joined(path, kind, c_pieces(path, text))


def c_pieces(path: str, text: str) -> Iterator[Piece]:
    scripted = path.endswith((".js", ".mjs"))
    line, at, is_ours = 1, 0, False
    for token in C_TOKEN.finditer(text):
        if not scripted and (token["template"] or token["char"]):
            continue
        between = text[at : token.start()]
        line += between.count("\n")
        before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
        is_comment = bool(token["line"] or token["block"])
        said = comment_of(token) if is_comment else literal_of_token(token)
        # Tests expect what others wrote: of their literals only the names are ours to judge.
        if not is_comment and (between.strip() or not is_ours):
            is_ours = not path.startswith("tests/") or text[: token.start()].rstrip().endswith(NAMED)
        if is_comment or is_ours:
            behind_code = bool(before.strip()) and bool(token["line"])
            yield Piece(line, said, is_comment, behind_code, bool(between.strip()) or bool(token["block"]))
        line += token.group().count("\n")
        at = token.end()


def comment_of(token: re.Match[str]) -> str:
    if token["line"]:
        said = re.sub(r"^///?<? ?", "", token["line"])
        return "" if said.startswith(FOR_TOOLS) else said
    said = re.sub(r"(?m)^\s*\*+ ?", "", token["block"][2:-2]).strip()
    return re.sub(r"(?m)^@\w+.*$", "", said).strip()


def literal_of_token(token: re.Match[str]) -> str:
    if token["raw"] is not None:
        return token["raw"]
    return unescaped((token["string"] or token["template"] or token["char"])[1:-1])


def joined(path: str, kind: str, pieces: Iterable[Piece]) -> Iterator[Passage]:
    """Comments on following lines are one passage, and so are adjacent literals. `kind` is the kind of the literals."""
    run: list[Piece] = []
    for piece in pieces:
        if run and not continues(run[-1], piece):
            yield from passage_of(path, kind, run)
            run = []
        run.append(piece)
    if run:
        yield from passage_of(path, kind, run)


def continues(last: Piece, piece: Piece) -> bool:
    if piece.apart or piece.is_comment != last.is_comment:
        return False
    return not piece.is_comment or (piece.line == last.line + 1 and not piece.behind_code and not last.behind_code)


def passage_of(path: str, kind: str, run: list[Piece]) -> Iterator[Passage]:
    if run[0].is_comment:
        text = "\n".join(piece.text for piece in run)
        if text.strip():
            yield Passage(path, run[0].line, "comment", text, trailing=run[0].behind_code)
    elif is_prose(text := "".join(piece.text for piece in run)):
        yield Passage(path, run[0].line, kind, text)


CODE = re.compile(r"[{}<>=$|;()\[\]_\\/]")


def is_prose(text: str) -> bool:
    """Whether a literal is for people: at least four words, and few characters that only code has."""
    words = re.findall(r"[A-Za-z]{2,}", text)
    if (
        len(words) < 4
        or " " not in text.strip()
        or text.lstrip().startswith(("{", "<", "#include", "SELECT ", "# fish ", ".ddpsim-plot{"))
    ):
        return False
    if re.fullmatch(r"[a-z0-9_.:+\s-]*", text) and len(words) > 40:  # a list of words
        return False
    spoken = re.sub(r"\{[^{} ]*\}|`[^`]*`", "", text)  # what is filled in, and names
    return len(CODE.findall(spoken)) < len(spoken) / 12


def of_python(path: str, text: str) -> Iterator[Passage]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
    docstrings = docstring_lines(text)
    pieces, apart = [], True
    for token in tokens:
        line, column = token.start
        if token.type == tokenize.COMMENT:
            said = token.string.lstrip("#! ").strip()
            said = "" if said.startswith(FOR_TOOLS) else said
            pieces.append(Piece(line, said, True, bool(token.line[:column].strip()), apart))
            apart = False
        elif token.type == tokenize.STRING and line in docstrings:
            yield Passage(path, line, "comment", literal_of(token.string).strip())
            apart = True
        elif token.type == tokenize.STRING:
            if not path.startswith("tests/"):
                pieces.append(Piece(line, literal_of(token.string), False, False, apart))
            apart = False
        elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING):
            apart = True
    yield from joined(path, "message", pieces)


def docstring_lines(text: str) -> set[int]:
    """The first lines of the docstrings of a module, its classes and functions."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(ast.parse(text)) if isinstance(node, described)]
    return {
        body[0].lineno
        for body in bodies
        if body
        and isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    }


def literal_of(string: str) -> str:
    body = re.sub(r"^[rbfuRBFU]*", "", string)
    quote = 3 if body[:3] in ('"""', "'''") else 1
    return unescaped(body[quote:-quote])


def of_hash_comments(path: str, text: str) -> Iterator[Passage]:
    comment: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = re.match(r"\s*#(?!!) ?(.*)", line)
        if found:
            start = start if comment else number
            comment.append(found.group(1))
        elif comment:
            yield Passage(path, start, "comment", "\n".join(comment))
            comment = []


def of_markdown(path: str, text: str) -> Iterator[Passage]:
    paragraph: list[str] = []
    start, fenced = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        table = line.lstrip().startswith("|")
        heading = line.startswith("#")
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        code = fenced or (line.startswith("    ") and not item and not paragraph)
        if paragraph and (not line.strip() or table or heading or item or code):
            yield Passage(path, start, "docs", plain_markdown("\n".join(paragraph)))
            paragraph = []
        if table and not re.fullmatch(r"[\s|:-]+", line):
            for cell in line.strip().strip("|").split(" | "):
                if len(cell.split()) > 3:
                    yield Passage(path, number, "docs", plain_markdown(cell), fragment=True)
        elif heading or (line.strip() and not code and not table):
            start = start if paragraph else number
            if heading:
                yield Passage(path, number, "docs", plain_markdown(line.lstrip("# ")), fragment=True)
            else:
                paragraph.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line) if item else line)


def plain_markdown(text: str) -> str:
    """Links become their words; code in backquotes counts as one word."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`[^`]*`", lambda found: "`" + re.sub(r"[\s.!?]+", "_", found.group()[1:-1]) + "`", text)


def code_of(path: str, text: str) -> str:
    """`text` without its comments and literals, line for line: what is left are names."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group())  # noqa: E731
    if path.endswith(".py"):
        return re.sub(
            r"#[^\n]*|\"\"\".*?\"\"\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", blank, text, flags=re.DOTALL
        )
    return C_TOKEN.sub(blank, text)
