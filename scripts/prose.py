"""Text for people, taken out of source files and pages: comments, messages, docstrings, Markdown."""

import io
import re
import tokenize
from collections.abc import Iterator
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
NAMED = ("TEST_CASE(", "SUBCASE(", "TEST_CASE_FIXTURE(", "TEST_CASE_TEMPLATE(")
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "`": "`"}


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found.group(1), " "), text, flags=re.DOTALL)


def of_c_like(path: str, text: str) -> Iterator[Passage]:
    comment: list[str] = []  # lines of the block that is being read
    comment_line = next_line = 0
    message = ""  # adjacent literals are one message
    message_line = message_end = 0
    scripted = path.endswith((".js", ".mjs"))
    kind = "page" if scripted else "message"
    line, at = 1, 0
    for token in C_TOKEN.finditer(text):
        if token["template"] and not scripted:
            continue
        if token["char"] and not scripted:
            continue
        between = text[at : token.start()]
        line += between.count("\n")
        if comment and (between.strip() or line > next_line):
            yield Passage(path, comment_line, "comment", "\n".join(comment))
            comment = []
        if message and between.strip():
            if is_prose(message):
                yield Passage(path, message_line, kind, message)
            message = ""
        if token["line"]:
            said = re.sub(r"^///?<? ?", "", token["line"])
            before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()]
            if before.strip():
                yield Passage(path, line, "comment", said, trailing=True)
            else:
                if not comment:
                    comment_line = line
                if not said.startswith(
                    ("clang-format", "NOLINT", "@ts-", "eslint", "@type", "@param", "@returns", "@typedef")
                ):
                    comment.append(said)
                next_line = line + 1
        elif token["block"]:
            said = re.sub(r"(?m)^\s*\*+ ?", "", token["block"][2:-2]).strip()
            said = re.sub(r"(?m)^@\w+.*$", "", said).strip()
            if said:
                yield Passage(path, line, "comment", said)
        else:
            literal = (
                token["raw"]
                if token["raw"] is not None
                else unescaped((token["string"] or token["template"] or token["char"])[1:-1])
            )
            if not message:
                message_line = line
            # Tests expect what others wrote: of their literals only the names are ours to judge.
            if not path.startswith("tests/") or text[: token.start()].rstrip().endswith(NAMED) or message:
                message += literal
        line += token.group().count("\n")
        at = token.end()
    if comment:
        yield Passage(path, comment_line, "comment", "\n".join(comment))
    if message and is_prose(message):
        yield Passage(path, message_line, kind, message)


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
    comment: list[str] = []
    comment_line = next_line = 0
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
    message, message_line, docstring = "", 0, False
    fresh = True  # nothing but a docstring can stand here
    for token in tokens:
        if token.type == tokenize.COMMENT:
            said = token.string.lstrip("#! ").strip()
            if said.startswith(("noqa", "type:", "pyright:", "fmt:", "/usr/bin", "pragma", "ruff:", "mypy:")):
                continue
            if token.line[: token.start[1]].strip():
                yield Passage(path, token.start[0], "comment", said, trailing=True)
                continue
            if comment and token.start[0] != next_line:
                yield Passage(path, comment_line, "comment", "\n".join(comment))
                comment = []
            if not comment:
                comment_line = token.start[0]
            comment.append(said)
            next_line = token.start[0] + 1
        elif token.type == tokenize.STRING:
            if not message:
                message_line, docstring = token.start[0], fresh
            message += literal_of(token.string)
            fresh = False
        elif token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING):
            fresh = fresh or token.type != tokenize.NL
            if message and token.type == tokenize.NEWLINE:
                yield from passage_of_string(path, message_line, message, docstring)
                message = ""
        else:
            if message:
                yield from passage_of_string(path, message_line, message, docstring)
                message = ""
            fresh = False
    if comment:
        yield Passage(path, comment_line, "comment", "\n".join(comment))


def passage_of_string(path: str, line: int, text: str, docstring: bool) -> Iterator[Passage]:
    if docstring:
        yield Passage(path, line, "comment", text.strip())
    elif is_prose(text) and not path.startswith("tests/"):
        yield Passage(path, line, "message", text)


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
